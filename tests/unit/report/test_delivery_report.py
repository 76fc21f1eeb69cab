"""The HTML report of a judged delivery: what it shows, and what no text of others can do to it."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

from lakegate.cli.main import app
from lakegate.contract.contract_model import Severity
from lakegate.contract.delivery_policy import OnReject, Policy
from lakegate.contract.logical_types import LogicalType
from lakegate.plan.check import NONE, Check, Interval, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.predicates import Present
from lakegate.plan.result import Columns, MalformedRecords, Measured, Measurement, Result, Sample, Unreadable
from lakegate.report.delivery_report import PastDelivery, Report, render, render_unmeasured
from lakegate.verdict.verdict import Counts, Verdict, judge

VOID = {"meta", "rect", "line", "br"}


class Page(HTMLParser):
    """The page as a browser reads it: elements, attributes, addresses and visible text; wrong nesting is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.labels: list[str] = []
        self.attributes: set[str] = set()
        self.addresses: set[str] = set()
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.addresses |= {value or "" for name, value in attrs if name in {"href", "src", "action", "data", "srcset"}}
        self.labels += [value or "" for name, value in attrs if name == "aria-label"]
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["style"]:
            self.text = " ".join(f"{self.text} {data}".split())


def check(name: str, unit: Unit = Unit.ROWS, interval: Interval = NONE, **more: object) -> Check:
    usual: dict[str, object] = {
        "kind": "required",
        "fields": ("n",),
        "metric": Metric.FAILING_ROWS,
        "wanted": "present",
    }
    return Check(id=f"{name}/n", rule=name, unit=unit, accept=Tier(interval, Present("n")), **(usual | more))  # type: ignore[arg-type]


def failing(name: str, rows: int = 4, *samples: Sample, good: tuple[str, ...] = ()) -> Measurement:
    return Measurement(f"{name}/n", Measured(of=10, failing=rows), samples=samples, good=good)


def report(checks: list[Check], answers: list[Measurement], files: tuple[str, ...] = ("a.csv",)) -> Report:
    plan = Plan("shop", "1.0.0", "orders", (PlanField("n", "c0", LogicalType.NUMBER),), tuple(checks))
    result = Result(
        "w", 1, "0" * 64, "v", 10, columns=Columns(("n",)), measurements=tuple(answers), timings={"read": 1.24}
    )
    return Report(plan, judge(plan, result), result, files)


def test_the_first_sentences_are_the_verdict_and_what_to_change_first() -> None:
    """A reader learns in two lines what happened, and what to do about it."""
    rows = [Sample(17, ("aa",)), Sample(19, ("null",))]
    page = Page(render(report([check("r"), check("s")], [failing("r", 4, *rows), failing("s", 1)])))

    assert (
        "Rejected: 10 rows Change first: n : wanted present; measured 4 of 10 rows fail (40 %) (first at row 17). 1 more reason ."
        in page.text
    )


def test_what_fails_most_rows_is_changed_first() -> None:
    """Whatever the order of the fields is, and malformed rows among them; failures come before warnings."""
    checks = [check("mild", worst=Severity.WARN), check("few"), check("most"), check("some")]
    answers = [failing("mild", 10), failing("few", 1), failing("most", 9), failing("some", 3)]
    plan = report(checks, answers).plan
    result = Result(
        "w", 1, "0" * 64, "v", 10, malformed=(MalformedRecords("fields", 5, 2),), measurements=tuple(answers)
    )

    judgement = judge(plan, result)

    assert [each.id for each in judgement.by_harm] == ["most/n", "file/records", "some/n", "few/n", "mild/n"]
    assert [each.id for each in judgement.reasons] == ["file/records", "few/n", "most/n", "some/n", "mild/n"]
    page = Page(render(Report(plan, judgement, result, ("a.csv",))))
    assert "Change first: n : wanted present; measured 9 of 10 rows fail" in page.text
    unread = judge(plan, Result("w", 1, "0" * 64, "v", 0, unreadable=Unreadable("zip", "it is a zip")))
    assert [each.id for each in unread.by_harm] == ["file/readable"]


def test_that_the_whole_file_is_rejected_is_shown_but_not_to_be_changed() -> None:
    """It is the first of the reasons; what to change first is the broken rule, also where only texts are left."""
    plan = replace(
        report([check("r")], []).plan, policy=Policy(on_reject=OnReject.ROWS, max_rejected_share=Decimal("0.1"))
    )
    result = replace(report([check("r")], [failing("r", 4)]).result, rejected_rows=4)
    judgement = judge(plan, result)
    texts = [f"{each.id}: {each.message}" for each in judgement.reasons]
    measured = Page(render(Report(plan, judgement, result, ("a.csv",)))).text
    unmeasured = Page(render_unmeasured(Verdict.REJECTED, Counts(10, 0, 10), texts, [])).text

    assert [each.id for each in judgement.by_harm] == ["file/whole", "r/n"]
    assert "Change first: n : wanted present; measured 4 of 10 rows fail (40 %). 1 more reason ." in measured
    assert "Change first: n: wanted present; measured 4 of 10 rows fail (40 %). 1 more reason ." in unmeasured
    for text in (measured, unmeasured):
        assert "40 % of the rows break a rule, more than 10 % (`maxRejectedShare`)" in text


def test_an_accepted_delivery_needs_no_change() -> None:
    """Without a reason there is nothing to change."""
    page = Page(render(report([check("r")], [failing("r", 0)])))

    assert "Accepted: 10 rows Every check that was measured passed." in page.text
    assert "Reasons" not in page.text


def test_a_warning_is_something_to_look_at() -> None:
    """A warned delivery was accepted: nothing must change."""
    page = Page(render(report([check("r", worst=Severity.WARN)], [failing("r")])))

    assert "Accepted with warnings: 10 rows Look first at:" in page.text


def test_the_summary_names_files_contract_checks_and_further_facts() -> None:
    """Of many files the first twenty are named."""
    files = tuple(f"part-{number}.csv" for number in range(22))
    page = Page(render(report([check("r")], [failing("r", 0)], files), [("Workload", "w-1")]))

    assert "part-19.csv and 2 more" in page.text
    assert "Contract shop 1.0.0 Checks 1 passed Measured in 1.2 s Workload w-1" in page.text


def test_five_rows_are_shown_and_the_rest_is_folded() -> None:
    """Twenty rows of a reason are on the page; masked values, raw values and nulls differ."""
    rows = [Sample(number, ("aa",)) for number in range(2, 30)]
    page = Page(render(report([check("r")], [failing("r", 28, *rows, good=("999", "99"))])))

    assert "row 6" in page.text.partition("15 more")[0]
    assert "row 21" in page.text.partition("15 more")[2]
    assert "row 22" not in page.text
    assert "Good values look like 999 or 99" in page.text


def test_values_are_marked_as_shapes_values_and_nulls() -> None:
    """Italic stands for a shape; a record without data is named as such."""
    rows = [Sample(2, ("aa", "x y", "null"), raw=(False, True, True)), Sample(3, (), record="blank")]
    text = render(report([check("r")], [failing("r", 2, *rows)]))

    assert '<code class="shape">aa</code>, <code class="value">x y</code>' in text
    assert '<code class="null">a line without values</code>' in text


@pytest.mark.parametrize(
    ("unit", "interval", "label"),
    [
        (Unit.ROWS, Interval(high=Decimal(2)), "40.0 % fail, at most 20.0 % may"),
        (Unit.PERCENT, Interval(high=Decimal(5)), "40.0 % fail, at most 5.0 % may"),
        (Unit.SHARE, Interval(low=Decimal("0.9")), "40.0 % fail, at most 10.0 % may"),
        (Unit.PART, Interval(high=Decimal("0.9")), "40.0 % fail"),
        (Unit.ROWS, Interval(low=Decimal(5)), "40.0 % fail"),
        (Unit.ROWS, Interval(low=Decimal(4), high=Decimal(5), outside=True), "40.0 % fail"),
        (Unit.ROWS, Interval(high=Decimal(20)), "40.0 % fail, at most 100.0 % may"),
    ],
)
def test_a_bar_has_the_failing_and_the_allowed_share(unit: Unit, interval: Interval, label: str) -> None:
    """The threshold of a check is a share of its rows, whatever its unit; some thresholds are no share."""
    page = Page(render(report([check("r", unit, interval)], [failing("r")])))

    assert page.labels == [label]


def test_a_check_without_rows_has_no_bar() -> None:
    """A check that counts no rows, or that was not measured, has its text only."""
    checks = [check("r"), check("m", Unit.VALUE, metric=Metric.MEAN), check("k", skip="cannot be measured")]
    answers = [Measurement("r/n", Measured(of=0, failing=0)), Measurement("m/n", Measured(of=10, number=3.0))]
    page = Page(render(report(checks, answers)))

    assert page.labels == []
    assert "not measured k n present cannot be measured" in page.text


def test_failed_checks_come_first() -> None:
    """The table is sorted by status, then as in the contract."""
    checks = [check("good"), check("bad"), check("later", skip="why"), check("warned", worst=Severity.WARN)]
    page = Page(render(report(checks, [failing("good", 0), failing("bad"), failing("warned")])))
    table = page.text.partition("All checks")[2]
    found = [table.index(word) for word in (" bad n", " warned n", " later n", " good n")]

    assert found == sorted(found)


def test_reasons_and_checks_are_bounded() -> None:
    """A page of ten thousand checks would not be read; what is left out is counted."""
    names = [f"r{number}" for number in range(1_001)]
    page = Page(render(report([check(name) for name in names], [failing(name) for name in names])))

    assert page.elements.count("article") == 50
    assert "951 more reasons are not listed here." in page.text
    assert "1 more check is not listed here." in page.text
    assert "1,000 more reasons" in page.text.partition("Files")[0]


def test_reasons_of_the_gate_come_first() -> None:
    """A duplicate is rejected although its checks passed; the code is explained."""
    page = Page(render(report([check("r")], [failing("r", 0)]), gate=["duplicate-content"]))

    assert "Look first at: the very same content was accepted before." in page.text


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}"])
def test_reasons_of_what_was_not_measured_are_text(text: str) -> None:
    """A refusal repeats names of columns, which are the producer's."""
    pages = [
        Page(render_unmeasured(Verdict.REJECTED, None, [f"{word}: {word}", word], [(word, word)], []))
        for word in ("plain", text)
    ]

    assert pages[0].elements == pages[1].elements
    assert pages[0].attributes == pages[1].attributes
    assert "49" not in pages[1].text


def test_the_history_has_thirty_deliveries_at_most() -> None:
    """Each bar of the history has its moment, verdict and number of broken rules in words."""
    past = [PastDelivery(f"2026-01-{day:02}T00:00:00Z", Verdict.REJECTED, day) for day in range(1, 32)]
    page = Page(render(report([check("r")], [failing("r", 0)]), history=past))

    assert "The last 30 deliveries" in page.text
    assert page.labels[0].startswith("Broken rules by delivery, oldest first: Rejected 2, Rejected 3, ")
    assert "2026-01-31T00:00:00Z: Rejected, 31 rules failed or warned" in page.text


def test_a_history_without_broken_rules_has_flat_bars() -> None:
    """Bars are relative to the delivery that broke the most rules; where none did, each is as low as can be seen."""
    text = render(report([check("r")], [failing("r", 0)]), history=[PastDelivery("now", Verdict.ACCEPTED, 0)])

    assert 'y="36.0" height="4.0"' in text
    assert "The last 1 delivery<" in text


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style><script>alert(1)</script>",
    "</title></head><body onload=alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "<!--<a href='http://evil.example'>",
    "&lt;b&gt;&#x3c;script&#x3e;",
    "\x1b[2J\u202egnp.exe\x00\ud800",
    "]]><svg onload=alert(1)>",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_others_add_no_element_and_no_attribute(text: str) -> None:
    """Names, messages, values and files of contracts and producers are text in every position of the page."""

    def page(word: str) -> Page:
        rows = [Sample(2, (word, word), raw=(True, False), at=word)]
        field = PlanField(word, "c0", LogicalType.NUMBER)
        every = Check(
            f"r/{word}", word, word, (word,), Metric.FAILING_ROWS, Unit.ROWS, Tier(NONE, Present(word)), wanted=word
        )
        skipped = Check("k", word, word, (), Metric.FAILING_ROWS, Unit.ROWS, Tier(NONE), skip=word)
        answer = Measurement(every.id, Measured(of=10, failing=1), samples=tuple(rows), good=(word,))
        plan = Plan(word, word, word, (field,), (every, skipped))
        result = Result("w", 1, "0" * 64, "v", 10, columns=Columns((word,)), measurements=(answer,))
        past = [PastDelivery(word, Verdict.ACCEPTED, 0)]
        return Page(render(Report(plan, judge(plan, result), result, (word, word)), [(word, word)], past))

    harmless, hostile = page("plain"), page(text)

    assert (hostile.elements, hostile.attributes, hostile.addresses) == (
        harmless.elements,
        harmless.attributes,
        harmless.addresses,
    )
    assert "49" not in hostile.text
    assert all(each.isprintable() for each in hostile.text)


def test_a_page_loads_nothing_and_runs_nothing() -> None:
    """The file is whole in itself: its only address is one of its own parts, and its policy forbids all others."""
    page = Page(render(report([check("r"), check("s")], [failing("r"), failing("s")])))

    assert page.addresses == {"#reasons"}
    assert {"script", "link", "img", "iframe", "base", "form"} & set(page.elements) == set()
    assert "default-src 'none'" in render(report([check("r")], [failing("r")]))


CONTRACT = {
    "apiVersion": "v3.1.0",
    "kind": "DataContract",
    "id": "shop",
    "version": "1.0.0",
    "status": "active",
    "schema": [{"name": "orders", "properties": [{"name": "a", "logicalType": "integer", "required": True}]}],
}


def run(folder: Path, *words: str) -> tuple[int, str]:
    (folder / "shop.yaml").write_text(json.dumps(CONTRACT))
    (folder / "o.csv").write_text("a\n1\nx\n")
    contract, data = str(folder / "shop.yaml"), str(folder / "o.csv")
    answer = CliRunner().invoke(app, ["check", "--contract", contract, data, *words])
    return answer.exit_code, answer.output + str(answer.exception)


def test_check_writes_the_page(tmp_path: Path) -> None:
    """`--report` writes the page beside the usual answer, whatever its format."""
    code, output = run(tmp_path, "--report", str(tmp_path / "out.html"))

    assert code == 1
    assert "out.html: report written" in " ".join(output.split())
    assert "Rejected: 2 rows" in Page((tmp_path / "out.html").read_text()).text
    assert run(tmp_path, "--json", "--report", str(tmp_path / "json.html"))[0] == 1
    assert (tmp_path / "json.html").exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("out.txt", "name a file that ends in .html"),
        ("none/out.html", "does not exist"),
        ("folder.html", "this is a folder"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_first(tmp_path: Path, name: str, words: str) -> None:
    """Nothing is measured where the report has no place."""
    (tmp_path / "folder.html").mkdir()
    code, output = run(tmp_path, "--report", str(tmp_path / name))

    assert code != 0
    assert words in output


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    """A report that cannot be written is an error with its reason, not a traceback."""
    (tmp_path / "full.html").symlink_to("/dev/full")
    code, output = run(tmp_path, "--report", str(tmp_path / "full.html"))

    assert code != 0
    assert "--report" in output
    assert "No space left on device" in output
