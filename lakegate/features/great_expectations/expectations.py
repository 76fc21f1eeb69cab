"""Table of expectations, their arguments, and their checks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations
from typing import TYPE_CHECKING

from lakegate.base.text import format_limit, plural
from lakegate.contract.contract_model import Field, Rule, Severity, by_written_name
from lakegate.contract.logical_types import text_of
from lakegate.contract.physical_types import TYPE_NAMES
from lakegate.patterns.date_formats import compile_format
from lakegate.plan.check import NONE, Check, HeaderRequirement, Interval, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.predicates import (
    All,
    Compare,
    Length,
    Matches,
    Not,
    Predicate,
    Present,
    Relation,
    Typed,
    any_present,
    together,
    where,
)
from lakegate.rules import check_builder, column_aggregates
from lakegate.rules.check_builder import (
    Technology,
    argument_of,
    brief,
    check,
    in_range,
    items,
    join_values,
    like_pattern,
    not_measured,
    number,
    number_check,
    one_of,
    refuse,
    refuse_nested,
    regex,
    restrict_check,
    rows,
    skip_check,
    unique_rows,
    whole_number,
    within,
)
from lakegate.rules.column_aggregates import SOME, interval, of_header
from lakegate.rules.row_conditions import UnreadConditionError, condition_of

if TYPE_CHECKING:
    from lakegate.rules.check_builder import Fields

    PatternReader = Callable[[Rule, str], str]
    """Translates a pattern to the dialect of plans."""

# ---- Several columns, and the columns of the file ----


IGNORED = {
    "both_values_are_missing": "all",
    "either_value_is_missing": "any",
    "neither": "none",
    "all_values_are_missing": "all",
    "any_value_is_missing": "any",
    "never": "none",
}
"""The values of `ignore_row_if`: rows with only nulls, rows with any null, or no rows are ignored."""


def greater(rule: Rule, fields: Fields, arguments: check_builder.Arguments) -> Check:
    """The first value of a row is greater than the second (or equal to it)."""
    relation = Relation.AT_LEAST if arguments.get("or_equal") is True else Relation.GREATER
    words = f"{'at least' if relation is Relation.AT_LEAST else 'greater than'} {fields[1].name}"
    return _compared(rule, fields, arguments, compare(rule, fields[0], relation, fields[1]), words)


def equal(rule: Rule, fields: Fields, arguments: check_builder.Arguments) -> Check:
    """The two values of a row are equal."""
    predicate = compare(rule, fields[0], Relation.EQUAL, fields[1])
    return _compared(rule, fields, arguments, predicate, f"equal to {fields[1].name}")


def compare(rule: Rule, first: Field, relation: Relation, second: Field) -> Compare:
    """The predicate of two fields, whose types must be comparable."""
    if first.type is not second.type and not (first.type.numeric and second.type.numeric):
        message = (
            f"{first.name} is a {first.type.value} and {second.name} a {second.type.value}: they cannot be compared"
        )
        refuse(rule, "not-comparable", message)
    return Compare(first.name, relation, second.name)


def _compared(rule: Rule, fields: Fields, arguments: check_builder.Arguments, predicate: Compare, words: str) -> Check:
    """A row with a null fails, unless it is ignored."""
    given = _kept(rule, fields, arguments)
    there = tuple(Present(field.name) for field in fields)
    return _of_rows(rule, fields, All((*there, predicate)), given, words)


def unique_within_row(rule: Rule, fields: Fields, arguments: check_builder.Arguments) -> Check:
    """No two values of a row are equal; nulls are equal to each other."""
    parts: list[Predicate] = []
    for first, second in combinations(fields, 2):
        parts.append(Not(compare(rule, first, Relation.EQUAL, second)))
        parts.append(any_present((first.name, second.name)))
    return _of_rows(rule, fields, All(tuple(parts)), _kept(rule, fields, arguments), "values that differ")


def unique_together(rule: Rule, fields: Fields, arguments: check_builder.Arguments) -> Check:
    """No two rows share their key; nulls compare like values unless rows with any null are ignored."""
    if _ignored(rule, arguments) == "any":
        return replace(unique_rows(rule, fields), row_filter=_kept(rule, fields, arguments))
    typed = (where(Present(field.name), Typed(field.name)) for field in fields)
    given = together(_kept(rule, fields, arguments), *typed)
    return replace(unique_rows(rule, fields), row_filter=given, nulls_alike=True)


def _of_rows(rule: Rule, fields: Fields, predicate: Predicate, given: Predicate | None, words: str) -> Check:
    tier = Tier(NONE, where(given, predicate))
    return check(rule, fields, Metric.FAILING_ROWS, accept=tier, wanted=words, row_filter=given)


def _kept(rule: Rule, fields: Fields, arguments: check_builder.Arguments) -> Predicate | None:
    """The predicate of the rows that are not ignored; None for all rows."""
    names = [field.name for field in fields]
    kept: dict[str, Callable[[], Predicate | None]] = {
        "all": lambda: any_present(names),
        "any": lambda: together(*map(Present, names)),
        "none": lambda: None,
    }
    return kept[_ignored(rule, arguments)]()


def _ignored(rule: Rule, arguments: check_builder.Arguments) -> str:
    ignored = str(arguments.get("ignore_row_if") or "all_values_are_missing")
    if ignored not in IGNORED:
        refuse(rule, "not-allowed-argument", f"ignore_row_if is one of {', '.join(IGNORED)}")
    return IGNORED[ignored]


def columns_in_order(rule: Rule, _: Fields, arguments: check_builder.Arguments) -> Check:
    """The file has exactly these columns, in this order."""
    names = tuple(str(item) for item in items(rule, argument_of(rule, arguments, "column_list")))
    return of_header(
        rule,
        HeaderRequirement(names, closed=True, ordered=True),
        f"the columns {brief(', '.join(names))} in this order",
    )


def exact_column_count(rule: Rule, _: Fields, arguments: check_builder.Arguments) -> Check:
    """The file has exactly `value` columns."""
    wanted = number(rule, argument_of(rule, arguments, "value"))
    return number_check(rule, Metric.COLUMN_COUNT, Interval(wanted, wanted), "column")


# ---- Aggregates and sets of values ----


def unique(rule: Rule, fields: Fields, _: check_builder.Arguments) -> Check:
    """No two rows share a value."""
    return unique_rows(rule, fields)


def distinct_count(rule: Rule, fields: Fields, arguments: check_builder.Arguments) -> Check:
    """The number of distinct values is within bounds."""
    good = interval(rule, arguments)
    words = format_limit(good, "distinct value")
    return check(rule, fields, Metric.DISTINCT_COUNT, accept=Tier(good), wanted=words, unit=Unit.VALUE)


def present_share(rule: Rule, fields: Fields, arguments: check_builder.Arguments) -> Check:
    """The share of rows with a value is within bounds."""
    good = interval(rule, arguments)
    tier = Tier(good, Present(fields[0].name))
    words = f"a share of values present of {good}"
    return check(rule, fields, Metric.FAILING_ROWS, accept=tier, wanted=words, unit=Unit.PART)


def contain_set(rule: Rule, fields: Fields, arguments: check_builder.Arguments) -> Check:
    """Every value of a list occurs."""
    predicate = one_of(rule, fields[0], items(rule, argument_of(rule, arguments, "value_set")))
    count = Decimal(len(set(map(Decimal if fields[0].type.numeric else str, predicate.values))))
    return replace(
        check(
            rule,
            fields,
            Metric.DISTINCT_COUNT,
            accept=Tier(Interval(count, count)),
            wanted=f"each of {brief(', '.join(predicate.values))}",
            unit=Unit.VALUE,
            row_filter=predicate,
        ),
        id=f"{rule.id}:contained/{fields[0].name}",
    )


def equal_set(rule: Rule, fields: Fields, arguments: check_builder.Arguments) -> tuple[Check, ...]:
    """Every value of a list occurs, and no other."""
    predicate = one_of(rule, fields[0], items(rule, argument_of(rule, arguments, "value_set")))
    return rows(rule, fields[0], predicate, join_values(predicate.values)), contain_set(rule, fields, arguments)


def most_common(rule: Rule, fields: Fields, arguments: check_builder.Arguments) -> tuple[Check, ...]:
    """The most common value is in a list; of equally common values one must be (`ties_okay`), else there must be only one."""
    predicate = one_of(rule, fields[0], items(rule, argument_of(rule, arguments, "value_set")))
    words = f"{join_values(predicate.values)} as the most common value"
    listed_one = check(rule, fields, Metric.MOST_COMMON, accept=Tier(SOME, predicate), wanted=words, unit=Unit.VALUE)
    if arguments.get("ties_okay") is True:
        return (listed_one,)
    one = Tier(Interval(Decimal(1), Decimal(1)))
    single = check(rule, fields, Metric.MOST_COMMON, accept=one, wanted="one most common value", unit=Unit.VALUE)
    return listed_one, replace(single, id=f"{rule.id}:single/{fields[0].name}")


# ---- Single values ----


def present(rule: Rule, fields: Fields, _: check_builder.Arguments) -> Check:
    """Every row has a value."""
    return rows(rule, fields[0], Present(fields[0].name), "present")


def absent(rule: Rule, fields: Fields, _: check_builder.Arguments) -> Check:
    """No row has a value."""
    return rows(rule, fields[0], Not(Present(fields[0].name)), "null")


def in_set(rule: Rule, fields: Fields, arguments: check_builder.Arguments) -> Check:
    """Every value is one of a list."""
    predicate = one_of(rule, fields[0], items(rule, argument_of(rule, arguments, "value_set")))
    return rows(rule, fields[0], predicate, join_values(predicate.values))


def not_in_set(rule: Rule, fields: Fields, arguments: check_builder.Arguments) -> Check:
    """No value is one of a list."""
    predicate = one_of(rule, fields[0], items(rule, argument_of(rule, arguments, "value_set")))
    return rows(rule, fields[0], Not(predicate), f"not {join_values(predicate.values)}")


def between(rule: Rule, fields: Fields, arguments: check_builder.Arguments) -> Check:
    """Every value is within bounds."""
    opened = {"low_open": arguments.get("strict_min") is True, "high_open": arguments.get("strict_max") is True}
    bounds = (arguments.get("min_value"), arguments.get("max_value"))
    return in_range(rule, fields[0], within(rule, fields[0], *bounds, **opened))


def lengths(rule: Rule, fields: Fields, arguments: check_builder.Arguments) -> Check:
    """Every text has a length within bounds, in code points."""
    low, high = (arguments.get(name) for name in ("min_value", "max_value"))
    if low is None and high is None:
        refuse(rule, "no-argument", "min_value or max_value must be given")
    shortest, longest = (None if side is None else whole_number(rule, side) for side in (low, high))
    # an exclusive bound of an integer is the next integer, inclusive
    shortest = shortest + 1 if shortest is not None and arguments.get("strict_min") is True else shortest
    longest = longest - 1 if longest is not None and arguments.get("strict_max") is True else longest
    if longest is not None and longest < 0:
        refuse(rule, "not-a-count", "no text is shorter than none: correct max_value")
    words = [
        f"at least {shortest}" if shortest is not None else "",
        f"at most {longest}" if longest is not None else "",
    ]
    predicate = Length(fields[0].name, shortest, longest)
    return rows(rule, fields[0], predicate, format_limit(" and ".join(filter(None, words)), "character"))


def length(rule: Rule, fields: Fields, arguments: check_builder.Arguments) -> Check:
    """Every text has exactly one length."""
    wanted = whole_number(rule, argument_of(rule, arguments, "value"))
    return rows(rule, fields[0], Length(fields[0].name, wanted, wanted), format_limit(f"exactly {wanted}", "character"))


def matching(
    name: str, read: PatternReader, *, wanted: bool = True
) -> Callable[[Rule, Fields, check_builder.Arguments], Check]:
    """A pattern is found in every text, or (not `wanted`) in no text."""

    def compile_one(rule: Rule, fields: Fields, arguments: check_builder.Arguments) -> Check:
        written = str(argument_of(rule, arguments, name))
        matches = Matches(fields[0].name, read(rule, written))
        words = f"{'' if wanted else 'not '}matching {brief(written)}"
        return rows(rule, fields[0], matches if wanted else Not(matches), words)

    return compile_one


def matching_list(
    name: str, read: PatternReader, *, wanted: bool = True
) -> Callable[[Rule, Fields, check_builder.Arguments], Check]:
    """Every text matches any of several patterns, or all of them (`match_on`); or (not `wanted`) none of them."""

    def compile_one(rule: Rule, fields: Fields, arguments: check_builder.Arguments) -> Check:
        patterns = [str(item) for item in items(rule, argument_of(rule, arguments, name))]
        matches = tuple(Matches(fields[0].name, read(rule, pattern)) for pattern in patterns)
        others, words = All(tuple(map(Not, matches))), brief(", ".join(patterns))
        match_on = str(arguments.get("match_on") or "any")
        if match_on not in {"any", "all"}:
            refuse(rule, "not-allowed-argument", "match_on is any or all")
        if not wanted:
            return rows(rule, fields[0], others, f"matching none of {words}")
        if match_on == "all":
            return rows(rule, fields[0], All(matches), f"matching all of {words}")
        return rows(rule, fields[0], Not(others), f"matching one of {words}")

    return compile_one


def strftime(rule: Rule, fields: Fields, arguments: check_builder.Arguments) -> Check:
    """Every text is a date in a `strftime` format."""
    written = str(argument_of(rule, arguments, "strftime_format"))
    try:
        pattern = compile_format(written)
    except ValueError as error:
        return skip_check(rule, fields, str(error))
    return rows(rule, fields[0], Matches(fields[0].name, pattern), f"written as {brief(written)}")


def of_type(rule: Rule, fields: Fields, arguments: check_builder.Arguments) -> Check:
    """Every value is of a type, which must be that of the field."""
    return _typed(rule, fields[0], [argument_of(rule, arguments, "type_")])


def in_type_list(rule: Rule, fields: Fields, arguments: check_builder.Arguments) -> Check:
    """Every value is of one of several types, one of which must be that of the field."""
    return _typed(rule, fields[0], items(rule, argument_of(rule, arguments, "type_list")))


def _typed(rule: Rule, field: Field, named: object) -> Check:
    assert isinstance(named, list | tuple)
    names = [str(entry) for entry in named]
    known = [TYPE_NAMES.get(name.lower()) for name in names]
    if field.type in known:
        return rows(rule, field, Typed(field.name), f"of type {brief(', '.join(names))}")
    unknown = next((name for name, entry in zip(names, known, strict=True) if entry is None), None)
    if unknown is not None:
        return skip_check(rule, (field,), f"the type {brief(unknown)} is one of an engine that is not asked here")
    return skip_check(rule, (field,), f"the contract declares {field.name} as {field.type.value}")


# ---- Names and arguments ----
# `mostly` is a share of the non-null values; for the two expectations about null itself, of all rows; for those about several
# columns, of the rows that `ignore_row_if` does not leave out. `row_condition` makes a rule of some rows only. What this
# version does not measure, including a single argument, becomes a skipped check with the reason.


Arguments = Mapping[str, object]
Compiled = Check | tuple[Check, ...]
_SILENT = frozenset(
    {
        "column",
        "column_A",
        "column_B",
        "column_list",
        "mostly",
        "meta",
        "notes",
        "name",
        "id",
        "severity",
        "description",
        "result_format",
        "catch_exceptions",
        "include_config",
        "rendered_content",
        "expectation_context",
        "success_on_last_run",
        "library_metadata",
    }
)
"""Arguments that do not affect the data, or that every expectation has."""
_CONDITION = {"row_condition", "condition_parser"}
_NESTED = frozenset(
    {
        "meta",
        "notes",
        "result_format",
        "rendered_content",
        "expectation_context",
        "library_metadata",
        "quantile_ranges",
        "row_condition",
    }
)
"""Arguments that may be mappings."""
_LISTS = ("_list", "_set")
"""Ends of arguments that are lists."""
_NAMED_ARGUMENTS = frozenset({"column_index", "escape", "windows", "batch_id", "auto", "profiler_config"})
"""Arguments that are named only: a misspelt one has a hint."""
_SEVERITIES = {"critical": None, "warning": Severity.WARN, "info": Severity.WARN}
"""Great Expectations, `severity` of an expectation; a critical one has the severity of its rule."""
_PARAMETER = "$PARAMETER"
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


def great_expectations(rule: Rule, fields: tuple[Field, ...], call: str, arguments: Arguments) -> tuple[Check, ...]:
    """The checks of one expectation: one for each field, or one of all fields together."""
    kind = _kind(call)
    expectation = EXPECTATIONS.get(kind)
    reason = _unmeasured(kind, expectation, arguments)
    # the fields of the rule, unless the call names several itself
    named = subjects_of(call, arguments)
    known = by_written_name(fields)
    names = named if len(named) > 1 else rule.fields or named
    subjects = tuple(known[name] for name in names if name in known)
    if expectation is None or reason is not None:
        return (skip_check(rule, subjects, reason or ""),)
    refuse_nested(rule, arguments, [name for name in arguments if name not in _NESTED and not name.endswith(_LISTS)])
    try:
        given = _condition(rule, fields, arguments)
    except UnreadConditionError:
        return (skip_check(rule, subjects, "the row_condition is written in a language that is not read here"),)
    groups = _groups(rule, expectation, kind, subjects)
    compiled = [expectation.compile(rule, group, arguments) for group in groups]
    checks = [check for entry in compiled for check in (entry if isinstance(entry, tuple) else (entry,))]
    written = arguments.get("severity") or "critical"
    if not isinstance(written, str) or written not in _SEVERITIES:
        refuse(rule, "not-allowed-argument", f"the severity of an expectation is one of {', '.join(_SEVERITIES)}")
    worst = _SEVERITIES[written] or rule.severity
    return tuple(
        replace(restrict_check(_mostly(rule, expectation, check, arguments), given), worst=worst) for check in checks
    )


def _kind(call: str) -> str:
    """The type of an expectation; version 1 also names its class: `ExpectColumnValuesToNotBeNull`."""
    name = call.strip().rpartition(".")[2]
    if not name[:1].isupper():
        return name
    return _INNER_WORD.sub(r"\1_\2", _FIRST_WORD.sub(r"\1_\2", name)).lower()


_FIRST_WORD = re.compile(r"(.)([A-Z][a-z]+)")
_INNER_WORD = re.compile(r"([a-z0-9])([A-Z])")


def subjects_of(call: str, arguments: Arguments) -> tuple[str, ...]:
    """The columns of a call, in order; those of expectations about the header need not be declared."""
    expectation = EXPECTATIONS.get(_kind(call))
    if expectation is not None and expectation.of_header:
        return ()
    listed = arguments.get("column_list")
    pair = tuple(arguments.get(name) for name in ("column_A", "column_B"))
    names = listed if isinstance(listed, list | tuple) else pair if any(pair) else (arguments.get("column"),)
    return tuple(dict.fromkeys(text_of(name) for name in names if name is not None and not isinstance(name, Mapping)))


def _unmeasured(kind: str, expectation: Expectation | None, arguments: Arguments) -> str | None:
    # the first argument with a value that is given at run time

    def has_one(value: object) -> bool:
        if isinstance(value, Mapping):
            return _PARAMETER in value or any(map(has_one, value.values()))
        return isinstance(value, list | tuple) and any(map(has_one, value))

    parameter = next((name for name, value in arguments.items() if has_one(value)), None)
    if parameter is not None:
        return (
            f"the argument {brief(parameter)} is a runtime parameter: it has a value only when Great Expectations runs"
        )
    if expectation is None:
        return NAMED.get(kind) or not_measured(f"the expectation {brief(kind)}", kind, [*EXPECTATIONS, *NAMED])
    known = expectation.knows | _SILENT | (set() if expectation.of_header else _CONDITION)
    foreign = sorted(name for name, value in arguments.items() if name not in known and value is not None)
    if not foreign:
        return None
    near = () if foreign[0] in _NAMED_ARGUMENTS else sorted(known)
    return not_measured(f"the argument {brief(foreign[0])} of {kind}", foreign[0], near)


def _groups(rule: Rule, expectation: Expectation, call: str, fields: tuple[Field, ...]) -> list[tuple[Field, ...]]:
    if not expectation.columns.stop - 1:
        return [()]
    if not expectation.columns.start <= len(fields) or (
        1 not in expectation.columns and len(fields) not in expectation.columns
    ):
        refuse(rule, "no-column", f"the expectation {call} must name {plural(expectation.columns.start, 'column')}")
    return [(field,) for field in fields] if 1 in expectation.columns else [fields]


def _condition(rule: Rule, fields: tuple[Field, ...], arguments: Arguments) -> Predicate | None:
    condition = arguments.get("row_condition")
    if condition is None:
        return None
    is_sql = arguments.get("condition_parser") == "spark"
    return condition_of(rule, str(condition), by_written_name(fields), is_sql=is_sql)


def _mostly(rule: Rule, expectation: Expectation, base: Check, arguments: Arguments) -> Check:
    mostly = arguments.get("mostly")
    share = number(rule, 1 if mostly is None else mostly)
    if not 0 <= share <= 1:
        refuse(rule, "share", "the argument mostly is a share from 0 to 1")
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


def _of_patterns(name: str, read: Callable[[Rule, str], str]) -> dict[str, Expectation]:
    """The four expectations about patterns of one dialect: match or no match, one pattern or several."""
    several, stem = f"{name}_list", "expect_column_values_to"
    one, many = frozenset({name}), frozenset({several})
    return {
        f"{stem}_match_{name}": Expectation(matching(name, read), one),
        f"{stem}_not_match_{name}": Expectation(matching(name, read, wanted=False), one),
        f"{stem}_match_{several}": Expectation(matching_list(several, read), many | {"match_on"}),
        f"{stem}_not_match_{several}": Expectation(matching_list(several, read, wanted=False), many),
    }


_DATASET = range(1)
_PAIR = range(2, 3)
_SEVERAL = range(2, 100)

EXPECTATIONS = {
    "expect_column_values_to_not_be_null": Expectation(present, of_present=False),
    "expect_column_values_to_be_null": Expectation(absent, of_present=False),
    "expect_column_proportion_of_non_null_values_to_be_between": Expectation(present_share, _RANGE),
    "expect_column_values_to_be_in_set": Expectation(in_set, _VALUES),
    "expect_column_values_to_not_be_in_set": Expectation(not_in_set, _VALUES),
    "expect_column_distinct_values_to_be_in_set": Expectation(in_set, _VALUES),
    "expect_column_distinct_values_to_contain_set": Expectation(contain_set, _VALUES),
    "expect_column_distinct_values_to_equal_set": Expectation(equal_set, _VALUES),
    "expect_column_most_common_value_to_be_in_set": Expectation(most_common, _VALUES | {"ties_okay"}),
    "expect_column_values_to_be_between": Expectation(between, _RANGE),
    "expect_column_values_to_be_of_type": Expectation(of_type, frozenset({"type_"})),
    "expect_column_type_to_be": Expectation(of_type, frozenset({"type_"})),
    "expect_column_values_to_be_in_type_list": Expectation(in_type_list, frozenset({"type_list"})),
    **_of_patterns("regex", regex),
    **_of_patterns("like_pattern", like_pattern),
    "expect_column_values_to_match_strftime_format": Expectation(strftime, frozenset({"strftime_format"})),
    "expect_column_values_to_be_unique": Expectation(unique),
    "expect_compound_columns_to_be_unique": Expectation(unique_together, _IGNORING, _SEVERAL),
    "expect_select_column_values_to_be_unique_within_record": Expectation(unique_within_row, _IGNORING, _SEVERAL),
    "expect_column_pair_values_a_to_be_greater_than_b": Expectation(greater, _IGNORING | {"or_equal"}, _PAIR),
    "expect_column_pair_values_to_be_equal": Expectation(equal, _IGNORING, _PAIR),
    "expect_column_value_lengths_to_be_between": Expectation(lengths, _RANGE),
    "expect_column_value_lengths_to_equal": Expectation(length, frozenset({"value"})),
    "expect_column_min_to_be_between": Expectation(column_aggregates.extreme(greatest=False), _RANGE),
    "expect_column_max_to_be_between": Expectation(column_aggregates.extreme(greatest=True), _RANGE),
    "expect_column_mean_to_be_between": Expectation(column_aggregates.aggregate(Metric.MEAN, "mean"), _RANGE),
    "expect_column_median_to_be_between": Expectation(column_aggregates.median, _RANGE),
    "expect_column_sum_to_be_between": Expectation(column_aggregates.aggregate(Metric.SUM, "sum"), _RANGE),
    "expect_column_stdev_to_be_between": Expectation(
        column_aggregates.aggregate(Metric.DEVIATION, "standard deviation"), _RANGE
    ),
    "expect_column_quantile_values_to_be_between": Expectation(
        column_aggregates.quantiles, frozenset({"quantile_ranges", "allow_relative_error"})
    ),
    "expect_column_proportion_of_unique_values_to_be_between": Expectation(column_aggregates.distinct_share, _RANGE),
    "expect_column_unique_value_count_to_be_between": Expectation(distinct_count, _RANGE),
    "expect_table_row_count_to_be_between": Expectation(column_aggregates.row_count, _RANGE, _DATASET),
    "expect_table_row_count_to_equal": Expectation(column_aggregates.exact_row_count, frozenset({"value"}), _DATASET),
    "expect_table_column_count_to_be_between": Expectation(
        column_aggregates.column_count, _RANGE, _DATASET, of_header=True
    ),
    "expect_table_column_count_to_equal": Expectation(
        exact_column_count, frozenset({"value"}), _DATASET, of_header=True
    ),
    "expect_table_columns_to_match_ordered_list": Expectation(columns_in_order, frozenset(), _DATASET, of_header=True),
    "expect_table_columns_to_match_set": Expectation(
        column_aggregates.columns_in_set, frozenset({"column_set", "exact_match"}), _DATASET, of_header=True
    ),
    "expect_column_to_exist": Expectation(column_aggregates.column_exists, frozenset(), _DATASET, of_header=True),
}
_NO_ORDER = "rows of a lake have no order that a reader keeps"
_OTHER_DATA = "data of another query or table is not compared: say it as a rule in SQL, or as a relationship"
_MODEL = "distributions are not compared with a model by this version"
_JSON = "a text is not read as JSON: declare an object, or the JSON Schema of a column"

NAMED = {
    "expect_column_values_to_be_increasing": _NO_ORDER,
    "expect_column_values_to_be_decreasing": _NO_ORDER,
    "expect_column_values_to_be_dateutil_parseable": (
        "what dateutil reads is not a format: it guesses day and month; say a strftime_format"
    ),
    "expect_multicolumn_sum_to_equal": "sums across the columns of a row are not measured by this version",
    "expect_multicolumn_values_to_be_equal": "three columns are not compared at once: write a rule for each pair",
    "expect_multicolumn_values_to_be_unique": (
        "an older name: say expect_select_column_values_to_be_unique_within_record"
    ),
    "expect_column_pair_values_to_be_in_set": "pairs of values in a set are not measured by this version",
    "expect_column_values_to_be_json_parseable": _JSON,
    "expect_column_values_to_match_json_schema": _JSON,
    "expect_column_value_z_scores_to_be_less_than": "z-scores are not measured by this version",
    "expect_column_values_to_not_be_outliers": "outliers are not measured by this version",
    "expect_column_kl_divergence_to_be_less_than": _MODEL,
    "expect_column_chisquare_test_p_value_to_be_greater_than": _MODEL,
    "expect_column_bootstrapped_ks_test_p_value_to_be_greater_than": _MODEL,
    "expect_column_parameterized_distribution_ks_test_p_value_to_be_greater_than": _MODEL,
    "expect_column_pair_cramers_phi_value_to_be_less_than": _MODEL,
    "expect_query_results_to_match_comparison": _OTHER_DATA,
    "expect_table_row_count_to_equal_other_table": _OTHER_DATA,
    "unexpected_rows_expectation": "rows of a query are not expected here: say it as a rule in SQL",
}
"""Expectations that are named only, with the reason."""

ENGINE = Technology(
    frozenset({"greatexpectations", "gx"}),
    great_expectations,
    subjects_of,
    optional=lambda _call, _arguments: (),
    conditions=("row_condition",),
    is_sql=False,
)
