"""Invoices and orders of a chain of shops. Money is reckoned in cents and shown in euros.

An *invoice* is one sale in a store, with its lines. An *order* is one request by a customer,
not yet looked at. A *check* is one question three services ask about it: fraud, inventory,
details. An *order event* is one step in an order's life.
"""

from collections.abc import Iterator, Mapping

from brokerlab.datasets.dice import Dice, moment, numbers

# code -> (description, price in cents, pieces in stock)
PRODUCTS = {
    "P-100": ("coffee beans 1 kg", 1_890, 60),
    "P-110": ("green tea 250 g", 990, 40),
    "P-200": ("bicycle lamp", 2_450, 25),
    "P-210": ("bicycle lock", 3_990, 20),
    "P-300": ("headphones", 7_900, 15),
    "P-310": ("keyboard", 5_490, 12),
    "P-320": ("monitor 27 inch", 21_900, 8),
    "P-400": ("rucksack", 6_500, 18),
    "P-410": ("rain jacket", 11_900, 10),
    "P-500": ("notebook, ruled", 350, 200),
}
CITIES = (("Berlin", "10115"), ("Hamburg", "20095"), ("Leipzig", "04109"), ("Bremen", "28195"))
FRAUD_LIMIT_EUR = 1_000.0
STEPS = ("CREATED", "VALIDATED", "PAID", "SHIPPED", "DELIVERED")


def invoices(count: int | None = None, seed: int = 7, stores: int = 12) -> Iterator[dict]:
    """Sales, oldest first. Key: `StoreID`. The first store sells three times as much as another."""
    dice = Dice(seed)
    names = [f"STR{1500 + 7 * number}" for number in range(1, stores + 1)]
    weights = [3, *[1] * (stores - 1)]
    clock_ms = 0
    for number in numbers(count):
        clock_ms += dice.between(1_000, 9_000)
        yield _invoice(dice, number, dice.weighted(names, weights), clock_ms)


def _invoice(dice: Dice, number: int, store: str, clock_ms: int) -> dict:
    lines = [_line(dice, code) for code in _some_codes(dice)]
    delivered = dice.chance(0.4)
    return {
        "InvoiceNumber": f"INV{number:07d}",
        "CreatedTime": moment(clock_ms),
        "StoreID": store,
        "PosID": f"POS{dice.between(1, 4)}",
        "CustomerType": dice.pick(("PRIME", "NONPRIME")),
        "PaymentMethod": dice.pick(("CARD", "CASH", "PHONE")),
        "DeliveryType": "HOME-DELIVERY" if delivered else "TAKEAWAY",
        "DeliveryAddress": _address(dice) if delivered else None,
        "NumberOfItems": sum(line["ItemQty"] for line in lines),
        "TotalAmount": sum(round(line["TotalValue"] * 100) for line in lines) / 100,
        "InvoiceLineItems": lines,
    }


def _some_codes(dice: Dice) -> list[str]:
    """One to four different products, in catalogue order."""
    wanted = {dice.pick(tuple(PRODUCTS)) for _ in range(dice.between(1, 4))}
    return sorted(wanted)


def _line(dice: Dice, code: str) -> dict:
    description, cents, _ = PRODUCTS[code]
    quantity = dice.between(1, 3)
    return {
        "ItemCode": code,
        "ItemDescription": description,
        "ItemPrice": cents / 100,
        "ItemQty": quantity,
        "TotalValue": cents * quantity / 100,
    }


def _address(dice: Dice) -> dict:
    city, postcode = dice.pick(CITIES)
    return {"City": city, "PostCode": postcode, "Street": f"Hafenstrasse {dice.between(1, 99)}"}


def orders(
    count: int | None = None, seed: int = 7, customers: int = 40, bad: float = 0.05
) -> Iterator[dict]:
    """New orders, oldest first. Key: `order_id`.

    `bad` is the share that fails each check: about so many are suspicious, as many again want
    more than there is in stock, and as many again are not filled in properly.
    """
    dice = Dice(seed)
    clock_ms = 0
    for number in numbers(count):
        clock_ms += dice.between(200, 1_800)
        order = _order(dice, number, customers, clock_ms)
        kind = dice.between(1, 10_000)
        share = int(bad * 10_000)
        if kind <= share:
            order.update(product="P-320", quantity=dice.between(5, 8), price=219.0)
        elif kind <= 2 * share:
            order.update(product="P-210", quantity=dice.between(21, 24), price=39.9)
        elif kind <= 3 * share:
            order.update(dice.pick(({"quantity": 0}, {"customer": None}, {"product": "P-999"})))
        yield order


def _order(dice: Dice, number: int, customers: int, clock_ms: int) -> dict:
    code = dice.pick(tuple(PRODUCTS))
    return {
        "order_id": f"order-{number:06d}",
        "customer": f"customer-{dice.between(1, customers):03d}",
        "product": code,
        "quantity": dice.between(1, 4),
        "price": PRODUCTS[code][1] / 100,
        "state": "CREATED",
        "order_time": moment(clock_ms),
    }


def validate(order: Mapping) -> dict[str, str]:
    """What the three services must answer about an order: PASS or FAIL for each check.

    fraud: the order costs more than 1,000 euros. inventory: it wants more than is in stock.
    details: it lacks a customer, names an unknown product or wants nothing.
    """
    _, _, stock = PRODUCTS.get(order["product"], ("", 0, order["quantity"]))
    filled_in = order["customer"] and order["product"] in PRODUCTS and order["quantity"] > 0
    passes = {
        "fraud": order["quantity"] * order["price"] <= FRAUD_LIMIT_EUR,
        "inventory": order["quantity"] <= stock,
        "details": bool(filled_in),
    }
    return {check: "PASS" if passed else "FAIL" for check, passed in passes.items()}


def order_events(
    count: int | None = None, seed: int = 7, open_orders: int = 25, cancelled: float = 0.1
) -> Iterator[dict]:
    """The steps of many orders' lives, mixed. Key: `order_id`.

    `open_orders` lives go on at the same time. A life goes from CREATED to DELIVERED, unless the
    customer cancels before the parcel is shipped. `step` numbers an order's events from 1.
    """
    dice = Dice(seed)
    living = [(number, 0) for number in range(1, open_orders + 1)]
    born, clock_ms = open_orders, 0
    for _ in numbers(count):
        clock_ms += dice.between(100, 900)
        slot = dice.between(0, open_orders - 1)
        number, step = living[slot]
        cancels = 0 < step < STEPS.index("SHIPPED") and dice.chance(cancelled / 2)
        state = "CANCELLED" if cancels else STEPS[step]
        living[slot] = (number, step + 1)
        if state in ("CANCELLED", "DELIVERED"):
            born += 1
            living[slot] = (born, 0)
        yield {
            "order_id": f"order-{number:06d}",
            "step": step + 1,
            "state": state,
            "event_time": moment(clock_ms),
        }
