"""Fields that converters read from other formats, and what each format can express."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal

from lakegate.base.errors import InputError
from lakegate.base.text import dataset_name
from lakegate.contract.contract_model import NESTED_KIND, Comparison, Contract, Dataset, Field, Origin, Rule, Severity
from lakegate.contract.documents.document_tree import rule_id
from lakegate.contract.documents.odcs_quality import NO_ROW
from lakegate.contract.field_paths import FieldPath, steps_of
from lakegate.contract.file_formats import Format, Storage
from lakegate.contract.logical_types import SCALE, LogicalType
from lakegate.contract.physical_types import scale_of

# ---- Contracts from schemas of other tools ----
# Every reader of a schema fills an `ImportedSchema`; `contract()` is then written as ODCS, or as any other target.


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
    """Parts that are not in the contract, in words, each with its place."""
    rules: list[Rule] = field(default_factory=list)
    storage: Format = Format.CSV
    description: str | None = None
    _ordinals: Counter[str] = field(default_factory=Counter)
    _fields: int = 0

    def value(
        self, path: FieldPath, kind: LogicalType, description: str | None = None, declared: str | None = None
    ) -> Field:
        """A field with values of a type."""
        self._count(path)
        self.rule("type", path)
        scale = scale_of(declared) if kind is LogicalType.DECIMAL else SCALE
        return Field(path, kind, Origin(path), description, declared=declared, scale=scale, physical_type=declared)

    def nested(self, path: FieldPath, declared: str, parts: Iterable[Field], description: str | None = None) -> Field:
        """A record (`object`), a list (`array`) or a map with its parts."""
        self._count(path)
        self.rule(NESTED_KIND, path)
        return Field(path, LogicalType.STRING, Origin(path), description, declared=declared, parts=tuple(parts))

    def rule(self, kind: str, *paths: FieldPath, **arguments: object) -> None:
        """A constraint of fields."""
        subject = ",".join(paths)
        self.rules.append(Rule(rule_id(self._ordinals, subject, kind), kind, Origin(subject), paths, arguments))

    def metric(
        self,
        kind: str,
        *paths: FieldPath,
        severity: Severity = Severity.FAIL,
        good: Comparison = NO_ROW,
        **arguments: object,
    ) -> None:
        """A metric of fields, which every row breaks that it counts unless other numbers are `good`."""
        subject = ",".join(paths)
        rule = Rule(rule_id(self._ordinals, subject, kind), kind, Origin(subject), paths, arguments, good)
        self.rules.append(replace(rule, severity=severity))

    def lose(self, place: str, what: str) -> None:
        """Something of the schema that a contract does not have."""
        self.lost.append(f"{place}: {what}")

    def dataset(self, fields: Iterable[Field]) -> Dataset:
        """The dataset, without fields that a contract cannot name."""
        chosen = tuple(self._nameable(tuple(fields)))
        if not chosen:
            raise InputError(f"{self.name} has no column that a contract can describe")
        known = {name for entry in chosen for name in _paths(entry)}
        rules = tuple(rule for rule in self.rules if set(rule.fields) <= known)
        has_parts = any(entry.parts for entry in chosen)
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
        for column in fields:
            own = column.own_name
            if not own.strip() or own != own.strip() or not own.isprintable() or own.casefold() in seen:
                self.lose(
                    column.name, "its name is blank, has invisible characters, or differs from another only in capitals"
                )
                continue
            seen.add(own.casefold())
            yield replace(column, parts=tuple(self._nameable(column.parts)))

    def _count(self, path: str) -> None:
        self._fields += 1
        if self._fields > MAX_FIELDS or len(steps_of(path) or ()) > DEEPEST + 1:
            raise InputError(f"{self.name} has more than {MAX_FIELDS:,} fields, or more than {DEEPEST} levels of them")


def contract_of(name: str, datasets: Iterable[Dataset], lost: Iterable[str]) -> tuple[Contract, tuple[str, ...]]:
    """A draft with the datasets, and what is not in it; of datasets with one name the first."""
    given = tuple(datasets)
    found = {dataset.name: dataset for dataset in reversed(given)}
    twice = [
        f"{dataset.name}: left out: another table has this name"
        for dataset in given
        if found[dataset.name] is not dataset
    ]
    chosen = tuple(dataset for dataset in given if found[dataset.name] is dataset)
    contract = Contract(dataset_name(name).replace("_", "-"), FIRST_VERSION, "schema", chosen, name=name, status=DRAFT)
    return contract, tuple(dict.fromkeys([*lost, *twice]))


def _paths(entry: Field) -> Iterable[str]:
    yield entry.name
    for part in entry.parts:
        yield from _paths(part)


# ---- Requirements by field ----


PLAIN = re.compile(r"[\w .-]+")
"""A name that stands between quotes of any language as it is."""
WIDE_INTEGERS = frozenset(("bigquery", "oracle", "snowflake", "sqlite"))
"""Systems in which every word for whole numbers means the same type, of 64 bits and more."""
BY_TYPES = ("type", "nested")
"""Kinds of rules that every target expresses by its own types."""


@dataclass(frozen=True, slots=True)
class Converted:
    """A dataset of a contract in another format."""

    text: str
    omitted: tuple[str, ...]
    """The ids of the rules, and the settings, that the format does not express."""


@dataclass(frozen=True, slots=True)
class ExpressedRequirements:
    """The rules of a dataset; those that a target asks for are expressed by it."""

    dataset: Dataset
    has_wide_integers: bool = False
    """Whether the words `int` and `smallint` mean 64 bits and more: those of the contract's servers do."""
    _expressed: set[str] = field(default_factory=set)

    @staticmethod
    def in_contract(contract: Contract, dataset: Dataset) -> ExpressedRequirements:
        """The rules of a dataset of a contract, whose servers say what its physical types mean."""
        types = {server.type.strip().lower() for server in contract.about.servers}
        return ExpressedRequirements(dataset, not types.isdisjoint(WIDE_INTEGERS))

    def of(self, path: str, kind: str) -> Iterator[Rule]:
        """The rules of a kind about one field alone."""
        for rule in self.named(path, kind):
            self._expressed.add(rule.id)
            yield rule

    def has(self, path: str, kind: str) -> bool:
        """Whether a field has a rule of a kind."""
        return len(list(self.of(path, kind))) > 0

    def named(self, path: str, kind: str) -> Iterator[Rule]:
        """The rules of a kind about one field alone; a target may not express them."""
        return (rule for rule in self.dataset.rules if rule.kind == kind and rule.fields == (path,))

    def express(self, path: str, kind: str, **arguments: object) -> None:
        """Note that a target expresses the rules of a field with exactly these arguments."""
        self._expressed.update(rule.id for rule in self.named(path, kind) if rule.arguments == arguments)

    def is_present(self, path: str) -> bool:
        """Whether each record has a value of a field: it is required, or part of the primary key, whose rule says more."""
        is_key = any(path in rule.fields for rule in self.dataset.rules if rule.kind == "primaryKey")
        return self.has(path, "required") or is_key

    def key(self) -> tuple[str, ...]:
        """The fields of the primary key."""
        rules = [rule for rule in self.dataset.rules if rule.kind == "primaryKey"]
        self._expressed.update(rule.id for rule in rules)
        return tuple(name for rule in rules for name in rule.fields)

    def words(self, path: str) -> tuple[str, ...] | None:
        """The only texts that a field may have; None where any is allowed."""
        for rule in self.dataset.rules:
            if rule.fields == (path,) and _is_list(rule):
                self._expressed.add(rule.id)
                found = rule.arguments["values" if rule.kind == "enum" else "validValues"]
                return tuple(argument for argument in found if argument is not None)  # type: ignore[attr-defined] # readers make tuples
        return None

    def references(self, path: str) -> Iterator[tuple[str, str]]:
        """The columns of datasets of the same contract that a field refers to: the names of both, plain ones of datasets."""
        for rule in self.of(path, "foreignKey"):
            table, _, column = str(rule.arguments.get("to")).partition(".")
            if PLAIN.fullmatch(table) is None or not column:
                self._expressed.discard(rule.id)
            else:
                yield table, column

    def omitted(self) -> tuple[str, ...]:
        """The ids of all other rules."""
        rules = (rule for rule in self.dataset.rules if rule.kind not in BY_TYPES)
        return tuple(rule.id for rule in rules if rule.id not in self._expressed)


def unread_csv(dataset: Dataset, null_words: int) -> tuple[str, ...]:
    """The reading of CSV beyond a format with so many words for null of all columns together: settings by column."""
    csv = dataset.csv
    if dataset.storage.format is not Format.CSV:
        return ()
    separators = {"decimalSeparator": csv.decimal_separator != ".", "thousandsSeparator": bool(csv.thousands_separator)}
    own = {value.column for value in csv.null_values_by_column}
    found = ["csv.nullValues"] if len(csv.null_values) > null_words else []
    found += ["csv.skipRows"] if csv.skip_rows else []
    for column in dataset.fields:
        if column.type.numeric:
            found += [f"{column.name}: csv.{name}" for name, is_set in separators.items() if is_set]
        if column.own_name in own:
            found.append(f"{column.name}: csv.nullValuesByColumn")
    return tuple(found)


def _is_list(rule: Rule) -> bool:
    """Whether a rule is broken by each value that is not in its list."""
    if rule.kind == "enum":
        return True
    is_none = (
        rule.comparison is not None
        and rule.comparison.operator == "mustBe"
        and rule.comparison.operands == (Decimal(0),)
    )
    return rule.kind == "invalidValues" and set(rule.arguments) == {"validValues"} and is_none


def part(parent: Field, suffix: str) -> Field | None:
    """The items of a list (`[]`), the keys (`.key`) or values (`.value`) of a map; None if they are not described."""
    return next((part for part in parent.parts if part.name == f"{parent.name}{suffix}"), None)
