"""Small, seeded data for the lessons: the same rows on every machine, and any number of them.

A *dataset* is a stream of dictionaries that a generator makes from a seed: `trucks`, `invoices`,
`orders`, `order_events`, `pictures`. The first rows of each are committed under `datasets/`,
where its README explains the fields; `load("trucks")` reads them back.
A generator without a count never ends, and a longer stream begins with the shorter one.
"""

from brokerlab.datasets.album import draw_image, pictures
from brokerlab.datasets.files import DATASETS, folder, image_bytes, load, write
from brokerlab.datasets.fleet import trucks
from brokerlab.datasets.shop import PRODUCTS, invoices, order_events, orders, validate

__all__ = [
    "DATASETS",
    "PRODUCTS",
    "draw_image",
    "folder",
    "image_bytes",
    "invoices",
    "load",
    "order_events",
    "orders",
    "pictures",
    "trucks",
    "validate",
    "write",
]
