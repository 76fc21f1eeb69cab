"""Rules that name a foreign engine: its checks are compiled to ours, what it alone can measure is only named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from contracts.rules.build import brief, skipped
from contracts.rules.expectations import great_expectations

if TYPE_CHECKING:
    from contracts.check import Check
    from contracts.model import Field, Rule
    from contracts.rules.build import Compile

_ENGINES = {"greatexpectations": great_expectations, "gx": great_expectations}


def custom(rule: Rule, fields: tuple[Field, ...]) -> tuple[Check, ...]:
    """The checks of a foreign rule, or one that says why there are none."""
    named = str(rule.arguments.get("engine", ""))
    engine = _ENGINES.get("".join(filter(str.isalnum, named.lower())))
    if engine is None:
        return (skipped(rule, fields, f"the engine {brief(named) or '(none named)'} is not measured by this version"),)
    return engine(rule, fields, str(rule.arguments.get("call", "")), arguments_of(rule))


def arguments_of(rule: Rule) -> Mapping[str, object]:
    """The arguments a foreign call is given."""
    given = rule.arguments.get("args")
    return given if isinstance(given, Mapping) else {}


def unmeasured(reason: str) -> Compile:
    """Rules of a kind that is only named."""
    return lambda rule, fields: (skipped(rule, fields, reason),)
