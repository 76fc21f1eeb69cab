"""What a verdict means: the rules of docs/architecture.md, section 5, one test for each line about deciding."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from lakegate.contracts.judge.columns import of_header
from lakegate.contracts.judge.counts import BrokenRule
from lakegate.contracts.judge.judgement import broken_rules, early_rejections, judge, row_rules
from lakegate.contracts.judge.measured_numbers import percent
from lakegate.contracts.judge.outcomes import Status
from lakegate.contracts.judge.verdict import Verdict
from lakegate.contracts.model.contract import Severity
from lakegate.contracts.model.policy import Additional, Mode, OnReject, Policy
from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.plan.check import NONE, Check, HeaderRequirement, Interval, Tier, Unit
from lakegate.contracts.plan.metrics import Metric
from lakegate.contracts.plan.plan import Plan, PlanField
from lakegate.contracts.plan.predicate import Present, Typed, Within
from lakegate.contracts.plan.result import (
    Columns,
    IncompatibleType,
    MalformedRecords,
    Measured,
    Measurement,
    Result,
    Unreadable,
)

CLEAN = Measured(of=10, failing=0, engine_passed=True)
BAD = Measured(of=10, failing=3, engine_passed=False)
NUMBER = PlanField("n", "c0", LogicalType.NUMBER)


AT_LEAST_ONE = Interval(low=Decimal(1))


def check(**changes: object) -> Check:
    usual = Check(
        id="r/n",
        rule="r",
        kind="required",
        fields=("n",),
        metric=Metric.FAILING_ROWS,
        unit=Unit.ROWS,
        accept=Tier(NONE, Present("n")),
        wanted="present",
    )
    return replace(usual, **changes)  # type: ignore[arg-type]


def plan(*checks: Check, policy: Policy | None = None) -> Plan:
    return Plan("c", "1.0.0", "d", (NUMBER,), checks, policy or Policy())


def answer(*measurements: Measurement, rows: int = 10, **changes: object) -> Result:
    usual = Result("w", 1, "0" * 64, "v", rows, columns=Columns(("n",)), measurements=measurements)
    return replace(usual, **changes)  # type: ignore[arg-type]


def measured(accept: Measured, tolerate: Measured | None = None, check: str = "r/n") -> Measurement:
    return Measurement(check, accept, tolerate)


def statuses(plan: Plan, result: Result) -> dict[str, str]:
    return {each.id: each.status.value for each in judge(plan, result).outcomes}


def verdict(plan: Plan, result: Result) -> Verdict:
    return judge(plan, result).verdict


def test_a_delivery_that_keeps_every_rule_is_accepted() -> None:
    """All checks pass: accepted, and nothing needs a reason."""
    judgement = judge(plan(check()), answer(measured(CLEAN)))

    assert (judgement.verdict, judgement.reasons) == (Verdict.ACCEPTED, ())


def test_a_broken_rule_rejects() -> None:
    """One failing check rejects the delivery, and its reason counts the rows."""
    judgement = judge(plan(check()), answer(measured(BAD)))

    assert judgement.verdict == Verdict.REJECTED
    assert [each.message for each in judgement.reasons] == ["n: wanted present; measured 3 of 10 rows fail (30 %)"]


def test_a_rule_of_less_severity_warns_at_worst() -> None:
    """A broken rule whose worst is a warning lets the delivery through, with the warning named."""
    mild = plan(check(worst=Severity.WARN))

    assert verdict(mild, answer(measured(BAD))) == Verdict.ACCEPTED_WITH_WARNINGS
    assert statuses(mild, answer(measured(BAD))) == {"r/n": "warn"}


@pytest.mark.parametrize(
    ("low", "lower", "status"),
    [("yes", "yes", "pass"), ("no", "yes", "warn"), ("no", "no", "fail")],
)
def test_between_the_tolerances_is_a_warning(low: str, lower: str, status: str) -> None:
    """Inside the warn tolerance passes, outside it but inside the fail tolerance warns, outside both fails."""
    found = {"yes": CLEAN, "no": BAD}
    tolerant = check(
        accept=Tier(NONE, Within("n", low="0")), tolerate=Tier(NONE, Within("n", low="-1")), wanted="at least 0"
    )

    assert {"r/n": status} == statuses(plan(tolerant), answer(measured(found[low], found[lower])))


def test_an_error_leaves_the_delivery_undecided_whatever_else_failed() -> None:
    """A check that could not be measured is an error, and any error means that nothing is decided."""
    two = plan(check(), check(id="s/n", rule="s"))
    result = answer(measured(BAD), Measurement("s/n", error="the pattern is none"))

    assert verdict(two, result) == Verdict.UNDECIDED
    assert statuses(two, result) == {"r/n": "fail", "s/n": "error"}


@pytest.mark.parametrize("measurements", [(), (Measurement("r/n"),)])
def test_a_check_without_an_answer_is_an_error(measurements: tuple[Measurement, ...]) -> None:
    """Silence is not a success: a check that the job did not answer is an error."""
    assert statuses(plan(check()), answer(*measurements)) == {"r/n": "error"}


def test_a_tolerance_without_an_answer_is_an_error() -> None:
    """Both tiers must be measured before either decides."""
    tolerant = check(tolerate=Tier(NONE, Within("n", low="-1")))

    assert statuses(plan(tolerant), answer(measured(BAD))) == {"r/n": "error"}


def test_deequ_and_lakegate_must_agree() -> None:
    """Where Deequ's own status differs from ours, the measurement is not trusted: error."""
    lying = replace(BAD, engine_passed=True)

    assert statuses(plan(check()), answer(measured(lying))) == {"r/n": "error"}
    assert statuses(plan(check()), answer(measured(replace(BAD, engine_passed=None)))) == {"r/n": "fail"}


def test_a_skipped_check_never_blocks_and_is_named() -> None:
    """What cannot be measured is skipped with its reason beside checks that were measured."""
    named = check(id="t", rule="t", fields=(), skip="text rules are for people")
    judgement = judge(plan(check(), named), answer(measured(CLEAN)))

    assert judgement.verdict == Verdict.ACCEPTED
    assert (judgement.outcomes[1].status, judgement.outcomes[1].message) == (Status.SKIP, "text rules are for people")


@pytest.mark.parametrize("checks", [(), (check(skip="text"),)])
def test_a_delivery_of_which_nothing_was_measured_is_undecided(checks: tuple[Check, ...]) -> None:
    """No check measured at all can never be a success."""
    assert verdict(plan(*checks), answer()) == Verdict.UNDECIDED


def test_an_empty_delivery_is_rejected_unless_the_contract_allows_it() -> None:
    """No rows: rejected in every mode; with allowEmpty, accepted on its measured zeros."""
    empty = answer(measured(Measured(of=0, failing=0)), rows=0, columns=None)

    assert verdict(plan(check()), empty) == Verdict.REJECTED
    assert verdict(plan(check(), policy=Policy(mode=Mode.OBSERVE)), empty) == Verdict.REJECTED
    assert verdict(plan(check(), policy=Policy(allow_empty=True)), empty) == Verdict.ACCEPTED
    assert statuses(plan(check()), empty) == {"file/rows": "fail", "r/n": "pass"}


def test_an_unreadable_delivery_is_rejected_and_its_checks_are_skipped() -> None:
    """A file of another shape than promised is rejected for that, in every mode; no check pretends to have been measured."""
    result = answer(unreadable=Unreadable("gzip", "the file is gzip-compressed"), rows=0, columns=None)

    assert verdict(plan(check()), result) == Verdict.REJECTED
    assert verdict(plan(check(), policy=Policy(mode=Mode.OBSERVE)), result) == Verdict.REJECTED
    assert statuses(plan(check()), result) == {"file/readable": "fail", "r/n": "skip"}


def test_observing_warns_and_lets_through() -> None:
    """In observe mode a broken rule is reported and the delivery accepted with warnings; an error stays undecided."""
    observing = plan(check(), policy=Policy(mode=Mode.OBSERVE))

    assert verdict(observing, answer(measured(BAD))) == Verdict.ACCEPTED_WITH_WARNINGS
    assert verdict(observing, answer()) == Verdict.UNDECIDED


def test_malformed_records_reject() -> None:
    """Records that are none are counted by reason, with the first row of each, and reject the delivery."""
    result = answer(
        measured(CLEAN), malformed=(MalformedRecords("fields", 2, 7), MalformedRecords("quotes", 1, 9)), rejected_rows=3
    )
    outcome = judge(plan(check()), result).outcomes[0]

    assert verdict(plan(check()), result) == Verdict.REJECTED
    assert (outcome.id, outcome.failing_rows) == ("file/records", 3)
    assert outcome.message.startswith("2 rows (first: row 7) have another number of values than the header; 1 row ")


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
        (Additional.ALLOW, Verdict.ACCEPTED),
        (Additional.WARN, Verdict.ACCEPTED_WITH_WARNINGS),
        (Additional.FORBID, Verdict.REJECTED),
    ],
)
def test_additional_columns_are_what_the_policy_says(policy: Additional, expected: Verdict) -> None:
    """Extra fields pass, and are noted, unless additionalFields forbids them."""
    result = answer(measured(CLEAN), columns=Columns(("n", "x"), extra=("x",)))

    assert expected == verdict(plan(check(), policy=Policy(additional_fields=policy)), result)


def test_refusing_rows_accepts_the_rest() -> None:
    """With onReject: rows, a delivery whose only fault is single rows is accepted with warnings, within the share allowed."""
    policy = Policy(on_reject=OnReject.ROWS, max_rejected_share=Decimal("0.3"))
    by_rows = plan(check(), policy=policy)
    bad = answer(measured(BAD), rejected_rows=3)

    assert verdict(by_rows, bad) == Verdict.ACCEPTED_WITH_WARNINGS
    assert verdict(by_rows, replace(bad, rejected_rows=4)) == Verdict.REJECTED
    assert by_rows.checks == row_rules(by_rows, bad)


@pytest.mark.parametrize(
    ("changes", "blamed"),
    [
        ({}, True),
        ({"accept": Tier(Interval(low=Decimal(0), high=Decimal(0)), Present("n"))}, True),
        ({"accept": Tier(Interval(low=Decimal(1), high=Decimal(2)), Present("n"))}, False),
        ({"accept": Tier(Interval(high=Decimal(2), outside=True), Present("n"))}, False),
        ({"unit": Unit.SHARE, "accept": Tier(Interval(low=Decimal("0.9")), Present("n"))}, True),
        ({"unit": Unit.SHARE, "accept": Tier(Interval(high=Decimal("0.9")), Present("n"))}, False),
        ({"metric": Metric.DUPLICATE_ROWS}, True),
        ({"metric": Metric.DUPLICATE_ROWS, "nulls_alike": True}, False),
        ({"metric": Metric.ROW_COUNT, "unit": Unit.VALUE}, False),
    ],
)
def test_a_row_is_blamed_where_fewer_such_rows_are_better(changes: dict[str, object], *, blamed: bool) -> None:
    """A rule refuses single rows only where each of them is one too many."""
    by_rows = plan(check(**changes), policy=Policy(on_reject=OnReject.ROWS))

    assert bool(row_rules(by_rows, answer(measured(BAD)))) is blamed


def test_refusing_rows_never_accepts_none() -> None:
    """A delivery all of whose rows are refused is rejected, whatever share is allowed."""
    by_rows = plan(check(), policy=Policy(on_reject=OnReject.ROWS))
    worst = answer(measured(Measured(of=10, failing=10, engine_passed=False)), rejected_rows=10)

    assert verdict(by_rows, worst) == Verdict.REJECTED


def test_rows_do_not_answer_for_an_absent_field() -> None:
    """With onReject: rows, a file without a field that a rule names is rejected whole: no row of it is to blame."""
    by_rows = plan(check(), policy=Policy(on_reject=OnReject.ROWS))
    result = answer(columns=Columns(("x",), absent=("n",)))

    assert (statuses(by_rows, result), row_rules(by_rows, result)) == ({"r/n": "fail"}, ())
    assert verdict(by_rows, result) == Verdict.REJECTED


def test_malformed_records_are_rows_that_can_be_refused() -> None:
    """With onReject: rows, a malformed record is refused alone."""
    by_rows = plan(check(), policy=Policy(on_reject=OnReject.ROWS))
    result = answer(measured(CLEAN), malformed=(MalformedRecords("fields", 1, 2),), rejected_rows=1)

    assert verdict(by_rows, result) == Verdict.ACCEPTED_WITH_WARNINGS


@pytest.mark.parametrize(
    "of_the_whole",
    [
        check(metric=Metric.ROW_COUNT, unit=Unit.VALUE, fields=(), accept=Tier(Interval(low=Decimal(20)))),
        check(accept=Tier(Interval(low=Decimal(5)), Present("n"))),
        check(accept=Tier(Interval(low=Decimal(3), high=Decimal(3), outside=True), Present("n"))),
        check(unit=Unit.SHARE, accept=Tier(Interval(high=Decimal("0.5")), Present("n"))),
    ],
)
def test_rows_do_not_answer_for_rules_of_the_whole(of_the_whole: Check) -> None:
    """With onReject: rows, a rule that no single row breaks still rejects the delivery."""
    by_rows = plan(of_the_whole, policy=Policy(on_reject=OnReject.ROWS))
    result = answer(measured(Measured(of=10, failing=3)), rejected_rows=3)

    assert (statuses(by_rows, result), row_rules(by_rows, result)) == ({"r/n": "fail"}, ())
    assert verdict(by_rows, result) == Verdict.REJECTED


@pytest.mark.parametrize(
    ("unit", "interval", "failing", "status"),
    [
        (Unit.ROWS, Interval(high=Decimal(3)), 3, "pass"),
        (Unit.ROWS, Interval(high=Decimal(3), high_open=True), 3, "fail"),
        (Unit.VALUE, Interval(low=Decimal(1), low_open=True), 1, "fail"),
        (Unit.PERCENT, Interval(high=Decimal(30)), 3, "pass"),
        (Unit.PERCENT, Interval(high=Decimal("29.9")), 3, "fail"),
        (Unit.SHARE, Interval(low=Decimal("0.7")), 3, "pass"),
        (Unit.SHARE, Interval(low=Decimal("0.70000000000000000001")), 3, "fail"),
    ],
)
def test_counts_meet_bounds_exactly(unit: Unit, interval: Interval, failing: int, status: str) -> None:
    """Shares of counts are compared as exact fractions: a bound is met or missed, never rounded."""
    bounded = plan(check(unit=unit, accept=Tier(interval, Present("n"))))

    assert {"r/n": status} == statuses(bounded, answer(measured(Measured(of=10, failing=failing))))


@pytest.mark.parametrize(
    ("number", "status"),
    [(10.0, "pass"), (10.0 + 1e-9, "pass"), (10.0 + 1e-7, "fail"), (None, "fail"), (float("nan"), "fail")],
)
def test_floating_aggregates_have_an_epsilon_and_no_number_is_never_a_pass(number: float | None, status: str) -> None:
    """A mean is compared with a relative epsilon of 1e-9; where there is no number, the check does not pass."""
    ten = Interval(low=Decimal(10), high=Decimal(10))
    mean = check(metric=Metric.MEAN, unit=Unit.VALUE, accept=Tier(ten))

    assert {"r/n": status} == statuses(plan(mean), answer(measured(Measured(of=10, number=number))))


@pytest.mark.parametrize(
    ("changes", "found", "words"),
    [
        ({}, Measured(of=0, failing=0), "0 values measured"),
        ({}, Measured(of=10, failing=1), "10 % fail"),
        ({"unit": Unit.SHARE, "accept": Tier(Interval(low=Decimal(0)), Present("n"))}, Measured(10, 1), "90 % hold"),
        ({"metric": Metric.ROW_COUNT, "unit": Unit.VALUE}, Measured(of=1234), "1,234 rows"),
        ({"metric": Metric.MEAN, "unit": Unit.VALUE}, Measured(of=9, number=1.5), "1.5"),
        ({"metric": Metric.DEVIATION, "unit": Unit.VALUE}, Measured(of=0), "no values to take it of"),
        ({"metric": Metric.DISTINCT_SHARE, "unit": Unit.SHARE}, Measured(of=10, failing=5), "50 % distinct"),
        ({"metric": Metric.DUPLICATE_ROWS}, Measured(of=10, failing=2), "2 of 10 rows fail (20 %)"),
        ({"metric": Metric.DUPLICATE_ROWS}, Measured(of=10, failing=0), "0 of 10 rows fail (0 %)"),
        ({"metric": Metric.DUPLICATE_ROWS, "accept": Tier(AT_LEAST_ONE)}, Measured(of=10, failing=2), "2 of 10 rows"),
        (
            {"metric": Metric.DUPLICATE_ROWS, "unit": Unit.PERCENT, "accept": Tier(AT_LEAST_ONE)},
            Measured(of=10, failing=2),
            "2 of 10 rows fail (20 %)",
        ),
        (
            {"metric": Metric.DUPLICATE_ROWS, "accept": Tier(Interval(low=Decimal(0)))},
            Measured(of=10, failing=2),
            "2 of 10 rows fail (20 %)",
        ),
    ],
)
def test_what_was_measured_is_said_in_words(changes: dict[str, object], found: Measured, words: str) -> None:
    """A table shows the number that decided, in words a producer knows."""
    assert words == judge(plan(check(**changes)), answer(measured(found))).outcomes[0].measured


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (Fraction(0), "0 %"),
        (Fraction(1), "100 %"),
        (Fraction(1, 10**6), "< 0.01 %"),
        (1 - Fraction(1, 10**6), "> 99.99 %"),
        (Fraction(1, 8), "12.5 %"),
        (Fraction(1, 10), "10 %"),
    ],
)
def test_a_share_is_never_rounded_into_none_or_all(share: Fraction, text: str) -> None:
    """One row in a million is less than 0.01 %, not 0 %."""
    assert text == percent(share)


def test_reasons_come_worst_first() -> None:
    """Errors explain first, then failures, then warnings."""
    three = plan(check(id="w", worst=Severity.WARN), check(id="f"), check(id="e"))
    result = answer(measured(BAD, check="w"), measured(BAD, check="f"))

    assert [each.id for each in judge(three, result).reasons] == ["e", "f", "w"]


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
        (HeaderRequirement(forbidden=("*",)), ("a\nb",), 1),
    ],
)
def test_columns_that_break_what_is_wanted_are_counted(
    header: HeaderRequirement, found: tuple[str, ...], breaking: int
) -> None:
    """Columns that are absent, superfluous, forbidden or elsewhere are counted, each once for each reason."""
    wanted = check(metric=Metric.COLUMNS, fields=(), header=header, unit=Unit.VALUE, accept=Tier(NONE))

    assert of_header(wanted, Columns(found)) == Measured(len(found), failing=breaking)


@pytest.mark.parametrize(
    ("changes", "of_the_whole"),
    [
        ({"row_filter": Present("n")}, False),
        ({"row_filter": Typed("n")}, True),
        ({"nulls_alike": True}, True),
        ({}, False),
    ],
)
def test_keys_of_some_rows_answer_for_the_whole(changes: dict[str, object], of_the_whole: object) -> None:
    """Rows that share a key are to blame only where keys are compared over all rows that have one."""
    keyed = plan(check(metric=Metric.DUPLICATE_ROWS, accept=Tier(NONE), **changes))

    assert of_the_whole is (row_rules(keyed, answer(measured(BAD))) == ())


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 seconds"),
        (90, "90 seconds"),
        (120, "2 minutes"),
        (-7200, "-2 hours"),
        (129600, "36 hours"),
        (302400, "3.5 days"),
    ],
)
def test_a_time_is_shown_in_the_largest_unit_of_which_it_lasts_two(seconds: int, words: str) -> None:
    """A producer reads hours and days, not millions of seconds."""
    aged = plan(check(metric=Metric.YOUNGEST, unit=Unit.VALUE, accept=Tier(Interval(high=Decimal(10**9)))))
    outcome = judge(aged, answer(measured(Measured(of=10, number=float(seconds))))).outcomes[0]

    assert words == outcome.measured


def test_a_check_the_job_found_nothing_to_compare_with_is_named() -> None:
    """A skip of the job is a skip of the check, with its reason; it neither blocks nor counts as a pass."""
    nothing = Measurement("r/n", skip="nothing of shop/orders_v1 has been accepted yet")
    beside = judge(plan(check(), check(id="q/n")), answer(nothing, measured(CLEAN, check="q/n")))
    alone = judge(plan(check()), answer(nothing))

    assert (beside.verdict, alone.verdict) == (Verdict.ACCEPTED, Verdict.UNDECIDED)
    assert [(each.status, each.message) for each in alone.outcomes if each.id == "r/n"] == [
        (Status.SKIP, "nothing of shop/orders_v1 has been accepted yet")
    ]


def test_broken_rules_are_listed_once_the_worst_first() -> None:
    """A rule is as bad as its worst check; failures precede warnings, and rules with more failing rows the others."""
    found = plan(
        check(id="a/n", rule="a", worst=Severity.WARN),
        check(id="b/n", rule="b"),
        check(id="b/m", rule="b", worst=Severity.WARN),
        check(id="c/n", rule="c"),
        check(id="d/n", rule="d"),
    )
    worse = Measured(of=10, failing=7, engine_passed=False)
    numbers = {"a/n": BAD, "b/n": BAD, "b/m": worse, "c/n": worse, "d/n": CLEAN}
    judgement = judge(found, answer(*(measured(each, check=name) for name, each in numbers.items())))

    assert broken_rules(judgement.outcomes) == (
        BrokenRule("c", "fail", 7),
        BrokenRule("b", "fail", 3),
        BrokenRule("a", "warn", 3),
    )


def test_the_list_of_broken_rules_is_bounded() -> None:
    """Each is written with the commit, so their number and their length are bounded; a finding of the file has its id."""
    many = plan(*(check(id=f"{n:03}/n", rule=f"{n:03}" + "x" * 1_000) for n in range(60)))
    listed = broken_rules(judge(many, answer(*(measured(BAD, check=each.id) for each in many.checks))).outcomes)
    unreadable = judge(plan(check()), answer(unreadable=Unreadable("not-csv", "it is no CSV")))

    assert [each.rule for each in listed] == [f"{n:03}" + "x" * 197 for n in range(20)]
    assert [each.rule for each in broken_rules(unreadable.outcomes)] == ["file/readable"]
