"""A query of a contract as plans carry it: text of generated names alone, and everything else beside it.

No text of a contract is part of `text`: relations are called `r0`, `r1`, …, their columns `c0`, `c1`, …; what the contract wrote
in quotes is bound as `:t0`, `:t1`, …, and the judging time as `:now`. `contracts.queries` makes one from a contract's SQL.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import accumulate

from contracts.types import LogicalType


@dataclass(frozen=True, slots=True)
class Column:
    """A field that a query reads."""

    field: str
    type: LogicalType


ID = Column("", LogicalType.INTEGER)
"""Not a field: the id that an engine gives each row."""


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

    @property
    def of_rows(self) -> Query | None:
        """The query for the ids of the rows that this one counts, where it counts rows of the delivery and nothing else."""
        own, counted = self.relations[0], _COUNT.match(self.text)
        if counted is None or not own.delivered or own.line is not None:
            return None
        condition = self.text[counted.end() :]
        if not _is_one(condition):
            return None
        text = f"SELECT q1.c{len(own.columns)} AS k0 FROM r0 AS q1 WHERE {condition}"  # noqa: S608 - our own text
        return replace(self, text=text, relations=(replace(own, columns=(*own.columns, ID)),))


_COUNT = re.compile(r"SELECT count\(1L?\) AS k0 FROM r0 AS q1 WHERE (?=\()")


def _is_one(condition: str) -> bool:
    """Whether a text is one expression in brackets, with nothing behind it; constant texts are bound, so that brackets count."""
    depths = list(accumulate((each == "(") - (each == ")") for each in condition))
    return 0 not in depths[:-1] and depths[-1] == 0
