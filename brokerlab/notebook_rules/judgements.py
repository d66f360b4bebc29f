"""Rules about judge cells: computed verdicts, controls, and output that nbval can compare."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from brokerlab.claims.catalogue import Claim
from brokerlab.claims.verdicts import VERDICTS
from brokerlab.notebook_rules.fixed import FixedNames
from brokerlab.notebook_rules.reading import COMPARED, CodeCell, Notebook, Violation, argument

VERDICT_LINE = re.compile(rf"([\w-]+): (?:{'|'.join(VERDICTS)})")
ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")


def judgement_violations(notebook: Notebook, claims: Mapping[str, Claim]) -> Iterator[Violation]:
    """Everything wrong with the judgements of one notebook."""
    names = FixedNames(notebook)
    judged: set[str] = set()
    for cell in notebook.cells:
        calls = notebook.judge_calls(cell)
        for call in calls:
            yield from _known_claim(notebook, cell, call, claims, judged)
            yield from _computed(notebook, cell, call, claims, names)
        if calls:
            yield from _saved_judgement(notebook, cell, calls)
        if cell.compared:
            yield from _compared_output(notebook, cell)


def claim_of(call: ast.Call) -> str | None:
    """The id a judge call names, when it is written out."""
    value = argument(call, 0, "claim_id")
    written = isinstance(value, ast.Constant) and isinstance(value.value, str)
    return value.value if written else None


def _known_claim(
    notebook: Notebook,
    cell: CodeCell,
    call: ast.Call,
    claims: Mapping[str, Claim],
    judged: set[str],
) -> Iterator[Violation]:
    claim_id = claim_of(call)
    if claim_id is None:
        sentence = "judge() without a written-out id: write it, so that a search finds the claim."
        yield notebook.violation(cell, "written-id", sentence)
    elif claim_id not in claims:
        sentence = f"{claim_id} is not in claims.toml: correct the id."
        yield notebook.violation(cell, "unknown-claim", sentence)
    elif claim_id in judged:
        sentence = f"{claim_id} is judged twice: judge once, with depends_on() for several cases."
        yield notebook.violation(cell, "judged-twice", sentence)
    judged.add(claim_id or "")


def _computed(
    notebook: Notebook,
    cell: CodeCell,
    call: ast.Call,
    claims: Mapping[str, Claim],
    names: FixedNames,
) -> Iterator[Violation]:
    name = claim_of(call) or "judge()"
    tier_1 = name in claims and claims[name].tier == 1
    verdict = argument(call, 1, "verdict")
    measured, control = argument(call, 2, "measured"), argument(call, 3, "control")
    unseen = any(keyword.arg is None for keyword in call.keywords)  # **figures
    if verdict is not None and names.fixed(verdict):
        sentence = f"The verdict on {name} is typed in: compute it, as in holds_if(lost == sent)."
        yield notebook.violation(cell, "literal-verdict", sentence)
    if measured is not None and names.fixed(measured):
        sentence = f"The figure of {name} is typed in: pass what the experiment counted."
        yield notebook.violation(cell, "literal-figure", sentence)
    if tier_1 and control is None and not unseen:
        sentence = f"{name} is a tier-1 claim without control=: run the control, pass its count."
        yield notebook.violation(cell, "no-control", sentence)
    elif tier_1 and control is not None and names.fixed(control):
        sentence = f"The control of {name} is typed in: run the control, pass its count."
        yield notebook.violation(cell, "no-control", sentence)


def _saved_judgement(
    notebook: Notebook, cell: CodeCell, calls: list[ast.Call]
) -> Iterator[Violation]:
    if not cell.compared:
        sentence = f"The cell judges: tag it `{COMPARED}`, or nbval does not look."
        yield notebook.violation(cell, "untagged-judge", sentence)
    shown = {match[1] for match in map(VERDICT_LINE.fullmatch, cell.printed.splitlines()) if match}
    missing = [claim_id for claim_id in map(claim_of, calls) if claim_id not in shown | {None}]
    if not shown or missing:
        names = ", ".join(map(str, missing)) or "any claim"
        sentence = f"The saved output has no verdict on {names}: run the notebook and save it."
        yield notebook.violation(cell, "unsaved-judge", sentence)


def _compared_output(notebook: Notebook, cell: CodeCell) -> Iterator[Violation]:
    if ADDRESS.search(cell.printed):
        sentence = "A memory address is compared: it differs in every run; print it elsewhere."
        yield notebook.violation(cell, "address", sentence)
    shapes = {out.get("name") if out.output_type == "stream" else "shown" for out in cell.outputs}
    lines = [line for line in cell.printed.splitlines() if line.strip()]
    if shapes - {"stdout"} or not all(VERDICT_LINE.fullmatch(line) for line in lines):
        sentence = "A compared cell shows more than `id: verdict` lines: show it in another cell."
        yield notebook.violation(cell, "compared-output", sentence)
