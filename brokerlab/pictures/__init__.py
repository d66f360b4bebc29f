"""Pictures of what happened: plain data in, one matplotlib figure out, no broker in sight.

Every picture has the same look, says its finding in the title, carries a description for people
who cannot see it (`picture.alt_text`), and shows itself sharply in a notebook (`show(picture)`).
A *fault* is `(start_s, end_s, label)`; its time is shaded.
"""

from importlib import import_module

# Matplotlib takes a third of a second to load: only those who draw should wait for it.
_HOMES = {
    "Picture": "look",
    "show": "look",
    "Fault": "told",
    "faults_in": "told",
    "timeline": "over_time",
    "lag": "over_time",
    "group_assignment": "bands",
    "leader_moves": "bands",
    "partition_heatmap": "heat",
    "compaction": "log_cells",
    "rabbitmq_topology": "topology",
    "cluster": "replicas",
    "curves": "measured",
    "verdict_card": "card",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
