"""`lakegate check` without its engine: what it asks, what it prints, what it refuses."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from lakegate.base.errors import InputError, LakegateError, SetUpError
from lakegate.base.extension_points import ROOT
from lakegate.base.json_schemas import load
from lakegate.cli import terminal
from lakegate.cli.main import app, main
from lakegate.local_check import check_data
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request
from lakegate.plan.result import Columns, MalformedRecords, Measured, Measurement, Result, Sample, Unreadable
from lakegate.report import verdict_text
from lakegate.report.delivery_report import Report
from lakegate.verdict.verdict import judge
from tests.published_schemas import validate

if TYPE_CHECKING:
    from click.testing import Result as Answer


CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: shop
version: 1.0.0
status: active
name: Shop
schema:
  - name: orders
    logicalType: object
    properties:
      - {name: order_id, logicalType: string, required: true}
      - {name: customer_id, logicalType: string, relationships: [{to: "crm_v2.yaml#/schema/customers/properties/id"}]}
      - {name: amount, logicalType: integer}
"""
CUSTOMERS = """\
apiVersion: v3.1.0
kind: DataContract
id: crm
version: 2.1.0
status: active
name: Customers
schema:
  - name: customers
    logicalType: object
    properties: [{name: id, logicalType: string}]
"""
GOOD = Measured(of=12_000, failing=0)
BAD = Measured(of=12_000, failing=950)
ROWS = 12_000
REQUIRED, AMOUNT, FOREIGN = "required", "type", "foreign"


@dataclass
class Engine:
    """Answers every check as the test wants it, and remembers what it was asked."""

    answers: dict[str, Measurement] = field(default_factory=dict)
    changes: dict[str, Any] = field(default_factory=dict)
    asked: list[tuple[Request, Plan, int]] = field(default_factory=list)

    def __call__(
        self, _engine: object, request: Request, plan: Plan, _folder: Path, samples: int, *_: object
    ) -> Result:
        self.asked.append((request, plan, samples))
        answers = tuple(self._answer(each.id) for each in plan.checks)
        found = {"rows": ROWS, "columns": Columns(("order_id", "customer_id", "amount")), "timings": {"read": 1.25}}
        found["engines"] = {"duckdb": "1.5.0"}
        return Result(request.workload, 1, plan.digest, "v", **(found | {"measurements": answers} | self.changes))

    def _answer(self, check: str) -> Measurement:
        fallback = Measurement(check, GOOD)
        return next((_named(check, each) for word, each in self.answers.items() if word in check), fallback)


def _named(check: str, answer: Measurement) -> Measurement:
    return Measurement(check, answer.accept, None, answer.error, answer.samples, answer.skip, answer.good)


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> Engine:
    found = Engine(
        {"foreignKey": Measurement("", skip="no accepted data of crm/customers_v2 was given to compare with")}
    )
    monkeypatch.setattr(check_data, "measure", found)
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "shop.yaml").write_text(CONTRACT)
    (tmp_path / "crm.yaml").write_text(CUSTOMERS)
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("order_id,customer_id,amount\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lakegate(*words: str, columns: int = 80) -> Answer:
    return CliRunner(env={"COLUMNS": str(columns)}).invoke(app, ["check", "--contract", "shop.yaml", *words])


SHAPES = (Sample(5, ("99,9",)), Sample(1_700, ("99,9",), 1), Sample(1_701, ("aaa",), 1))
BAD_AMOUNTS = Measurement("", BAD, samples=SHAPES, good=("999", "99"))
ADVICE = "--show-values shows the values.\nNext: lakegate check --failures bad.csv --contract shop.yaml a.csv\n"
REFERENCE = "To compare with accepted data: --reference crm/customers_v2=FILE\n"
LEGEND = "A shape stands for a value: 9 is a digit, a is a letter, A is a capital.\n"
END = f"""\
Rejected: 12,000 rows, 950 of them break a rule
a.csv as orders, contract shop 1.0.0, in 1.2 s
Checks: 3 passed, 1 failed, 1 not measured
{LEGEND}{REFERENCE}{ADVICE}"""
NARROW = f"""\
fail  amount:type:1  amount
      wanted a whole number such as 1234, within 64 bits; measured 950 of 12,000
      rows fail (7.92 %)
      row 5 and row 1,700 (shape 99,9); good values: shape 999 or 99
skip  customer_id:foreignKey:1  customer_id
      no accepted data of crm/customers_v2 was given to compare with

{END}"""
WIDTHS = (6, 24, 11, 93, 57)
WIDE = (
    "".join(
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, WIDTHS, strict=True)).rstrip() + "\n"
        for row in (
            ("status", "rule", "field", "finding", "failing rows"),
            (
                "fail",
                "amount:type:1",
                "amount",
                "wanted a whole number such as 1234, within 64 bits; measured 950 of 12,000 rows fail (7.92 %)",
                "row 5 and row 1,700 (shape 99,9); good values: shape 999",
            ),
            ("", "", "", "", "or 99"),
            (
                "skip",
                "customer_id:foreignKey:1",
                "customer_id",
                "no accepted data of crm/customers_v2 was given to compare with",
                "",
            ),
            ("",) * len(WIDTHS),
        )
    )
    + END
)


@pytest.fixture
def rejected(job: Engine) -> Engine:
    job.answers["amount:type"] = BAD_AMOUNTS
    job.changes["rejected_rows"] = 950
    return job


@pytest.mark.usefixtures("folder", "rejected")
@pytest.mark.parametrize(("columns", "shown"), [(80, NARROW), (200, WIDE)])
def test_failures_are_a_table_or_blocks(columns: int, shown: str) -> None:
    """80 columns show each failure as a block, 200 as a line of a table; what passed is only counted."""
    answer = lakegate("a.csv", columns=columns)

    assert (answer.exit_code, answer.stdout) == (1, shown)


@pytest.mark.usefixtures("folder")
def test_reasons_are_in_the_order_of_the_report(job: Engine) -> None:
    """What to change first, and most frequent first; those behind the third are counted."""
    job.answers |= {
        "order_id:type": Measurement("", Measured(12_000, 2)),
        "required": Measurement("", Measured(12_000, 3)),
        "customer_id:type": Measurement("", Measured(12_000, 1)),
        "amount:type": Measurement("", Measured(12_000, 4)),
    }
    shown, everything = (
        re.findall(r"^(?:fail  |      .* more: ).*$", lakegate("a.csv", *words).stdout, re.MULTILINE)
        for words in ((), ("--all",))
    )
    order = [
        "fail  amount:type:1  amount",
        "fail  order_id:required:1  order_id",
        "fail  order_id:type:1  order_id",
        "fail  customer_id:type:1  customer_id",
    ]

    assert (shown, everything) == ([*order[:3], "      1 more: --all"], order)


@pytest.mark.usefixtures("folder", "rejected")
def test_the_next_command_has_what_was_given() -> None:
    """As a shell takes it; a refusal that no row is to blame for is explained instead."""
    Path("my data.csv").write_text("id\n")
    given = ("--reference", "customers=my data.csv", "--reference-contract", "crm.yaml")
    answer = lakegate("a.csv", "b.csv", "--dataset", "orders", "--mask", "--all", *given)

    assert answer.stdout.splitlines()[-1] == (
        "Next: lakegate check --failures bad.csv --contract shop.yaml a.csv b.csv --reference 'customers=my data.csv' "
        "--reference-contract crm.yaml --dataset orders --mask"
    )


@pytest.mark.usefixtures("folder", "rejected")
def test_the_next_command_overwrites_no_file_that_was_checked() -> None:
    """A file that is itself called so: the command would be refused."""
    Path("bad.csv").write_text("order_id,customer_id,amount\n")

    assert lakegate("bad.csv").stdout.splitlines()[-1] == (
        "Next: lakegate check --failures bad1.csv --contract shop.yaml bad.csv"
    )


@pytest.mark.usefixtures("folder", "rejected")
def test_all_shows_every_check() -> None:
    """With --all the checks that passed stand below the failures, each by itself."""
    shown = re.findall(r"^(?:fail|pass|skip)  .*$", lakegate("a.csv", "--all").stdout, re.MULTILINE)

    assert shown == [
        "fail  amount:type:1  amount",
        "pass  order_id:type:1  order_id",
        "pass  order_id:required:1  order_id",
        "pass  customer_id:type:1  customer_id",
        "skip  customer_id:foreignKey:1  customer_id",
    ]


@pytest.mark.usefixtures("folder", "job")
def test_of_an_accepted_file_only_the_verdict_is_shown(job: Engine) -> None:
    """Without failures the verdict, the counts and the files are all there is to say."""
    job.answers["foreignKey"] = Measurement("", GOOD)

    assert lakegate("a.csv").stdout == (
        "Accepted: 12,000 rows\na.csv as orders, contract shop 1.0.0, in 1.2 s\nChecks: 5 passed\n"
    )


@pytest.mark.usefixtures("folder")
def test_published_and_rejected_rows_are_both_counted(folder: Path, rejected: Engine) -> None:
    """With onReject: rows the command reports how many rows would be published, and how many rejected."""
    (folder / "shop.yaml").write_text(
        f"{CONTRACT}customProperties: [{{property: lakegate, value: {{onReject: rows}}}}]\n"
    )
    rejected.changes["rejected_rows"] = 950
    answer = lakegate("a.csv")

    assert "Accepted with warnings: 11,050 of 12,000 rows published, 950 rejected\n" in answer.stdout
    assert (answer.exit_code, answer.stdout.splitlines()[-1]) == (0, ADVICE.splitlines()[-1])


@pytest.mark.usefixtures("folder", "rejected")
@pytest.mark.parametrize(
    ("written", "name"), [("jsonl", "bad.jsonl"), ("json", "bad.jsonl"), ("parquet", "bad.parquet"), ("orc", "bad.csv")]
)
def test_the_file_of_failing_rows_has_the_form_of_the_delivery(written: str, name: str, folder: Path) -> None:
    """So that corrected rows can be put back into it; of a format without such a file it is CSV."""
    (folder / "shop.yaml").write_text(
        f"{CONTRACT}customProperties: [{{property: lakegate, value: {{format: {written}}}}}]\n"
    )

    assert f"Next: lakegate check --failures {name} --contract" in lakegate("a.csv").stdout


@pytest.mark.usefixtures("folder")
def test_several_files_name_the_file_of_every_row(rejected: Engine) -> None:
    """Of several files a failing row is `file:row`, and so is the first malformed record of each kind."""
    rejected.changes["malformed"] = (MalformedRecords("fields", 2, 7, 1),)
    shown = lakegate("a.csv", "b.csv").stdout

    assert "      b.csv:7\n" in shown
    assert "      a.csv:5 and b.csv:1700 (shape 99,9); good values: shape 999 or 99\n" in shown
    assert "a.csv, b.csv as orders, contract shop 1.0.0" in shown


@pytest.mark.usefixtures("folder")
def test_of_several_files_the_unreadable_one_is_named(job: Engine) -> None:
    """A file that cannot be read is named, in its reason and in the document; its checks are not listed one by one."""
    job.changes |= {"unreadable": Unreadable("gzip", "this is gzip, not CSV", 1), "rows": 0}
    document = json.loads(lakegate("a.csv", "b.csv", "--json").stdout)

    assert lakegate("a.csv", "b.csv").stdout == (
        "fail  the file\n      b.csv: this is gzip, not CSV\n\nRejected: 0 rows\n"
        "a.csv, b.csv as orders, contract shop 1.0.0, in 1.2 s\nChecks: 1 failed, 5 not measured\n"
        "5 more findings have the same cause; --all shows them.\nNext: lakegate explain file/readable\n"
    )
    assert [(each["id"], each["message"]) for each in document["reasons"]] == [
        ("file/readable", "b.csv: this is gzip, not CSV")
    ]


HEADER_ROWS = (Sample(7, ("aaaaaa",), record="header"),)


@pytest.mark.usefixtures("folder")
def test_one_cause_is_one_reason(job: Engine) -> None:
    """What one fault of the file explains is shown once; --all and the document have every check."""
    job.answers |= {
        name: Measurement("", Measured(12_000, 1), samples=HEADER_ROWS) for name in ("amount:type", "required")
    }
    shown, everything = lakegate("a.csv").stdout, lakegate("a.csv", "--all").stdout
    document = json.loads(lakegate("a.csv", "--json").stdout)
    validate("check", document)

    assert shown.startswith("fail  the file\n      row 7 repeats the header line: ")
    assert (shown.count("\nfail  "), everything.count("\nfail  ")) == (0, 2)
    assert "2 more findings have the same cause; --all shows them.\n" in shown
    assert [(each["id"], sorted(each["explains"])) for each in document["reasons"]] == [
        ("cause/header-repeated", ["amount:type:1/amount", "order_id:required:1/order_id"])
    ]


@pytest.mark.usefixtures("folder", "rejected")
def test_many_files_are_counted_in_the_summary() -> None:
    """The summary names the first files and counts the others."""
    assert "a.csv, b.csv, a.csv, b.csv and 2 more files as orders" in lakegate(*["a.csv", "b.csv"] * 3).stdout


@pytest.mark.usefixtures("folder")
def test_reasons_that_are_alike_are_said_once(job: Engine) -> None:
    """Checks that were not measured for one and the same reason share a line that names their rules."""
    job.answers = {"customer_id": Measurement("", skip="nothing to compare with")}

    assert "skip  2 checks\n      nothing to compare with: customer_id:type:1, customer_id:foreignKey:1\n" in (
        lakegate("a.csv").stdout
    )


RULES = """\
    quality:
      - {id: words, type: text, description: Be quick.}
      - {id: dbt, type: custom, engine: dbt, implementation: x}
      - {id: tiles, type: sql, query: "SELECT max(ntile(4)) FROM orders", mustBe: 1}
      - {id: nightly, type: sql, query: "SELECT count(*) FROM orders", mustBe: 1, schedule: "0 5 * * *", scheduler: cron}
slaProperties: [{property: availability, value: 99.9, unit: "%"}, {property: retention, value: 1, unit: y}]
"""


@pytest.mark.usefixtures("job")
def test_what_is_not_measured_is_counted_once(folder: Path) -> None:
    """Each rule without a measurement has an entry, service levels of no file one line, and both are the count of the summary."""
    (folder / "shop.yaml").write_text(CONTRACT + RULES)
    shown, every = lakegate("a.csv").stdout, lakegate("a.csv", "--all").stdout
    (count,) = re.findall(r"(\d+) not measured", shown)
    skipped = re.findall(r"^skip  (?!\d+ checks)", shown, re.MULTILINE)
    levels = "2 service levels are not seen in a file: availability:serviceLevel:1,\nretention:serviceLevel:2 (--all says why).\n"

    assert levels in shown
    assert len(skipped) + 2 == int(count)
    assert "were not measured" not in shown
    assert "availability cannot be measured on a delivery" in every
    assert "service levels are not seen" not in every


@pytest.mark.parametrize("width", [20, 80, 120, 200])
def test_a_pipe_gets_what_a_terminal_gets(job: Engine, folder: Path, width: int) -> None:
    """The output differs from a terminal's in its colours alone."""
    job.answers["amount:type"] = BAD_AMOUNTS
    shown = []
    lakegate("a.csv")
    request, plan, _ = job.asked[0]
    result = job(None, request, plan, folder, 2, {})
    for is_terminal in (True, False):
        screen = StringIO()
        colours = "standard" if is_terminal else None
        console = Console(file=screen, force_terminal=is_terminal, width=width, highlight=False, color_system=colours)
        verdict_text.show(console, Report(plan, judge(plan, result), result, ("a.csv",)), show_all=True)
        shown.append(screen.getvalue())

    assert "\x1b[" in shown[0]
    assert re.sub(r"\x1b\[[0-9;]*m", "", shown[0]) == shown[1]
    assert max(map(len, shown[1].splitlines())) <= max(width, len("      customer_id:foreignKey:1  customer_id"))


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_ids_are_never_broken(job: Engine, folder: Path, columns: int) -> None:
    """A rule and a field longer than the terminal stand on one line, whole."""
    name = "a_" * 60
    (folder / "shop.yaml").write_text(CONTRACT.replace("amount", name))
    job.answers[":type"] = Measurement("", BAD)

    assert f"{name}:type:1  {name}" in lakegate("a.csv", columns=columns).stdout


@pytest.mark.usefixtures("folder")
def test_values_of_the_data_move_no_cursor(job: Engine) -> None:
    """What a terminal would obey stands there as an escape."""
    job.answers["amount:type"] = Measurement("", BAD, samples=(Sample(2, ("\x1b[2Jred",), raw=(True,)),))

    assert 'row 2 ("\\x1b[2Jred")' in lakegate("a.csv", "--show-values").stdout


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ((), True),
        (("--mask",), False),
        (("--json",), False),
        (("--format", "markdown"), False),
        (("--failures", "bad.csv"), True),
        (("--report", "page.html"), False),
        (("--json", "--show-values"), True),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_terminal_shows_values_and_what_is_passed_on_shapes(
    words: tuple[str, ...], *, shown: bool, job: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On one's own machine, where neither a file nor another program keeps the answer."""
    monkeypatch.setattr(terminal, "is_read_by_a_person", lambda: True)

    lakegate("a.csv", *words)

    assert [all(each.public for each in plan.fields) for _, plan, _ in job.asked] == [shown]


@pytest.mark.usefixtures("folder")
def test_values_are_shown_when_asked_for(job: Engine) -> None:
    """With --show-values the engine is asked as if every field were public; the plan's digest stays the contract's."""
    job.answers["amount:type"] = Measurement("", BAD, samples=(Sample(2, ("12,5",), raw=(True,)), Sample(3, ("null",))))
    shown = lakegate("a.csv", "--show-values").stdout
    plain, document = (json.loads(lakegate("a.csv", "--json", *words).stdout) for words in ([], ["--show-values"]))
    public = [(all(each.public for each in plan.fields), plan.policy.samples) for _, plan, _ in job.asked]

    assert 'row 2 ("12,5"); row 3 (null)' in shown
    assert (LEGEND in shown, ADVICE in shown) == (False, False)
    assert public == [(True, True), (False, True), (True, True)]
    assert plain["contract"] == document["contract"]
    assert [(each["values"], each["masked"]) for check in document["checks"] for each in check["samples"]] == [
        (["12,5"], [False]),
        ([None], [False]),
    ]


CHECK: dict[str, Any] = {
    "id": "amount:type:1/amount",
    "rule": "amount:type:1",
    "field": "amount",
    "status": "fail",
    "metric": "failing_rows",
    "threshold": "a whole number such as 1234, within 64 bits",
    "measured": {"text": "7.92 % fail", "value": 950, "unit": "rows", "rows": 950, "of": 12_000},
    "technology": "DuckDB",
    "version": "1.5.0",
    "failing_rows": 950,
    "message": "amount: wanted a whole number such as 1234, within 64 bits; measured 950 of 12,000 rows fail (7.92 %)",
    "samples": [
        {"file": "a.csv", "part": 0, "row": 5, "values": ["99,9"], "masked": [True]},
        {"file": "b.csv", "part": 1, "row": 1700, "values": ["99,9"], "masked": [True]},
        {"file": "b.csv", "part": 1, "row": 1701, "values": ["aaa"], "masked": [True]},
    ],
    "good_shapes": ["999", "99"],
}
EMPTY = sha256(b"order_id,customer_id,amount\n").hexdigest()
INPUTS = {
    "contract": "shop.yaml",
    "files": [{"file": name, "size": 28, "sha256": EMPTY} for name in ("a.csv", "b.csv")],
    "references": [],
}
TOOL = {"name": "lakegate", "version": version("lakegate")}


@pytest.mark.usefixtures("folder")
def test_machines_get_one_document(rejected: Engine) -> None:
    """The document has verdict, inputs, the tool's version, the plan's digest, counts, and every check in numbers."""
    document = json.loads(lakegate("a.csv", "b.csv", "--json").stdout)
    validate("check", document)
    checks = document.pop("checks")

    assert checks[4] == CHECK
    assert [each["status"] for each in checks] == ["pass", "pass", "pass", "skip", "fail"]
    assert document == {
        "version": "lakegate/check/1",
        "tool": TOOL,
        "inputs": INPUTS,
        "verdict": "rejected",
        "error": None,
        "dataset": "orders",
        "contract": {"id": "shop", "version": "1.0.0", "plan": rejected.asked[0][1].digest},
        "rows": 12_000,
        "published_rows": 0,
        "rejected_rows": 12_000,
        "breaking_rows": 950,
        "counts": {"pass": 3, "warn": 0, "fail": 1, "error": 0, "skip": 1},
        "reasons": [{"id": CHECK["id"], "message": CHECK["message"], "explains": []}],
        "timings": {"read": 1.25},
    }


@pytest.mark.usefixtures("folder")
def test_twenty_failing_rows_are_in_the_document(job: Engine) -> None:
    """Of each check the document has the first 20 failing rows; elements say where they are in their row."""
    rows = tuple(Sample(row, ("null",), at=f"items[{row}]", record="blank") for row in range(1, 30))
    job.answers["amount:type"] = Measurement("", BAD, samples=rows)
    document = json.loads(lakegate("a.csv", "--json").stdout)
    validate("check", document)
    (samples,) = (each["samples"] for each in document["checks"] if each["samples"])

    assert [each["row"] for each in samples] == list(range(1, 21))
    assert [samples[0][name] for name in ("at", "record", "values", "masked")] == ["items[1]", "blank", [None], [False]]
    assert job.asked[0][2] == 20


def asked(*words: str) -> tuple[Any, LakegateError]:
    """The document of a command that ends in an error, and the error."""
    answer = CliRunner().invoke(app, ["check", *words, "--json"])
    document = json.loads(answer.stdout)
    validate("check", document)
    assert isinstance(answer.exception, LakegateError)
    return document, answer.exception


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such a name")
def test_a_name_that_is_no_utf_8_is_shown_with_escapes(folder: Path, job: Engine) -> None:
    """Archives of other systems leave such names; the file is judged as any other, and each result names it."""
    job.answers |= {"amount:type": Measurement("", BAD, samples=(Sample(5, ("99,9",)),))}
    (folder / os.fsdecode(b"ums\xe4tze.csv")).write_text("order_id,customer_id,amount\n")
    answer = lakegate(os.fsdecode(b"ums\xe4tze.csv"), "--report", "report.html")

    assert (answer.exit_code, answer.exception.__class__) == (1, SystemExit)
    assert "ums\\xe4tze.csv as orders" in answer.stdout
    assert "xe4tze.csv" in (folder / "report.html").read_text()


def test_a_corrected_file_is_compared_with_an_earlier_check(folder: Path, job: Engine) -> None:
    """What was fixed, what is still broken, and what is new; also in the document."""
    job.answers |= {"amount:type": Measurement("", BAD), "required": Measurement("", BAD)}
    (folder / "before.json").write_text(lakegate("a.csv", "--json").stdout)
    job.answers["amount:type"] = Measurement("", GOOD)
    job.answers["required"] = Measurement("", Measured(of=12_000, failing=3))
    text = lakegate("b.csv", "--against", "before.json", columns=200)
    document = json.loads(lakegate("b.csv", "--against", "before.json", "--json").stdout)
    validate("check", document)
    against = document["against"]

    assert (against["name"], against["verdict"]) == ("before.json", "rejected")
    assert [(each["before"]["status"], each["now"]["status"]) for each in against["fixed"]] == [("fail", "pass")]
    assert {each["now"]["failing_rows"] for each in against["still_broken"]} == {3}
    assert (against["newly_broken"], against["not_measured"]) == ([], [])
    still = len(against["still_broken"])
    assert f"Against before.json, rejected: 1 fixed, {still} still broken, 0 newly broken" in text.stdout
    assert "(950 failing rows before, 3 now)" in text.stdout


@pytest.mark.usefixtures("job")
@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "this is no answer of"),
        ("[]", "this is no answer of"),
        ('{"checks": [{"id": "a", "status": "good", "failing_rows": 1}], "verdict": "x"}', "this is no answer of"),
        ('{"checks": [], "verdict": null}', "nothing was measured then"),
        ("[" * 100_000, "this is no answer of"),
    ],
)
def test_what_is_no_result_cannot_be_compared_with(folder: Path, content: str, words: str) -> None:
    """Nothing is measured then."""
    (folder / "before.json").write_text(content)

    assert words in str(lakegate("a.csv", "--against", "before.json").exception)


@pytest.mark.usefixtures("job")
def test_a_contract_that_is_none_gets_a_document(folder: Path) -> None:
    """A refused contract is an error with all its problems, in the same schema."""
    (folder / "bad.yaml").write_text(CONTRACT.replace("logicalType: integer", "logicalType: datetime"))
    document, error = asked("--contract", "bad.yaml", "a.csv")

    assert (document["verdict"], document["error"]["kind"]) == (None, "contract")
    assert [each["line"] for each in document["error"]["problems"]] == [13]
    assert document["error"]["message"] == str(error)


@pytest.mark.parametrize(
    ("words", "kind", "message"),
    [
        (
            ("--contract", "none.yaml", "a.csv"),
            "input",
            "the contract none.yaml cannot be read: No such file or directory",
        ),
        (("--contract", "shop.yaml", "none.csv"), "input", "none.csv does not exist."),
        (
            ("--contract", "shop.yaml", "-"),
            "input",
            "data is not read from standard input: write it into a file",
        ),
    ],
)
@pytest.mark.usefixtures("folder", "job")
def test_a_file_that_is_not_there_gets_a_document(words: tuple[str, ...], kind: str, message: str) -> None:
    """A missing contract or data file is an error in the document, and the same sentence ends the command."""
    document, error = asked(*words)

    assert document["error"] == {"kind": kind, "message": message, "problems": []}
    assert str(error) == message
    assert document["inputs"]["files"][0]["file"] == words[2]


@pytest.mark.usefixtures("folder", "job")
def test_a_mistyped_name_is_answered_with_the_file_beside_it(tmp_path: Path) -> None:
    """A file that does not exist is something else than a folder that is named as a file."""
    (tmp_path / "orders.csv").touch()
    _, error = asked("--contract", "shop.yaml", str(tmp_path / "ordes.csv"))

    assert str(error) == f"{tmp_path / 'ordes.csv'} does not exist. Did you mean `orders.csv`?"


@pytest.mark.usefixtures("folder", "job")
def test_data_at_an_address_of_the_web_is_told_how_to_be_checked() -> None:
    """The address is written as it was given."""
    _, error = asked("--contract", "shop.yaml", "https://example.com/a.csv")

    assert str(error) == "https://example.com/a.csv is not read: data is in files and below s3://, so download it first"


@pytest.mark.usefixtures("folder")
def test_a_machine_without_java_gets_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this machine lacks is an error in the document."""

    def lacking(*_: object) -> Result:
        raise SetUpError("Java 17 is missing")

    monkeypatch.setattr(check_data, "measure", lacking)

    assert asked("--contract", "shop.yaml", "a.csv")[0]["error"]["kind"] == "set-up"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("bad.txt", "name a file that ends in .csv or .jsonl or .parquet"),
        ("none/bad.csv", "the folder none does not exist"),
        ("folder.csv", "this is a folder"),
        ("a.csv", "this file is read by the command"),
    ],
)
def test_failing_rows_overwrite_no_input(job: Engine, folder: Path, name: str, words: str) -> None:
    """A file that cannot be written, or that the command reads, is refused before anything is measured."""
    (folder / "folder.csv").mkdir()
    answer = lakegate("a.csv", "--failures", name)

    assert isinstance(answer.exception, InputError)
    assert words in str(answer.exception)
    assert job.asked == []


@pytest.mark.parametrize("name", ["crm/customers_v2", "crm/customers", "customers", "customers_v2"])
def test_a_dataset_of_another_contract_is_a_reference(folder: Path, job: Engine, name: str) -> None:
    """What a rule refers to in another contract is given by its name, and read by that contract's plan."""
    (folder / "customers.csv").write_text("id\n1\n")
    shown = lakegate("a.csv", "--reference", f"{name}=customers.csv", "--reference-contract", "crm.yaml").stdout
    ((reference,),) = (request.references for request, _, _ in job.asked)

    assert (reference.dataset, [each.size for each in reference.parts]) == ("crm/customers_v2", [5])
    assert REFERENCE not in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("customers=a.csv",),
            "crm/customers_v2 is a dataset of another contract: give its document with --reference-contract",
        ),
        (
            ("nothing=a.csv",),
            "neither a dataset of the contract nor one that a rule refers to; rules refer to crm/customers_v2",
        ),
        (("customers",), "write NAME=FILE"),
    ],
)
@pytest.mark.usefixtures("folder", "job")
def test_a_reference_that_leads_nowhere_is_refused(words: tuple[str, ...], message: str) -> None:
    """A name that no dataset has, a contract that is not given, and a name without a file are errors that say what to write."""
    answer = lakegate("a.csv", "--reference", *words)

    assert isinstance(answer.exception, InputError)
    assert message in str(answer.exception)


def test_a_name_that_two_datasets_have_is_refused(folder: Path, job: Engine) -> None:
    """Where rules refer to datasets of one name in two contracts, the contract must be named."""
    second = (
        "      - {name: b, logicalType: string, relationships: [{to: x_v1.yaml#/schema/customers/properties/id}]}\n"
    )
    (folder / "shop.yaml").write_text(CONTRACT + second)
    answer = lakegate("a.csv", "--reference", "customers=a.csv")

    assert str(answer.exception).endswith("write one of crm/customers_v2, x/customers_v1")
    assert job.asked == []


@pytest.mark.usefixtures("job")
def test_a_contract_without_references_says_so(folder: Path) -> None:
    """A reference that no rule could use is refused."""
    answer = CliRunner().invoke(
        app, ["check", "--contract", str(folder / "crm.yaml"), "a.csv", "--reference", "x=a.csv"]
    )

    assert str(answer.exception).endswith("no rule refers to another dataset")


def test_help_lists_the_exit_codes() -> None:
    """`check --help` lists what every exit code means."""
    words = " ".join(re.sub(r"[^\w:;,.]+", " ", CliRunner().invoke(app, ["check", "--help"]).stdout).split())

    assert (
        "Exit codes: 0 accepted, with or without warnings; 1 rejected; "
        "2 the contract, a file or this machine cannot be used; "
        "3 undecided, because a check could not be measured; 130 interrupted by Ctrl C."
    ) in words


@pytest.mark.usefixtures("folder")
def test_an_interrupted_command_prints_one_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C ends the command with one line on standard error and exit code 130."""

    def interrupted(*_: object) -> Result:
        raise KeyboardInterrupt

    monkeypatch.setattr(check_data, "measure", interrupted)
    monkeypatch.setattr(sys, "argv", ["lakegate", "check", "--contract", "shop.yaml", "a.csv"])
    with pytest.raises(SystemExit) as ended:
        main()

    assert (ended.value.code, *capfd.readouterr()) == (130, "", "lakegate: interrupted\n")


def test_the_producers_page_names_every_key_and_option() -> None:
    """The page documents every key of the document, of its checks and samples, and every exit code and option of the command."""
    page = (ROOT / "docs" / "producer.md").read_text()
    schema: Any = load("check")
    definitions = schema["$defs"]
    keys = {
        *schema["properties"],
        *(
            name
            for each in ("CheckDetails", "CheckMeasurement", "SampledRow")
            for name in definitions[each]["properties"]
        ),
    }
    options = {"--show-values", "--failures", "--reference", "--reference-contract", "--dataset", "--json", "--all"}

    assert sorted(name for name in keys if f"`{name}`" not in page) == []
    assert sorted(name for name in options if name not in page) == []
    assert re.findall(
        r"^\| (\d+) \| (?:accepted, with|rejected|the contract, a|undecided|interrupted)", page, re.MULTILINE
    ) == [
        "0",
        "1",
        "2",
        "3",
        "130",
    ]
