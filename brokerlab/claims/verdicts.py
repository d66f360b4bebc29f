"""Verdicts, computed.

verdict     holds, refuted, depends, dated or unknown
outcome     what one comparison said: True, False, or None ("unknown") when it could not be told
provided    what must be true for an outcome to mean anything: the control came out as it
            should, the two witnesses agree. Otherwise the verdict is unknown

A notebook writes `holds_if(lost == 1000, provided=control_lost == 0)`, so that the page
can never say more than the counts do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import metadata

from brokerlab.errors import ClaimError

VERDICTS = ("holds", "refuted", "depends", "dated", "unknown")

Outcome = bool | str | None


class Verdict(str):
    """One of VERDICTS, and in `why` what it hangs on (for *depends* and *dated*)."""

    why: str

    def __new__(cls, word: str, why: str = "") -> Verdict:
        verdict = super().__new__(cls, word)
        verdict.why = why
        return verdict


def holds_if(outcome: Outcome, *, provided: Outcome = True) -> Verdict:
    """*holds* when the outcome is True, *refuted* when it is False, *unknown* when it is None.

    >>> holds_if(1000 == 1000)
    'holds'
    """
    said = _told(outcome) if _told(provided) else None
    return Verdict({True: "holds", False: "refuted", None: "unknown"}[said])


def dated_if(
    changed: Outcome, *, since: str, product: str = "kafka", provided: Outcome = True
) -> Verdict:
    """*dated* when the broker no longer does what was once true; *holds* when it still does.

    `since` is the version that changed it. A server older than that which differs all the
    same makes the claim *refuted*: age does not explain it.
    """
    said = _told(changed) if _told(provided) else None
    if not said:
        return Verdict({False: "holds", None: "unknown"}[said])
    if _numbers(_running(product)) < _numbers(since):
        return Verdict("refuted", f"already so before {product} {since}")
    return Verdict("dated", f"since {product} {since}")


def depends_on(outcomes: Mapping[str, Outcome], *, provided: Outcome = True) -> Verdict:
    """*holds* when true in every case, *refuted* when in none, *depends* when in some.

    >>> depends_on({"acks=1": True, "acks=all": False})
    'depends'
    """
    said = {case: _told(outcome) for case, outcome in outcomes.items()}
    seen = set(said.values())
    if not said or not _told(provided):
        return Verdict("unknown")
    if {True, False} <= seen:
        words = {True: "holds", False: "refuted", None: "unknown"}
        return Verdict("depends", ", ".join(f"{case} {words[said[case]]}" for case in said))
    return Verdict("unknown" if None in seen else "holds" if True in seen else "refuted")


def _told(outcome: Outcome) -> bool | None:
    if outcome is None or (isinstance(outcome, str) and outcome == "unknown"):
        return None
    # numpy's bool is no subclass of bool. A bare count is refused: 1000 lost records are "true".
    if isinstance(outcome, bool) or type(outcome).__name__ in ("bool_", "bool"):
        return bool(outcome)
    raise ClaimError(
        f"A verdict needs a comparison that is True, False or None, not {outcome!r}: "
        "write for example holds_if(lost == 1000)."
    )


def _running(product: str) -> str:
    # Imported here: judging imports this module.
    from brokerlab.claims.judging import versions

    if known := versions().get(product):
        return known
    try:
        return metadata.version(product)  # a Python client, such as kafka-python
    except metadata.PackageNotFoundError:
        raise ClaimError(
            f'The version of "{product}" is not known: start the lab first (`brokerlab.up()`), '
            f"or name one of {', '.join(versions())}."
        ) from None


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]
