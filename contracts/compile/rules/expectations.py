"""Great Expectations by their own names and arguments (`custom` rules), compiled to the same checks as every other rule.

`mostly` is a share of the non-null values; for the two expectations about null itself, of all rows; for those about several
columns, of the rows that `ignore_row_if` does not leave out. `row_condition` makes a rule of some rows only. What this version
does not measure, including a single argument, becomes a skipped check with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from lakegate.contracts.compile.rules import expected_columns as columns
from lakegate.contracts.compile.rules import expected_numbers as numbers
from lakegate.contracts.compile.rules import expected_values as values
from lakegate.contracts.compile.rules.build import brief, conditioned, number, refuse, skipped
from lakegate.contracts.compile.rules.conditions import UnreadConditionError, condition_of
from lakegate.contracts.model.contract import Field, Rule
from lakegate.contracts.plan.check import Check, Interval, Tier, Unit
from lakegate.contracts.plan.metrics import Metric
from lakegate.contracts.plan.predicate import Predicate, Present, together

Arguments = Mapping[str, object]
Compiled = Check | tuple[Check, ...]

_SILENT = {"column", "column_A", "column_B", "column_list", "mostly", "meta", "notes", "severity", "description"}
"""Arguments that do not affect the data, or that every expectation has."""
_CONDITION = {"row_condition", "condition_parser"}
_RANGE = frozenset({"min_value", "max_value", "strict_min", "strict_max"})
_VALUES = frozenset({"value_set"})
_IGNORING = frozenset({"ignore_row_if"})


@dataclass(frozen=True, slots=True)
class Expectation:
    """The compiler of one expectation to checks of a field (or of the dataset), and the arguments it supports."""

    compile: Callable[[Rule, tuple[Field, ...], Arguments], Compiled]
    knows: frozenset[str] = frozenset()
    columns: range = range(1, 2)
    """The allowed numbers of fields."""
    of_present: bool = True
    """Whether `mostly` is a share of the non-null values."""
    of_header: bool = False
    """Whether it is about the columns of the file, declared or not."""
    reason: str | None = None
    """The reason if its checks are skipped."""


def great_expectations(rule: Rule, fields: tuple[Field, ...], call: str, arguments: Arguments) -> tuple[Check, ...]:
    """The checks of one expectation: one for each field, or one of all fields together."""
    expectation = EXPECTATIONS.get(call)
    reason = _unmeasured(call, expectation, arguments)
    subjects = _subjects(rule, fields, subjects_of(call, arguments))
    if expectation is None or reason is not None:
        return (skipped(rule, subjects, reason or ""),)
    try:
        given = _condition(rule, fields, arguments)
    except UnreadConditionError:
        return (skipped(rule, subjects, "the row_condition is written in a language that is not read here"),)
    groups = _groups(rule, expectation, call, subjects)
    compiled = [expectation.compile(rule, group, arguments) for group in groups]
    checks = [check for each in compiled for check in (each if isinstance(each, tuple) else (each,))]
    return tuple(conditioned(_mostly(rule, expectation, check, arguments), given) for check in checks)


def _subjects(rule: Rule, fields: tuple[Field, ...], named: tuple[str, ...]) -> tuple[Field, ...]:
    """The fields of the rule, unless the call names several itself."""
    known = {field.name: field for field in fields}
    names = named if len(named) > 1 else rule.fields or named
    return tuple(known[name] for name in names if name in known)


def subjects_of(call: str, arguments: Arguments) -> tuple[str, ...]:
    """The columns of a call, in order; those of expectations about the header need not be declared."""
    if call in EXPECTATIONS and EXPECTATIONS[call].of_header:
        return ()
    listed = arguments.get("column_list")
    pair = tuple(arguments.get(name) for name in ("column_A", "column_B"))
    names = listed if isinstance(listed, list | tuple) else pair if any(pair) else (arguments.get("column"),)
    return tuple(dict.fromkeys(str(name) for name in names if name is not None))


def _unmeasured(call: str, expectation: Expectation | None, arguments: Arguments) -> str | None:
    if expectation is None:
        return f"the expectation {brief(call)} is not measured by this version"
    known = expectation.knows | _SILENT | (set() if expectation.of_header else _CONDITION)
    foreign = sorted(name for name, value in arguments.items() if name not in known and value is not None)
    if foreign and expectation.reason is None:
        return f"the argument {brief(foreign[0])} of {call} is not measured by this version"
    return expectation.reason


def _groups(rule: Rule, expectation: Expectation, call: str, fields: tuple[Field, ...]) -> list[tuple[Field, ...]]:
    if not expectation.columns.stop - 1:
        return [()]
    if not expectation.columns.start <= len(fields) or (
        1 not in expectation.columns and len(fields) not in expectation.columns
    ):
        refuse(rule, "no-column", f"{call} must name {expectation.columns.start} column(s)")
    return [(field,) for field in fields] if 1 in expectation.columns else [fields]


def _condition(rule: Rule, fields: tuple[Field, ...], arguments: Arguments) -> Predicate | None:
    condition = arguments.get("row_condition")
    if condition is None:
        return None
    is_sql = arguments.get("condition_parser") == "spark"
    return condition_of(rule, str(condition), {field.name: field for field in fields}, is_sql=is_sql)


def _mostly(rule: Rule, expectation: Expectation, base: Check, arguments: Arguments) -> Check:
    mostly = arguments.get("mostly")
    share = number(rule, 1 if mostly is None else mostly)
    if not 0 <= share <= 1:
        refuse(rule, "share", "mostly is a share from 0 to 1")
    if share == 1 or base.skip is not None or base.unit is not Unit.ROWS:
        return base
    present = Present(base.fields[0]) if expectation.of_present and len(base.fields) == 1 else None
    return replace(
        base,
        unit=Unit.SHARE,
        accept=Tier(Interval(low=share), base.accept.predicate),
        row_filter=together(base.row_filter, present),
        wanted=f"{base.wanted}, in at least {share * 100:f} %".replace(".00 %", " %"),
    )


def _only_named(reason: str) -> Expectation:
    return Expectation(lambda rule, fields, _: skipped(rule, fields, reason), reason=reason)


def _of_patterns(name: str, read: Callable[[Rule, str], str]) -> dict[str, Expectation]:
    """The four expectations about patterns of one dialect: match or no match, one pattern or several."""
    several, stem = f"{name}_list", "expect_column_values_to"
    one, many = frozenset({name}), frozenset({several})
    return {
        f"{stem}_match_{name}": Expectation(values.matching(name, read), one),
        f"{stem}_not_match_{name}": Expectation(values.matching(name, read, wanted=False), one),
        f"{stem}_match_{several}": Expectation(values.matching_list(several, read), many | {"match_on"}),
        f"{stem}_not_match_{several}": Expectation(values.matching_list(several, read, wanted=False), many),
    }


_DATASET = range(1)
_PAIR = range(2, 3)
_SEVERAL = range(2, 100)
EXPECTATIONS = {
    "expect_column_values_to_not_be_null": Expectation(values.present, of_present=False),
    "expect_column_values_to_be_null": Expectation(values.absent, of_present=False),
    "expect_column_proportion_of_non_null_values_to_be_between": Expectation(numbers.present_share, _RANGE),
    "expect_column_values_to_be_in_set": Expectation(values.in_set, _VALUES),
    "expect_column_values_to_not_be_in_set": Expectation(values.not_in_set, _VALUES),
    "expect_column_distinct_values_to_be_in_set": Expectation(values.in_set, _VALUES),
    "expect_column_distinct_values_to_contain_set": Expectation(numbers.contain_set, _VALUES),
    "expect_column_distinct_values_to_equal_set": Expectation(numbers.equal_set, _VALUES),
    "expect_column_most_common_value_to_be_in_set": Expectation(numbers.most_common, _VALUES | {"ties_okay"}),
    "expect_column_values_to_be_between": Expectation(values.between, _RANGE),
    "expect_column_values_to_be_of_type": Expectation(values.of_type, frozenset({"type_"})),
    "expect_column_values_to_be_in_type_list": Expectation(values.in_type_list, frozenset({"type_list"})),
    **_of_patterns("regex", values.regex),
    **_of_patterns("like_pattern", values.like_pattern),
    "expect_column_values_to_match_strftime_format": Expectation(values.strftime, frozenset({"strftime_format"})),
    "expect_column_values_to_be_unique": Expectation(numbers.unique),
    "expect_compound_columns_to_be_unique": Expectation(columns.unique_together, _IGNORING, _SEVERAL),
    "expect_select_column_values_to_be_unique_within_record": Expectation(
        columns.unique_within_row, _IGNORING, _SEVERAL
    ),
    "expect_column_pair_values_a_to_be_greater_than_b": Expectation(columns.greater, _IGNORING | {"or_equal"}, _PAIR),
    "expect_column_pair_values_to_be_equal": Expectation(columns.equal, _IGNORING, _PAIR),
    "expect_column_value_lengths_to_be_between": Expectation(values.lengths, _RANGE),
    "expect_column_value_lengths_to_equal": Expectation(values.length, frozenset({"value"})),
    "expect_column_min_to_be_between": Expectation(numbers.extreme(greatest=False), _RANGE),
    "expect_column_max_to_be_between": Expectation(numbers.extreme(greatest=True), _RANGE),
    "expect_column_mean_to_be_between": Expectation(numbers.aggregate(Metric.MEAN, "mean"), _RANGE),
    "expect_column_median_to_be_between": Expectation(numbers.median, _RANGE),
    "expect_column_sum_to_be_between": Expectation(numbers.aggregate(Metric.SUM, "sum"), _RANGE),
    "expect_column_stdev_to_be_between": Expectation(numbers.aggregate(Metric.DEVIATION, "standard deviation"), _RANGE),
    "expect_column_quantile_values_to_be_between": Expectation(numbers.quantiles, frozenset({"quantile_ranges"})),
    "expect_column_proportion_of_unique_values_to_be_between": Expectation(numbers.distinct_share, _RANGE),
    "expect_column_unique_value_count_to_be_between": Expectation(numbers.distinct_count, _RANGE),
    "expect_table_row_count_to_be_between": Expectation(numbers.row_count, _RANGE, _DATASET),
    "expect_table_row_count_to_equal": Expectation(numbers.exact_row_count, frozenset({"value"}), _DATASET),
    "expect_table_column_count_to_be_between": Expectation(columns.column_count, _RANGE, _DATASET, of_header=True),
    "expect_table_column_count_to_equal": Expectation(
        columns.exact_column_count, frozenset({"value"}), _DATASET, of_header=True
    ),
    "expect_table_columns_to_match_ordered_list": Expectation(
        columns.columns_in_order, frozenset(), _DATASET, of_header=True
    ),
    "expect_table_columns_to_match_set": Expectation(
        columns.columns_in_set, frozenset({"column_set", "exact_match"}), _DATASET, of_header=True
    ),
    "expect_column_to_exist": Expectation(columns.column_exists, frozenset(), _DATASET, of_header=True),
    "expect_column_values_to_be_increasing": _only_named("rows of a lake have no order that a reader keeps"),
    "expect_column_values_to_be_decreasing": _only_named("rows of a lake have no order that a reader keeps"),
    "expect_column_values_to_be_dateutil_parseable": _only_named(
        "what dateutil reads is not a format: it guesses day and month; say a strftime_format"
    ),
    "expect_multicolumn_sum_to_equal": _only_named("sums across the columns of a row are not measured by this version"),
}
