"""Contracts made of schemas of other tools: the model of a contract, and what of the schema it does not have.

Every reader of a schema fills an `ImportedSchema`; `contract()` is then written as ODCS, or as any other target.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from lakegate.contracts.compile.rules.nested_fields import NESTED_KIND
from lakegate.contracts.documents.values import rule_id
from lakegate.contracts.draft.document import dataset_name
from lakegate.contracts.errors import InputError
from lakegate.contracts.model.contract import Comparison, Contract, Dataset, Field, Origin, Rule, Severity
from lakegate.contracts.model.storage import Format, Storage
from lakegate.contracts.model.types import LogicalType

if TYPE_CHECKING:
    from collections.abc import Iterable

FIRST_VERSION, DRAFT = "1.0.0", "draft"
MAX_FIELDS = 5_000
"""Fields of one schema, nested ones included."""
DEEPEST = 24
"""Levels of nested fields: a document has 32 levels in all, of mappings and lists."""


@dataclass(slots=True)
class ImportedSchema:
    """A table that is read: its fields and rules."""

    name: str
    lost: list[str] = field(default_factory=list)
    """What is not in the contract, in words, each with its place."""
    rules: list[Rule] = field(default_factory=list)
    storage: Format = Format.CSV
    description: str | None = None
    _ordinals: Counter[str] = field(default_factory=Counter)
    _fields: int = 0

    def value(self, path: str, kind: LogicalType, description: str | None = None, declared: str | None = None) -> Field:
        """A field with values of a type."""
        self._count(path)
        self.rule("type", path)
        return Field(path, kind, Origin(path), description, declared=declared)

    def nested(self, path: str, declared: str, parts: Iterable[Field], description: str | None = None) -> Field:
        """A record (`object`), a list (`array`) or a map with its parts."""
        self._count(path)
        self.rule(NESTED_KIND, path)
        return Field(path, LogicalType.STRING, Origin(path), description, declared=declared, parts=tuple(parts))

    def rule(self, kind: str, *paths: str, **arguments: object) -> None:
        """A constraint of fields."""
        subject = ",".join(paths)
        self.rules.append(Rule(rule_id(self._ordinals, subject, kind), kind, Origin(subject), paths, arguments))

    def metric(self, kind: str, *paths: str, severity: Severity = Severity.FAIL, **arguments: object) -> None:
        """A metric of fields that every row breaks that it counts."""
        none, subject = Comparison("mustBe", (Decimal(0),)), ",".join(paths)
        rule = Rule(rule_id(self._ordinals, subject, kind), kind, Origin(subject), paths, arguments, none)
        self.rules.append(replace(rule, severity=severity))

    def lose(self, place: str, what: str) -> None:
        """Something of the schema that a contract does not have."""
        self.lost.append(f"{place}: {what}")

    def dataset(self, fields: Iterable[Field]) -> Dataset:
        """The dataset, without fields that a contract cannot name."""
        chosen = tuple(self._nameable(tuple(fields)))
        if not chosen:
            raise InputError(f"{self.name} has no column that a contract can describe")
        known = {name for each in chosen for name in _paths(each)}
        rules = tuple(each for each in self.rules if set(each.fields) <= known)
        has_parts = any(each.parts for each in chosen)
        form = Format.JSONL if self.storage is Format.CSV and has_parts else self.storage
        return Dataset(
            dataset_name(self.name),
            chosen,
            rules,
            Origin("$"),
            storage=Storage(form),
            declared=frozenset({"format"}),
            description=self.description,
        )

    def _nameable(self, fields: tuple[Field, ...]) -> Iterable[Field]:
        seen: set[str] = set()
        for each in fields:
            own = each.name
            if not own.strip() or own != own.strip() or not own.isprintable() or own.casefold() in seen:
                self.lose(own, "its name is blank, has invisible characters, or differs from another only in capitals")
                continue
            seen.add(own.casefold())
            yield replace(each, parts=tuple(self._nameable(each.parts)))

    def _count(self, path: str) -> None:
        self._fields += 1
        if self._fields > MAX_FIELDS or path.count(".") + path.count("[]") > DEEPEST:
            raise InputError(f"{self.name} has more than {MAX_FIELDS:,} fields, or more than {DEEPEST} levels of them")


def contract_of(name: str, datasets: Iterable[Dataset], lost: Iterable[str]) -> tuple[Contract, tuple[str, ...]]:
    """A draft with the datasets, and what is not in it; of datasets with one name the first."""
    given = tuple(datasets)
    found = {each.name: each for each in reversed(given)}
    twice = [f"{each.name}: left out: another table has this name" for each in given if found[each.name] is not each]
    chosen = tuple(each for each in given if found[each.name] is each)
    contract = Contract(dataset_name(name).replace("_", "-"), FIRST_VERSION, "schema", chosen, name=name, status=DRAFT)
    return contract, tuple(dict.fromkeys([*lost, *twice]))


def _paths(each: Field) -> Iterable[str]:
    yield each.name
    for part in each.parts:
        yield from _paths(part)
