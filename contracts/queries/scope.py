"""Names: which datasets and fields the words of a query mean, and what they are called from then on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from contracts.errors import InputError
from contracts.queries.parse import placeholder
from contracts.queries.refusal import RefusedError, UntranslatedError
from contracts.queries.said import KINDS, Kind, Said
from contracts.query import Column, Relation
from contracts.routes import line_of
from contracts.versions import major
from contracts.words import did_you_mean, shown

if TYPE_CHECKING:
    from contracts.model import Contract, Dataset, Field

    Place = tuple[int, int] | None

T = TypeVar("T")
Columns = tuple[tuple[str, Kind], ...]
"""The columns `k0`, `k1`, … of a query: the names it gives them, and their kinds."""
NESTED = ("array", "map", "object", "record", "struct", "variant", "json", "vector")
OF_DATASET = ("model", "table", "object")
OF_FIELD = ("field", "column", "property")


class Names:
    """All that one query names: its relations, the columns it reads of them, its constant texts, and names made for it."""

    def __init__(self, contract: Contract, dataset: Dataset, own: str | None) -> None:
        self.contract = contract
        self.dataset = dataset
        self.own = own
        """The field the rule stands at."""
        self.texts: dict[str, int] = {}
        self.named: set[str] = set()
        """Fields of the own dataset that the query names one by one."""
        self._read: dict[str, dict[str, Column]] = {}
        self._made = 0

    def fresh(self) -> str:
        """A name that nothing else has."""
        self._made += 1
        return f"q{self._made}"

    def text(self, constant: str) -> str:
        """A constant text, bound and not written."""
        return f":t{self.texts.setdefault(constant, len(self.texts))}"

    def relation(self, dataset: str) -> str:
        """The name of a dataset in the query."""
        self._read.setdefault(dataset, {})
        return f"r{list(self._read).index(dataset)}"

    def column(self, dataset: str, said: Field) -> str:
        """The name of a field in the query."""
        columns = self._read[dataset]
        columns.setdefault(said.name, Column(said.name, said.type))
        return f"c{list(columns).index(said.name)}"

    def column_if_read(self, dataset: str, name: str) -> str | None:
        """The name of a field in the query, if the query reads it."""
        columns = self._read.get(dataset, {})
        return f"c{list(columns).index(name)}" if name in columns else None

    def relations(self) -> tuple[Relation, ...]:
        """What the query reads, in the order of the names."""
        return tuple(self._relation(name, tuple(columns.values())) for name, columns in self._read.items())

    def _relation(self, name: str, columns: tuple[Column, ...]) -> Relation:
        """The own dataset is the delivery; of another, what was accepted of it."""
        if name == self.dataset.name:
            return Relation(name, columns)
        try:
            line = line_of(self.contract.id, name, major(self.contract.version))
        except InputError:
            raise UntranslatedError("it reads another dataset, and its contract has no semantic version") from None
        return Relation(name, columns, delivered=False, line=line)

    def dataset_called(self, name: str, place: Place) -> Dataset:
        """The dataset of the contract that a word of the query means."""
        stands_for = placeholder(name)
        if stands_for in OF_DATASET:
            return self.dataset
        known = {each.name: each for each in self.contract.datasets}
        known |= {
            each.physical: each for each in self.contract.datasets if each.physical and each.physical not in known
        }
        found = called(known, name)
        if found is None:
            hint = did_you_mean(name, known)
            raise RefusedError("query-unknown-table", f"{shown(name)} is no dataset of this contract.{hint}", place)
        return found

    def may_qualify(self, name: str) -> bool:
        """Whether a word before a table's name says where the contract's own server is."""
        places = ("schema", "database", "catalog", "project", "dataset")
        said = {
            str(server.settings[key])
            for server in self.contract.about.servers
            for key in places
            if key in server.settings
        }
        return placeholder(name) in places or name.casefold() in {each.casefold() for each in said}


@dataclass(frozen=True, slots=True)
class Source:
    """One table in a FROM: a dataset, or a query of its own."""

    alias: str
    columns: Columns
    dataset: Dataset | None = None
    one_row: bool = False
    joins: int = 0
    """Joins in it that may give a row several times."""
    key: tuple[int, ...] = ()
    """Of a query that groups: the columns that no two of its rows share."""

    def keys(self, names: Names) -> list[set[str]]:
        """The sets of columns, as they are called in the query, that no two rows share."""
        if self.dataset is None:
            return [{f"{self.alias}.k{at}" for at in self.key}] if self.key else []
        declared = [rule.fields for rule in self.dataset.rules if rule.kind in {"primaryKey", "unique"} and rule.fields]
        called = [[names.column_if_read(self.dataset.name, field) for field in fields] for fields in declared]
        return [{f"{self.alias}.{each}" for each in key} for key in called if None not in key]


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as it is said, without brackets."""

    text: str
    columns: Columns
    one_row: bool
    outer: bool
    """Whether it reads columns of the query around it."""
    growth: int = 1
    joins: int = 0
    """Joins in it that may give a row several times."""
    key: tuple[int, ...] = ()
    """Where it groups: the columns that no two of its rows share."""


@dataclass(slots=True)
class Scope:
    """The tables that one SELECT reads, under the names it calls them by, and the SELECT around it."""

    names: Names
    queries: dict[str, tuple[str, Asked]]
    """Queries named in a WITH, and the name they got."""
    outer: Scope | None = None
    sources: dict[str, Source] = field(default_factory=dict)
    is_bridge: bool = False
    """Whether it only hands on what is around it: it is no SELECT of its own."""

    def add(self, name: str, source: Source, place: Place) -> None:
        """Call a source by a name; no two of a SELECT share one."""
        if called(self.sources, name) is not None:
            raise RefusedError("query-unknown-table", f"{shown(name)} names two tables of one SELECT.", place)
        self.sources[name] = source

    def query_called(self, name: str) -> tuple[str, Asked] | None:
        """The query of a WITH that a word means."""
        found = called(self.queries, name)
        return found if found is not None or self.outer is None else self.outer.query_called(name)

    def column(self, name: str, table: str | None, place: Place) -> Said:
        """The column that words of the query mean; of the query around it, where this one has none."""
        found = [said for source in self._among(table) if (said := self._in(source, name)) is not None]
        if len(found) > 1:
            raise RefusedError("query-unknown-column", f"{shown(name)} is a column of two tables: say which.", place)
        if found:
            return found[0]
        if self.outer is None or (table is not None and self._among(table)):
            raise self._unknown(name, table, place)
        try:
            said = self.outer.column(name, table, place)
        except RefusedError:
            raise self._unknown(name, table, place) from None
        return said if self.is_bridge else Said(said.text, said.kind, outer=True)

    def every_column(self, table: str | None, place: Place) -> list[tuple[str, Said]]:
        """What `*` means: the columns with their names."""
        sources = self._among(table)
        if not sources:
            raise RefusedError("query-unknown-table", f"{shown(table)} names no table of the SELECT.", place)
        found: list[tuple[str, Said]] = []
        for source in sources:
            if source.dataset is None:
                found += [
                    (name, _said(f"{source.alias}.k{at}", kind)) for at, (name, kind) in enumerate(source.columns)
                ]
            else:
                names = [each.name for each in source.dataset.fields]
                found += [(name, said) for name in names if (said := self._in(source, name, named=False))]
        return found

    def _among(self, table: str | None) -> list[Source]:
        if table is None:
            return list(self.sources.values())
        if placeholder(table) in OF_DATASET:
            return [each for each in self.sources.values() if each.dataset is self.names.dataset]
        found = called(self.sources, table)
        return [] if found is None else [found]

    def _in(self, source: Source, name: str, *, named: bool = True) -> Said | None:
        if source.dataset is not None:
            return self._of_dataset(source, source.dataset, name, named=named)
        at = called({each: number for number, (each, _) in enumerate(source.columns)}, name)
        return None if at is None else _said(f"{source.alias}.k{at}", source.columns[at][1])

    def _of_dataset(self, source: Source, dataset: Dataset, name: str, *, named: bool) -> Said | None:
        own = self.names.own if placeholder(name) in OF_FIELD and dataset is self.names.dataset else None
        known = {each.name: each for each in dataset.fields}
        known |= {each.physical: each for each in dataset.fields if each.physical and each.physical not in known}
        found = called(known, own or name)
        if found is None:
            return None
        if found.parts or (found.declared or "").lower() in NESTED:
            raise UntranslatedError("it reads a field with parts of its own")
        if found.type not in KINDS:
            raise UntranslatedError("it reads times of day")
        if named and dataset is self.names.dataset:
            self.names.named.add(found.name)
        return _said(f"{source.alias}.{self.names.column(dataset.name, found)}", KINDS[found.type])

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


def called(known: Mapping[str, T], name: str) -> T | None:
    """What a word means: the name as written, else the only one that differs in case alone."""
    if name in known:
        return known[name]
    alike = [each for key, each in known.items() if key.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else None


def _said(text: str, kind: Kind) -> Said:
    return Said(text, kind, bare=frozenset({text}))
