"""Rules that name a foreign engine: its checks are compiled to ours, what it alone can measure is only named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contracts.rules import conditions, soda
from contracts.rules.build import brief, skipped
from contracts.rules.expectations import great_expectations, subjects_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from contracts.check import Check
    from contracts.model import Field, Rule
    from contracts.rules.build import Compile

    Arguments = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Engine:
    """How the calls of a foreign engine are read."""

    compile: Callable[[Rule, tuple[Field, ...], str, Arguments], tuple[Check, ...]]
    subjects: Callable[[str, Arguments], tuple[str, ...]]
    """The columns that a call is about."""
    condition: str
    """The argument that holds a condition."""
    is_sql: bool
    """Whether conditions are written in SQL, where nothing else is said."""


_GREAT_EXPECTATIONS = Engine(great_expectations, subjects_of, "row_condition", is_sql=False)
_SODA = Engine(soda.soda, soda.subjects_of, "filter", is_sql=True)
_ENGINES = {
    "greatexpectations": _GREAT_EXPECTATIONS,
    "gx": _GREAT_EXPECTATIONS,
    "soda": _SODA,
    "sodacl": _SODA,
    "sodacore": _SODA,
}


def custom(rule: Rule, fields: tuple[Field, ...]) -> tuple[Check, ...]:
    """The checks of a foreign rule, or one that says why there are none."""
    engine = _engine(rule)
    if engine is None:
        named = brief(str(rule.arguments.get("engine", ""))) or "(none named)"
        return (skipped(rule, fields, f"the engine {named} is not measured by this version"),)
    if not _call(rule).strip():
        return (skipped(rule, fields, "it names no check that can be read"),)
    return engine.compile(rule, fields, _call(rule), arguments_of(rule))


def columns_of(rule: Rule) -> tuple[str, ...]:
    """The columns that a foreign call names: those it is about, and those of its condition."""
    engine, arguments = _engine(rule), arguments_of(rule)
    if engine is None:
        return ()
    said = arguments.get(engine.condition)
    is_sql = engine.is_sql or arguments.get("condition_parser") == "spark"
    read = conditions.columns_of(said, is_sql=is_sql) if isinstance(said, str) else ()
    return (*engine.subjects(_call(rule), arguments), *read)


def arguments_of(rule: Rule) -> Mapping[str, object]:
    """The arguments a foreign call is given."""
    given = rule.arguments.get("args")
    return given if isinstance(given, Mapping) else {}


def unmeasured(reason: str) -> Compile:
    """Rules of a kind that is only named."""
    return lambda rule, fields: (skipped(rule, fields, reason),)


def _engine(rule: Rule) -> Engine | None:
    named = str(rule.arguments.get("engine", ""))
    return _ENGINES.get("".join(filter(str.isalnum, named.lower())))


def _call(rule: Rule) -> str:
    return str(rule.arguments.get("call", ""))
