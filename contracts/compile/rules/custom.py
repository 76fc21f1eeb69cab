"""Rules of other engines: their checks are compiled to Lakegate's; checks without an equivalent are skipped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakegate.contracts.compile.rules import conditions, soda
from lakegate.contracts.compile.rules.build import brief, skipped
from lakegate.contracts.compile.rules.expectations import great_expectations, subjects_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.contracts.compile.rules.build import Compile
    from lakegate.contracts.model.contract import Field, Rule
    from lakegate.contracts.plan.check import Check

    Arguments = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Engine:
    """How the calls of another engine are read."""

    compile: Callable[[Rule, tuple[Field, ...], str, Arguments], tuple[Check, ...]]
    subjects: Callable[[str, Arguments], tuple[str, ...]]
    """The columns of a call."""
    optional: Callable[[str, Arguments], tuple[str, ...]]
    """Further columns that a call mentions, declared or not."""
    condition: str
    """The argument with a condition."""
    is_sql: bool
    """Whether conditions are SQL by default."""


_GREAT_EXPECTATIONS = Engine(
    great_expectations, subjects_of, lambda _call, _arguments: (), "row_condition", is_sql=False
)
_SODA = Engine(soda.soda, soda.subjects_of, soda.optional_subjects, "filter", is_sql=True)
_ENGINES = {
    "greatexpectations": _GREAT_EXPECTATIONS,
    "gx": _GREAT_EXPECTATIONS,
    "soda": _SODA,
    "sodacl": _SODA,
    "sodacore": _SODA,
}


def custom(rule: Rule, fields: tuple[Field, ...]) -> tuple[Check, ...]:
    """The checks of a custom rule, or one skipped check with the reason."""
    engine = _engine(rule)
    if engine is None:
        named = brief(str(rule.arguments.get("engine", ""))) or "(none named)"
        return (skipped(rule, fields, f"the engine {named} is not measured by this version"),)
    if not _call(rule).strip():
        return (skipped(rule, fields, "it has no check that can be read"),)
    return engine.compile(rule, fields, _call(rule), arguments_of(rule))


def columns_of(rule: Rule) -> tuple[str, ...]:
    """The columns of a call and of its condition; the contract must declare them."""
    engine, arguments = _engine(rule), arguments_of(rule)
    if engine is None:
        return ()
    condition = arguments.get(engine.condition)
    is_sql = engine.is_sql or arguments.get("condition_parser") == "spark"
    read = conditions.columns_of(condition, is_sql=is_sql) if isinstance(condition, str) else ()
    return (*engine.subjects(_call(rule), arguments), *read)


def optional_columns_of(rule: Rule) -> tuple[str, ...]:
    """Further columns that a call mentions; a part of it about one that is not declared is skipped."""
    engine = _engine(rule)
    return () if engine is None else engine.optional(_call(rule), arguments_of(rule))


def arguments_of(rule: Rule) -> Mapping[str, object]:
    """The arguments of a call."""
    given = rule.arguments.get("args")
    return given if isinstance(given, Mapping) else {}


def unmeasured(reason: str) -> Compile:
    """The compiler of a kind whose rules are always skipped."""
    return lambda rule, fields: (skipped(rule, fields, reason),)


def _engine(rule: Rule) -> Engine | None:
    named = str(rule.arguments.get("engine", ""))
    return _ENGINES.get("".join(filter(str.isalnum, named.lower())))


def _call(rule: Rule) -> str:
    return str(rule.arguments.get("call", ""))
