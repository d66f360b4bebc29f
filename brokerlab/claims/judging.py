"""`judge`: the line at the end of an experiment.

run        one execution of a notebook by `brokerlab run` (BROKERLAB_RUN); a kernel that a
           person drives is `interactive-<pid>`, and is never held against a claim
versions   what the brokers and Spark were when it was measured
"""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path, PurePath

from brokerlab.claims.catalogue import Claim, find
from brokerlab.claims.figures import plain
from brokerlab.claims.ledger import INTERACTIVE, append
from brokerlab.claims.verdicts import VERDICTS
from brokerlab.errors import ClaimError

POM = Path(__file__).resolve().parents[1] / "jars" / "pom.xml"

_measured_with: dict[str, str | None] = {}


def judge(claim_id: str, verdict: str, *, measured: object, control: object = None) -> None:
    """Write one judgement into the ledger and print `id: verdict`, and nothing else.

    `verdict` comes from `holds_if`, `dated_if` or `depends_on`; `measured` is the figure it
    rests on, `control` the same figure from the control run, which a tier-1 claim must have.
    """
    claim = find(claim_id)
    _refuse_bad(claim, verdict, measured, control)
    append(
        {
            "id": claim.id,
            "verdict": str(verdict),
            "why": getattr(verdict, "why", ""),
            "measured": plain(measured),
            "control": plain(control),
            "notebook": notebook_name(os.environ.get("BROKERLAB_NOTEBOOK")) or claim.notebook,
            "versions": versions(),
            "run": os.environ.get("BROKERLAB_RUN") or f"{INTERACTIVE}{os.getpid()}",
            "when": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
    )
    print(f"{claim.id}: {verdict}")


def set_versions(known: dict[str, str | None]) -> None:
    """The lab says what it runs; names it does not mention keep the version of the pom."""
    _measured_with.clear()
    _measured_with.update(known)


def versions() -> dict[str, str | None]:
    """What a judgement made now was measured with."""
    return {**_pinned(), **_measured_with}


def notebook_name(path: str | None) -> str | None:
    """`04_acks_and_isr` or `evidence/04_acks_and_isr`, from any path to the notebook."""
    if not path:
        return None
    name = PurePath(path).with_suffix("")
    return f"evidence/{name.name}" if name.parent.name == "evidence" else name.name


@lru_cache
def _pinned() -> dict[str, str | None]:
    properties = ElementTree.parse(POM).getroot().find("{*}properties")
    assert properties is not None, "jars/pom.xml has a properties section"
    return {
        "kafka": properties.findtext("{*}kafka.version"),
        "rabbitmq": None,  # the system's, known once a node answers
        "spark": properties.findtext("{*}spark.version"),
    }


def _refuse_bad(claim: Claim, verdict: object, measured: object, control: object) -> None:
    if not isinstance(verdict, str) or verdict not in VERDICTS:
        raise ClaimError(
            f"{verdict!r} is no verdict: compute one of {', '.join(VERDICTS)} "
            "with holds_if(...), dated_if(...) or depends_on(...)."
        )
    if measured is None and verdict != "unknown":
        raise ClaimError(f"{claim.id} is judged without a figure: pass what you counted, measured=")
    if control is None and claim.tier == 1:
        raise ClaimError(
            f"{claim.id} is a tier-1 claim: run the experiment without the fault as well "
            "and pass its count, control="
        )
