"""Great Expectations by their own names and arguments (`custom` rules), compiled to the same checks as every other rule.

`mostly` is a share of the non-null values; for the two expectations about null itself, of all rows. What this version does not
measure, an argument included, becomes a check that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from contracts.check import Check, Interval, Metric, Tier, Unit
from contracts.model import Field, Rule
from contracts.predicate import Length, Matches, Not, Present
from contracts.rules.build import (
    brief,
    check,
    in_range,
    items,
    listed,
    number,
    one_of,
    refuse,
    rows,
    skipped,
    unique_rows,
    whole,
    within,
)
from contracts.rules.patterns import translate
from contracts.rules.strftime import compile_format

Arguments = Mapping[str, object]

_SILENT = {"column", "column_list", "mostly", "meta", "notes", "severity", "description"}
"""Arguments that say nothing of the data, or are read for every expectation."""
_RANGE = frozenset({"min_value", "max_value", "strict_min", "strict_max"})


@dataclass(frozen=True, slots=True)
class Expectation:
    """How one expectation becomes a check of a field (or of the dataset, given no field), and the arguments it knows."""

    compile: Callable[[Rule, tuple[Field, ...], Arguments], Check]
    knows: frozenset[str] = frozenset()
    columns: range = range(1, 2)
    """How many fields it speaks of at once."""
    of_present: bool = True
    """Whether `mostly` is a share of the non-null values."""


def great_expectations(rule: Rule, fields: tuple[Field, ...], call: str, arguments: Arguments) -> tuple[Check, ...]:
    """The checks of one expectation: one for each field, or one of all fields together."""
    expectation = EXPECTATIONS.get(call)
    if expectation is None:
        return (skipped(rule, fields, f"the expectation {brief(call)} is not measured by this version"),)
    foreign = sorted(set(arguments) - expectation.knows - _SILENT)
    if foreign:
        return (skipped(rule, fields, f"the argument {brief(foreign[0])} of {call} is not measured by this version"),)
    if not expectation.columns.stop - 1:
        return (_mostly(rule, expectation, expectation.compile(rule, (), arguments), arguments),)
    if len(fields) < expectation.columns.start:
        refuse(rule, "no-column", f"{call} must name {expectation.columns.start} column(s)")
    groups = [(field,) for field in fields] if 1 in expectation.columns else [fields]
    return tuple(_mostly(rule, expectation, expectation.compile(rule, group, arguments), arguments) for group in groups)


def _mostly(rule: Rule, expectation: Expectation, base: Check, arguments: Arguments) -> Check:
    share = number(rule, arguments.get("mostly", 1))
    if not 0 <= share <= 1:
        refuse(rule, "share", "mostly is a share from 0 to 1")
    if share == 1 or base.skip is not None or base.unit is not Unit.ROWS:
        return base
    return replace(
        base,
        unit=Unit.SHARE,
        accept=Tier(Interval(low=share), base.accept.predicate),
        of_present=expectation.of_present,
        wanted=f"{base.wanted}, in at least {share * 100:f} %".replace(".00 %", " %"),
    )


def _interval(rule: Rule, arguments: Arguments) -> Interval:
    low, high = (arguments.get(name) for name in ("min_value", "max_value"))
    if low is None and high is None:
        refuse(rule, "no-argument", "min_value or max_value must be given")
    return Interval(
        low=None if low is None else number(rule, low),
        high=None if high is None else number(rule, high),
        low_open=arguments.get("strict_min") is True,
        high_open=arguments.get("strict_max") is True,
    )


def _needed(rule: Rule, arguments: Arguments, name: str) -> object:
    if arguments.get(name) is None:
        refuse(rule, "no-argument", f"the expectation needs {name}")
    return arguments[name]


def _range(rule: Rule, field: Field, low: object, high: object, arguments: Arguments) -> Check:
    opened = {"low_open": arguments.get("strict_min") is True, "high_open": arguments.get("strict_max") is True}
    return in_range(rule, field, within(rule, field, low, high, **opened))


def _present(rule: Rule, fields: tuple[Field, ...], _: Arguments) -> Check:
    return rows(rule, fields[0], Present(fields[0].name), "present")


def _absent(rule: Rule, fields: tuple[Field, ...], _: Arguments) -> Check:
    return rows(rule, fields[0], Not(Present(fields[0].name)), "null")


def _in_set(rule: Rule, fields: tuple[Field, ...], arguments: Arguments) -> Check:
    predicate = one_of(rule, fields[0], items(rule, _needed(rule, arguments, "value_set")))
    return rows(rule, fields[0], predicate, listed(predicate.values))


def _not_in_set(rule: Rule, fields: tuple[Field, ...], arguments: Arguments) -> Check:
    predicate = one_of(rule, fields[0], items(rule, _needed(rule, arguments, "value_set")))
    return rows(rule, fields[0], Not(predicate), f"not {listed(predicate.values)}")


def _between(rule: Rule, fields: tuple[Field, ...], arguments: Arguments) -> Check:
    return _range(rule, fields[0], arguments.get("min_value"), arguments.get("max_value"), arguments)


def _least(rule: Rule, fields: tuple[Field, ...], arguments: Arguments) -> Check:
    if arguments.get("max_value") is not None:
        return skipped(rule, fields, "a bound above the least value is not measured by this version")
    return _range(rule, fields[0], arguments.get("min_value"), None, arguments)


def _greatest(rule: Rule, fields: tuple[Field, ...], arguments: Arguments) -> Check:
    if arguments.get("min_value") is not None:
        return skipped(rule, fields, "a bound below the greatest value is not measured by this version")
    return _range(rule, fields[0], None, arguments.get("max_value"), arguments)


def _regex(rule: Rule, fields: tuple[Field, ...], arguments: Arguments) -> Check:
    written = str(_needed(rule, arguments, "regex"))
    return rows(rule, fields[0], Matches(fields[0].name, translate(rule, written)), f"matching {brief(written)}")


def _not_regex(rule: Rule, fields: tuple[Field, ...], arguments: Arguments) -> Check:
    written = str(_needed(rule, arguments, "regex"))
    return rows(
        rule, fields[0], Not(Matches(fields[0].name, translate(rule, written))), f"not matching {brief(written)}"
    )


def _strftime(rule: Rule, fields: tuple[Field, ...], arguments: Arguments) -> Check:
    written = str(_needed(rule, arguments, "strftime_format"))
    try:
        pattern = compile_format(written)
    except ValueError as error:
        return skipped(rule, fields, str(error))
    return rows(rule, fields[0], Matches(fields[0].name, pattern), f"written as {brief(written)}")


def _unique(rule: Rule, fields: tuple[Field, ...], _: Arguments) -> Check:
    return unique_rows(rule, fields)


def _lengths(rule: Rule, fields: tuple[Field, ...], arguments: Arguments) -> Check:
    low, high = (arguments.get(name) for name in ("min_value", "max_value"))
    if low is None and high is None:
        refuse(rule, "no-argument", "min_value or max_value must be given")
    shortest, longest = (None if each is None else whole(rule, each) for each in (low, high))
    words = [
        f"at least {shortest}" if shortest is not None else "",
        f"at most {longest}" if longest is not None else "",
    ]
    predicate = Length(fields[0].name, shortest, longest)
    return rows(rule, fields[0], predicate, f"{' and '.join(filter(None, words))} characters")


def _length(rule: Rule, fields: tuple[Field, ...], arguments: Arguments) -> Check:
    wanted = whole(rule, _needed(rule, arguments, "value"))
    return rows(rule, fields[0], Length(fields[0].name, wanted, wanted), f"exactly {wanted} characters")


def _row_count(rule: Rule, fields: tuple[Field, ...], arguments: Arguments) -> Check:
    interval = _interval(rule, arguments)
    return check(rule, fields, Metric.ROW_COUNT, accept=Tier(interval), wanted=f"{interval} rows", unit=Unit.VALUE)


def _exact_row_count(rule: Rule, fields: tuple[Field, ...], arguments: Arguments) -> Check:
    wanted = number(rule, _needed(rule, arguments, "value"))
    interval = Interval(wanted, wanted)
    return check(rule, fields, Metric.ROW_COUNT, accept=Tier(interval), wanted=f"{interval} rows", unit=Unit.VALUE)


def _aggregate(metric: Metric, words: str) -> Callable[[Rule, tuple[Field, ...], Arguments], Check]:
    def compile_one(rule: Rule, fields: tuple[Field, ...], arguments: Arguments) -> Check:
        if not fields[0].type.numeric:
            refuse(rule, "not-numeric", f"{fields[0].name} is a {fields[0].type.value}: a {words} needs numbers")
        interval = _interval(rule, arguments)
        return check(rule, fields, metric, accept=Tier(interval), wanted=f"a {words} of {interval}", unit=Unit.VALUE)

    return compile_one


def _distinct_share(rule: Rule, fields: tuple[Field, ...], arguments: Arguments) -> Check:
    interval = _interval(rule, arguments)
    words = f"a share of distinct values of {interval}"
    return check(rule, fields, Metric.DISTINCT_SHARE, accept=Tier(interval), wanted=words, unit=Unit.SHARE)


_DATASET = range(1)
_SEVERAL = range(2, 100)
EXPECTATIONS = {
    "expect_column_values_to_not_be_null": Expectation(_present, of_present=False),
    "expect_column_values_to_be_null": Expectation(_absent, of_present=False),
    "expect_column_values_to_be_in_set": Expectation(_in_set, frozenset({"value_set"})),
    "expect_column_values_to_not_be_in_set": Expectation(_not_in_set, frozenset({"value_set"})),
    "expect_column_distinct_values_to_be_in_set": Expectation(_in_set, frozenset({"value_set"})),
    "expect_column_values_to_be_between": Expectation(_between, _RANGE),
    "expect_column_values_to_match_regex": Expectation(_regex, frozenset({"regex"})),
    "expect_column_values_to_not_match_regex": Expectation(_not_regex, frozenset({"regex"})),
    "expect_column_values_to_match_strftime_format": Expectation(_strftime, frozenset({"strftime_format"})),
    "expect_column_values_to_be_unique": Expectation(_unique),
    "expect_compound_columns_to_be_unique": Expectation(_unique, columns=_SEVERAL),
    "expect_column_value_lengths_to_be_between": Expectation(_lengths, frozenset({"min_value", "max_value"})),
    "expect_column_value_lengths_to_equal": Expectation(_length, frozenset({"value"})),
    "expect_column_min_to_be_between": Expectation(_least, _RANGE),
    "expect_column_max_to_be_between": Expectation(_greatest, _RANGE),
    "expect_column_mean_to_be_between": Expectation(_aggregate(Metric.MEAN, "mean"), _RANGE),
    "expect_column_stdev_to_be_between": Expectation(_aggregate(Metric.DEVIATION, "standard deviation"), _RANGE),
    "expect_column_proportion_of_unique_values_to_be_between": Expectation(_distinct_share, _RANGE),
    "expect_table_row_count_to_be_between": Expectation(_row_count, _RANGE, _DATASET),
    "expect_table_row_count_to_equal": Expectation(_exact_row_count, frozenset({"value"}), _DATASET),
}
