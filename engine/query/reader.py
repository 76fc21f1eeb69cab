"""Translates the text of a query from Spark's SQL, as `lakegate.contracts.compile.sql` generates it, into DuckDB's.

Every form is in a table and every name is a generated one; anything else is refused. Types are inferred from the columns of
the relations to the answer, because the two engines treat some of them differently.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakegate.engine.query.expressions import COLUMN, Columns, Expressions
from lakegate.engine.query.value import TYPES, Type, Value, common, refuse

if TYPE_CHECKING:
    from lakegate.contracts.plan.query import Query

_ALIAS = re.compile("q[0-9]{1,4}")
_COUNT = re.compile("[0-9]{1,18}")
_SIDES = ("LEFT", "RIGHT", "FULL", "CROSS")


@dataclass(frozen=True, slots=True)
class DuckDbQuery:
    """A query in DuckDB's SQL."""

    text: str
    bound: frozenset[str]
    """Names of the values that are bound to it: `now`, `t0`, …"""
    kind: Type
    """Of its first column."""


def to_duckdb(query: Query) -> DuckDbQuery:
    """A query of a plan in DuckDB's SQL; UnreadError if `lakegate.contracts.compile.sql` does not generate such a text."""
    reader = _Reader(query)
    try:
        text, columns = reader.query()
    except RecursionError:
        raise refuse("a query of so many levels") from None
    reader.take("")
    return DuckDbQuery(text, frozenset(reader.bound), next(iter(columns.values())))


class _Reader(Expressions):
    """One pass over the text of a query."""

    def __init__(self, query: Query) -> None:
        super().__init__(query.text, len(query.texts))
        self._queries: dict[str, Columns] = {
            f"r{number}": {f"c{at}": TYPES[each.type] for at, each in enumerate(relation.columns)}
            for number, relation in enumerate(query.relations)
        }

    def query(self) -> tuple[str, Columns]:
        """A SELECT or a set operation, after the queries that a WITH names."""
        words = f"WITH {self.each(self._named_query)} " if self.follow("WITH") else ""
        text, columns = self._together() if self.peek() == "(" else self._select()
        return words + text, columns

    def inner(self) -> tuple[str, Columns]:
        """A query in brackets."""
        self.take("(")
        text, columns = self.query()
        self.take(")")
        return f"({text})", columns

    def _named_query(self) -> str:
        name, _ = self.match(_ALIAS), self.take("AS")
        text, self._queries[name] = self.inner()
        return f"{name} AS {text}"

    def _together(self) -> tuple[str, Columns]:
        left, columns = self.inner()
        word = self.take("UNION", "INTERSECT", "EXCEPT") + (" ALL" if self.follow("ALL") else "")
        right, others = self.inner()
        if columns.keys() != others.keys():
            raise refuse("queries of other columns put together")
        types = {name: common(Value("", columns[name]), Value("", others[name])) for name in columns}
        return f"{left} {word} {right}", types

    def _select(self) -> tuple[str, Columns]:
        self.take("SELECT")
        distinct = "DISTINCT " if self.follow("DISTINCT") else ""
        start = self.place
        self._skip_columns()
        tables = f" FROM {self._from()}" if self.follow("FROM") else ""
        after = self.place
        self.back(start)
        columns: Columns = {}
        parts = [f"SELECT {distinct}{self.each(lambda: self._column(columns))}{tables}"]
        if self.peek() not in {"FROM", ")", ""}:
            raise refuse(repr(self.peek()[:20]))
        self.back(after)
        if self.follow("WHERE"):
            parts.append(f"WHERE {self.condition()}")
        if self.follow("GROUP", "BY"):
            parts.append(f"GROUP BY {self.each(lambda: self.value().text)}")
        if self.follow("HAVING"):
            parts.append(f"HAVING {self.condition()}")
        parts.append(self.order())
        if self.follow("LIMIT"):
            parts.append(f"LIMIT {int(self.match(_COUNT))}")
        return " ".join(filter(None, parts)), columns

    def _skip_columns(self) -> None:
        """Skip to the FROM of the SELECT: its tables are read before the columns."""
        depth = 0
        while (token := self.peek()) and (depth or token not in {"FROM", ")"}):
            depth += {"(": 1, ")": -1}.get(token, 0)
            self.take()

    def _column(self, columns: Columns) -> str:
        name, value = self.peek(), self.value()
        if self.follow("AS"):
            name = self.match(COLUMN)
            columns[name] = value.type
            return f"{value.text} AS {name}"
        columns[name if COLUMN.fullmatch(name) else f"?{len(columns)}"] = value.type
        return value.text

    def _from(self) -> str:
        text = self._table()
        while self.peek() == "JOIN" or self.peek() in _SIDES:
            side = f"{self.take()} " if self.peek() in _SIDES else ""
            self.take("JOIN")
            text = f"{text} {side}JOIN {self._table()}"
            if side != "CROSS ":
                self.take("ON")
                text = f"{text} ON {self.condition()}"
        return text

    def _table(self) -> str:
        if self.peek() == "(":
            text, columns = self.inner()
        else:
            text = self.take()
            if text not in self._queries:
                raise refuse(f"the table {text[:20]!r}")
            columns = self._queries[text]
        alias = self.match(_ALIAS) if self.follow("AS") else text
        self.tables[alias] = columns
        return text if alias == text else f"{text} AS {alias}"
