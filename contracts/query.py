"""A query of a contract as plans carry it: text of generated names alone, and everything else beside it.

No text of a contract is part of `text`: relations are called `r0`, `r1`, …, their columns `c0`, `c1`, …; what the contract wrote
in quotes is bound as `:t0`, `:t1`, …, and the judging time as `:now`. `contracts.queries` makes one from a contract's SQL.
"""

from __future__ import annotations

from dataclasses import dataclass

from contracts.types import LogicalType


@dataclass(frozen=True, slots=True)
class Column:
    """A field that a query reads."""

    field: str
    type: LogicalType


@dataclass(frozen=True, slots=True)
class Relation:
    """A dataset that a query reads, and the fields that are its columns, in order."""

    dataset: str
    columns: tuple[Column, ...]
    delivered: bool = True
    """Whether the rows of the delivery are in it."""
    line: str | None = None
    """Whose accepted rows are in it: `<contract>/<dataset>_v<major>`; None for none."""


@dataclass(frozen=True, slots=True)
class Query:
    """One SELECT in the words of Spark that answers with one number."""

    text: str
    texts: tuple[str, ...]
    """Constant texts, bound as `:t0`, `:t1`, …"""
    relations: tuple[Relation, ...]
    """`r0`, `r1`, …"""
