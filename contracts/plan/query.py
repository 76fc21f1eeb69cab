"""A query of a contract in a plan: SQL with generated names, and its bind parameters.

`text` contains no text of the contract: relations are `r0`, `r1`, …, their columns `c0`, `c1`, …; constant texts are the bind
parameters `:t0`, `:t1`, …, and the judging time is `:now`. `lakegate.contracts.compile.sql` generates it from the contract's SQL.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import accumulate

from lakegate.contracts.model.types import LogicalType


@dataclass(frozen=True, slots=True)
class QueryColumn:
    """A field that a query reads."""

    field: str
    type: LogicalType


ID = QueryColumn("", LogicalType.INTEGER)
"""Not a field: the row id that an engine assigns."""


@dataclass(frozen=True, slots=True)
class QueryRelation:
    """A dataset that a query reads, and the fields that are its columns, in order."""

    dataset: str
    columns: tuple[QueryColumn, ...]
    delivered: bool = True
    """Whether the rows of the delivery are in it."""
    line: str | None = None
    """The line whose accepted rows are in it: `<contract>/<dataset>_v<major>`; None if there is none."""


@dataclass(frozen=True, slots=True)
class Query:
    """One SELECT in Spark SQL that returns one number."""

    text: str
    texts: tuple[str, ...]
    """Values of the bind parameters `:t0`, `:t1`, …"""
    relations: tuple[QueryRelation, ...]
    """`r0`, `r1`, …"""

    @property
    def of_rows(self) -> Query | None:
        """The query for the ids of the rows that this query counts; None if it does more than count rows of the delivery."""
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
    """Whether a text is one parenthesized expression. It contains no constant texts, so that counting parentheses is enough."""
    depths = list(accumulate((each == "(") - (each == ")") for each in condition))
    return 0 not in depths[:-1] and depths[-1] == 0
