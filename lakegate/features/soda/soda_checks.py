"""Checks of Soda: missing and valid values, metrics, schemas."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from lakegate.base.text import did_you_mean, format_limit, quote
from lakegate.contract.contract_model import Field, Rule, Severity, by_written_name
from lakegate.contract.physical_types import TYPE_NAMES
from lakegate.features.soda.soda_formats import FORMATS
from lakegate.features.soda.soda_syntax import (
    NO_ROW,
    QUERIES,
    VERSION_4,
    Arguments,
    SodaCheck,
    SodaSyntaxError,
    UnmeasuredError,
    parse_check,
    unknown_setting,
    wanted_intervals,
)
from lakegate.plan.check import Check, HeaderRequirement, Interval, Quantile, QuantileMethod, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.predicates import All, Length, Matches, Not, Predicate, Present, Typed, together, where
from lakegate.rules import check_builder
from lakegate.rules.check_builder import (
    brief,
    check,
    items,
    not_measured,
    one_as_written,
    one_of,
    refuse,
    refuse_nested,
    regex,
    restrict_check,
    rows,
    skip_check,
    valid_in_words,
    whole_number,
    within,
)
from lakegate.rules.column_aggregates import extremes, numeric, of_header, some
from lakegate.rules.row_conditions import UnreadConditionError, condition_of
from lakegate.rules.service_level_rules import age

if TYPE_CHECKING:
    Settings = Mapping[str, object]

# ---- Missing and valid values ----


def there(rule: Rule, field: Field, settings: Settings) -> Predicate:
    """The predicate of a value that is not missing."""
    not_missing = [Not(MISSING[name](rule, field, settings[name])) for name in MISSING if name in settings]
    return All((Present(field.name), *not_missing)) if not_missing else Present(field.name)


def valid(rule: Rule, field: Field, settings: Settings) -> Predicate | None:
    """The predicate of a valid value; None if the settings do not define one."""
    return together(*(VALIDITY[name][1](rule, field, settings[name]) for name in VALIDITY if name in settings))


def _values(rule: Rule, field: Field, value: object) -> Predicate:
    return one_of(rule, field, items(rule, value))


def _regex(rule: Rule, field: Field, value: object) -> Predicate:
    return Matches(field.name, regex(rule, str(value)))


def _format(rule: Rule, field: Field, value: object) -> Predicate:
    pattern = FORMATS.get(" ".join(str(value).lower().replace("_", " ").split()))
    if pattern is None:
        hint = did_you_mean(str(value), FORMATS) or f" Known are {', '.join(FORMATS)}."
        refuse(rule, "soda-check", f"{quote(value)} is no format of Soda.{hint}")
    return Matches(field.name, pattern)


MISSING: dict[str, Callable[[Rule, Field, object], Predicate]] = {
    "missing values": lambda rule, field, value: one_as_written(rule, field, items(rule, value)),
    "missing regex": _regex,
    "missing format": _format,
}

VALIDITY: dict[str, tuple[str, Callable[[Rule, Field, object], Predicate]]] = {
    "valid values": ("one of {}", _values),
    "valid regex": ("matching {}", _regex),
    "valid format": ("in the format {}", _format),
    "valid length": (
        "{} characters",
        lambda rule, field, value: Length(field.name, whole_number(rule, value), whole_number(rule, value)),
    ),
    "valid min length": (
        "at least {} characters",
        lambda rule, field, value: Length(field.name, low=whole_number(rule, value)),
    ),
    "valid max length": (
        "at most {} characters",
        lambda rule, field, value: Length(field.name, high=whole_number(rule, value)),
    ),
    "valid min": ("at least {}", lambda rule, field, value: within(rule, field, low=value)),
    "valid max": ("at most {}", lambda rule, field, value: within(rule, field, high=value)),
    "invalid values": ("none of {}", lambda rule, field, value: Not(_values(rule, field, value))),
    "invalid format": ("not in the format {}", lambda rule, field, value: Not(_format(rule, field, value))),
    "invalid regex": ("not matching {}", lambda rule, field, value: Not(_regex(rule, field, value))),
}
"""Each setting with its description and its predicate of a valid value."""


# ---- Compilers of checks ----


_HUNDRED = Decimal(100)
SOME_ROW = Interval(low=Decimal(0), low_open=True)


@dataclass(frozen=True, slots=True)
class Site:
    """The input of the compiler of a check."""

    rule: Rule
    fields: tuple[Field, ...]
    parsed: SodaCheck
    good: Interval

    @property
    def field(self) -> Field:
        """The column of the check; it must have one."""
        if not self.fields:
            refuse(self.rule, "no-column", f"the check {self.parsed.metric} must name a column")
        return self.fields[0]


@dataclass(frozen=True, slots=True)
class SodaMetric:
    """The compiler of a check, the settings it supports, and the default interval of good numbers."""

    compile: Callable[[Site], Check | tuple[Check, ...]]
    knows: frozenset[str] = frozenset()
    default: Interval | None = None
    is_fixed: bool = False
    """Whether no other threshold than the default may be given."""


def _row_count(site: Site) -> Check:
    words = format_limit(site.good, "row")
    return check(site.rule, (), Metric.ROW_COUNT, accept=Tier(site.good), wanted=words, unit=Unit.VALUE)


def _missing(unit: Unit) -> Callable[[Site], Check]:
    return lambda site: _count_rows(site, there(site.rule, site.field, site.parsed.settings), "missing", unit)


def _invalid(unit: Unit) -> Callable[[Site], Check]:
    def compile_one(site: Site) -> Check:
        settings = site.parsed.settings
        predicate = valid(site.rule, site.field, settings)
        if predicate is None:
            refuse(
                site.rule,
                "no-argument",
                f"{site.parsed.metric} needs a setting that defines valid values, e.g. `valid values`",
            )
        found = _count_rows(site, where(there(site.rule, site.field, settings), predicate), "invalid", unit)
        return replace(found, wanted=found.wanted + valid_in_words(VALIDITY, settings))

    return compile_one


def _count_rows(site: Site, predicate: Predicate, noun: str, unit: Unit) -> Check:
    words = f"{site.good} % {noun}" if unit is Unit.PERCENT else format_limit(site.good, "row", f" {noun}")
    tier = Tier(_share(site, unit), predicate)
    return check(site.rule, (site.field,), Metric.FAILING_ROWS, accept=tier, wanted=words, unit=unit)


def _duplicates(unit: Unit) -> Callable[[Site], Check]:
    def compile_one(site: Site) -> Check:
        fields = site.fields or (site.field,)
        words = (
            f"{site.good} % of values in more than one row"
            if unit is Unit.PERCENT
            else format_limit(site.good, "value", " in more than one row")
        )
        tier = Tier(_share(site, unit))
        return check(site.rule, fields, Metric.DUPLICATE_KEYS, accept=tier, wanted=words, unit=unit)

    return compile_one


def _share(site: Site, unit: Unit) -> Interval:
    """The interval of good numbers; of a percentage it is between 0 and 100."""
    ends = [end for end in (site.good.low, site.good.high) if end is not None]
    if unit is Unit.PERCENT and not all(0 <= end <= _HUNDRED for end in ends):
        refuse(site.rule, "percent", "a percentage lies between 0 and 100")
    return site.good


def _distinct(site: Site) -> Check:
    words = format_limit(site.good, "distinct value")
    tier = Tier(site.good)
    return check(site.rule, (site.field,), Metric.DISTINCT_COUNT, accept=tier, wanted=words, unit=Unit.VALUE)


def _aggregate(metric: Metric, words: str) -> Callable[[Site], Check]:
    return lambda site: _of_valid(site, numeric(site.rule, site.field, metric, site.good, words))


def _percentile(site: Site) -> Check:
    written = site.parsed.columns[1] if len(site.parsed.columns) > 1 else site.parsed.settings.get("percentile")
    share = check_builder.number(site.rule, written)
    if not 0 <= share <= 1:
        refuse(site.rule, "share", "a percentile is a share from 0 to 1: `percentile(a, 0.95)`")
    found = numeric(site.rule, site.field, Metric.QUANTILE, site.good, f"percentile {share:f}")
    return _of_valid(site, replace(found, quantile=Quantile(share, QuantileMethod.REACHED)))


def _of_valid(site: Site, base: Check) -> Check:
    """If a check defines missing or valid values, its metric uses valid values only."""
    settings = site.parsed.settings
    given = together(
        there(site.rule, site.field, settings) if MISSING.keys() & settings else None,
        valid(site.rule, site.field, settings),
    )
    return restrict_check(base, given)


def _extreme(*, greatest: bool) -> Callable[[Site], tuple[Check, ...]]:
    def compile_all(site: Site) -> tuple[Check, ...]:
        good = _between(site)
        ends, opened = (good.low, good.high), (good.low_open, good.high_open)
        checks = extremes(site.rule, site.field, ends, opened, greatest=greatest)
        return tuple(_of_valid(site, extreme) for extreme in checks)

    return compile_all


def _between(site: Site) -> Interval:
    if site.good.outside:
        raise UnmeasuredError(f"a {site.parsed.metric} outside of bounds is not measured by this version")
    return site.good


def _extreme_length(*, greatest: bool) -> Callable[[Site], tuple[Check, ...]]:
    """No text is beyond one bound, and some text reaches the other."""

    def compile_all(site: Site) -> tuple[Check, ...]:
        good = _between(site)
        low, high = (
            _whole(good.low, up=True, is_open=good.low_open),
            _whole(good.high, up=False, is_open=good.high_open),
        )
        name, words = site.field.name, f"a length of {good}"
        outer, inner = (Length(name, high=high), low) if greatest else (Length(name, low=low), high)
        has_outer = (high if greatest else low) is not None
        reached: Predicate = Length(name, low=low) if greatest else Length(name, high=high)
        if inner is None:
            reached = Present(name)
        found = some(site.rule, site.field, reached, words if inner is not None else "a value")
        checks = [replace(found, id=f"{site.rule.id}:reached/{name}")]
        return (*([rows(site.rule, site.field, outer, words)] if has_outer else []), *checks)

    return compile_all


def _whole(end: Decimal | None, *, up: bool, is_open: bool) -> int | None:
    """The last integer within a bound."""
    if end is None:
        return None
    nearest = math.ceil(end) if up else math.floor(end)
    step = (1 if up else -1) if is_open and nearest == end else 0
    return max(nearest + step, 0 if up else -1)


def _mean_length(site: Site) -> Check:
    words = f"a mean length of {site.good}"
    tier = Tier(site.good)
    base = check(site.rule, (site.field,), Metric.MEAN_LENGTH, accept=tier, wanted=words, unit=Unit.VALUE)
    return _of_valid(site, base)


def _freshness(unit: int) -> Callable[[Site], Check]:
    def compile_one(site: Site) -> Check:
        good = _between(site)
        low, high = (None if end is None else end * unit for end in (good.low, good.high))
        return age(site.rule, site.field, replace(good, low=low, high=high))

    return compile_one


_OF_VALUES = frozenset({*MISSING, *VALIDITY})

METRICS = {
    "row_count": SodaMetric(_row_count, default=SOME_ROW),
    "rows_exist": SodaMetric(_row_count, default=SOME_ROW, is_fixed=True),
    "missing_count": SodaMetric(_missing(Unit.ROWS), frozenset(MISSING)),
    "missing_percent": SodaMetric(_missing(Unit.PERCENT), frozenset(MISSING)),
    "no_missing_values": SodaMetric(_missing(Unit.ROWS), frozenset(MISSING), NO_ROW, is_fixed=True),
    "invalid_count": SodaMetric(_invalid(Unit.ROWS), _OF_VALUES),
    "invalid_percent": SodaMetric(_invalid(Unit.PERCENT), _OF_VALUES),
    "no_invalid_values": SodaMetric(_invalid(Unit.ROWS), _OF_VALUES, NO_ROW, is_fixed=True),
    "duplicate_count": SodaMetric(_duplicates(Unit.ROWS)),
    "duplicate_percent": SodaMetric(_duplicates(Unit.PERCENT)),
    "no_duplicate_values": SodaMetric(_duplicates(Unit.ROWS), default=NO_ROW, is_fixed=True),
    "distinct_count": SodaMetric(_distinct),
    "avg": SodaMetric(_aggregate(Metric.MEAN, "mean"), _OF_VALUES),
    "sum": SodaMetric(_aggregate(Metric.SUM, "sum"), _OF_VALUES),
    "stddev": SodaMetric(_aggregate(Metric.DEVIATION, "standard deviation"), _OF_VALUES),
    "stddev_samp": SodaMetric(_aggregate(Metric.DEVIATION, "standard deviation"), _OF_VALUES),
    "percentile": SodaMetric(_percentile, _OF_VALUES | {"percentile"}),
    "min": SodaMetric(_extreme(greatest=False), _OF_VALUES),
    "max": SodaMetric(_extreme(greatest=True), _OF_VALUES),
    "min_length": SodaMetric(_extreme_length(greatest=False)),
    "max_length": SodaMetric(_extreme_length(greatest=True)),
    "avg_length": SodaMetric(_mean_length, _OF_VALUES),
    "freshness": SodaMetric(_freshness(1)),
    "freshness_in_minutes": SodaMetric(_freshness(60)),
    "freshness_in_hours": SodaMetric(_freshness(3600)),
    "freshness_in_days": SodaMetric(_freshness(86400)),
}
"""All checks that count something; `schema` is in a module of its own."""


# ---- The schema check ----


WRONG_TYPE = "when wrong column type"
SCHEMA_CONDITIONS = ("when required column missing", "when forbidden column present", WRONG_TYPE)
UNJUDGED_CONDITIONS = {
    "when wrong column index": "the order of columns is, without a rule",
    "when schema changes": "changes need earlier deliveries, which no rule sees",
    "when mismatching columns": "write `when required column missing` and `when wrong column type`",
    "with optional columns": "write `when required column missing` and `when wrong column type`",
}
"""Conditions that are named only, with the reason."""


def schema(rule: Rule, known: Mapping[str, Field], parsed: SodaCheck) -> Iterator[tuple[str, Check]]:
    """The checks of a schema, each with the suffix of its id."""
    for zone, conditions in parsed.zones.items():
        if not isinstance(conditions, Mapping):
            refuse(rule, "soda-check", "a schema check needs conditions, e.g. `when required column missing: [a]`")
        worst = Severity.WARN if zone == "warn" else rule.severity
        for name, value in conditions.items():
            yield from (
                (f":{zone}:{name}", replace(want, worst=worst)) for want in _wants(rule, known, str(name), value)
            )


def typed_columns(zones: Mapping[str, object]) -> tuple[str, ...]:
    """The columns whose types a schema wants; they need not be declared."""
    wanted = [zone.get(WRONG_TYPE) for zone in zones.values() if isinstance(zone, Mapping)]
    return tuple(dict.fromkeys(str(column) for entry in wanted if isinstance(entry, Mapping) for column in entry))


def _wants(rule: Rule, known: Mapping[str, Field], name: str, value: object) -> Iterator[Check]:
    """The checks of one condition; one that is not judged is skipped, and its neighbours are measured."""
    if name == "when required column missing":
        names = tuple(map(str, items(rule, value)))
        yield of_header(rule, HeaderRequirement(required=names), f"the columns {brief(', '.join(names))}")
    elif name == "when forbidden column present":
        names = tuple(str(item).replace("%", "*") for item in items(rule, value))
        yield of_header(rule, HeaderRequirement(forbidden=names), f"no column {brief(', '.join(names))}")
    elif name == WRONG_TYPE and isinstance(value, Mapping):
        yield from (_of_type(rule, known, str(column), str(declared)) for column, declared in value.items())
    else:
        reason = UNJUDGED_CONDITIONS.get(name)
        hint = "" if reason else did_you_mean(name, [*SCHEMA_CONDITIONS, *UNJUDGED_CONDITIONS])
        yield skip_check(
            rule,
            (),
            f"a schema is not judged by `{brief(name)}`{f': {reason}' if reason else '.' if hint else ''}{hint}",
        )


def _of_type(rule: Rule, known: Mapping[str, Field], column: str, declared: str) -> Check:
    field = known.get(column)
    if field is None:
        return skip_check(rule, (), f"the schema names a column that is not declared: {brief(column)}")
    if TYPE_NAMES.get(declared.lower().partition("(")[0]) is not field.type:
        return skip_check(rule, (field,), f"the contract declares {column} as {field.type.value}")
    return rows(rule, field, Typed(field.name), f"of type {brief(declared)}")


# ---- Names and settings ----
# `warn` and `fail` zones are checks of their own. Nulls are missing and never invalid; percentages are of all rows; duplicates
# are counted by the value, as Soda does, and not by the row. A check without an exact equivalent is skipped, with the reason.


ELSEWHERE = {
    "change ": "changes over time need earlier deliveries, which no rule sees",
    "anomaly": "anomalies need earlier deliveries, which no rule sees: the gate warns of them without one",
    "distribution": "distributions need earlier deliveries, which no rule sees",
    "values in ": "of references between datasets only `values in (a) must exist in other (b)` is measured",
    "row_count same as": "datasets are not compared by their number of rows",
    "group by": "groups are found by a query: say it as a rule in SQL",
    "group evolution": "changes of groups need earlier deliveries, which no rule sees",
    "stddev_pop": "a standard deviation is that of a sample (`stddev`)",
    "variance": "a variance is not measured: its root is (`stddev`)",
    "var_": "a variance is not measured: its root is (`stddev`)",
    "freshness using": "an older spelling of freshness: say `freshness(column) < 1d`",
}
"""Prefixes of checks without an equivalent, with the reason."""


def soda(rule: Rule, fields: tuple[Field, ...], call: str, arguments: Arguments) -> tuple[Check, ...]:
    """The checks of one check of Soda: one for its threshold, or one for each zone."""
    elsewhere = next((reason for start, reason in ELSEWHERE.items() if call.startswith(start)), None)
    if elsewhere is not None:
        return (skip_check(rule, fields, elsewhere),)
    try:
        parsed = parse_check(call, arguments)
        known = by_written_name(fields)
        if parsed.metric == "schema":
            return tuple(named_check(check, rule, part) for part, check in schema(rule, known, parsed))
        names = subjects_of(call, arguments) or rule.fields
        subjects = tuple(known[name] for name in names if name in known)
        return tuple(_compile_check(rule, known, subjects, parsed))
    except SodaSyntaxError as error:
        refuse(rule, "soda-check", str(error))
    except UnmeasuredError as error:
        return (skip_check(rule, fields, str(error)),)


def subjects_of(call: str, arguments: Arguments) -> tuple[str, ...]:
    """The columns of a check, as far as it can be read; none of a query, which names them itself."""
    try:
        parsed = parse_check(call, arguments)
    except (SodaSyntaxError, UnmeasuredError):
        return ()
    return parsed.columns[:1] if parsed.metric == "percentile" else parsed.columns


def optional_subjects(call: str, arguments: Arguments) -> tuple[str, ...]:
    """The columns that a check mentions, whether or not the contract declares them."""
    return typed_columns(arguments) if call.strip() == "schema" else ()


def _compile_check(rule: Rule, declared: dict[str, Field], fields: tuple[Field, ...], parsed: SodaCheck) -> list[Check]:
    metric = METRICS.get(parsed.metric)
    if metric is None:
        known = [*METRICS, *VERSION_4, *QUERIES, "schema", "aggregate"]
        raise UnmeasuredError(not_measured(f"the check {brief(parsed.metric)} of Soda", parsed.metric, known))
    if (foreign := unknown_setting(parsed, metric.knows)) is not None:
        raise foreign
    refuse_nested(rule, parsed.settings, [name for name in metric.knows | {"filter"} if not name.endswith(" values")])
    if metric.is_fixed and any(good != metric.default for _, good, _ in parsed.thresholds):
        raise SodaSyntaxError(
            f"{parsed.metric} has no threshold of its own: name the metric that counts, or remove the threshold"
        )
    given = _filter(rule, declared, parsed)
    found: list[Check] = []
    for part, good, worst in wanted_intervals(rule, parsed, metric.default):
        compiled = metric.compile(Site(rule, fields, parsed, good))
        checks = compiled if isinstance(compiled, tuple) else (compiled,)
        found += (
            restrict_check(replace(named_check(entry, rule, part), worst=worst or entry.worst), given)
            for entry in checks
        )
    return found


def named_check(check: Check, rule: Rule, part: str) -> Check:
    """The check of one threshold."""
    return replace(check, id=f"{rule.id}{part}{check.id.removeprefix(rule.id)}")


def _filter(rule: Rule, known: dict[str, Field], parsed: SodaCheck) -> Predicate | None:
    condition = parsed.settings.get("filter")
    if condition is None:
        return None
    try:
        return condition_of(rule, str(condition), known, is_sql=True)
    except UnreadConditionError:
        raise UnmeasuredError("the filter is written in a language that is not read here") from None
