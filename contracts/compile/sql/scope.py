"""The tables of a SELECT, and the columns that its identifiers refer to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from lakegate.contracts.compile.sql.names import OF_DATASET, find_by_name
from lakegate.contracts.compile.sql.parse import placeholder
from lakegate.contracts.compile.sql.refusal import RefusedError, UntranslatedError
from lakegate.contracts.compile.sql.typed_sql import KINDS, MAX_COLUMNS, SqlKind, TypedSql
from lakegate.contracts.words import did_you_mean, shown

if TYPE_CHECKING:
    from lakegate.contracts.compile.sql.names import QueryNames
    from lakegate.contracts.model.contract import Dataset, Field

    Place = tuple[int, int] | None


class OutputColumn(NamedTuple):
    """A column of a query, with its original name."""

    name: str
    kind: SqlKind
    growth: int = 1
    """The longest text that it may hold, as a multiple of a text of the data."""


Columns = tuple[OutputColumn, ...]
"""The columns `k0`, `k1`, … of a query."""
NESTED = ("array", "map", "object", "record", "struct", "variant", "json", "vector")
OF_FIELD = ("field", "column", "property")


@dataclass(frozen=True, slots=True)
class FromItem:
    """One table in a FROM clause: a dataset or a subquery."""

    alias: str
    columns: Columns
    dataset: Dataset | None = None
    one_row: bool = False
    joins: int = 0
    """Joins in it that may duplicate rows."""
    key: tuple[int, ...] = ()
    """The column numbers of its unique key; empty if none is known."""
    rows: int = 1
    """The most rows that it may have, as a multiple of the rows of a dataset."""

    def keys(self, names: QueryNames) -> list[set[str]]:
        """The sets of columns, by their generated names, that are unique keys."""
        if self.dataset is None:
            return [{f"{self.alias}.k{at}" for at in self.key}] if self.key else []
        declared = [rule.fields for rule in self.dataset.rules if rule.kind in {"primaryKey", "unique"} and rule.fields]
        find_by_name = [[names.column_if_read(self.dataset.name, field) for field in fields] for fields in declared]
        return [{f"{self.alias}.{each}" for each in key} for key in find_by_name if None not in key]


@dataclass(frozen=True, slots=True)
class TypedQuery:
    """A translated query, without parentheses."""

    text: str
    columns: Columns
    one_row: bool
    outer: bool
    """Whether it reads columns of the enclosing query."""
    joins: int = 0
    """Joins in it that may duplicate rows."""
    key: tuple[int, ...] = ()
    """The column numbers of its unique key, if it groups; else empty."""
    rows: int = 1
    """The most rows that it may have, as a multiple of the rows of a dataset."""


@dataclass(slots=True)
class Scope:
    """The tables of one SELECT by their names in the query, and the enclosing scope."""

    names: QueryNames
    queries: dict[str, tuple[str, TypedQuery]]
    """Queries of a WITH clause by name, with their generated names."""
    outer: Scope | None = None
    sources: dict[str, FromItem] = field(default_factory=dict)
    is_bridge: bool = False
    """Whether the scope belongs to the same SELECT as its outer scope."""

    def add(self, name: str, source: FromItem, place: Place) -> None:
        """Add a table under a name; RefusedError if the SELECT has a table of that name."""
        if find_by_name(self.sources, name) is not None:
            raise RefusedError("query-unknown-table", f"{shown(name)} names two tables of one SELECT.", place)
        self.sources[name] = source

    def find_query(self, name: str) -> tuple[str, TypedQuery] | None:
        """The query of a WITH clause that an identifier refers to, or None."""
        found = find_by_name(self.queries, name)
        return found if found is not None or self.outer is None else self.outer.find_query(name)

    def column(self, name: str, table: str | None, place: Place) -> TypedSql:
        """The column that an identifier refers to, in this scope or an enclosing one; RefusedError if there is none."""
        found = self._column(name, table, place)
        if found is None:
            raise self._unknown(name, table, place)
        return found

    def _column(self, name: str, table: str | None, place: Place) -> TypedSql | None:
        found = [sql for source in self._among(table) if (sql := self._in(source, name)) is not None]
        if len(found) > 1:
            raise RefusedError("query-unknown-column", f"{shown(name)} is a column of two tables: say which.", place)
        if found:
            return found[0]
        if self.outer is None or (table is not None and self._among(table)):
            return None
        sql = self.outer._column(name, table, place)  # noqa: SLF001 - of its own class
        if sql is None:
            return None
        return sql if self.is_bridge else TypedSql(sql.text, sql.kind, growth=sql.growth, outer=True)

    def every_column(self, table: str | None, place: Place) -> list[tuple[str, TypedSql]]:
        """The columns that `*` stands for, with their names."""
        sources = self._among(table)
        if not sources:
            raise RefusedError("query-unknown-table", f"{shown(table)} names no table of the SELECT.", place)
        found: list[tuple[str, TypedSql]] = []
        for source in sources:
            if source.dataset is None:
                found += [(each.name, _output(source, at)) for at, each in enumerate(source.columns)]
            else:
                fields = source.dataset.fields
                found += [(each.name, self._of_field(source, source.dataset, each)) for each in fields[:MAX_COLUMNS]]
            if len(found) >= MAX_COLUMNS:
                message = f"A SELECT has fewer than {MAX_COLUMNS:,} columns: name those that it needs."
                raise RefusedError("query-too-large", message, place)
        return found

    def _among(self, table: str | None) -> list[FromItem]:
        if table is None:
            return list(self.sources.values())
        if placeholder(table) in OF_DATASET:
            return [each for each in self.sources.values() if each.dataset is self.names.dataset]
        found = find_by_name(self.sources, table)
        return [] if found is None else [found]

    def _in(self, source: FromItem, name: str) -> TypedSql | None:
        if source.dataset is not None:
            return self._of_dataset(source, source.dataset, name)
        at = find_by_name({each.name: number for number, each in enumerate(source.columns)}, name)
        return None if at is None else _output(source, at)

    def _of_dataset(self, source: FromItem, dataset: Dataset, name: str) -> TypedSql | None:
        own = self.names.own if placeholder(name) in OF_FIELD and dataset is self.names.dataset else None
        found = self.names.find_field(dataset, own or name)
        if found is None:
            return None
        sql = self._of_field(source, dataset, found)
        if dataset is self.names.dataset:
            self.names.named.add(found.name)
        return sql

    def _of_field(self, source: FromItem, dataset: Dataset, found: Field) -> TypedSql:
        if found.parts or (found.declared or "").lower() in NESTED:
            raise UntranslatedError("it reads a field with parts of its own")
        if found.type not in KINDS:
            raise UntranslatedError("it reads times of day")
        text = f"{source.alias}.{self.names.column(dataset.name, found)}"
        return TypedSql(text, KINDS[found.type], bare=frozenset({text}))

    def _unknown(self, name: str, table: str | None, place: Place) -> Exception:
        if table is not None and not self._among(table):
            if any(self._in(source, table) for source in self.sources.values()):
                return UntranslatedError("it reads a part of a field")
            return RefusedError("query-unknown-table", f"{shown(table)} names no table of the SELECT.", place)
        if placeholder(name) in OF_FIELD:
            return RefusedError("placeholder-without-field", "The rule stands at no field of this table.", place)
        known = [each.name for source in self.sources.values() if source.dataset for each in source.dataset.fields]
        hint = did_you_mean(name, known)
        return RefusedError(
            "query-unknown-column", f"{shown(name)} is not a column of the tables that are read.{hint}", place
        )


def _output(source: FromItem, at: int) -> TypedSql:
    """A column of a subquery."""
    text, column = f"{source.alias}.k{at}", source.columns[at]
    return TypedSql(text, column.kind, bare=frozenset({text}), growth=column.growth)
