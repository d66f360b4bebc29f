"""Learners edit copies; the tracked notebooks stay as they were committed.

tracked       a file of the checkout, below notebooks/, labs/ or datasets/
working copy  the same file below `<home>/work`, the folder that JupyterLab shows; the layout
              is the same, so `../datasets/trucks.csv` means the same in both
as given      a working copy with the bytes it was made with (remembered in `.brokerlab.json`);
              only run: its outputs differ, its cells do not; edited: everything else

A copy as given follows the tracked file (git pull). An edited one is never written to: a
fresh one is given by `restore`, which sets the old one aside as `NN_slug.yours-1.ipynb`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from brokerlab import state
from brokerlab.errors import LabError, StateError

FOLDERS = ("notebooks", "labs", "datasets")
# An exercise is no exercise with its solution beside it.
NOT_GIVEN_OUT = ("solution.ipynb", "wrong_answers.py")
NUMBERED = re.compile(r"(\d\d)_[\w-]+")
MEMORY = ".brokerlab.json"


# Tracked notebooks


def checkout(root: Path | None = None) -> Path:
    """The folder that holds the tracked notebooks."""
    found = root or state.project_root()
    if not found or not (found / "notebooks").is_dir():
        raise LabError(
            "There is no notebooks/ folder here: install brokerlab from a checkout (`make setup`)."
        )
    return found


def all_notebooks(root: Path | None = None, *, evidence: bool = False) -> list[Path]:
    """The numbered notebooks in order; with `evidence`, those of notebooks/evidence instead."""
    folder = checkout(root) / "notebooks" / ("evidence" if evidence else "")
    found = [path for path in folder.glob("*.ipynb") if NUMBERED.fullmatch(path.stem)]
    return sorted(found)


def notebook_path(which: int | str | Path, root: Path | None = None) -> Path:
    """The notebook that a number (4, "04"), a name ("04_acks_and_isr") or a path means.

    `evidence/04` means notebooks/evidence/04_acks_and_isr.ipynb.
    """
    words = str(which)
    if match := re.fullmatch(r"evidence/([\w-]+?)(?:\.ipynb)?", words):
        return evidence_path(match[1], root)
    if words.endswith(".ipynb") and Path(words).expanduser().is_file():
        return Path(words).expanduser().resolve()
    return _one_of(all_notebooks(root), words, "notebook")


def evidence_path(which: int | str, root: Path | None = None) -> Path:
    """The same for notebooks/evidence."""
    return _one_of(all_notebooks(root, evidence=True), str(which), "evidence notebook")


def notebook_name(path: Path, root: Path | None = None) -> str:
    """What a notebook is called in a report: `04_acks_and_isr`, `evidence/04_acks_and_isr`."""
    found, path = root or state.project_root(), path.resolve()
    for folder in (found / "notebooks", found / "labs") if found else ():
        if path.is_relative_to(folder.resolve()):
            start = folder if folder.name == "notebooks" else folder.parent
            return path.relative_to(start.resolve()).with_suffix("").as_posix()
    return path.stem


def _one_of(notebooks: list[Path], words: str, noun: str) -> Path:
    wanted = words.removesuffix(".ipynb")
    if wanted.isascii() and wanted.isdigit():
        found = [path for path in notebooks if int(path.stem[:2]) == int(wanted)]
    else:
        found = [path for path in notebooks if path.stem == wanted]
    if len(found) == 1:
        return found[0]
    names = ", ".join(path.stem for path in found or notebooks) or "none yet"
    if found:
        raise LabError(f"{words} could be any of {names}: give the whole name.")
    raise LabError(f"There is no {noun} {words}; there are: {names}.")


# Working copies


def make_copies(home: Path, root: Path | None = None) -> Path:
    """Give every tracked file that is missing, renew copies as given; return `<home>/work`."""
    with _opened(home, root) as copies:
        for name in _tracked(copies.source):
            copies.renew(name)
        copies.drop_removed()
    return copies.work


def restore(home: Path, which: int | str | Path, root: Path | None = None) -> Path:
    """Give a fresh copy of one notebook; a copy with anything of the learner's is kept beside."""
    with _opened(home, root) as copies:
        name = copies.meant_by(which)
        copies.set_aside_unless_ours(name)
        copies.give(name)
    return copies.work / name


@contextlib.contextmanager
def _opened(home: Path, root: Path | None) -> Iterator[_Copies]:
    """The copies of a home, held alone; what is remembered of them is saved at the end."""
    source, work = checkout(root).resolve(), (home / "work").resolve()
    with state.locked(work / ".brokerlab.lock"):
        copies = _Copies(source, work, _remembered(work / MEMORY))
        try:
            yield copies
        except OSError as error:
            raise StateError(
                f"Cannot write the working copy {error.filename} ({error.strerror}): make it "
                "writable, or set BROKERLAB_HOME to a folder of yours."
            ) from error
        finally:
            state.write_json(work / MEMORY, {"version": 1, "copies": copies.given})


@dataclass
class _Copies:
    source: Path
    work: Path
    given: dict[str, dict[str, str]]

    def meant_by(self, which: int | str | Path) -> Path:
        """A tracked file, by number, name, path, or the path of its working copy."""
        path = Path(str(which)).expanduser().resolve()
        if path.is_relative_to(self.work):
            name = path.relative_to(self.work)
            if (self.source / name).is_file():
                return name
        path = notebook_path(which, self.source)
        if not path.is_relative_to(self.source):
            raise LabError(f"{which} is not a notebook of the course, so there is no fresh one.")
        return path.relative_to(self.source)

    def renew(self, name: Path) -> None:
        source, copy = self.source / name, self.work / name
        given = self.given.get(name.as_posix(), {})
        if not copy.exists():
            self.give(name)
        elif copy.is_dir():
            return
        elif _digest(copy) in (given.get("bytes"), _digest(source)):
            self.give(name)
        elif _written(copy) == given.get("cells") != _written(source):
            # Only run. New text is worth more than old outputs, but those are the learner's.
            self.set_aside_unless_ours(name)
            self.give(name)

    def give(self, name: Path) -> None:
        source, copy = self.source / name, self.work / name
        digest = _digest(source)
        if not copy.exists() or _digest(copy) != digest:
            copy.parent.mkdir(parents=True, exist_ok=True)
            partial = copy.with_name(f".{copy.name}.{os.getpid()}")
            shutil.copyfile(source, partial)
            partial.replace(copy)
        self.given[name.as_posix()] = {"bytes": digest, "cells": _written(source)}

    def set_aside_unless_ours(self, name: Path) -> None:
        copy, given = self.work / name, self.given.get(name.as_posix(), {})
        if copy.exists() and _digest(copy) not in (given.get("bytes"), _digest(self.source / name)):
            beside = (copy.with_name(f"{copy.stem}.yours-{n}{copy.suffix}") for n in count(1))
            copy.rename(next(path for path in beside if not path.exists()))

    def drop_removed(self) -> None:
        """A file that left the course leaves the working folder too, unless it was touched."""
        for name in [name for name in self.given if not (self.source / name).exists()]:
            copy = self.work / name
            if copy.is_file() and _digest(copy) == self.given[name]["bytes"]:
                copy.unlink()
            del self.given[name]


def _tracked(source: Path) -> Iterator[Path]:
    for folder in FOLDERS:
        for path in sorted((source / folder).rglob("*")):
            name = path.relative_to(source)
            hidden = any(part.startswith((".", "__")) for part in name.parts)
            if path.is_file() and not hidden and path.name not in NOT_GIVEN_OUT:
                yield name


def _remembered(path: Path) -> dict[str, dict[str, str]]:
    # A memory that cannot be read is no memory: every differing copy then counts as edited.
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        copies = json.loads(path.read_text())["copies"]
        return {name: entry for name, entry in copies.items() if {"bytes", "cells"} <= set(entry)}
    return {}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _written(path: Path) -> str:
    """A digest of what a person wrote in a notebook: its cells, not their outputs."""
    if path.suffix == ".ipynb":
        with contextlib.suppress(ValueError, KeyError, TypeError):
            cells = json.loads(path.read_bytes())["cells"]
            text = [[c["cell_type"], "".join(c["source"]), c.get("attachments")] for c in cells]
            return hashlib.sha256(json.dumps(text, sort_keys=True).encode()).hexdigest()
    return _digest(path)
