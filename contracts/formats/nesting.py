"""What is said of the inner parts of a value: named at the column they belong to, since a reader of CSV measures no parts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contracts.model import Rule

NESTED_KIND = "nested"
"""The kind of what is said about values with parts of their own."""


def at_column(rule: Rule, column: str, inner: str) -> Rule:
    """A rule of the part `inner`, named at its column."""
    if rule.kind == NESTED_KIND:
        return replace(rule, fields=(column,), name=rule.name or f"{NESTED_KIND} of {inner}")
    return replace(rule, kind=NESTED_KIND, fields=(column,), name=f"{rule.kind} of {inner}")
