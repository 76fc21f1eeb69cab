"""What the functions of all families of rules are built from: their two shapes, their refusals, and the checks they return."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, NoReturn

from contracts.check import NONE, Check, Interval, Metric, Tier, Unit
from contracts.errors import ContractError, Problem
from contracts.predicate import OneOf, Within, together, where
from contracts.rules.values import literal, number_of
from contracts.types import LogicalType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from contracts.model import Contract, Dataset, Field, Rule
    from contracts.predicate import Predicate

    Compile = Callable[[Rule, tuple[Field, ...]], tuple[Check, ...]]

_END = 2**63
NEVER_MEASURED = frozenset(
    {
        "not-measured",
        "undeclared-column",
        "operator",
        "no-condition",
        "rule-does-not-suit",
        "bound-on-unordered",
        "not-numeric",
        "not-comparable",
        "not-a-moment",
        "query-without-operator",
        "query-unknown-table",
        "query-unknown-column",
        "query-unknown-function",
        "query-window-in-aggregate",
        "query-not-repeatable",
        "dangling-relationship",
        "unknown-element",
        "unknown-model",
        "unknown-metric",
    }
)
"""The codes of problems that leave the document usable: the rule is named in every report, and never measured."""
LONGEST_WORDS = 80
"""Characters of contract text that a sentence about a check repeats at most."""


@dataclass(frozen=True, slots=True)
class InContract:
    """A rule whose checks depend on the contract around it: on its other datasets, on the dialect of its server."""

    compile: Callable[[Contract, Dataset, Rule, tuple[Field, ...]], tuple[Check, ...]]


def each(compile_one: Callable[[Rule, Field], Check]) -> Compile:
    """A rule that gives one check for each field it names; it must name one."""

    def compile_rule(rule: Rule, fields: tuple[Field, ...]) -> tuple[Check, ...]:
        if not fields:
            refuse(rule, "no-column", f"the rule {rule.kind} must name a column")
        return tuple(compile_one(rule, field) for field in fields)

    return compile_rule


def once(compile_one: Callable[[Rule, tuple[Field, ...]], Check]) -> Compile:
    """A rule that gives a single check, of all its fields together or of the whole dataset."""
    return lambda rule, fields: (compile_one(rule, fields),)


def refuse(rule: Rule, code: str, message: str) -> NoReturn:
    """ContractError with one problem; of a code in NEVER_MEASURED the compiler makes a check that is only named."""
    raise ContractError((Problem(code, rule.origin.path, rule.origin.line, message),))


def check(  # noqa: PLR0913 - a check has these parts, all named by the caller
    rule: Rule,
    fields: tuple[Field, ...],
    metric: Metric,
    *,
    accept: Tier,
    wanted: str,
    unit: Unit = Unit.ROWS,
    given: Predicate | None = None,
) -> Check:
    """A check of a rule over some fields, its id as documents of every kind repeat it."""
    names = tuple(field.name for field in fields)
    return Check(
        id="/".join(filter(None, (rule.id, "+".join(names)))),
        rule=rule.id,
        kind=rule.kind,
        fields=names,
        metric=metric,
        unit=unit,
        accept=accept,
        worst=rule.severity,
        wanted=wanted,
        given=given,
    )


def rows(rule: Rule, field: Field, predicate: Predicate, wanted: str) -> Check:
    """A check that no row may fail."""
    return check(rule, (field,), Metric.FAILING_ROWS, accept=Tier(NONE, predicate), wanted=wanted)


def unique_rows(rule: Rule, key: tuple[Field, ...]) -> Check:
    """A check that no two rows share a key."""
    wanted = "unique" if len(key) == 1 else "unique together"
    return check(rule, key, Metric.DUPLICATE_ROWS, accept=Tier(NONE), wanted=wanted)


def skipped(rule: Rule, fields: tuple[Field, ...], reason: str) -> Check:
    """A check that is only named, with the reason why nothing is measured."""
    named = check(
        rule, fields, Metric.ROW_COUNT, accept=Tier(Interval()), wanted=brief(rule.name or rule.kind), unit=Unit.VALUE
    )
    return replace(named, skip=reason)


def argument(rule: Rule, name: str) -> object:
    """An argument the rule cannot do without."""
    if rule.arguments.get(name) is None:
        refuse(rule, "no-argument", f"the rule {rule.kind} needs {name}")
    return rule.arguments[name]


def argument_of(rule: Rule, arguments: Mapping[str, object], name: str) -> object:
    """An argument that a foreign call cannot do without."""
    if arguments.get(name) is None:
        refuse(rule, "no-argument", f"the check needs {name}")
    return arguments[name]


def conditioned(base: Check, given: Predicate | None) -> Check:
    """The check over those rows alone for which a condition surely holds."""
    if given is None or base.skip is not None:
        return base
    tiers = [
        tier and replace(tier, predicate=tier.predicate and where(given, tier.predicate))
        for tier in (base.accept, base.tolerate)
    ]
    accept, tolerate = tiers
    assert accept is not None
    words = f"{base.wanted}, where the condition holds"
    return replace(base, accept=accept, tolerate=tolerate, given=together(base.given, given), wanted=words)


def number(rule: Rule, value: object) -> Decimal:
    """A number of the document; a refusal where it is none."""
    found = number_of(value)
    if found is None:
        refuse(rule, "not-a-number", f"the rule {rule.kind} needs a number")
    return found


def whole(rule: Rule, value: object) -> int:
    """A whole number from 0; a refusal where it is none."""
    found = number(rule, value)
    if found < 0 or found != found.to_integral_value():
        refuse(rule, "not-a-count", f"the rule {rule.kind} needs a whole number from 0")
    return int(found)


def items(rule: Rule, value: object) -> tuple[object, ...]:
    """A list of the document; a refusal where it is none or empty."""
    if not isinstance(value, list | tuple) or not value:
        refuse(rule, "not-a-list", f"the rule {rule.kind} needs a list of at least one value")
    return tuple(value)


def one_of(rule: Rule, field: Field, values: Iterable[object]) -> OneOf:
    """The predicate of a closed list, whose values must be of the field's type; null needs no place in it."""
    return OneOf(field.name, tuple(value_of(rule, field, value) for value in values if value is not None))


def _bound(rule: Rule, field: Field, value: object) -> str:
    """A bound on a field, whose type must have an order."""
    if not field.type.ordered:
        refuse(rule, "bound-on-unordered", f"{field.name} is a {field.type.value}, which has no order to bound")
    return value_of(rule, field, value)


def within(  # noqa: PLR0913 - two ends, each with its openness
    rule: Rule,
    field: Field,
    low: object = None,
    high: object = None,
    *,
    low_open: bool = False,
    high_open: bool = False,
) -> Within:
    """The predicate of two bounds, of which at least one is given."""
    if low is None and high is None:
        refuse(rule, "no-argument", f"the rule {rule.kind} needs a bound")
    ends = [None if end is None else _bound(rule, field, end) for end in (low, high)]
    if field.type is LogicalType.INTEGER and not _reaches(*ends):
        refuse(rule, "bound-out-of-reach", f"no whole number of 64 bits lies within the bounds of {field.name}")
    return Within(field.name, ends[0], ends[1], low_open, high_open)


def _reaches(low: str | None, high: str | None) -> bool:
    """Whether the ends leave room for 64 bits: engines fold what is never true, and forget about null."""
    return (low is None or Decimal(low) < _END) and (high is None or Decimal(high) >= -_END)


def in_range(rule: Rule, field: Field, predicate: Within) -> Check:
    """A check that every value lies within bounds."""
    words = [
        f"{'more than' if predicate.low_open else 'at least'} {predicate.low}" if predicate.low is not None else "",
        f"{'less than' if predicate.high_open else 'at most'} {predicate.high}" if predicate.high is not None else "",
    ]
    return rows(rule, field, predicate, " and ".join(filter(None, words)))


def value_of(rule: Rule, field: Field, value: object) -> str:
    """A value of the field's type as plans carry it."""
    text = literal(field.type, value)
    if text is None:
        refuse(rule, "value-not-of-type", f"a value that rules about {field.name} name is no {field.type.value}")
    return text


def brief(text: str) -> str:
    """Text of a contract, cut to a length that tables and sentences can bear."""
    return text if len(text) <= LONGEST_WORDS else f"{text[: LONGEST_WORDS - 1]}…"


def listed(values: Iterable[object]) -> str:
    """`one of SP, RJ, MG, ES`, cut to a length that tables can bear."""
    return "one of " + brief(", ".join(map(str, values)))
