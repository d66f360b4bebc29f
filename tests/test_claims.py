"""The claim catalogue, the ledger and CLAIMS.md. No broker needed."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tomllib
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import numpy
import pytest

from brokerlab import claims
from brokerlab.claims import catalogue, dated_if, depends_on, holds_if, judge, judging
from brokerlab.claims.figures import compact, plain
from brokerlab.claims.ledger import judgements
from brokerlab.errors import ClaimError
from brokerlab.waiting import wait_until

PROJECT = Path(__file__).resolve().parents[1]
TIER_1 = "04-acks1-loses-acked-records"
TIER_2 = "04-acks1-at-least-once"
OTHER_NOTEBOOK = "00-cluster-uuid-random"


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """A fresh home, judged by a run called r1."""
    monkeypatch.setenv("BROKERLAB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BROKERLAB_RUN", "r1")
    monkeypatch.delenv("BROKERLAB_NOTEBOOK", raising=False)
    monkeypatch.setattr(judging, "_measured_with", {})
    return tmp_path / "home"


@pytest.fixture
def run(home, monkeypatch):
    """run("r2", TIER_2, True): another run judges a claim; run(None, ...): a person does."""

    def judged(name: str | None, claim_id: str, outcome: bool, **figures) -> None:
        if name is None:
            monkeypatch.delenv("BROKERLAB_RUN", raising=False)
        else:
            monkeypatch.setenv("BROKERLAB_RUN", name)
        judge(claim_id, holds_if(outcome), **{"measured": 1, "control": 0, **figures})

    return judged


def row_of(claim_id: str) -> dict:
    return next(row for row in claims.ledger_rows() if row["id"] == claim_id)


# The catalogue


def test_every_claim_of_the_catalogue_is_complete_and_its_id_is_unique():
    entries = tomllib.loads(catalogue.CATALOGUE.read_text(encoding="utf-8"))["claim"]
    assert len({entry["id"] for entry in entries}) == len(entries) == len(claims.load()) > 1000
    for claim in claims.load().values():
        assert claim.claim and claim.source and claim.test and claim.tier in (1, 2, 3)
        assert claim.id[:2] == claim.notebook[:2]


def test_the_catalogue_holds_no_verdict_and_names_only_the_five_sources():
    named = {source.partition(":")[0] for c in claims.load().values() for source in c.source}
    assert named == {"notes", "readme", "page", "slides", "guide"}
    assert not re.search(r"^verdict", catalogue.CATALOGUE.read_text("utf-8"), re.MULTILINE)


def test_writing_the_catalogue_again_from_what_was_read_changes_no_byte():
    assert catalogue.to_toml(claims.load().values()) == catalogue.CATALOGUE.read_text("utf-8")


def test_texts_with_quotes_backslashes_control_characters_and_unicode_survive_import(tmp_path):
    nasty = 'a "b" \\ c\td\ne \x7f \x01 – ’ \u2028 \U0001f430'
    source, target = tmp_path / "in.jsonl", tmp_path / "out.toml"
    entry = {"id": "01-x", "notebook": "01_the_log", "tier": 2, "kind": "name", "claim": nasty}
    entry |= {"source": [nasty], "test": nasty}
    source.write_text(json.dumps(entry, ensure_ascii=False) + "\n\n", encoding="utf-8")
    assert claims.import_claims(source, target) == 1
    read = claims.load(target)["01-x"]
    assert (read.claim, read.source, read.test) == (nasty, (nasty,), nasty)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"verdict": "holds"}, "exactly the fields"),
        ({"id": "02-x"}, "number of its notebook"),
        ({"id": "01 X"}, "small letters"),
        ({"tier": 4}, "tier of 1 to 3"),
        ({"source": "notes"}, "list of texts"),
    ],
)
def test_a_bad_claim_is_refused_at_import_with_its_place(tmp_path, change, said):
    entry = {"id": "01-x", "notebook": "01_the_log", "tier": 2, "kind": "name", "claim": "c"}
    entry |= {"source": ["notes: a"], "test": "t"} | change
    (tmp_path / "in.jsonl").write_text(json.dumps(entry))
    with pytest.raises(ClaimError, match=f"claim 1.*{said}"):
        claims.import_claims(tmp_path / "in.jsonl", tmp_path / "out.toml")


def test_an_id_given_twice_is_refused_at_import(tmp_path):
    line = json.dumps(asdict(claims.find(TIER_1)))
    (tmp_path / "in.jsonl").write_text(f"{line}\n{line}\n")
    with pytest.raises(ClaimError, match="is taken"):
        claims.import_claims(tmp_path / "in.jsonl", tmp_path / "out.toml")


def test_the_import_command_writes_the_file_and_answers_a_missing_one_with_exit_2(tmp_path):
    def imported(name: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "brokerlab.claims", "import", str(tmp_path / name)]
        command += ["--to", str(tmp_path / "out.toml")]
        return subprocess.run(command, capture_output=True, text=True, timeout=30)

    lines = [json.dumps(asdict(claim)) for claim in claims.load().values()]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    assert imported("in.jsonl").returncode == 0
    assert (tmp_path / "out.toml").read_bytes() == catalogue.CATALOGUE.read_bytes()
    missing = imported("none.jsonl")
    assert missing.returncode == 2
    assert "Cannot read" in missing.stderr and "Traceback" not in missing.stderr


def test_a_missing_catalogue_is_said_in_a_sentence(tmp_path):
    with pytest.raises(ClaimError, match=r"git checkout claims\.toml"):
        claims.load(tmp_path / "claims.toml")


# Verdicts


def test_holds_if_gives_holds_refuted_or_unknown():
    assert [holds_if(x) for x in (True, False, None, "unknown")] == [
        *("holds", "refuted", "unknown", "unknown")
    ]
    assert holds_if(numpy.int64(3) == 3) == "holds"


def test_an_outcome_whose_control_failed_is_unknown():
    assert holds_if(True, provided=False) == "unknown"
    assert depends_on({"a": True}, provided=None) == "unknown"
    assert dated_if(True, since="4.0", provided=False) == "unknown"


def test_a_bare_count_is_no_outcome():
    for outcome in (1000, 0, "yes", []):
        with pytest.raises(ClaimError, match="comparison"):
            holds_if(outcome)


def test_depends_on_says_on_what():
    assert depends_on({"a": True, "b": True}) == "holds"
    assert depends_on({"a": False, "b": False}) == "refuted"
    mixed = depends_on({"acks=1": True, "acks=all": False})
    assert mixed == "depends" and mixed.why == "acks=1 holds, acks=all refuted"
    assert depends_on({"a": True, "b": None}) == "unknown"
    assert depends_on({"a": True, "b": None, "c": False}) == "depends"
    assert depends_on({}) == "unknown"


def test_dated_needs_a_server_at_least_as_new_as_the_change(home):
    assert dated_if(True, since="4.0") == "dated"
    assert dated_if(True, since="4.0").why == "since kafka 4.0"
    assert dated_if(False, since="4.0") == "holds"
    assert dated_if(None, since="4.0") == "unknown"
    claims.set_versions({"kafka": "3.9.1"})
    assert dated_if(True, since="4.0") == "refuted"
    claims.set_versions({"kafka": "4.10.0"})
    assert dated_if(True, since="4.9") == "dated"


def test_dated_asks_for_the_version_of_a_product_nobody_started(home):
    with pytest.raises(ClaimError, match="start the lab first"):
        dated_if(True, since="4.0", product="rabbitmq")
    assert dated_if(True, since="1.0", product="pytest") == "dated"


# judge


def test_judge_prints_only_the_id_and_the_verdict_and_appends_one_line(home, capsys):
    assert judge(TIER_1, holds_if(True), measured=1000, control=0) is None
    assert capsys.readouterr() == (f"{TIER_1}: holds\n", "")
    lines = (home / "judgements.jsonl").read_text().splitlines()
    (row,) = map(json.loads, lines)
    assert row["measured"] == 1000 and row["control"] == 0 and row["run"] == "r1"
    assert row["notebook"] == "04_acks_and_isr"
    assert datetime.fromisoformat(row["when"]).utcoffset().total_seconds() == 0


def test_a_judgement_carries_the_versions_of_the_pom_and_then_those_of_the_lab(home):
    judge(TIER_2, holds_if(True), measured=1)
    claims.set_versions({"rabbitmq": "3.10.8"})
    judge(TIER_2, holds_if(True), measured=1)
    before, after = (row["versions"] for row in judgements())
    assert re.fullmatch(r"\d+\.\d+\.\d+", before["kafka"]) and before["rabbitmq"] is None
    assert after == before | {"rabbitmq": "3.10.8"}


def test_a_judgement_names_the_notebook_that_ran(home, monkeypatch):
    monkeypatch.setenv("BROKERLAB_NOTEBOOK", "/x/notebooks/evidence/04_acks_and_isr.ipynb")
    judge(TIER_2, holds_if(True), measured=1)
    monkeypatch.setenv("BROKERLAB_NOTEBOOK", "22_chaos_day.ipynb")
    judge(TIER_2, holds_if(True), measured=1)
    assert [row["notebook"] for row in judgements()] == [
        *("evidence/04_acks_and_isr", "22_chaos_day")
    ]


def test_a_wrong_id_is_answered_with_the_closest_one_and_nothing_is_written(home, capsys):
    with pytest.raises(ClaimError, match=f'did you mean "{TIER_1}"'):
        judge("04-ack1-loses-acked-record", holds_if(True), measured=1, control=1)
    with pytest.raises(ClaimError, match="brokerlab claims"):
        judge("zzz", holds_if(True), measured=1)
    assert not (home / "judgements.jsonl").exists() and capsys.readouterr().out == ""


@pytest.mark.parametrize("verdict", ["true", "Holds", "", "open", "unstable", True, None, 3])
def test_what_is_no_verdict_is_refused(home, verdict):
    with pytest.raises(ClaimError, match="is no verdict: compute one of"):
        judge(TIER_2, verdict, measured=1)


def test_a_tier_1_claim_cannot_be_judged_without_a_control(home):
    with pytest.raises(ClaimError, match="control="):
        judge(TIER_1, holds_if(True), measured=1000)
    judge(TIER_1, holds_if(True), measured=1000, control=0)


def test_a_verdict_other_than_unknown_needs_a_figure(home):
    with pytest.raises(ClaimError, match="measured="):
        judge(TIER_2, holds_if(True), measured=None)
    judge(TIER_2, holds_if(None), measured=None)


def test_figures_of_any_kind_can_be_written_and_read_back(home):
    figure = {("a", 1): numpy.int64(3), "b": {2, 1}, "c": float("nan"), "d": numpy.arange(2)}
    judge(TIER_2, holds_if(True), measured=figure)
    assert row_of(TIER_2)["measured"] == {"('a', 1)": 3, "b": [1, 2], "c": "nan", "d": [0, 1]}


# A process of its own, light to start; all wait for the same moment, so that they overlap.
WRITER = f"""
import os, sys, time
from brokerlab.claims import holds_if, judge, load
load()
open(sys.argv[1], "w").close()
while not os.path.exists("go"):
    time.sleep(0.005)
for _ in range(100):
    judge("{TIER_2}", holds_if(True), measured="x" * 6000)
"""


def test_four_processes_append_at_once_and_no_line_is_torn(home, tmp_path):
    writers = []
    for name in ("r1", "r2", "r3", "r4"):
        environment = os.environ | {"BROKERLAB_RUN": name, "PYTHONPATH": str(PROJECT)}
        command = [sys.executable, "-c", WRITER, name]
        quiet = {"stdout": subprocess.DEVNULL, "cwd": tmp_path, "env": environment}
        writers.append(subprocess.Popen(command, **quiet))
    wait_until(lambda: len(list(tmp_path.glob("r?"))) == 4, 30, "four writers ready")
    (tmp_path / "go").touch()
    assert [writer.wait(30) for writer in writers] == [0] * 4
    assert len(judgements()) == 400 and row_of(TIER_2)["runs"] == 4


# The ledger


def test_a_claim_nobody_judged_is_open(home):
    rows = claims.ledger_rows()
    assert len(rows) == len(claims.load())
    assert {row["verdict"] for row in rows} == {"open"}
    assert {"id", "verdict", "measured", "notebook", "versions", "when"} <= set(rows[0])


def test_runs_that_agree_give_their_verdict_and_the_newest_figure(run):
    run("r1", TIER_2, True, measured=5)
    run("r2", TIER_2, True, measured=7)
    row = row_of(TIER_2)
    assert (row["verdict"], row["measured"], row["runs"]) == ("holds", 7, 2)


def test_a_claim_judged_in_two_ways_by_two_runs_is_unstable(run):
    for name, outcome in [("r1", True), ("r2", False), ("r3", True)]:
        run(name, TIER_2, outcome)
    assert row_of(TIER_2)["verdict"] == "unstable"
    assert row_of(TIER_2)["why"] == "holds 2, refuted 1"


def test_a_person_turning_knobs_does_not_make_a_claim_unstable(run):
    run("r1", TIER_2, True)
    run(None, TIER_2, False)
    assert row_of(TIER_2)["verdict"] == "holds"


def test_where_no_run_judged_the_newest_interactive_verdict_is_shown(run):
    run(None, TIER_2, True)
    run(None, TIER_2, False)
    row = row_of(TIER_2)
    assert row["verdict"] == "refuted" and row["run"].startswith("interactive-")


def test_another_version_starts_afresh_but_a_version_nobody_asked_for_does_not(run):
    claims.set_versions({"kafka": "3.9.1"})
    run("r1", TIER_2, True)
    claims.set_versions({"kafka": "4.3.1"})
    run("r2", TIER_2, False)
    assert row_of(TIER_2)["verdict"] == "refuted"
    claims.set_versions({"kafka": "4.3.1", "rabbitmq": "3.10.8"})
    run("r3", TIER_2, True)
    assert row_of(TIER_2)["verdict"] == "unstable"


def test_forgetting_one_notebook_keeps_the_others_and_forgetting_all_removes_the_file(home, run):
    claims.forget()
    claims.forget(notebook="04")
    assert not home.exists()
    run("r1", TIER_2, True)
    run("r1", OTHER_NOTEBOOK, True)
    claims.forget(notebook="04_acks_and_isr")
    assert (row_of(TIER_2)["verdict"], row_of(OTHER_NOTEBOOK)["verdict"]) == ("open", "holds")
    run("r2", TIER_2, False)
    assert row_of(TIER_2)["verdict"] == "refuted"
    claims.forget()
    assert not (home / "judgements.jsonl").exists()


def test_a_half_last_line_is_dropped_and_a_damaged_one_elsewhere_is_named(home, run):
    run("r1", TIER_2, True)
    ledger = home / "judgements.jsonl"
    whole = ledger.read_text()
    ledger.write_text(whole + whole[:40])
    assert row_of(TIER_2)["verdict"] == "holds"
    for damage in ("{}\n", "[1]\n", "3\n", "\n", whole[:40] + "\n"):
        ledger.write_text(whole + damage + whole)
        with pytest.raises(ClaimError, match="line 2 is not a judgement"):
            claims.ledger_rows()


# The page


def test_figures_are_rendered_compactly_and_a_rendered_one_stays_as_it_is():
    assert compact(1000) == "1000" and compact(150000) == "150,000"
    assert compact(0.123456) == "0.123" and compact(71543.2) == "71,543"
    assert compact({"acks=1": 1000, "acks=all": 0}) == "acks=1: 1000, acks=all: 0"
    assert compact([1, 2]) == "1, 2" and compact(True) == "yes" and compact(None) == ""
    long = compact("word " * 100)
    assert len(long) <= 120 and long.endswith("…") and compact(long) == long
    assert plain(numpy.float64(2.5)) == 2.5


def test_the_page_is_deterministic_and_comes_back_as_it_was_written(home, run, tmp_path):
    nasty = "a|b \\| `c` *d* <e> &amp; [f](g)\nh"
    run("r1", TIER_1, True, measured=nasty, control={"acks=all": 0})
    judge(TIER_2, depends_on({"a|b": True, "c: d": False}), measured=2.5)
    rows = claims.ledger_rows()
    text = claims.render_claims_md(rows)
    assert text == claims.render_claims_md(random.Random(7).sample(rows, len(rows)))
    assert "Generated by `brokerlab claims" in text
    page = tmp_path / "CLAIMS.md"
    page.write_text(text, encoding="utf-8")
    first, second = claims.read_claims_md(page)
    assert (first["id"], first["verdict"]) == (TIER_1, "holds")
    assert first["measured"] == nasty.replace("\n", " ") and first["control"] == "acks=all: 0"
    assert (second["verdict"], second["why"]) == ("depends", "a|b holds, c: d refuted")
    assert first["versions"] == {k: v for k, v in claims.versions().items() if v}
    assert first["notebook"] == "04_acks_and_isr"
    assert claims.render_claims_md(claims.merge(rows, claims.read_claims_md(page))) == text


def test_the_page_counts_open_claims_without_listing_them_and_links_notebooks(run):
    run("r1", TIER_1, True)
    text = claims.render_claims_md(claims.ledger_rows())
    of_04 = sum(claim.notebook == "04_acks_and_isr" for claim in claims.load().values())
    link = "[04_acks_and_isr](notebooks/04_acks_and_isr.ipynb)"
    assert f"| {link} | {of_04} | 1 |  |  |  |  |  | {of_04 - 1} |" in text
    assert text.count(TIER_1) == 1 and TIER_2 not in text


def test_writing_keeps_what_was_measured_before_until_it_is_measured_again(run, tmp_path):
    page = tmp_path / "CLAIMS.md"
    claims.set_versions({"kafka": "4.2.0"})
    run("r1", TIER_1, True, measured=1000)
    run("r1", OTHER_NOTEBOOK, True, measured=100)
    claims.write_claims_md(claims.ledger_rows(), page)
    claims.forget()
    claims.set_versions({"kafka": "4.3.1"})
    run("r2", TIER_1, False, measured=3)
    claims.write_claims_md(claims.ledger_rows(), page)
    rows = {row["id"]: row for row in claims.read_claims_md(page)}
    assert (rows[TIER_1]["verdict"], rows[TIER_1]["measured"]) == ("refuted", "3")
    assert rows[TIER_1]["versions"]["kafka"] == "4.3.1"
    assert (rows[OTHER_NOTEBOOK]["verdict"], rows[OTHER_NOTEBOOK]["measured"]) == ("holds", "100")
    assert rows[OTHER_NOTEBOOK]["versions"]["kafka"] == "4.2.0"
    assert [path.name for path in tmp_path.glob("*CLAIMS*")] == ["CLAIMS.md"]


def test_interactive_judgements_reach_neither_the_page_nor_the_diff(run, tmp_path):
    page = tmp_path / "CLAIMS.md"
    run(None, TIER_1, True)
    claims.write_claims_md(claims.ledger_rows(), page)
    assert claims.read_claims_md(page) == []
    assert claims.diff(claims.ledger_rows(), page) == []


def test_diff_names_changed_and_new_verdicts_but_not_what_was_not_run(run, tmp_path):
    page = tmp_path / "CLAIMS.md"
    run("r1", TIER_1, True)
    run("r1", OTHER_NOTEBOOK, True)
    claims.write_claims_md(claims.ledger_rows(), page)
    assert claims.diff(claims.ledger_rows(), page) == []
    claims.forget()
    assert claims.diff(claims.ledger_rows(), page) == []
    run("r2", TIER_1, False)
    run("r2", TIER_2, True)
    changed, new = claims.diff(claims.ledger_rows(), page)
    assert changed == claims.Change(TIER_1, "holds", "refuted")
    assert new == claims.Change(TIER_2, "open", "holds")
    assert str(changed) == f"{TIER_1}: holds on the page, refuted now"


def test_diff_reports_a_claim_that_became_unstable_and_one_that_left_the_catalogue(run, tmp_path):
    page = tmp_path / "CLAIMS.md"
    run("r1", TIER_1, True)
    claims.write_claims_md(claims.ledger_rows(), page)
    run("r2", TIER_1, False)
    assert claims.diff(claims.ledger_rows(), page) == [claims.Change(TIER_1, "holds", "unstable")]
    others = [row for row in claims.ledger_rows() if row["id"] != TIER_1]
    assert claims.diff(others, page) == [claims.Change(TIER_1, "holds", "gone")]


def test_a_page_that_says_unstable_is_contradicted_only_by_a_verdict_it_does_not_list(
    run, tmp_path
):
    page = tmp_path / "CLAIMS.md"
    run("r1", TIER_2, True)
    run("r2", TIER_2, False)
    claims.write_claims_md(claims.ledger_rows(), page)
    claims.forget()
    run("r3", TIER_2, True)
    assert claims.diff(claims.ledger_rows(), page) == []
    claims.forget()
    judge(TIER_2, dated_if(True, since="4.0"), measured=1)
    assert claims.diff(claims.ledger_rows(), page) == [claims.Change(TIER_2, "unstable", "dated")]


def test_a_page_realigned_by_a_formatter_with_other_line_ends_is_read_all_the_same(run, tmp_path):
    page = tmp_path / "CLAIMS.md"
    run("r1", TIER_1, True)
    text = claims.render_claims_md(claims.ledger_rows())
    page.write_text(text.replace(" | ", "   |  "), newline="\r\n")
    assert [row["verdict"] for row in claims.read_claims_md(page)] == ["holds"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("| holds |", "| fine |"),
        lambda text: text.replace("| holds |", ""),
        lambda text: text.replace("| v1 | kafka", "| v9 | kafka"),
        lambda text: re.sub(r"(\| `04.*\n)", r"\1\1", text),
        lambda text: re.sub(r"(\| `04)", r"<<<<<<< HEAD\n\1", text),
        lambda text: "# Something else\n",
        lambda text: "",
    ],
)
def test_a_damaged_page_is_refused_in_a_sentence_never_taken_for_an_empty_one(
    run, tmp_path, damage
):
    page = tmp_path / "CLAIMS.md"
    run("r1", TIER_1, True)
    page.write_text(damage(claims.render_claims_md(claims.ledger_rows())))
    with pytest.raises(ClaimError, match=r"CLAIMS\.md"):
        claims.diff(claims.ledger_rows(), page)


def test_a_missing_page_is_answered_with_the_command_that_makes_it(home, tmp_path):
    with pytest.raises(ClaimError, match=r"brokerlab claims --write CLAIMS\.md"):
        claims.diff(claims.ledger_rows(), tmp_path / "CLAIMS.md")
