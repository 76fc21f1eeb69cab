"""What the columns of a file mean for its verdict: absent, of another type, in another order, undeclared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakegate.contract.contract_model import Severity, Shape
from lakegate.contract.delivery_policy import FieldTreatment, OnReject, Policy
from lakegate.contract.file_formats import Format, Storage
from lakegate.contract.logical_types import LogicalType
from lakegate.plan.check import NONE, Check, HeaderRequirement, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import PlanField
from lakegate.plan.predicates import Present, Typed
from lakegate.plan.result import Columns, IncompatibleType, Measured
from lakegate.verdict.check_status import of_header
from lakegate.verdict.verdict import Verdict, early_rejections, judge, row_rules
from tests.unit.verdict.test_verdict import BAD, CLEAN, answer, check, measured, plan, statuses, verdict


def test_an_absent_field_fails_every_rule_that_names_it() -> None:
    """A column that a rule names and the file lacks is that rule's failure, at the rule's severity."""
    lacking = Columns(("m",), absent=("n",), extra=("m",))

    assert statuses(plan(check()), answer(columns=lacking)) == {"r/n": "fail", "file/additional-columns": "pass"}
    mild = plan(check(worst=Severity.WARN))
    assert statuses(mild, answer(columns=lacking)) == {"r/n": "warn", "file/additional-columns": "pass"}


def test_an_absent_field_without_rules_warns() -> None:
    """A field's type applies if the field is there; its absence alone is a warning."""
    typed = check(kind="type", accept=Tier(NONE, Typed("n")))

    assert statuses(plan(typed), answer(columns=Columns((), absent=("n",)))) == {"r/n": "warn"}


def test_a_failed_type_names_the_type_that_the_file_has() -> None:
    """Only a check of types, only for its own field, and only where the file has types."""
    typed = plan(check(kind="type", accept=Tier(NONE, Typed("n")), wanted="a number"), check(id="s/n"))
    foreign = Columns(("n", "m"), foreign=(IncompatibleType("m", "bool"), IncompatibleType("n", "string")))
    measurements = measured(BAD), measured(BAD, check="s/n")
    messages = {
        columns: [each.message for each in judge(typed, answer(*measurements, columns=columns)).outcomes]
        for columns in (foreign, Columns(("n",)), None)
    }

    plain = messages[None]
    assert messages[Columns(("n",))] == plain
    assert messages[foreign][0].startswith(f"{plain[0]}; the file has it as string; ")
    assert messages[foreign][1:] == plain[1:]


def test_an_absent_field_beside_a_similar_extra_one_asks() -> None:
    """A misspelt header is named as what it probably is."""
    fields = (PlanField("humidity", "c0", LogicalType.NUMBER),)
    misspelt = replace(plan(check(fields=("humidity",))), fields=fields)
    result = answer(columns=Columns(("humidty",), absent=("humidity",), extra=("humidty",)))

    assert (
        judge(misspelt, result).reasons[0].message
        == "the file has no column humidity; it has humidty: did you mean that?"
    )


def test_another_order_of_columns_warns() -> None:
    """Consumers may read by position, so another order is reported, and accepted."""
    result = answer(measured(CLEAN), columns=Columns(("b", "a"), reordered=True))

    assert verdict(plan(check()), result) == Verdict.ACCEPTED_WITH_WARNINGS
    assert statuses(plan(check()), result) == {"file/column-order": "warn", "r/n": "pass"}


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (FieldTreatment.ALLOW, Verdict.ACCEPTED),
        (FieldTreatment.WARN, Verdict.ACCEPTED_WITH_WARNINGS),
        (FieldTreatment.FORBID, Verdict.REJECTED),
    ],
)
def test_additional_columns_are_what_the_policy_says(policy: FieldTreatment, expected: Verdict) -> None:
    """Extra fields pass, and are noted, unless additionalFields forbids them."""
    result = answer(measured(CLEAN), columns=Columns(("n", "x"), extra=("x",)))

    assert expected == verdict(plan(check(), policy=Policy(additional_fields=policy)), result)


@pytest.mark.parametrize(
    ("treatment", "storage", "optional", "demanded", "unread"),
    [
        (None, "csv", "accepted_with_warnings", "rejected", "accepted_with_warnings"),
        ("allow", "csv", "accepted", "rejected", "accepted"),
        ("warn", "csv", "accepted_with_warnings", "rejected", "accepted_with_warnings"),
        ("forbid", "csv", "rejected", "rejected", "rejected"),
        ("allow", "parquet", "accepted", "rejected", "accepted"),
        ("forbid", "parquet", "rejected", "rejected", "rejected"),
        ("forbid", "orc", "rejected", "rejected", "rejected"),
        ("forbid", "avro", "rejected", "rejected", "rejected"),
        ("allow", "jsonl", "accepted", "rejected", "accepted"),
        ("forbid", "jsonl", "accepted_with_warnings", "rejected", "accepted_with_warnings"),
        ("forbid", "json", "accepted_with_warnings", "rejected", "accepted_with_warnings"),
    ],
)
def test_an_absent_field_is_what_the_policy_says(
    treatment: str | None, storage: str, optional: str, demanded: str, unread: str
) -> None:
    """Of a field that no rule demands, the setting decides; one that a rule demands has to be there. JSON has no columns."""
    policy = Policy(missing_fields=FieldTreatment(treatment) if treatment else None)
    fields = PlanField("n", "c0", LogicalType.NUMBER), PlanField("m", "c1", LogicalType.NUMBER)
    kept = check(id="s/m", fields=("m",), accept=Tier(NONE, Present("m")))
    result = answer(measured(CLEAN, check="s/m"), columns=Columns(("m",), absent=("n",)))

    def of(*checks: Check) -> str:
        own = replace(plan(*checks, kept, policy=policy), fields=fields, storage=Storage(Format(storage)))
        return verdict(own, result).value

    typed = check(kind="type", accept=Tier(NONE, Typed("n")))
    assert (of(typed), of(check(accept=Tier(NONE, Present("n")))), of()) == (optional, demanded, unread)


def test_forbidden_absent_fields_are_one_reason_that_names_them() -> None:
    """The reason says what to deliver; parts of an absent record are not listed."""
    record = PlanField("a", "c1", LogicalType.STRING, shape=Shape.RECORD)
    part = PlanField("a.b", "c2", LogicalType.STRING, path=(".a", ".b"))
    fields = PlanField("n", "c0", LogicalType.NUMBER), record, part
    strict = replace(
        plan(check(kind="type", accept=Tier(NONE, Typed("n"))), policy=Policy(missing_fields=FieldTreatment.FORBID)),
        fields=fields,
    )
    judged = judge(strict, answer(columns=Columns(("x",), absent=("n", "a", "a.b"), extra=("x",))))

    assert [each.message for each in judged.outcomes if each.id == "file/missing-columns"] == [
        "the file does not have fields of the contract: n, a"
    ]
    assert [(each.id, each.status.value, each.message) for each in judged.reasons] == [
        ("cause/missing-columns", "fail", "the file has no columns n, a: deliver them")
    ]


def test_a_forbidden_absent_field_rejects_at_the_door() -> None:
    """The header alone shows it, so that no run is started."""
    strict = plan(
        check(kind="type", accept=Tier(NONE, Typed("n"))), policy=Policy(missing_fields=FieldTreatment.FORBID)
    )
    columns = Columns(("m",), absent=("n",))

    assert [each.status.value for each in early_rejections(strict, columns)] == ["fail"]
    assert early_rejections(plan(check(kind="type", accept=Tier(NONE, Typed("n")))), columns) == ()


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        (Columns(("n", "N"), extra=("N",)), "n and N"),
        (Columns(("N", "n", "x"), extra=("N", "x")), "N and n"),
        (Columns(("n", "x", "X"), extra=("x", "X")), "x and X"),
        (Columns(("É", "é", "n"), extra=("É", "é")), "É and é"),
        (Columns(("n", "x"), extra=("x",)), ""),
        (Columns(("m", "M", "x"), extra=("x",)), ""),  # as the contract has them
        (Columns(("N",), absent=("n",), extra=("N",)), ""),  # it is misspelt, which is told so
    ],
)
def test_names_that_differ_in_capitals_only_are_refused(columns: Columns, named: str) -> None:
    """Readers of accepted data would take an extra column for the one that was evaluated."""
    policy = Policy(additional_fields=FieldTreatment.ALLOW)
    judged = judge(plan(check(), policy=policy), answer(measured(CLEAN), columns=columns))
    messages = [each.message for each in judged.outcomes if each.id == "file/column-case"]
    words = f"names differ in capitals only: {named}; Spark, Athena and others take them for one: rename one"

    assert messages == ([words] if named else [])
    assert (judged.verdict is Verdict.REJECTED) is bool(named or columns.absent)


def test_rows_do_not_answer_for_an_absent_field() -> None:
    """With onReject: rows, a file without a field that a rule names is rejected whole: no row of it is to blame."""
    by_rows = plan(check(), policy=Policy(on_reject=OnReject.ROWS))
    result = answer(columns=Columns(("x",), absent=("n",)))

    assert (statuses(by_rows, result), row_rules(by_rows, result)) == ({"r/n": "fail"}, ())
    assert verdict(by_rows, result) == Verdict.REJECTED


def test_what_the_header_alone_answers_is_known_at_the_door() -> None:
    """A rule about the columns of the file needs no row: it is decided from the header, in the job and before it."""
    wanted = check(
        metric=Metric.COLUMNS,
        fields=(),
        unit=Unit.VALUE,
        header=HeaderRequirement(required=("n", "m")),
        accept=Tier(NONE),
    )
    lacking = plan(wanted)

    assert [each.id for each in early_rejections(lacking, Columns(("n",)))] == ["r/n"]
    assert early_rejections(lacking, Columns(("m", "n"))) == ()
    assert statuses(lacking, answer()) == {"r/n": "fail"}


@pytest.mark.parametrize(
    ("header", "found", "breaking"),
    [
        (HeaderRequirement(required=("a", "b")), ("b", "a", "c"), 0),
        (HeaderRequirement(required=("a", "b"), closed=True), ("b", "a", "c"), 1),
        (HeaderRequirement(required=("a", "b"), closed=True, ordered=True), ("b", "a"), 2),
        (HeaderRequirement(required=("a", "b"), ordered=True), ("a", "c"), 1),
        (HeaderRequirement(forbidden=("pii*", "x")), ("pii", "pii_name", "a.x", "x"), 3),
        (HeaderRequirement(forbidden=("*",)), ("a\nb", ""), 2),
        (
            HeaderRequirement(forbidden=("ab*bc", "*x*y*", "*[a-z].")),
            ("abc", "abbc", "1x2y3", "yx", "a.", "?[a-z]."),
            3,
        ),
        (HeaderRequirement(forbidden=("*a" * 100 + "*b",)), ("a" * 5_000, "a" * 99 + "b", "a" * 100 + "b"), 1),
    ],
)
def test_columns_that_break_what_is_wanted_are_counted(
    header: HeaderRequirement, found: tuple[str, ...], breaking: int
) -> None:
    """Columns that are absent, superfluous, forbidden or elsewhere are counted, each once for each reason."""
    wanted = check(metric=Metric.COLUMNS, fields=(), header=header, unit=Unit.VALUE, accept=Tier(NONE))

    assert of_header(wanted, Columns(found)) == Measured(len(found), failing=breaking)
