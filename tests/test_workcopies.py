"""Working copies: what a learner did is never lost, what they did not touch stays current."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from brokerlab import workcopies
from brokerlab.errors import LabError


def notebook(*sources: str, printed: str = "") -> str:
    outputs = [{"output_type": "stream", "name": "stdout", "text": printed}] if printed else []
    cells = [
        {"cell_type": "code", "source": source, "outputs": outputs, "metadata": {}}
        for source in sources
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with two notebooks, one with evidence, an exercise and a dataset."""
    files = {
        "notebooks/00_start_here.ipynb": notebook("1"),
        "notebooks/04_acks_and_isr.ipynb": notebook("4"),
        "notebooks/evidence/04_acks_and_isr.ipynb": notebook("44"),
        "notebooks/.ipynb_checkpoints/00_start_here-checkpoint.ipynb": "{}",
        "labs/01_keys/lab.ipynb": notebook("todo"),
        "labs/01_keys/checks.py": "",
        "labs/01_keys/solution.ipynb": notebook("done"),
        "datasets/trucks.csv": "truck\n1\n",
    }
    for name, text in files.items():
        path = tmp_path / "checkout" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "checkout"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "lab"


@pytest.mark.parametrize(
    "which", [4, "4", "04", "04_acks_and_isr", "04_acks_and_isr.ipynb", "{path}"]
)
def test_a_notebook_is_found_by_number_name_or_path(root, which):
    path = root / "notebooks" / "04_acks_and_isr.ipynb"
    assert workcopies.notebook_path(str(which).format(path=path), root) == path


def test_evidence_is_found_beside_the_notebook_it_belongs_to(root):
    expected = root / "notebooks" / "evidence" / "04_acks_and_isr.ipynb"
    assert workcopies.evidence_path(4, root) == expected
    assert workcopies.notebook_path("evidence/04", root) == expected
    assert workcopies.notebook_name(expected, root) == "evidence/04_acks_and_isr"
    assert expected not in workcopies.all_notebooks(root)


@pytest.mark.parametrize("which", [99, "99", "acks", "nowhere/04.ipynb"])
def test_an_unknown_notebook_is_refused_with_a_list_of_those_there_are(root, which):
    with pytest.raises(LabError, match="there are: 00_start_here, 04_acks_and_isr") as error:
        workcopies.notebook_path(which, root)
    assert str(which) in str(error.value) and "\n" not in str(error.value)


def test_copies_have_the_layout_of_the_checkout_without_solutions_and_checkpoints(root, home):
    work = workcopies.make_copies(home, root)
    assert work == home / "work"
    given = {p.relative_to(work).as_posix() for p in work.rglob("*") if p.is_file()}
    assert {name for name in given if not name.startswith(".")} == {
        "notebooks/00_start_here.ipynb",
        "notebooks/04_acks_and_isr.ipynb",
        "notebooks/evidence/04_acks_and_isr.ipynb",
        "labs/01_keys/lab.ipynb",
        "labs/01_keys/checks.py",
        "datasets/trucks.csv",
    }


def test_a_learners_edit_survives_the_next_up_and_a_git_pull(root, home):
    copy = workcopies.make_copies(home, root) / "notebooks/04_acks_and_isr.ipynb"
    copy.write_text(notebook("mine"))
    (root / "notebooks/04_acks_and_isr.ipynb").write_text(notebook("4, corrected"))
    workcopies.make_copies(home, root)
    workcopies.make_copies(home, root)
    assert copy.read_text() == notebook("mine")


def test_an_untouched_copy_follows_the_tracked_notebook(root, home):
    copy = workcopies.make_copies(home, root) / "notebooks/04_acks_and_isr.ipynb"
    for text in (notebook("4, corrected"), notebook("4, again")):
        (root / "notebooks/04_acks_and_isr.ipynb").write_text(text)
        workcopies.make_copies(home, root)
        assert copy.read_text() == text


def test_a_copy_that_was_only_run_follows_new_text_and_its_outputs_are_kept_beside(root, home):
    copy = workcopies.make_copies(home, root) / "notebooks/04_acks_and_isr.ipynb"
    copy.write_text(notebook("4", printed="measured here"))
    workcopies.make_copies(home, root)
    assert "measured here" in copy.read_text(), "nothing changed: nothing to renew"
    (root / "notebooks/04_acks_and_isr.ipynb").write_text(notebook("4, corrected"))
    workcopies.make_copies(home, root)
    assert copy.read_text() == notebook("4, corrected")
    assert "measured here" in copy.with_name("04_acks_and_isr.yours-1.ipynb").read_text()


def test_a_deleted_copy_is_given_again(root, home):
    copy = workcopies.make_copies(home, root) / "notebooks/00_start_here.ipynb"
    copy.unlink()
    workcopies.make_copies(home, root)
    assert copy.exists()


def test_a_notebook_that_left_the_course_goes_unless_it_was_edited(root, home):
    work = workcopies.make_copies(home, root)
    (work / "notebooks/04_acks_and_isr.ipynb").write_text(notebook("mine"))
    for name in ("00_start_here", "04_acks_and_isr"):
        (root / f"notebooks/{name}.ipynb").unlink()
    workcopies.make_copies(home, root)
    left = sorted(path.name for path in (work / "notebooks").glob("*.ipynb"))
    assert left == ["04_acks_and_isr.ipynb"]


@pytest.mark.parametrize("damage", ["", "[]", '{"copies": [1]}', '{"copies": {"a": 1}}', "{}"])
def test_without_its_memory_every_differing_copy_counts_as_edited(root, home, damage):
    work = workcopies.make_copies(home, root)
    (work / ".brokerlab.json").write_text(damage)
    (root / "notebooks/04_acks_and_isr.ipynb").write_text(notebook("4, corrected"))
    workcopies.make_copies(home, root)
    assert (work / "notebooks/04_acks_and_isr.ipynb").read_text() == notebook("4")


def test_restore_gives_a_fresh_notebook_and_keeps_every_edited_one_beside(root, home):
    copy = workcopies.make_copies(home, root) / "notebooks/04_acks_and_isr.ipynb"
    for edit in ("first try", "second try"):
        copy.write_text(notebook(edit))
        assert workcopies.restore(home, 4, root) == copy
        assert copy.read_text() == notebook("4")
    kept = [copy.with_name(f"04_acks_and_isr.yours-{n}.ipynb").read_text() for n in (1, 2)]
    assert kept == [notebook("first try"), notebook("second try")]


def test_restoring_an_untouched_copy_leaves_nothing_beside(root, home):
    copy = workcopies.make_copies(home, root) / "notebooks/04_acks_and_isr.ipynb"
    (root / "notebooks/04_acks_and_isr.ipynb").write_text(notebook("4, corrected"))
    workcopies.restore(home, "04", root)
    assert copy.read_text() == notebook("4, corrected")
    assert len(list(copy.parent.glob("04*"))) == 1


def test_restore_works_before_any_copy_was_made_and_by_the_copys_own_path(root, home):
    copy = workcopies.restore(home, "00", root)
    assert copy.read_text() == notebook("1")
    exercise = workcopies.make_copies(home, root) / "labs/01_keys/lab.ipynb"
    exercise.write_text(notebook("solved"))
    assert workcopies.restore(home, exercise, root) == exercise
    assert exercise.read_text() == notebook("todo")


def test_restore_refuses_a_notebook_of_somebody_else(root, home, tmp_path):
    own = tmp_path / "own.ipynb"
    own.write_text(notebook("own"))
    with pytest.raises(LabError, match="not a notebook of the course"):
        workcopies.restore(home, own, root)
