"""The names of a query: what its identifiers refer to in the contract, and the generated names that replace them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from lakegate.contracts.compile.sql.parse import placeholder
from lakegate.contracts.compile.sql.refusal import RefusedError, UntranslatedError
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.routes import line_of
from lakegate.contracts.lake.versions import major
from lakegate.contracts.plan.query import QueryColumn, QueryRelation
from lakegate.contracts.words import did_you_mean, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.contracts.model.contract import Contract, Dataset, Field

    Position = tuple[int, int] | None

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

    def text(self, constant: str) -> str:
        """The bind parameter for a constant text."""
        return f":t{self.texts.setdefault(constant, len(self.texts))}"

    def relation(self, dataset: str) -> str:
        """The generated name of a dataset."""
        self._read.setdefault(dataset, {})
        return f"r{list(self._read).index(dataset)}"

    def column(self, dataset: str, sql: Field) -> str:
        """The generated name of a field."""
        self._read[dataset].setdefault(sql.name, QueryColumn(sql.name, sql.type))
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
            known = {each.name: each for each in dataset.fields}
            known |= {each.physical: each for each in dataset.fields if each.physical and each.physical not in known}
            self._fields[dataset.name] = known
        return find_by_name(known, name)

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

    def find_dataset(self, name: str, place: Position) -> Dataset:
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
            raise RefusedError("query-unknown-table", f"{shown(name)} is not a dataset of this contract.{hint}", place)
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
