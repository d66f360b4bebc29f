"""The catalogue: claims.toml, every claim that a notebook may judge.

tier    1: an experiment with a control; 2: a check; 3: a detail
kind    experiment, default, command, name, concept or example
test    how a maintainer would find out, in a few sentences

It holds no verdict: those are measured. Maintainers keep the claims as JSON lines elsewhere
and write the file with `python -m brokerlab.claims import FILE`.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from brokerlab.errors import ClaimError

CATALOGUE = Path(__file__).resolve().parents[2] / "claims.toml"

HEADER = """\
# The claim catalogue: what somebody wrote about Kafka or RabbitMQ, and where.
# Made by `python -m brokerlab.claims import FILE`. It holds no verdict: notebooks measure those.
#
# tier    1: an experiment with a control; 2: a check; 3: a detail
# source  notes   "Messaging Systems" study notes (Kafka, RabbitMQ, Connect)
#         readme  README of a Kotlin/Java producer-consumer repository on Confluent Platform
#         page    a Kafka reference page with a three-broker compose file
#         slides  Kafka training slides with ActiveMQ comparison and labs
#         guide   chapter notes on "Kafka: The Definitive Guide", 2nd edition
"""


@dataclass(frozen=True)
class Claim:
    """One sentence somebody wrote about a broker."""

    id: str
    notebook: str
    tier: int
    kind: str
    claim: str
    source: tuple[str, ...]
    test: str


@lru_cache
def load(path: Path = CATALOGUE) -> Mapping[str, Claim]:
    """Every claim by its id, in the order of the file."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))["claim"]
    except (OSError, KeyError, tomllib.TOMLDecodeError) as error:
        raise ClaimError(
            f"The claim catalogue {path} cannot be read ({error}): use a checkout of the project "
            "(`git checkout claims.toml` brings the file back)."
        ) from error
    return MappingProxyType(_by_id(entries, place=lambda n: f"{path}, claim {n}"))


def find(claim_id: str) -> Claim:
    """The claim with this id; a wrong id is answered with the closest right one."""
    claims = load()
    if claim_id in claims:
        return claims[claim_id]
    close = difflib.get_close_matches(str(claim_id), claims, n=1)
    hint = f'did you mean "{close[0]}"?' if close else "`brokerlab claims` lists every id."
    raise ClaimError(f'There is no claim "{claim_id}" in claims.toml: {hint}')


def import_claims(source: Path, target: Path = CATALOGUE) -> int:
    """Write the catalogue from a file with one JSON claim a line; the number of claims."""
    try:
        lines = source.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise ClaimError(f"Cannot read {source} ({error.strerror}): name a JSON-lines file.") from (
            error
        )
    entries = [
        _decoded(line, f"{source}, line {n}") for n, line in enumerate(lines, 1) if line.strip()
    ]
    claims = _by_id(entries, place=lambda n: f"{source}, claim {n}")
    target.write_text(to_toml(claims.values()), encoding="utf-8", newline="\n")
    load.cache_clear()
    return len(claims)


def to_toml(claims: Iterable[Claim]) -> str:
    """The text of claims.toml, sorted by notebook, tier and id."""
    ordered = sorted(claims, key=lambda claim: (claim.notebook, claim.tier, claim.id))
    return HEADER + "".join(f"\n[[claim]]\n{_table(claim)}" for claim in ordered)


def _table(claim: Claim) -> str:
    return "".join(f"{f.name} = {_toml(getattr(claim, f.name))}\n" for f in fields(Claim))


def _toml(value: str | int | tuple[str, ...]) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    # A JSON string is a TOML basic string, but for DEL, which TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _decoded(line: str, place: str) -> dict:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise ClaimError(f"{place} is not JSON ({error}): correct that line.") from error


def _by_id(entries: list[dict], place) -> dict[str, Claim]:
    claims: dict[str, Claim] = {}
    for number, entry in enumerate(entries, 1):
        claim = _checked(entry, place(number))
        if claim.id in claims:
            raise ClaimError(f'{place(number)}: the id "{claim.id}" is taken; choose another.')
        claims[claim.id] = claim
    return claims


def _checked(entry: dict, place: str) -> Claim:
    wanted = {f.name for f in fields(Claim)}
    if not isinstance(entry, dict) or set(entry) != wanted:
        raise ClaimError(f"{place} must have exactly the fields {', '.join(sorted(wanted))}.")
    texts = [entry[name] for name in wanted - {"tier", "source"}]
    if not isinstance(entry["source"], list) or not all(isinstance(text, str) for text in texts):
        raise ClaimError(f"{place}: source must be a list of texts, and the rest but tier a text.")
    claim = Claim(**{**entry, "source": tuple(entry["source"])})
    if not re.fullmatch(r"\d\d-[a-z0-9-]+", claim.id) or claim.id[:2] != claim.notebook[:2]:
        raise ClaimError(
            f'{place}: the id "{claim.id}" must be small letters, digits and dashes '
            f"after the number of its notebook, {claim.notebook}."
        )
    if claim.tier not in (1, 2, 3) or not claim.claim.strip() or not claim.source:
        raise ClaimError(f'{place}: "{claim.id}" needs a tier of 1 to 3, a claim and a source.')
    return claim
