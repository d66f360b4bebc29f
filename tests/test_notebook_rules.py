"""Planted violations are caught, honest cells are not, and our own notebooks keep the rules."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from brokerlab.notebook_rules import check_files, check_notebook, check_notebooks

TIER_1 = "04-acks1-loses-acked-records"
TIER_2 = "04-acks1-at-least-once"
NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"


def cell(source: str, *tags: str, out: str | None = None, **fields):
    outputs = [] if out is None else [new_output("stream", name="stdout", text=out)]
    node = new_code_cell(source, outputs=outputs, **fields)
    node.metadata["tags"] = list(tags)
    return node


def judging(source: str, claim_id: str = TIER_2, verdict: str = "holds"):
    return cell(source, "nbval-check-output", out=f"{claim_id}: {verdict}\n")


PARAMETERS = cell("records = 2_000", "parameters")
EXPERIMENT = cell(
    "import brokerlab\nlab = brokerlab.up()\nlost = lab.lose(records)\ncalm = lab.lose(0)"
)


def rules(*cells) -> list[str]:
    """The names of the rules that a notebook with these cells breaks."""
    node = new_notebook(cells=[PARAMETERS, EXPERIMENT, *cells])
    return [violation.rule for violation in check_notebook(node, "04_acks_and_isr")]


def verdict_rules(lines: str, expression: str) -> list[str]:
    judge = f'judge("{TIER_2}", {expression}, measured=lost)'
    return rules(cell(lines), judging(judge))


def test_a_judge_cell_as_it_should_be_breaks_no_rule():
    source = f'judge("{TIER_1}", holds_if(lost == records), measured=lost, control=calm)'
    assert rules(judging(source, TIER_1)) == []


@pytest.mark.parametrize(
    ("lines", "expression"),
    [
        ("", '"holds"'),
        ("", 'verdict="holds"'),
        ("", 'f"holds"'),
        ("", "f\"{'holds'}\""),
        ("", '"hol" + "ds"'),
        ("", '"HOLDS".lower()'),
        ("", "holds_if(True)"),
        ("", "brokerlab.holds_if(True)"),
        ("", "holds_if(records == 2000)"),
        ("", '"holds" if True else "refuted"'),
        ("", 'depends_on({"a": True, "b": False})'),
        ("", '[word for word in ["holds"]][0]'),
        ('v = "holds"', "v"),
        ('v: str = "holds"', "v"),
        ('v = "refuted"\nv = "holds"', "v"),
        ('w = "holds"\nv = w', "v"),
        ('v, w = "holds", "refuted"', "v"),
        ('with lab.paused():\n    v = "holds"', "v"),
        ('v = {"a": "holds"}', 'v["a"]'),
        ('cases = {"a": True, "b": False}', "depends_on(cases)"),
        ('def told():\n    return "holds"', "told()"),
    ],
)
def test_a_typed_in_verdict_is_caught_whatever_detour_it_takes(lines, expression):
    assert verdict_rules(lines, expression) == ["literal-verdict"]


@pytest.mark.parametrize(
    ("lines", "expression"),
    [
        ("", "holds_if(lost == records)"),
        ("", '"holds" if lost else "refuted"'),
        ("", "holds_if(None if lost is None else lost == 0)"),
        ("", 'depends_on({"acks=1": lost > 0, "acks=all": calm > 0})'),
        ("v = holds_if(lost == 0)", "v"),
        ('v = "unknown"\nif lost:\n    v = "holds"', "v"),
        ('if lost:\n    v = "holds"\nelse:\n    v = "refuted"', "v"),
        ('try:\n    lab.go()\n    v = "holds"\nexcept OSError:\n    v = "refuted"', "v"),
        ('v = "holds"\nwith suppress(OSError):\n    lab.go()\n    v = "refuted"', "v"),
        ("n = 0\nfor x in lab.records():\n    n += 1", "holds_if(n == 5)"),
        ("for n in range(9):\n    if lab.ready():\n        break", "holds_if(n == 5)"),
        ("got = []\nlab.each(got.append)", "holds_if(len(got) == 3)"),
        ("cases = {}\nfor a in (1, 2):\n    cases[str(a)] = lab.go(a)", "depends_on(cases)"),
        ("got = set()\nlab.fill(got)", "holds_if(len(got) == 3)"),
        ("n = 0\ndef seen(_):\n    global n\n    n += 1", "holds_if(n == 3)"),
        ("out = !ls", "holds_if(len(out) == 3)"),
        ("v = await lab.verdict()", "holds_if(v.valid)"),
        ("from os import getpid", "holds_if(all(x > 0 for x in [getpid()]))"),
    ],
)
def test_a_verdict_that_a_run_decides_is_never_accused(lines, expression):
    assert verdict_rules(lines, expression) == []


def test_a_judge_under_another_name_is_still_a_judge():
    imported = cell("from brokerlab import judge as decide")
    assert rules(imported, judging(f'decide("{TIER_2}", "holds", measured=lost)')) == [
        "literal-verdict"
    ]
    assert rules(judging(f'brokerlab.judge("{TIER_2}", "holds", measured=lost)')) == [
        "literal-verdict"
    ]


def test_a_typed_in_figure_is_caught():
    assert rules(judging(f'judge("{TIER_2}", holds_if(lost > 0), measured=1000)')) == [
        "literal-figure"
    ]


@pytest.mark.parametrize("control", ["", ", control=None", ", control=0", ", control=records"])
def test_a_tier_1_judgement_without_a_measured_control_is_caught(control):
    source = f'judge("{TIER_1}", holds_if(lost > 0), measured=lost{control})'
    assert rules(judging(source, TIER_1)) == ["no-control"]


def test_an_unknown_claim_an_unwritten_id_and_a_second_judgement_are_caught():
    good = f'judge("{TIER_2}", holds_if(lost > 0), measured=lost)'
    wrong = good.replace(TIER_2, "04-no-such")
    assert rules(judging(wrong, "04-no-such")) == ["unknown-claim"]
    assert rules(judging(good.replace(f'"{TIER_2}"', "name"))) == ["written-id"]
    assert rules(judging(good), judging(good)) == ["judged-twice"]


def test_a_judge_cell_that_nbval_would_not_compare_is_caught():
    source = f'judge("{TIER_2}", holds_if(lost > 0), measured=lost)'
    assert rules(cell(source, out=f"{TIER_2}: holds\n")) == ["untagged-judge"]
    assert rules(cell(source, "nbval-check-output")) == ["unsaved-judge"]
    assert rules(judging(source, TIER_1)) == ["unsaved-judge"]
    assert rules(cell(source)) == ["untagged-judge", "unsaved-judge"]


def test_a_compared_cell_that_shows_anything_else_is_caught():
    tag = "nbval-check-output"
    assert rules(cell("print(lost)", tag, out="lost 1000\n")) == ["compared-output"]
    assert rules(cell("print(lost)", tag, out=f"{TIER_2}: fine\n")) == ["compared-output"]
    assert rules(cell("print(lab)", tag, out="<Lab object at 0x7f2a91b3c0d0>\n")) == [
        *("address", "compared-output")
    ]
    loud = judging(f'judge("{TIER_2}", holds_if(lost > 0), measured=lost)')
    loud.outputs.append(new_output("stream", name="stderr", text="warning\n"))
    assert rules(loud) == ["compared-output"]
    shown = judging(f'judge("{TIER_2}", holds_if(lost > 0), measured=lost)')
    shown.outputs.append(new_output("display_data", data={"image/png": "aaaa"}))
    assert rules(shown) == ["compared-output"]


def test_a_notebook_needs_exactly_one_parameters_cell():
    for cells in ([EXPERIMENT], [PARAMETERS, cell("seed = 7", "parameters")]):
        (violation,) = check_notebook(new_notebook(cells=cells), "04_acks_and_isr")
        assert violation.rule == "parameters" and violation.cell is None


def test_saved_errors_and_execution_counts_are_caught():
    failed = cell("lab.go()")
    failed.outputs.append(new_output("error", ename="OSError", evalue="no", traceback=["no"]))
    assert rules(failed) == ["error-output"]
    assert rules(cell("lost", execution_count=3)) == ["execution-count"]
    counted = cell("lost")
    data = {"text/plain": "3"}
    counted.outputs.append(new_output("execute_result", data=data, execution_count=3))
    assert rules(counted) == ["execution-count"]


def test_a_long_cell_and_one_that_does_not_parse_are_caught():
    assert rules(cell("lost\n" * 20)) == []
    assert rules(cell("lost\n" * 21)) == ["long-cell"]
    assert rules(cell("def broken(:")) == ["syntax"]
    assert rules(cell("%%bash\nfor i in *; do echo; done"), cell("%time lost\n!ls")) == []


@pytest.mark.parametrize("path", ["/root/x", "/home/me/a", "/tmp/run.1", "/work/main", "/root"])
def test_a_folder_of_one_machine_in_an_output_is_caught(path):
    for text in (path, f"at {path}: no", f"'{path}'", f"file://{path}", f"<td>{path}</td>"):
        assert rules(cell("lost", out=text)) == ["own-path"], text
    table = cell("lost")
    table.outputs.append(new_output("display_data", data={"text/html": f"<b>{path}</b>"}))
    assert rules(table) == ["own-path"]


def test_relative_paths_addresses_on_the_web_pictures_and_kafka_s_defaults_are_no_own_paths():
    for text in (
        ".lab/work/04",
        "localhost:8888/work",
        "./tmp/x",
        "/tmp/kraft-combined-logs",
        "/x",
    ):
        assert rules(cell("lost", out=text)) == [], text
    picture = cell("lost")
    picture.outputs.append(new_output("display_data", data={"image/png": "iVB+/root/tmp"}))
    assert rules(picture) == []


def test_a_function_pasted_into_two_notebooks_is_caught():
    pasted = "def told(x):\n    y = x + 1\n    return y"
    short = "def short(x):\n    return x"
    first = new_notebook(cells=[PARAMETERS, cell(pasted), cell(short)])
    second = new_notebook(cells=[PARAMETERS, cell("# again\n" + pasted), cell(short)])
    (violation,) = check_notebooks({"01_the_log": first, "02_keys": second})
    assert (violation.rule, violation.notebook, violation.cell) == (
        "repeated-function",
        "02_keys",
        1,
    )
    assert (
        str(violation) == "02_keys, cell 1: told() is also in 01_the_log: move it into the package."
    )


def test_a_file_that_is_no_notebook_is_itself_a_violation(tmp_path):
    (tmp_path / "evidence").mkdir()
    broken = tmp_path / "evidence" / "04_acks.ipynb"
    broken.write_text("{")
    (violation,) = check_files([broken])
    assert (violation.rule, violation.notebook) == ("unreadable", "evidence/04_acks")


def test_a_notebook_read_from_a_file_is_checked_like_one_in_memory(tmp_path):
    path = tmp_path / "04_acks.ipynb"
    nbformat.write(new_notebook(cells=[PARAMETERS, judging(f'judge("{TIER_2}", "holds")')]), path)
    assert [violation.rule for violation in check_files([path])] == ["literal-verdict"]


def test_every_notebook_of_the_course_keeps_the_rules():
    paths = sorted([*NOTEBOOKS.glob("*.ipynb"), *(NOTEBOOKS / "evidence").glob("*.ipynb")])
    if not paths:
        pytest.skip("no notebooks yet")
    broken = check_files(paths)
    assert not broken, "\n" + "\n".join(map(str, broken))
