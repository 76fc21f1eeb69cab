"""The program of a level: one SELECT that turns the raw columns of a chunk into bits, keys and numbers.

The inner SELECT computes the value of each field that is read (`vc0`), whether there is one (`pc0`), and its text (`c0`) where
that is needed. Patterns are searched between the two (`mc0_…`), or before, in distinct values
(`lakegate.engine.measure.repeats`). The outer SELECT computes for each row

* `f0`, `f1`, …: whether the row breaks each predicate, never NULL;
* `b0`, `b1`, …: whether it belongs to each population;
* `n0`, `n1`, …: the numbers that aggregates are taken of, NULL outside their population;
* `vc0`, …: the values of keys and of fields that queries read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from lakegate.contracts.model.types import GRAMMARS, Cast
from lakegate.contracts.plan.metrics import Metric
from lakegate.contracts.plan.population import Keys, Population, keys_of, population_of, predicates_of, tiers_of
from lakegate.contracts.plan.predicate import Length, Matches, NoRepeats, Size, fields_of, leaves
from lakegate.engine.evaluate.metrics import NUMBER_METRICS
from lakegate.engine.evaluate.predicates import fails, found_name, search
from lakegate.engine.read.chunk import AT, ROW
from lakegate.engine.type.values import present_name, repeats_name, size_name, value_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from lakegate.contracts.plan.check import Check
    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.predicate import Predicate
    from lakegate.engine.read.chunk import Expression, Level

UNUSABLE = "the rule's own values cannot be used by the engine (a pattern, a bound or a list entry)"
SOURCE = "chunk"
"""The name under which a program reads the raw columns."""


@dataclass(frozen=True, slots=True)
class NumericColumn:
    """A column of numbers that aggregates are taken of."""

    kind: str
    """`exact` whole numbers, `float`, `length` in code points, `moment` in microseconds since 1970, `delay` in microseconds."""
    fields: tuple[str, ...]
    population: Population


@dataclass(frozen=True)
class Program:
    """What is evaluated for each record (or element) of a level."""

    plan: Plan
    level: Level
    checks: tuple[Check, ...]
    """Those that can be evaluated."""
    errors: Mapping[str, str]
    """Why others cannot, by check id."""
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
        """The SELECT over a chunk; `typed` gives the SQL of a field's value by alias (as plain text allows).

        The raw columns of the chunk already contain the searches of the fields `searched` (aliases). `with_present` adds whether
        the fields of `single` have a value.
        """
        own = [each.alias for each in self.plan.fields if each.level == self.level and each.name in self.reads]
        unsearched = [alias for alias in self.searches if alias not in searched]
        needed, sized, repeated = self.texts.union(unsearched), self.of(Size), self.of(NoRepeats)
        texts = [f"{expressions[alias].text} AS {alias}" for alias in own if alias in needed]
        there = [f"{_present(expressions[alias])} AS {present_name(alias)}" for alias in own]
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
        measured = (name for each in self.numbers if each.kind == "length" for name in each.fields)
        return self.of(Length) | {self.plan.field(name).alias for name in measured}

    def of(self, kind: type[Length | NoRepeats | Size]) -> frozenset[str]:
        """Aliases of the fields that predicates of one kind read."""
        found = (each.field for own in self.predicates for each in leaves(own) if isinstance(each, kind))
        return frozenset(self.plan.field(name).alias for name in found)

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
        read = [fields_of(each) for each in self.predicates]
        read += [frozenset(each.fields) for each in self.populations]
        read += [frozenset(each.fields) for each in self.numbers]
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
        aliases = [self.plan.field(name).alias for name in numbers.fields]
        return f"CASE WHEN {self._is_of(numbers.population)} THEN {_NUMBERS[numbers.kind](*aliases)} END"


def program(plan: Plan, level: Level, checks: tuple[Check, ...], queried: Iterable[str] | None = None) -> Program:
    """The program of a level's checks; `queried` are the fields that queries read, None if no query reads the records."""
    bits: dict[Predicate, str] = {}
    errors: dict[Predicate, str] = {}
    searches: dict[str, dict[str, str]] = {}
    for predicate in dict.fromkeys(predicates_of(checks)):
        try:
            matches = [each for each in leaves(predicate) if isinstance(each, Matches)]
            found = [(plan.field(each.field).alias, found_name(each, plan), search(each, plan)) for each in matches]
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
    numbers = dict.fromkeys(some for check in usable if (some := _numbers(check, plan)) is not None)
    keys = dict.fromkeys(own for check in usable for tier in tiers_of(check) if (own := keys_of(check, tier)))
    compared = [name for each in keys for name in each.fields]
    return Program(
        plan,
        level,
        usable,
        refused,
        predicates,
        {each: f"b{at}" for at, each in enumerate(populations)},
        {each: f"n{at}" for at, each in enumerate(numbers)},
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


def _present(expression: Expression) -> str:
    return f"{expression.column or expression.text} IS NOT NULL"


def _micros(alias: str) -> str:
    return f"epoch_us({value_name(alias)}::TIMESTAMP)"


_NUMBERS: dict[str, Callable[..., str]] = {
    "exact": value_name,
    "float": lambda alias: f"{value_name(alias)}::DOUBLE",
    "length": lambda alias: f"length({alias})::BIGINT",
    "moment": _micros,
    "delay": lambda first, second: f"{_micros(second)} - {_micros(first)}",
}
