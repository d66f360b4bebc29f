"""The ledger: every judgement made in this home, and what they add up to.

judgement  a line of `<home>/judgements.jsonl`
row        what the ledger says about one claim: a verdict if its judgements agree,
           `unstable` if they do not, `open` if there are none
forget     `brokerlab clean` removes the ledger; `brokerlab reset NN` appends a line after which
           nothing older about notebook NN counts

Which judgements count for a row: those of runs, made with the versions of the newest one.
A person turning knobs in JupyterLab gets other verdicts, and should: interactive judgements
are shown only where no run judged the claim, the newest alone, and never reach CLAIMS.md.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

from brokerlab.claims.catalogue import Claim, load
from brokerlab.errors import ClaimError

INTERACTIVE = "interactive-"
FILE_NAME = "judgements.jsonl"


def ledger_file(home: Path | None = None) -> Path:
    """Where the judgements of a home are; of this lab's home when none is named."""
    # Imported when needed, so that reading a page needs no lab.
    from brokerlab import state

    return (home or state.home()) / FILE_NAME


def append(entry: Mapping[str, object], home: Path | None = None) -> None:
    """Add one line. A single write to a file opened for appending: writers do not mix lines."""
    from brokerlab import state

    path = ledger_file(home)
    state.ensure_folder(path.parent)
    line = (json.dumps(entry, allow_nan=False) + "\n").encode()
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            written = os.write(handle, line)
        finally:
            os.close(handle)
    except OSError as error:
        raise ClaimError(f"Cannot write {path} ({error.strerror}): make it writable.") from error
    if written < len(line):
        raise ClaimError(f"The disk is full: half a judgement was written to {path}. Free space.")


def forget(home: Path | None = None, *, notebook: str | None = None) -> None:
    """Drop every judgement, or those on the claims of one notebook ("04" or its full name)."""
    if notebook is None:
        ledger_file(home).unlink(missing_ok=True)
    elif ledger_file(home).exists():
        append({"forget": notebook[:2]}, home)


def judgements(home: Path | None = None) -> list[dict]:
    """Every judgement not forgotten, oldest first. A killed writer's half last line is dropped."""
    path = ledger_file(home)
    lines = path.read_text("ascii", errors="replace").splitlines(True) if path.exists() else []
    kept: list[dict] = []
    for number, line in enumerate(lines, 1):
        if not line.endswith("\n"):
            break
        entry = _decoded(line, path, number)
        if "forget" in entry:
            kept = [old for old in kept if old["id"][:2] != entry["forget"]]
        else:
            kept.append(entry)
    return kept


def ledger_rows(
    home: Path | None = None, catalogue: Mapping[str, Claim] | None = None
) -> list[dict]:
    """One row for every claim of the catalogue, in its order."""
    made = defaultdict(list)
    for judgement in judgements(home):
        made[judgement["id"]].append(judgement)
    claims = load() if catalogue is None else catalogue
    return [_row(claim, _counted(made[claim.id])) for claim in claims.values()]


def interactive(judgement: Mapping[str, object]) -> bool:
    """Made by a person in JupyterLab, not by a run."""
    return str(judgement.get("run") or "").startswith(INTERACTIVE)


def _counted(made: list[dict]) -> list[dict]:
    runs = [judgement for judgement in made if not interactive(judgement)]
    if not runs:
        return made[-1:]
    newest = runs[-1]["versions"]
    return [judgement for judgement in runs if _same_versions(judgement["versions"], newest)]


def _same_versions(one: Mapping[str, str | None], other: Mapping[str, str | None]) -> bool:
    # A version nobody asked for (RabbitMQ in a Kafka notebook) is no difference.
    return all(one[name] == other[name] for name in one if one[name] and other.get(name))


def _row(claim: Claim, counted: list[dict]) -> dict:
    row = {
        "id": claim.id,
        "verdict": "open",
        "why": "",
        "measured": None,
        "control": None,
        "notebook": claim.notebook,
        "versions": {},
        "when": None,
        "run": None,
        "runs": 0,
        "claim": claim.claim,
        "tier": claim.tier,
        "topic": claim.notebook,
    }
    if not counted:
        return row
    row |= counted[-1] | {"runs": len({judgement["run"] for judgement in counted})}
    votes = Counter(judgement["verdict"] for judgement in counted)
    if len(votes) > 1:
        row["verdict"] = "unstable"
        row["why"] = ", ".join(f"{verdict} {count}" for verdict, count in sorted(votes.items()))
    return row


def _decoded(line: str, path: Path, number: int) -> dict:
    try:
        entry = json.loads(line)
        if "forget" in entry or {"id", "verdict", "versions", "run", "when"} <= set(entry):
            return entry
    except (json.JSONDecodeError, TypeError):
        pass
    raise ClaimError(
        f"{path}, line {number} is not a judgement: delete that line, "
        "or `brokerlab clean` and run the notebooks again."
    )
