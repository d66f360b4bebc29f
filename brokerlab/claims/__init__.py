"""Claims and what became of them.

claim       one sentence somebody wrote about a broker, with its source; listed in claims.toml
verdict     holds, refuted, depends, dated or unknown: computed from counts, never typed in
judgement   one verdict on one claim by one run, with the figures; `judge` makes it
ledger      every judgement made in this home: `judgements.jsonl`, only ever appended to
row         what the ledger says about one claim now; `open` when nobody judged it,
            `unstable` when runs disagree
page        CLAIMS.md, generated from rows
"""

from brokerlab.claims.catalogue import Claim, find, import_claims, load
from brokerlab.claims.judging import judge, set_versions, versions
from brokerlab.claims.ledger import forget, ledger_rows
from brokerlab.claims.page import (
    Change,
    diff,
    merge,
    read_claims_md,
    render_claims_md,
    write_claims_md,
)
from brokerlab.claims.verdicts import VERDICTS, Verdict, dated_if, depends_on, holds_if

__all__ = [
    "VERDICTS",
    "Change",
    "Claim",
    "Verdict",
    "dated_if",
    "depends_on",
    "diff",
    "find",
    "forget",
    "holds_if",
    "import_claims",
    "judge",
    "ledger_rows",
    "load",
    "merge",
    "read_claims_md",
    "render_claims_md",
    "set_versions",
    "versions",
    "write_claims_md",
]
