"""Name resolution: identifiers of a query to datasets and fields of the contract, and to generated names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from lakegate.contracts.compile.sql.parse import placeholder
from lakegate.contracts.compile.sql.refusal import RefusedError, UntranslatedError
from lakegate.contracts.compile.sql.typed_sql import KINDS, Kind, TypedSql
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.routes import line_of
from lakegate.contracts.lake.versions import major
from lakegate.contracts.plan.query import QueryColumn, QueryRelation
from lakegate.contracts.words import did_you_mean, shown

if TYPE_CHECKING:
    from lakegate.contracts.model.contract import Contract, Dataset, Field

    Place = tuple[int, int] | None

T = TypeVar("T")
Columns = tuple[tuple[str, Kind], ...]
"""The columns `k0`, `k1`, … of a query: their original names and their kinds."""
NESTED = ("array", "map", "object", "record", "struct", "variant", "json", "vector")
OF_DATASET = ("model", "table", "object")
OF_FIELD = ("field", "column", "property")


class Names:
    """The names of one query: its relations, the columns it reads, its constant texts and its generated aliases."""

    def __init__(self, contract: Contract, dataset: Dataset, own: str | None) -> None:
        self.contract = contract
        self.dataset = dataset
        self.own = own
        """The field to which the rule is attached, if any."""
        self.texts: dict[str, int] = {}
        self.named: set[str] = set()
        """Fields of the rule's dataset that the query names individually."""
        self._read: dict[str, dict[str, QueryColumn]] = {}
        self._made = 0

    def fresh(self) -> str:
        """A new unique alias."""
        self._made += 1
        return f"q{self._made}"

    def text(self, constant: str) -> str:
        """The bind parameter for a constant text."""
        return f":t{self.texts.setdefault(constant, len(self.texts))}"

    def relation(self, dataset: str) -> str:
        """The generated name of a dataset."""
        self._read.setdefault(dataset, {})
        return f"r{list(self._read).index(dataset)}"

    def column(self, dataset: str, sql: Field) -> str:
        """The generated name of a field."""
        columns = self._read[dataset]
        columns.setdefault(sql.name, QueryColumn(sql.name, sql.type))
        return f"c{list(columns).index(sql.name)}"

    def column_if_read(self, dataset: str, name: str) -> str | None:
        """The generated name of a field, or None if the query does not read it."""
        columns = self._read.get(dataset, {})
        return f"c{list(columns).index(name)}" if name in columns else None

    def relations(self) -> tuple[QueryRelation, ...]:
        """The relations that the query reads, in the order of their generated names."""
        return tuple(self._relation(name, tuple(columns.values())) for name, columns in self._read.items())

    def _relation(self, name: str, columns: tuple[QueryColumn, ...]) -> QueryRelation:
        """The rule's dataset is the delivery; any other dataset is its accepted data."""
        if name == self.dataset.name:
            return QueryRelation(name, columns)
        try:
            line = line_of(self.contract.id, name, major(self.contract.version))
        except InputError:
            raise UntranslatedError("it reads another dataset, and its contract has no semantic version") from None
        return QueryRelation(name, columns, delivered=False, line=line)

    def find_dataset(self, name: str, place: Place) -> Dataset:
        """The dataset that an identifier refers to; RefusedError if there is none."""
        stands_for = placeholder(name)
        if stands_for in OF_DATASET:
            return self.dataset
        known = {each.name: each for each in self.contract.datasets}
        known |= {
            each.physical: each for each in self.contract.datasets if each.physical and each.physical not in known
        }
        found = find_by_name(known, name)
        if found is None:
            hint = did_you_mean(name, known)
            raise RefusedError("query-unknown-table", f"{shown(name)} is no dataset of this contract.{hint}", place)
        return found

    def may_qualify(self, name: str) -> bool:
        """Whether a qualifier of a table name is a schema, database or catalog of the contract's own servers."""
        places = ("schema", "database", "catalog", "project", "dataset")
        sql = {
            str(server.settings[key])
            for server in self.contract.about.servers
            for key in places
            if key in server.settings
        }
        return placeholder(name) in places or name.casefold() in {each.casefold() for each in sql}


@dataclass(frozen=True, slots=True)
class Source:
    """One table in a FROM clause: a dataset or a subquery."""

    alias: str
    columns: Columns
    dataset: Dataset | None = None
    one_row: bool = False
    joins: int = 0
    """Joins in it that may duplicate rows."""
    key: tuple[int, ...] = ()
    """The column numbers of its unique key; empty if none is known."""

    def keys(self, names: Names) -> list[set[str]]:
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
    growth: int = 1
    joins: int = 0
    """Joins in it that may duplicate rows."""
    key: tuple[int, ...] = ()
    """The column numbers of its unique key, if it groups; else empty."""


@dataclass(slots=True)
class Scope:
    """The tables of one SELECT by their names in the query, and the enclosing scope."""

    names: Names
    queries: dict[str, tuple[str, TypedQuery]]
    """Queries of a WITH clause by name, with their generated names."""
    outer: Scope | None = None
    sources: dict[str, Source] = field(default_factory=dict)
    is_bridge: bool = False
    """Whether the scope belongs to the same SELECT as its outer scope."""

    def add(self, name: str, source: Source, place: Place) -> None:
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
        found = [sql for source in self._among(table) if (sql := self._in(source, name)) is not None]
        if len(found) > 1:
            raise RefusedError("query-unknown-column", f"{shown(name)} is a column of two tables: say which.", place)
        if found:
            return found[0]
        if self.outer is None or (table is not None and self._among(table)):
            raise self._unknown(name, table, place)
        try:
            sql = self.outer.column(name, table, place)
        except RefusedError:
            raise self._unknown(name, table, place) from None
        return sql if self.is_bridge else TypedSql(sql.text, sql.kind, outer=True)

    def every_column(self, table: str | None, place: Place) -> list[tuple[str, TypedSql]]:
        """The columns that `*` stands for, with their names."""
        sources = self._among(table)
        if not sources:
            raise RefusedError("query-unknown-table", f"{shown(table)} names no table of the SELECT.", place)
        found: list[tuple[str, TypedSql]] = []
        for source in sources:
            if source.dataset is None:
                found += [
                    (name, _column_sql(f"{source.alias}.k{at}", kind)) for at, (name, kind) in enumerate(source.columns)
                ]
            else:
                names = [each.name for each in source.dataset.fields]
                found += [(name, sql) for name in names if (sql := self._in(source, name, named=False))]
        return found

    def _among(self, table: str | None) -> list[Source]:
        if table is None:
            return list(self.sources.values())
        if placeholder(table) in OF_DATASET:
            return [each for each in self.sources.values() if each.dataset is self.names.dataset]
        found = find_by_name(self.sources, table)
        return [] if found is None else [found]

    def _in(self, source: Source, name: str, *, named: bool = True) -> TypedSql | None:
        if source.dataset is not None:
            return self._of_dataset(source, source.dataset, name, named=named)
        at = find_by_name({each: number for number, (each, _) in enumerate(source.columns)}, name)
        return None if at is None else _column_sql(f"{source.alias}.k{at}", source.columns[at][1])

    def _of_dataset(self, source: Source, dataset: Dataset, name: str, *, named: bool) -> TypedSql | None:
        own = self.names.own if placeholder(name) in OF_FIELD and dataset is self.names.dataset else None
        known = {each.name: each for each in dataset.fields}
        known |= {each.physical: each for each in dataset.fields if each.physical and each.physical not in known}
        found = find_by_name(known, own or name)
        if found is None:
            return None
        if found.parts or (found.declared or "").lower() in NESTED:
            raise UntranslatedError("it reads a field with parts of its own")
        if found.type not in KINDS:
            raise UntranslatedError("it reads times of day")
        if named and dataset is self.names.dataset:
            self.names.named.add(found.name)
        return _column_sql(f"{source.alias}.{self.names.column(dataset.name, found)}", KINDS[found.type])

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
            "query-unknown-column", f"{shown(name)} is no column of the tables that are read.{hint}", place
        )


def find_by_name(known: Mapping[str, T], name: str) -> T | None:
    """The value for a name: an exact match, else the only match that ignores case, else None."""
    if name in known:
        return known[name]
    alike = [each for key, each in known.items() if key.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else None


def _column_sql(text: str, kind: Kind) -> TypedSql:
    return TypedSql(text, kind, bare=frozenset({text}))
