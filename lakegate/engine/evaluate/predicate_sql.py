"""Predicates as SQL of DuckDB; one SELECT per nesting level."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

from lakegate.contract.logical_types import GRAMMARS, PRECISION, SCALE, Cast, LogicalType
from lakegate.engine.evaluate import json_documents, pattern_search
from lakegate.engine.evaluate.typed_values import (
    exact_literal,
    exact_type,
    literal,
    present_name,
    repeats_name,
    size_name,
    sql_type,
    value_name,
)
from lakegate.engine.read.data_source import AT, ROW, Expression, Level
from lakegate.plan.check import Check, Keys, Population, keys_of, population_of, predicates_of, tiers_of
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.predicates import (
    All,
    Compare,
    JsonForm,
    Length,
    Matches,
    MultipleOf,
    NoRepeats,
    Not,
    OneOf,
    Predicate,
    Present,
    Relation,
    Size,
    Typed,
    Within,
    fields_of,
    leaves,
)

# ---- Metrics of numbers and keys, for both engines ----
# A metric is a row here and in `lakegate.plan.metrics`. Natively aggregates are added up in this process
# (`lakegate.engine.measure.metric_values`); in the job Deequ computes them (`lakegate.spark.deequ_metrics`).


MICROSECONDS = 10**6
"""In a second."""


@dataclass(frozen=True, slots=True)
class NumberMetric:
    """A metric of the numbers in some records."""

    kind: str
    """The kind of numbers, as in `lakegate.engine.evaluate.predicate_sql.Numbers`."""
    aggregate: str | None
    """Their aggregate, a key of `lakegate.engine.measure.metric_values`; None for a quantile, which needs all of them."""
    value: Callable[[float, int], float | None]
    """The metric of an aggregate and of how many numbers there are."""


@dataclass(frozen=True, slots=True)
class KeyMetric:
    """A metric of the keys in some records."""

    count: str
    """The count: of `keys`, of `repeated` keys (in more than one row), of rows with a `shared` key, of the `most_common` keys."""
    is_remainder: bool = False
    """Whether the records without the count fail."""
    of_all_rows: bool = False
    """Whether it is measured over all rows, also those without a key, unless a filter selects rows."""


def _number_of(found: float, _: int) -> float:
    return float(found)


def _mean(total: float, count: int) -> float:
    return float(total / count)


def _seconds(found: float, _: int) -> float:
    return found / MICROSECONDS


NUMBER_METRICS: dict[Metric, NumberMetric] = {
    Metric.MEAN: NumberMetric("float", "total", _mean),
    Metric.SUM: NumberMetric("float", "total", _number_of),
    Metric.DEVIATION: NumberMetric(
        "float", "squares", lambda squares, count: math.sqrt(squares / (count - 1)) if count > 1 else None
    ),
    Metric.QUANTILE: NumberMetric("float", None, _number_of),
    Metric.MEAN_LENGTH: NumberMetric("length", "total", _mean),
    Metric.YOUNGEST: NumberMetric("moment", "youngest", _seconds),
    Metric.OLDEST: NumberMetric("moment", "oldest", _seconds),
    Metric.DELAY: NumberMetric("delay", "greatest", _seconds),
}

KEY_METRICS: dict[Metric, KeyMetric] = {
    Metric.DUPLICATE_ROWS: KeyMetric("shared", of_all_rows=True),
    Metric.DUPLICATE_KEYS: KeyMetric("repeated", of_all_rows=True),
    Metric.DISTINCT_COUNT: KeyMetric("keys", is_remainder=True),
    Metric.DISTINCT_SHARE: KeyMetric("keys", is_remainder=True),
    Metric.MOST_COMMON: KeyMetric("most_common", is_remainder=True),
}


# ---- Predicates as SQL ----
# Its columns are texts (`c0`), values (`vc0`), numbers of elements (`zc0`), whether elements are equal (`dc0`), and whether a
# pattern is found (`found_name`), so that each pattern of a field is searched for once, however many predicates have it.
#
# An expression is false where the predicate does not hold; true and NULL both mean that it does, which is the null policy of
# `lakegate.plan.predicates`: `fails` applies it.


EXACT = exact_type(SCALE)
_WHOLE = exact_type(0)
_FRACTION = exact_type(PRECISION)


def fails(predicate: Predicate, plan: Plan) -> str:
    """Whether a row breaks the predicate, in SQL: never NULL.

    ValueError or ArithmeticError where its constants cannot be used.
    """
    return f"({condition(predicate, plan)}) IS FALSE"


def condition(predicate: Predicate, plan: Plan) -> str:
    """The predicate in SQL of three-valued logic."""
    return _CONDITIONS[type(predicate)](predicate, plan)


def found_name(it: Matches | JsonForm, plan: Plan) -> str:
    """The column of whether a pattern is found in a field's text, or a schema describes it; NULL for NULL."""
    kind, what = ("j", it.schema) if isinstance(it, JsonForm) else ("m", it.pattern)
    return f"{kind}{_text(it.field, plan)}_{sha256(what.encode()).hexdigest()}"


def search(it: Matches | JsonForm, plan: Plan) -> str:
    """The SQL of that column over the field's text; ValueError if no engine can search the pattern."""
    if isinstance(it, JsonForm):
        return json_documents.sql(it.schema, _text(it.field, plan))
    return pattern_search.sql(it.pattern, _text(it.field, plan))


def _text(name: str, plan: Plan) -> str:
    return plan.field(name).alias


def _value(name: str, plan: Plan) -> str:
    return value_name(plan.field(name).alias)


def _one_of(it: OneOf, plan: Plan) -> str:
    field = plan.field(it.field)
    values = ", ".join(literal(field, value) for value in it.values)
    return f"{_value(it.field, plan)} IN ({values})" if values else f"{_value(it.field, plan)} IS NULL AND NULL"


def _within(it: Within, plan: Plan) -> str:
    field, value = plan.field(it.field), _value(it.field, plan)
    low = [f"{value} {'>' if it.low_open else '>='} {literal(field, it.low)}"] if it.low is not None else []
    high = [f"{value} {'<' if it.high_open else '<='} {literal(field, it.high)}"] if it.high is not None else []
    return _every(low + high)


def _counted(count: str, it: Length | Size) -> str:
    low = [f"{count} >= {int(it.low)}"] if it.low is not None else []
    high = [f"{count} <= {int(it.high)}"] if it.high is not None else []
    return _every(low + high)


def _every(conditions: list[str]) -> str:
    return " AND ".join(f"({each})" for each in conditions) if conditions else "true"


def _multiple_of(it: MultipleOf, plan: Plan) -> str:
    """A float is read as it is written, to 18 digits after the point; past 20 digits before it there is nothing to judge."""
    field, value = plan.field(it.field), _value(it.field, plan)
    if field.type is LogicalType.DECIMAL:
        return f"{value} % {literal(field, it.factor)} = 0"
    if GRAMMARS[field.type].cast is Cast.DOUBLE:
        value = f"CAST({value} AS VARCHAR)"
    return f"try_cast({value} AS {EXACT}) % {exact_literal(it.factor)} = 0"


def _compare(it: Compare, plan: Plan) -> str:
    types = {sql_type(plan.field(name)) for name in (it.field, it.other)}
    common = "DOUBLE" if "DOUBLE" in types else EXACT if types == {"BIGINT", EXACT} else None
    first, second = (_value(name, plan) for name in (it.field, it.other))
    if common:
        first, second = f"CAST({first} AS {common})", f"CAST({second} AS {common})"
    elif len(types) > 1:
        return _compare_scales(_RELATIONS[it.relation], first, second)
    return f"{first} {_RELATIONS[it.relation]} {second}"


def _compare_scales(relation: str, first: str, second: str) -> str:
    """Exact numbers of which neither has a type for the other: by their whole parts, where these are equal by the rest."""
    whole = [f"CAST(trunc({each}) AS {_WHOLE})" for each in (first, second)]
    rest = [f"CAST({each} - trunc({each}) AS {_FRACTION})" for each in (first, second)]
    same = f"{rest[0]} {relation} {rest[1]}"
    return f"CASE WHEN {whole[0]} = {whole[1]} THEN {same} ELSE {whole[0]} {relation} {whole[1]} END"


_RELATIONS = {Relation.EQUAL: "=", Relation.GREATER: ">", Relation.AT_LEAST: ">="}

_CONDITIONS: dict[type, Callable[[Any, Plan], str]] = {
    Present: lambda it, plan: present_name(_text(it.field, plan)),
    Typed: lambda it, plan: f"NOT {present_name(_text(it.field, plan))} OR {_value(it.field, plan)} IS NOT NULL",
    OneOf: _one_of,
    Within: _within,
    Length: lambda it, plan: _counted(f"length({_text(it.field, plan)})", it),
    Matches: found_name,
    JsonForm: found_name,
    MultipleOf: _multiple_of,
    Size: lambda it, plan: _counted(size_name(_text(it.field, plan)), it),
    NoRepeats: lambda it, plan: f"NOT {repeats_name(_text(it.field, plan))}",
    Compare: _compare,
    Not: lambda it, plan: f"NOT ({condition(it.inner, plan)})",
    All: lambda it, plan: _every([condition(inner, plan) for inner in it.inner]),
}


# ---- The program of a level: one SELECT for a chunk ----
# The inner SELECT computes the value of each field that is read (`vc0`), whether there is one (`pc0`), and its text (`c0`)
# where that is needed. Patterns are searched between the two (`mc0_…`), or before, in distinct values
# (`lakegate.engine.measure.share_evaluation`). The outer SELECT computes for each row
#
# * `f0`, `f1`, …: whether the row breaks each predicate, never NULL;
# * `b0`, `b1`, …: whether it belongs to each population;
# * `n0`, `n1`, …: the numbers that aggregates are taken of, NULL outside their population;
# * `vc0`, …: the values of keys and of fields that queries read.


MOST_MEMBERS = 62
"""Values of a list, each with a bit of a whole number of 64: of a longer list nothing is observed."""
UNUSABLE = "the rule's own values cannot be used by the engine (a pattern, a bound or a list entry)"
FIELDS_OF_QUERY = 128
"""Fields that one query reads, unless a single predicate reads more: DuckDB plans each of them in some 50 kB and 0.3 ms."""
SOURCE = "chunk"
"""The name under which a program reads the raw columns."""


@dataclass(frozen=True, slots=True)
class NumericColumn:
    """A column of numbers that aggregates are taken of."""

    kind: str
    """`exact` whole numbers, `float`, `length` in code points, `moment` in microseconds since 1970, `delay` in microseconds;
    `extremes` of numbers, and the `members` of a list that occur: a bit for each."""
    fields: tuple[str, ...]
    population: Population
    values: tuple[str, ...] = ()
    """The members."""


@dataclass(frozen=True)
class Program:
    """The evaluation of each record (or element) of a level."""

    plan: Plan
    level: Level
    checks: tuple[Check, ...]
    """Those that can be evaluated."""
    errors: Mapping[str, str]
    """Reasons why others cannot, by check id."""
    predicates: Mapping[Predicate, str]
    populations: Mapping[Population, str]
    numbers: Mapping[NumericColumn, str]
    keys: tuple[Keys, ...]
    kept: frozenset[str]
    """Aliases of the fields whose values are in the result."""
    bits: Mapping[str, str] = field(default_factory=dict)
    """The SQL of each predicate, by its column."""
    searches: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By alias of a field whose text patterns are searched for in: the SQL of each search over that text, by its column."""
    is_queried: bool = False
    """Whether queries read the records, even if only to count them."""

    def select(
        self,
        expressions: Mapping[str, Expression],
        typed: Callable[[str], str],
        searched: Collection[str],
        *,
        with_present: bool,
    ) -> str:
        """The SELECT over a chunk; `typed` gives the SQL of a field's value by alias.

        The raw columns of the chunk already contain the searches of the fields `searched` (aliases). `with_present` adds whether
        the fields of `single` have a value.
        """
        own = [each.alias for each in self.own]
        unsearched = [alias for alias in self.searches if alias not in searched]
        needed, sized, repeated = self.texts.union(unsearched), self.of(Size), self.of(NoRepeats)
        texts = [f"{expressions[alias].text} AS {alias}" for alias in own if alias in needed]
        there = [
            f"{expressions[alias].column or expressions[alias].text} IS NOT NULL AS {present_name(alias)}"
            for alias in own
        ]
        values = [f"{typed(alias)} AS {value_name(alias)}" for alias in own]
        values += [f"{expressions[alias].size} AS {size_name(alias)}" for alias in own if alias in sized]
        values += [f"{expressions[alias].repeats} AS {repeats_name(alias)}" for alias in own if alias in repeated]
        place = [AT] if self.has_places else []
        known = [name for alias in searched for name in self.searches[alias]]
        inner = f"SELECT {', '.join([ROW, *place, *texts, *there, *values, *known])} FROM {SOURCE}"  # noqa: S608 - generated names and literals
        if unsearched:
            inner = f"SELECT *, {', '.join(self._searches(*unsearched))} FROM ({inner})"  # noqa: S608 - likewise
        columns = [
            ROW,
            *place,
            *(f"{sql} AS {name}" for name, sql in self.bits.items()),
            *(f"{self._is_of(population)} AS {name}" for population, name in self.populations.items()),
            *(f"{self._number(numbers)} AS {name}" for numbers, name in self.numbers.items()),
            *(value_name(alias) for alias in sorted(self.kept)),
            *(present_name(alias) for alias in sorted(set(self.single.values())) if with_present),
        ]
        return f"SELECT {', '.join(columns)} FROM ({inner})"  # noqa: S608 - likewise

    @cached_property
    def parts(self) -> tuple[Program, ...]:
        """Programs of a few fields each, whose columns are together those of this one: to plan a query takes memory for each of
        its columns. The first one has the keys.
        """
        if len(self.reads) <= FIELDS_OF_QUERY:
            return (self,)
        places = {each.name: at for at, each in enumerate(self.plan.fields)}
        found: list[tuple[set[str], list[Any]]] = []
        for fields, output in sorted(
            self._outputs, key=lambda each: min((places[name] for name in each[0]), default=0)
        ):
            if not found or len(found[-1][0] | fields) > FIELDS_OF_QUERY:
                found.append((set(), []))
            found[-1][0].update(fields)
            found[-1][1].append(output)
        return tuple(self._part(fields, own, keys=() if at else self.keys) for at, (fields, own) in enumerate(found))

    def without(self, names: Collection[str]) -> Program:
        """The program but for some columns of its result: predicates, populations and numbers."""
        named: dict[Any, str] = {**self.predicates, **self.populations, **self.numbers}
        left = [(fields, output) for fields, output in self._outputs if named.get(output) not in names]
        return self._part(set().union(*(fields for fields, _ in left)), [output for _, output in left], self.keys)

    @property
    def is_empty(self) -> bool:
        """Whether its result says no more of a record than where it is."""
        return not (self.predicates or self.populations or self.numbers or self.kept)

    @cached_property
    def _outputs(self) -> list[tuple[frozenset[str], Predicate | Population | NumericColumn | PlanField]]:
        """The columns of its result, each with the fields that it reads."""
        return [
            *((fields_of(predicate), predicate) for predicate in self.predicates),
            *((_fields_in(population), population) for population in self.populations),
            *((_fields_in(number.population).union(number.fields), number) for number in self.numbers),
            *((frozenset({each.name}), each) for each in self.plan.fields if each.alias in self.kept),
        ]

    def _part(self, fields: set[str], outputs: list[Any], keys: tuple[Keys, ...]) -> Program:
        populations = {output: self.populations[output] for output in outputs if isinstance(output, Population)}
        numbers = {output: self.numbers[output] for output in outputs if isinstance(output, NumericColumn)}
        kept = frozenset(output.alias for output in outputs if isinstance(output, PlanField))
        filters = [each.excluded for each in (*populations, *(number.population for number in numbers))]
        others = (Population, NumericColumn, PlanField)
        own = dict.fromkeys(output for output in outputs if not isinstance(output, others))
        predicates = {each: self.predicates[each] for each in (*own, *filters) if each is not None}
        aliases = [self.plan.field(name).alias for name in fields]
        return replace(
            self,
            checks=tuple(check for check in self.checks if check.accept.predicate in own),
            predicates=predicates,
            populations=populations,
            numbers=numbers,
            keys=keys,
            kept=kept,
            bits={name: self.bits[name] for name in predicates.values()},
            searches={alias: self.searches[alias] for alias in aliases if alias in self.searches},
        )

    @cached_property
    def own(self) -> tuple[PlanField, ...]:
        """The fields of the level that it reads."""
        return tuple(each for each in self.plan.fields if each.name in self.reads and each.level == self.level)

    @property
    def has_places(self) -> bool:
        """Whether its result contains the place of each element in its record: of elements whose keys are compared."""
        return bool(self.level and self.keys)

    def search(self, alias: str, text: str) -> str:
        """The SELECT of the searches of one field alone; `text` is the SQL of its text over the raw columns."""
        return f"SELECT {', '.join(self._searches(alias))} FROM (SELECT {text} AS {alias} FROM {SOURCE})"  # noqa: S608 - likewise

    def _searches(self, *aliases: str) -> Iterator[str]:
        return (f"{sql} AS {name}" for alias in aliases for name, sql in self.searches[alias].items())

    @cached_property
    def texts(self) -> frozenset[str]:
        """Aliases of the fields whose lengths are measured."""
        measured = (name for number in self.numbers if number.kind == "length" for name in number.fields)
        return self.of(Length) | {self.plan.field(name).alias for name in measured}

    def of(self, kind: type[Length | NoRepeats | Size]) -> frozenset[str]:
        """Aliases of the fields that predicates of one kind read."""
        fields = (leaf.field for own in self.predicates for leaf in leaves(own) if isinstance(leaf, kind))
        return frozenset(self.plan.field(name).alias for name in fields)

    @cached_property
    def single(self) -> dict[str, str]:
        """The bit of each check that counts failing rows of one field, with the field's alias."""
        counted = (check for check in self.checks if check.metric is Metric.FAILING_ROWS and len(check.fields) == 1)
        return {
            self.predicates[check.accept.predicate]: self.plan.field(check.fields[0]).alias
            for check in counted
            if check.accept.predicate is not None
        }

    @cached_property
    def reads(self) -> frozenset[str]:
        """Names of the fields whose texts and values it needs."""
        read = [fields_of(predicate) for predicate in self.predicates]
        read += [frozenset(population.fields) for population in self.populations]
        read += [frozenset(number.fields) for number in self.numbers]
        aliases = {each.alias: each.name for each in self.plan.fields}
        return frozenset(aliases[each] for each in (*self.kept, *self.single.values())).union(*read)

    def population(self, check: Check) -> str | None:
        """The bit of the records that a check's number is taken over; None: of all judged ones."""
        population = population_of(check)
        return None if population is None else self.populations[population]

    def number(self, check: Check) -> str:
        """The column of numbers that a check's aggregate is taken of."""
        numbers = _numbers(check, self.plan)
        assert numbers is not None
        return self.numbers[numbers]

    def _is_of(self, population: Population) -> str:
        there = [f"{value_name(self.plan.field(name).alias)} IS NOT NULL" for name in population.fields]
        given = [self.bits[self.predicates[population.excluded]]] if population.excluded is not None else []
        return " AND ".join([*there, *given]) or "true"

    def _number(self, numbers: NumericColumn) -> str:
        fields = [self.plan.field(name) for name in numbers.fields]
        aliases = [each.alias for each in fields]
        value = _member(fields[0], numbers.values) if numbers.values else _NUMBERS[numbers.kind](*aliases)
        return f"CASE WHEN {self._is_of(numbers.population)} THEN {value} END"


Programs = Mapping[Level, Program]


def program(plan: Plan, level: Level, checks: tuple[Check, ...], queried: Iterable[str] | None = None) -> Program:
    """The program of a level's checks; `queried` are the fields that queries read, None if no query reads the records."""
    bits: dict[Predicate, str] = {}
    errors: dict[Predicate, str] = {}
    searches: dict[str, dict[str, str]] = {}
    for predicate in dict.fromkeys(predicates_of(checks)):
        try:
            matches = [leaf for leaf in leaves(predicate) if isinstance(leaf, Matches | JsonForm)]
            found = [(plan.field(match.field).alias, found_name(match, plan), search(match, plan)) for match in matches]
            bits[predicate] = fails(predicate, plan)
        except (ValueError, ArithmeticError):
            errors[predicate] = UNUSABLE
        else:
            for alias, name, sql in found:
                searches.setdefault(alias, {})[name] = sql
    refused = {check.id: UNUSABLE for check in checks if set(predicates_of((check,))) & errors.keys()}
    usable = tuple(check for check in checks if check.id not in refused)
    predicates = {predicate: f"f{at}" for at, predicate in enumerate(bits)}
    populations = dict.fromkeys(one for check in usable if (one := population_of(check)) is not None)
    columns = (find(check, plan) for check in usable for find in (_numbers, observed_in))
    numbers = dict.fromkeys(column for column in columns if column is not None)
    keys = dict.fromkeys(own for check in usable for tier in tiers_of(check) if (own := keys_of(check, tier)))
    compared = [name for key in keys for name in key.fields]
    return Program(
        plan,
        level,
        usable,
        refused,
        predicates,
        {each: f"b{at}" for at, each in enumerate(populations)},
        {column: f"n{at}" for at, column in enumerate(numbers)},
        tuple(keys),
        frozenset(plan.field(name).alias for name in (*compared, *(queried or ()))),
        {predicates[each]: sql for each, sql in bits.items()},
        searches,
        queried is not None,
    )


def _numbers(check: Check, plan: Plan) -> NumericColumn | None:
    """The numbers that a check aggregates; None if it aggregates none."""
    metric, population = NUMBER_METRICS.get(check.metric), population_of(check)
    if metric is None or population is None:
        return None
    kind = metric.kind
    fields = check.fields if kind == "delay" else check.fields[:1]
    if kind == "float" and metric.aggregate == "total" and GRAMMARS[plan.field(fields[0]).type].cast is Cast.LONG:
        kind = "exact"  # 64 bits would overflow, floats would depend on the order of the rows
    return NumericColumn(kind, fields, population)


def observed_in(check: Check, plan: Plan) -> NumericColumn | None:
    """The column of what a check observes beside failing rows: of bounds of numbers, and of a list of values."""
    predicate = check.accept.predicate
    if not check.observes or not isinstance(predicate, OneOf | Within):
        return None
    population = Population((predicate.field,), check.row_filter)
    if isinstance(predicate, OneOf):
        own = predicate.values if len(predicate.values) <= MOST_MEMBERS else ()
        return NumericColumn("members", (predicate.field,), population, own) if own else None
    is_number = plan.field(predicate.field).type.numeric
    return NumericColumn("extremes", (predicate.field,), population) if is_number else None


def _fields_in(population: Population) -> frozenset[str]:
    """The fields that decide who belongs to a population."""
    excluded = population.excluded
    return frozenset(population.fields) | (frozenset() if excluded is None else fields_of(excluded))


def _member(field: PlanField, values: tuple[str, ...]) -> str:
    """The bit of a value in a list, of equal ones that of the first; 0 for another value."""
    cases = (f"WHEN {literal(field, each)} THEN {1 << at}" for at, each in enumerate(values))
    return f"(CASE {value_name(field.alias)} {' '.join(cases)} ELSE 0 END)::BIGINT"


def _micros(alias: str) -> str:
    return f"epoch_us({value_name(alias)}::TIMESTAMP)"


_NUMBERS: dict[str, Callable[..., str]] = {
    "exact": value_name,
    "float": lambda alias: f"{value_name(alias)}::DOUBLE",
    "extremes": lambda alias: f"{value_name(alias)}::DOUBLE",
    "length": lambda alias: f"length({alias})::BIGINT",
    "moment": _micros,
    "delay": lambda first, second: f"{_micros(second)} - {_micros(first)}",
}
