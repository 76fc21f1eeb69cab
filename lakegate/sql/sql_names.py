"""Identifiers and the columns in scope; translation of each node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from sqlglot import exp

from lakegate.base.errors import InputError
from lakegate.base.text import did_you_mean, quote
from lakegate.contract.contract_model import Contract, Dataset, Field, full_dataset_name
from lakegate.contract.logical_types import SCALE, LogicalType
from lakegate.contract.semantic_versions import major
from lakegate.plan.check import QueryColumn, QueryRelation
from lakegate.sql.sql_parser import placeholder, word_of
from lakegate.sql.typed_sql import (
    KINDS,
    MAX_COLUMNS,
    RefusedError,
    SqlKind,
    Texts,
    TypedSql,
    UntranslatedError,
    combine,
    same,
)

if TYPE_CHECKING:
    Position = tuple[int, int] | None
    Place = tuple[int, int] | None

# ---- Names of a query ----


T = TypeVar("T")
OF_DATASET = ("model", "table", "object")


class QueryNames:
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
        self._places: dict[str, dict[str, int]] = {}
        """The number of each column that is read, by dataset."""
        self._fields: dict[str, Mapping[str, Field]] = {}
        """The fields of each dataset by their names, and by their physical names."""
        self._made = 0

    def fresh(self) -> str:
        """A new unique alias."""
        self._made += 1
        return f"q{self._made}"

    def text(self, constant: str) -> Texts:
        """The bind parameter for a constant text."""
        name = f"t{self.texts.setdefault(constant, len(self.texts))}"
        return Texts(f":{name}", f"${name}")

    def relation(self, dataset: str) -> str:
        """The generated name of a dataset."""
        self._read.setdefault(dataset, {})
        return f"r{list(self._read).index(dataset)}"

    def column(self, dataset: str, sql: Field) -> str:
        """The generated name of a field."""
        self._read[dataset].setdefault(sql.name, QueryColumn(sql.name, sql.type, sql.scale))
        places = self._places.setdefault(dataset, {})
        return f"c{places.setdefault(sql.name, len(places))}"

    def column_if_read(self, dataset: str, name: str) -> str | None:
        """The generated name of a field, or None if the query does not read it."""
        at = self._places.get(dataset, {}).get(name)
        return None if at is None else f"c{at}"

    def find_field(self, dataset: Dataset, name: str) -> Field | None:
        """The field that an identifier refers to, by its name or its physical name; None if there is none."""
        known = self._fields.get(dataset.name)
        if known is None:
            known = {field.own_name: field for field in dataset.fields}
            known |= {
                field.physical: field for field in dataset.fields if field.physical and field.physical not in known
            }
            self._fields[dataset.name] = known
        return find_by_name(known, name)

    def in_full(self, name: str) -> str:
        """The name of the rule's field for a placeholder of it, as if the query had it; any other name as it is."""
        return self.own if self.own is not None and placeholder(name) in OF_FIELD else name

    def relations(self) -> tuple[QueryRelation, ...]:
        """The relations that the query reads, in the order of their generated names."""
        return tuple(self._relation(name, tuple(columns.values())) for name, columns in self._read.items())

    def _relation(self, name: str, columns: tuple[QueryColumn, ...]) -> QueryRelation:
        """The rule's dataset is the delivery; any other dataset is its accepted data."""
        if name == self.dataset.name:
            return QueryRelation(name, columns)
        try:
            full_name = full_dataset_name(self.contract.id, name, major(self.contract.version))
        except InputError:
            raise UntranslatedError("it reads another dataset, and its contract has no semantic version") from None
        return QueryRelation(name, columns, delivered=False, full_name=full_name)

    def find_dataset(self, name: str, place: Position) -> Dataset:
        """The dataset that an identifier refers to; RefusedError if there is none."""
        stands_for = placeholder(name)
        if stands_for in OF_DATASET:
            return self.dataset
        known = {dataset.name: dataset for dataset in self.contract.datasets}
        known |= {
            dataset.physical: dataset
            for dataset in self.contract.datasets
            if dataset.physical and dataset.physical not in known
        }
        found = find_by_name(known, name)
        if found is None:
            hint = did_you_mean(name, known)
            raise RefusedError("query-unknown-table", f"{quote(name)} is not a dataset of this contract.{hint}", place)
        return found

    def may_qualify(self, name: str) -> bool:
        """Whether a qualifier of a table name is a schema, database or catalog of the contract's own servers."""
        places = ("schema", "database", "catalog", "project", "dataset")
        own = {
            str(server.settings[key])
            for server in self.contract.about.servers
            for key in places
            if key in server.settings
        }
        return placeholder(name) in places or name.casefold() in {each.casefold() for each in own}


def find_by_name(known: Mapping[str, T], name: str) -> T | None:
    """The value for a name: an exact match, else the only match that ignores case, else None."""
    if name in known:
        return known[name]
    alike = [each for key, each in known.items() if key.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else None


# ---- Tables and columns of a SELECT ----


class OutputColumn(NamedTuple):
    """A column of a query, with its original name."""

    name: str
    kind: SqlKind
    growth: int = 1
    """The longest text that it may hold, as a multiple of a text of the data."""
    scale: int = SCALE
    """Of decimals."""


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

    text: Texts
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
            raise RefusedError("query-unknown-table", f"{quote(name)} names two tables of one SELECT.", place)
        self.sources[name] = source

    def find_query(self, name: str) -> tuple[str, TypedQuery] | None:
        """The query of a WITH clause that an identifier refers to, or None."""
        found = find_by_name(self.queries, name)
        return found if found is not None or self.outer is None else self.outer.find_query(name)

    def column(self, name: str, table: str | None, place: Place) -> TypedSql:
        """The column that an identifier refers to, in this scope or an enclosing one; RefusedError if there is none."""
        sql = self._column(name, table, place)
        if sql is None:
            raise self._unknown(name, table, place)
        return sql

    def _column(self, name: str, table: str | None, place: Place) -> TypedSql | None:
        found = [sql for source in self._among(table) if (sql := self._in(source, name)) is not None]
        if len(found) > 1:
            raise RefusedError("query-unknown-column", f"{quote(name)} is a column of two tables: say which.", place)
        if found:
            return found[0]
        if self.outer is None or (table is not None and self._among(table)):
            return None
        sql = self.outer._column(name, table, place)  # noqa: SLF001 - of its own class
        if sql is None:
            return None
        return sql if self.is_bridge else TypedSql(sql.text, sql.kind, growth=sql.growth, outer=True, scale=sql.scale)

    def every_column(self, table: str | None, place: Place) -> list[tuple[str, TypedSql]]:
        """The columns that `*` stands for, with their names."""
        sources = self._among(table)
        if not sources:
            raise RefusedError("query-unknown-table", f"{quote(table)} names no table of the SELECT.", place)
        found: list[tuple[str, TypedSql]] = []
        for source in sources:
            if source.dataset is None:
                found += [(column.name, _output(source, at)) for at, column in enumerate(source.columns)]
            else:
                fields = source.dataset.fields
                found += [
                    (field.own_name, self._of_field(source, source.dataset, field)) for field in fields[:MAX_COLUMNS]
                ]
            if len(found) >= MAX_COLUMNS:
                message = f"A SELECT has fewer than {MAX_COLUMNS:,} columns: name those that it needs."
                raise RefusedError("query-too-large", message, place)
        return found

    def _among(self, table: str | None) -> list[FromItem]:
        if table is None:
            return list(self.sources.values())
        if placeholder(table) in OF_DATASET:
            return [source for source in self.sources.values() if source.dataset is self.names.dataset]
        found = find_by_name(self.sources, table)
        return [] if found is None else [found]

    def _in(self, source: FromItem, name: str) -> TypedSql | None:
        if source.dataset is not None:
            return self._of_dataset(source, source.dataset, name)
        at = find_by_name(
            {column.name: number for number, column in enumerate(source.columns)}, self.names.in_full(name)
        )
        return None if at is None else _output(source, at)

    def _of_dataset(self, source: FromItem, dataset: Dataset, name: str) -> TypedSql | None:
        found = self.names.find_field(dataset, self.names.in_full(name) if dataset is self.names.dataset else name)
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
        is_wide = found.type is LogicalType.DECIMAL and found.scale != SCALE
        kind = SqlKind.WIDE if is_wide else KINDS[found.type]
        return TypedSql(same(text), kind, bare=frozenset({text}), scale=found.scale)

    def _unknown(self, name: str, table: str | None, place: Place) -> Exception:
        if table is not None and not self._among(table):
            if any(self._in(source, table) for source in self.sources.values()):
                return UntranslatedError("it reads a part of a field")
            return RefusedError("query-unknown-table", f"{quote(table)} names no table of the SELECT.", place)
        if placeholder(name) in OF_FIELD:
            return RefusedError("placeholder-without-field", "The rule stands at no field of this table.", place)
        known = [
            field.own_name for source in self.sources.values() if source.dataset for field in source.dataset.fields
        ]
        hint = did_you_mean(name, known)
        return RefusedError(
            "query-unknown-column", f"{quote(name)} is not a column of the tables that are read.{hint}", place
        )


def _output(source: FromItem, at: int) -> TypedSql:
    """A column of a subquery."""
    text, column = f"{source.alias}.k{at}", source.columns[at]
    return TypedSql(same(text), column.kind, bare=frozenset({text}), growth=column.growth, scale=column.scale)


# ---- The translator ----


IGNORED_PARTS = frozenset(
    (
        *("big_int", "nested", "quoted", "is_nvl", "is_null", "coalesce", "safe", "typed", "date_part_boundary"),
        *("zero_on_all_null", "casts_non_integer_decimals", "negative_length_returns_empty", "zero_start"),
        *("input_type_preserved", "default_date", "unabbreviate", "null_on_text_overflow", "probe_date_format"),
        "requires_string",
    )
)
"""Parts in which the parser notes the dialect, for texts in other dialects. They change no result here, or a form reads them:
the position 0 of a text, negative lengths and fractions of digits are not translated, and a count of no rows is 0."""


@dataclass(frozen=True, slots=True)
class NodeForm:
    """The translation of nodes of one class. A node with a part that is not in `parts` is not translated."""

    translate: Translate
    parts: tuple[str, ...]


def form(translate: Translate, *parts: str) -> NodeForm:
    """A form for nodes with these parts."""
    return NodeForm(translate, parts)


def plain(
    template: str, kind: SqlKind | None, *, duckdb: str | None = None, **parts: Callable[[TypedSql], TypedSql]
) -> NodeForm:
    """A form that converts each part to the needed kind and inserts the results into a template, or into that for DuckDB.

    `kind` is the kind of the result; None means the kind of the first part.
    """

    def translate(t: Translator, node: exp.Expr, scope: Scope) -> TypedSql:
        turns = [turn(t.translate(node.args.get(name), scope)) for name, turn in parts.items()]
        return combine(template, kind or turns[0].kind, *turns, duckdb=duckdb)

    return form(translate, *parts)


class Translator:
    """Translates the expressions of one query."""

    def __init__(self, dialect: str, names: QueryNames, forms: Mapping[type, NodeForm], query: QueryForm) -> None:
        self.dialect = dialect
        self.names = names
        self._forms = forms
        self._query = query

    def translate(self, node: exp.Expr | None, scope: Scope) -> TypedSql:
        """Translate an expression; RefusedError or UntranslatedError if that is not possible."""
        found = self._forms.get(type(node))
        if node is None or found is None:
            raise without_form(node)
        only(node, *found.parts)
        return found.translate(self, node, scope)

    def operands(self, node: exp.Expr, scope: Scope) -> tuple[TypedSql, TypedSql]:
        """Translate both sides of an operator."""
        return self.translate(node.this, scope), self.translate(node.expression, scope)

    def translate_all(self, nodes: list[exp.Expr], scope: Scope) -> list[TypedSql]:
        """Translate several expressions."""
        return [self.translate(node, scope) for node in nodes]

    def translate_query(self, node: exp.Expr, scope: Scope) -> TypedQuery:
        """Translate a query or subquery."""
        return self._query(self, node, scope)


Translate = Callable[[Translator, Any, Scope], TypedSql]
QueryForm = Callable[[Translator, exp.Expr, Scope], TypedQuery]


def only(node: exp.Expr, *parts: str) -> None:
    """Raise UntranslatedError if a node has a part that its form does not translate: dropping it would change the result."""
    for name, sql in node.args.items():
        if sql and name not in parts and name not in IGNORED_PARTS:
            raise UntranslatedError(f"{word_of(node)} with {name.strip('_')} is not translated by this version")


def without_form(node: exp.Expr | None) -> UntranslatedError:
    """The error for a node without a form."""
    return UntranslatedError(
        f"{word_of(node) if node is not None else 'an empty part'} is not translated by this version"
    )
