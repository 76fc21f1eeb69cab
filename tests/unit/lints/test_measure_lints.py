"""Rules that no data meets together are found, whatever words they are written in; rules that some data meets are not."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.lints.linter import examine
from lakegate.lints.measure_lints import Span

DCM = """\
specVersion: 0.1.3
id: x-p-1.0.0
name: x
kind: DataContract
version: 1.0.0
producer: {{name: p, group: g}}
access: {{eventType: push, protocol: HTTP, location: /x, accessConfiguration: {{}}}}
dataset:
  name: d
  schema: [{{name: n, dataType: number, constraint: NOT_NULL}}, {{name: t, dataType: string}}]
quality:
{rules}
"""
ROWS = "type: library, metric: rowCount, "
SODA = "type: custom, engine: soda, implementation: "


def rule(number: int, kind: str, parameter: object, column: str = "n", severity: str = "") -> str:
    columns = "" if kind == "size" else f", columns: [{column}]"
    return f"  - {{id: r{number}, name: r, type: {kind}, parameter: {parameter}{columns}{severity}}}"


def contradictions(text: str) -> list[str]:
    examined = examine(text.encode())
    assert {each.code for each in examined.errors} <= {"contradicting-thresholds"}, examined.errors
    return [each.path for each in examined.errors]


@pytest.mark.parametrize(
    ("first", "second", "is_contradiction"),
    [
        (("size", 10), ("size", 5), True),
        (("size", 10), ("size", 10), False),
        (("min", 10), ("mean", 5), True),
        (("min", 10), ("mean", 10), False),
        (("max", 10), ("mean", 11), True),
        (("max", -1), ("mean", 0), True),
        (("mean", 3), ("mean", 4), True),
        (("stdev", 3), ("stdev", 4), True),
        (("complete", 0.9), ("complete", 0.5), False),
        (("mean", 5), ("min", 10), True),
    ],
)
def test_rules_of_dcm_have_a_logical_sense_together(
    first: tuple[str, object], second: tuple[str, object], *, is_contradiction: bool
) -> None:
    """Requirement R1 of the thesis (3.2.1)."""
    found = contradictions(DCM.format(rules="\n".join([rule(1, *first), rule(2, *second)])))

    assert bool(found) is is_contradiction


@pytest.mark.parametrize(
    ("tolerance", "is_contradiction"),
    [("", True), (", severity: {fail: {tolerance: 0.1}}", True), (", severity: {fail: {tolerance: 0.5}}", False)],
)
def test_a_tolerance_counts(tolerance: str, *, is_contradiction: bool) -> None:
    """Ten rows or half of them are five."""
    rules = [rule(1, "size", 10, severity=tolerance), rule(2, "size", 5)]

    assert bool(contradictions(DCM.format(rules="\n".join(rules)))) is is_contradiction


def test_a_rule_with_a_schedule_measures_other_data() -> None:
    """All that was accepted may have more rows than a delivery."""
    schedule = ", scheduleCronExpression: '0 20 * * *'"
    rules = [rule(1, "size", 10, severity=schedule), rule(2, "size", 5)]

    assert contradictions(DCM.format(rules="\n".join(rules))) == []
    both = [rule(1, "size", 10, severity=schedule), rule(2, "size", 5, severity=schedule)]
    assert contradictions(DCM.format(rules="\n".join(both))) == ["$.quality[1]"]


def test_a_deviation_has_room_between_the_bounds() -> None:
    """Of two values at 0 and 10 it is 7.07, and more of none."""

    def found(deviation: object) -> list[str]:
        rules = [rule(1, "min", 0), rule(2, "max", 10), rule(3, "stdev", deviation)]
        return contradictions(DCM.format(rules="\n".join(rules)))

    assert found(8) == ["$.quality[2]"]
    assert found(7.07) == []


DCS = """\
dataContractSpecification: 1.2.1
id: x
info: {{title: t, version: 1.0.0}}
models:
  m:
    fields:
      n: {{type: double, required: true{field}}}
      t: {{type: text}}
    quality:
{rules}
"""


@pytest.mark.parametrize(
    ("field", "rules", "is_contradiction"),
    [
        ("", [f"{ROWS}mustBeGreaterThan: 5", f"{SODA}'row_count < 3'"], True),
        (
            "",
            [
                f"{ROWS}mustBeGreaterThan: 5",
                f"{ROWS}mustBeLessThan: 7",
            ],
            False,
        ),
        (
            "",
            [
                f"{ROWS}mustBeGreaterThan: 5",
                f"{ROWS}mustBeLessThan: 6",
            ],
            True,
        ),
        (", minimum: 10", [f"{SODA}'avg(n) < 10'"], True),
        (", minimum: 10", [f"{SODA}'avg(n) <= 10'"], False),
        (", minimum: 10", [f"{SODA}'sum(n) < 5'"], True),
        (", maximum: 1", [f"{SODA}'sum(n) > 20'", f"{SODA}'row_count < 20'"], True),
        (", maximum: 1", [f"{SODA}'sum(n) > 20'"], False),
        (", maximum: 1", [f"{SODA}'max(n) > 2'"], True),
        ("", [f"{SODA}'duplicate_count(t) > 5'", f"{SODA}'row_count < 5'"], True),
        ("", [f"{SODA}'missing_count(t) > 5'", f"{SODA}'missing_percent(t) = 0'"], True),
        ("", [f"{SODA}'missing_percent(t) > 5'", f"{SODA}'missing_percent(t) < 9'"], False),
    ],
)
def test_measures_are_compared_whatever_their_words(field: str, rules: list[str], *, is_contradiction: bool) -> None:
    """The metrics of libraries, checks of Soda and the keys of fields are one measure, or bound each other."""
    lines = "\n".join(f"      - {{{each}}}" for each in rules)
    codes = {each.code for each in examine(DCS.format(field=field, rules=lines).encode()).errors}

    assert codes == ({"contradicting-thresholds"} if is_contradiction else set())


numbers = st.none() | st.integers(-5, 5).map(Fraction)
spans = st.builds(Span, numbers, numbers, st.booleans(), st.booleans())


def has(span: Span, number: Fraction) -> bool:
    above = span.low is None or number > span.low or (number == span.low and not span.low_open)
    return above and (span.high is None or number < span.high or (number == span.high and not span.high_open))


@given(spans, spans, st.integers(-12, 12).map(lambda each: Fraction(each, 2)))
def test_a_number_is_in_both_spans_or_not_in_their_common_one(one: Span, other: Span, number: Fraction) -> None:
    """An empty span has no number, and the whole numbers of a span are those in it."""
    common = one.within(other)

    assert has(common, number) is (has(one, number) and has(other, number))
    assert not (common.is_empty and has(common, number))
    if number.denominator == 1:
        assert has(one.whole, number) is has(one, number)


def test_many_rules_about_one_measure_cost_a_step_each() -> None:
    """A document may have thousands."""
    lines = "\n".join(f"      - {{type: library, metric: rowCount, mustBeGreaterThan: {at}}}" for at in range(2_000))

    assert examine(DCS.format(field="", rules=lines).encode()).errors == ()
