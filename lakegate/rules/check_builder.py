"""Constructors of checks, arguments and refusals, shared by all rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, NoReturn

from lakegate.base.errors import ContractError, Problem
from lakegate.base.text import did_you_mean, format_limit, quote
from lakegate.contract.contract_model import Contract, Dataset, Field, Rule
from lakegate.contract.logical_types import LogicalType, grammar, literal, number_of, text_of
from lakegate.patterns import ecma_patterns
from lakegate.patterns.regex_tree import LONGEST_PATTERN, plain
from lakegate.plan.check import NONE, Check, Interval, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.predicates import All, Matches, Not, OneOf, Predicate, Within, together, where

Fields = tuple[Field, ...]
Checks = tuple[Check, ...]

if TYPE_CHECKING:
    Compile = Callable[[Rule, Fields], Checks]
    Arguments = Mapping[str, object]
    """The arguments of a custom rule's call, by name."""

# ---- Signatures, refusals and constructors of checks ----


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
"""Codes of problems that leave the document usable: the rule is reported as skipped and never measured."""
LONGEST_WORDS = 80
"""The most characters of contract text that the description of a check contains."""


@dataclass(frozen=True, slots=True)
class InContract:
    """A rule whose checks depend on its contract: on other datasets or on the dialect of the server."""

    compile: Callable[[Contract, Dataset, Rule, Fields], Checks]
    by_field: bool = False
    """Whether it has a check for each of its fields, which are judged apart."""


@dataclass(frozen=True, slots=True)
class Technology:
    """The compiler of calls of another engine (`engine` of a custom rule): a row of the extension point `rule technologies`."""

    names: frozenset[str]
    """Spellings of the engine's name, in lower case and without punctuation."""
    compile: Callable[[Rule, Fields, str, Arguments], Checks]
    subjects: Callable[[str, Arguments], tuple[str, ...]]
    """The columns of a call."""
    optional: Callable[[str, Arguments], tuple[str, ...]]
    """Further columns that a call mentions, declared or not."""
    conditions: tuple[str, ...]
    """The arguments that hold a condition."""
    is_sql: bool
    """Whether conditions are SQL by default."""
    asking: Callable[[Contract, Dataset, Rule, Fields], Checks | None] | None = None
    """The checks of a call that asks a query or other data; None for other calls."""


@dataclass(frozen=True, slots=True)
class ByField:
    """A rule with one check for each of its fields; it must have at least one."""

    compile_one: Callable[[Rule, Field], Check]

    def __call__(self, rule: Rule, fields: Fields) -> Checks:
        """The checks of a rule."""
        if not fields:
            refuse(rule, "no-column", f"the rule {rule.kind} must name a column")
        return tuple(self.compile_one(rule, field) for field in fields)


def once(compile_one: Callable[[Rule, Fields], Check]) -> Compile:
    """A rule with a single check, of all its fields together or of the whole dataset."""
    return lambda rule, fields: (compile_one(rule, fields),)


def refuse(rule: Rule, code: str, message: str) -> NoReturn:
    """Raise ContractError with one problem. For codes in NEVER_MEASURED the compiler creates a skipped check instead."""
    raise ContractError((Problem(code, rule.origin.path, rule.origin.line, message),))


def check(  # noqa: PLR0913 - a check has these parts, all given as keywords
    rule: Rule,
    fields: Fields,
    metric: Metric,
    *,
    accept: Tier,
    wanted: str,
    unit: Unit = Unit.ROWS,
    row_filter: Predicate | None = None,
) -> Check:
    """A check of a rule over some fields, with the id `<rule>/<field path>`."""
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
        row_filter=row_filter,
    )


def rows(rule: Rule, field: Field, predicate: Predicate, wanted: str) -> Check:
    """A check that no row may fail."""
    return check(rule, (field,), Metric.FAILING_ROWS, accept=Tier(NONE, predicate), wanted=wanted)


def unique_rows(rule: Rule, key: Fields) -> Check:
    """A check that no two rows share a key."""
    wanted = "unique" if len(key) == 1 else "unique together"
    return check(rule, key, Metric.DUPLICATE_ROWS, accept=Tier(NONE), wanted=wanted)


def number_check(rule: Rule, metric: Metric, good: Interval, noun: str) -> Check:
    """A check of a number of the whole delivery, such as its rows."""
    return check(rule, (), metric, accept=Tier(good), wanted=format_limit(good, noun), unit=Unit.VALUE)


def skip_check(rule: Rule, fields: Fields, reason: str) -> Check:
    """A skipped check, with the reason why nothing is measured."""
    named = check(
        rule, fields, Metric.ROW_COUNT, accept=Tier(Interval()), wanted=brief(rule.name or rule.kind), unit=Unit.VALUE
    )
    return replace(named, skip=reason)


def not_measured(what: str, word: str = "", known: Iterable[str] = ()) -> str:
    """The reason why what is written in words of another engine is skipped, with a hint at the known word that resembles it."""
    hint = did_you_mean(word, known)
    return f"{what} is not measured by this version{'.' if hint else ''}{hint}"


def refuse_nested(rule: Rule, arguments: Mapping[str, object], names: Iterable[str]) -> None:
    """Refuse a mapping or a list where one of these arguments is a single value."""
    for name in names:
        value = arguments.get(name)
        if isinstance(value, Mapping | list | tuple):
            refuse(rule, "not-allowed-argument", f"{quote(name)} is {_written(value)}: write one value")


def argument(rule: Rule, name: str) -> object:
    """A required argument of a rule."""
    if rule.arguments.get(name) is None:
        refuse(rule, "no-argument", f"the rule {rule.kind} needs {name}")
    return rule.arguments[name]


def argument_of(rule: Rule, arguments: Mapping[str, object], name: str) -> object:
    """A required argument of a custom rule's call."""
    if arguments.get(name) is None:
        refuse(rule, "no-argument", f"the check needs {name}")
    return arguments[name]


def restrict_check(base: Check, row_filter: Predicate | None) -> Check:
    """The check restricted to the rows for which a condition is true (not null)."""
    if row_filter is None or base.skip is not None:
        return base
    tiers = [
        tier and replace(tier, predicate=tier.predicate and where(row_filter, tier.predicate))
        for tier in (base.accept, base.tolerate)
    ]
    accept, tolerate = tiers
    assert accept is not None
    words = f"{base.wanted}, where the condition holds"
    return replace(
        base, accept=accept, tolerate=tolerate, row_filter=together(base.row_filter, row_filter), wanted=words
    )


def number(rule: Rule, value: object) -> Decimal:
    """A number of the document; refused if it is not a number."""
    found = number_of(value)
    if found is None:
        refuse(rule, "not-a-number", f"the rule {rule.kind} needs a number")
    return found


def whole_number(rule: Rule, value: object) -> int:
    """A non-negative integer; refused if it is none."""
    found = number(rule, value)
    if found < 0 or found != found.to_integral_value():
        refuse(rule, "not-a-count", f"the rule {rule.kind} needs a whole number from 0")
    return int(found)


def regex(rule: Rule, pattern: str) -> str:
    """A pattern of ECMA-262 as plans have it; refused if it cannot be translated or its matching time has no bound."""
    try:
        return ecma_patterns.translate(pattern, is_strict=rule.kind != "custom")
    except ecma_patterns.PatternError as error:
        refuse(rule, "pattern", str(error))


def like_pattern(rule: Rule, pattern: str) -> str:
    """A pattern of SQL's LIKE as plans have it; refused likewise."""
    try:
        return ecma_patterns.like(pattern)
    except ecma_patterns.PatternError as error:
        refuse(rule, "pattern", str(error))


def items(rule: Rule, value: object) -> tuple[object, ...]:
    """A non-empty list of the document; refused if it is none."""
    if not isinstance(value, list | tuple) or not value:
        refuse(rule, "not-a-list", f"the rule {rule.kind} needs a list of at least one value")
    return tuple(value)


def one_of(rule: Rule, field: Field, values: Iterable[object]) -> OneOf:
    """The predicate of a list of allowed values, which must be of the field's type; null is always allowed."""
    return OneOf(field.name, tuple(value_of(rule, field, value) for value in values if value is not None))


def _bound(rule: Rule, field: Field, value: object) -> str:
    """A bound of a field, whose type must be ordered."""
    if not field.type.ordered:
        refuse(rule, "bound-on-unordered", f"{field.name} is a {field.type.value}, which has no order to bound")
    return value_of(rule, field, value)


def within(  # noqa: PLR0913 - two bounds, each inclusive or exclusive
    rule: Rule,
    field: Field,
    low: object = None,
    high: object = None,
    *,
    low_open: bool = False,
    high_open: bool = False,
) -> Within:
    """The predicate of two bounds, at least one of which is given."""
    if low is None and high is None:
        refuse(rule, "no-argument", f"the rule {rule.kind} needs a bound")
    ends = [None if end is None else _bound(rule, field, end) for end in (low, high)]
    low, high = ends
    # Engines simplify a comparison that is never true for integers of 64 bits, and lose its nulls.
    if field.type is LogicalType.INTEGER and (
        (low is not None and Decimal(low) >= _END) or (high is not None and Decimal(high) < -_END)
    ):
        refuse(rule, "bound-out-of-reach", f"no whole number of 64 bits lies within the bounds of {field.name}")
    return Within(field.name, low, high, low_open, high_open)


def in_range(rule: Rule, field: Field, predicate: Within) -> Check:
    """A check that every value lies within bounds."""
    words = [
        f"{'more than' if predicate.low_open else 'at least'} {predicate.low}" if predicate.low is not None else "",
        f"{'less than' if predicate.high_open else 'at most'} {predicate.high}" if predicate.high is not None else "",
    ]
    return rows(rule, field, predicate, " and ".join(filter(None, words)))


def value_of(rule: Rule, field: Field, value: object) -> str:
    """A value of the field's type, in the form that plans use."""
    text = literal(field.type, value, field.scale)
    if text is None:
        form = grammar(field.type, field.scale).words.partition(";")[0]
        message = f"{_written(value)}, which a rule about {field.name} names, is not of the type {field.type.value}: write {form}"
        refuse(rule, "value-not-of-type", message)
    return text


def _written(value: object) -> str:
    """A value of the document, for a message."""
    if isinstance(value, Mapping):
        return "a mapping"
    return "a list" if isinstance(value, list | tuple) else quote(text_of(value))


def brief(text: str) -> str:
    """Text of a contract, truncated for messages and tables."""
    return text if len(text) <= LONGEST_WORDS else f"{text[: LONGEST_WORDS - 1]}…"


def join_values(values: Iterable[object]) -> str:
    """`one of SP, RJ, MG, ES`, truncated for tables."""
    return "one of " + brief(", ".join(map(str, values)))


# ---- Arguments of rules ----


def one_as_written(rule: Rule, field: Field, values: Iterable[object]) -> Predicate:
    """The predicate of listed values: compared as values if they are of the field's type, else as texts."""
    pairs = [(text_of(value), literal(field.type, value, field.scale)) for value in values]
    typed = tuple(pair for _, pair in pairs if pair is not None)
    foreign = [text for text, pair in pairs if pair is None]
    if any(len(text) > LONGEST_PATTERN for text in foreign):
        refuse(
            rule,
            "value-not-of-type",
            f"a listed value that is not of the type {field.type.value} has at most {LONGEST_PATTERN:,} characters",
        )
    parts: list[Predicate] = [OneOf(field.name, typed)] if typed else []
    parts += [Matches(field.name, rf"^{''.join(plain(ord(char)) for char in text)}\z") for text in foreign]
    return parts[0] if len(parts) == 1 else Not(All(tuple(map(Not, parts))))


def valid_in_words(conditions: Mapping[str, tuple[str, object]], given: Mapping[str, object]) -> str:
    """` (valid: one of SP, RJ and at least 2 characters)`: the given conditions, each truncated."""
    words = (
        text.format(_in_words(given[name])).replace(" 1 characters", " 1 character")
        for name, (text, _) in conditions.items()
        if name in given
    )
    return f" (valid: {' and '.join(words)})"


def _in_words(value: object) -> str:
    values = value if isinstance(value, list | tuple) else (value,)
    return brief(", ".join(text_of(each) for each in values if each is not None))
