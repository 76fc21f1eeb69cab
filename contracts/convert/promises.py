"""The promises of a dataset by field, and which of them a target expresses."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from lakegate.contracts.model.storage import Format

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.model.contract import Dataset, Field, Rule

PLAIN = re.compile(r"[\w .-]+")
"""A name that stands between quotes of any language as it is."""
BY_TYPES = ("type", "nested")
"""Kinds of rules that every target expresses by its own types."""


@dataclass(frozen=True, slots=True)
class Converted:
    """A dataset of a contract in another format."""

    text: str
    omitted: tuple[str, ...]
    """The ids of the rules, and the settings, that the format does not express."""


@dataclass(frozen=True, slots=True)
class ExpressedPromises:
    """The rules of a dataset; those that a target asks for are expressed by it."""

    dataset: Dataset
    _expressed: set[str] = field(default_factory=set)

    def of(self, path: str, kind: str) -> Iterator[Rule]:
        """The rules of a kind about one field alone."""
        for rule in self.dataset.rules:
            if rule.kind == kind and rule.fields == (path,):
                self._expressed.add(rule.id)
                yield rule

    def has(self, path: str, kind: str) -> bool:
        """Whether a field has a rule of a kind."""
        return len(list(self.of(path, kind))) > 0

    def is_present(self, path: str) -> bool:
        """Whether each record has a value of a field: it is required, or part of the primary key, whose rule says more."""
        is_key = any(path in rule.fields for rule in self.dataset.rules if rule.kind == "primaryKey")
        return self.has(path, "required") or is_key

    def key(self) -> tuple[str, ...]:
        """The fields of the primary key."""
        rules = [each for each in self.dataset.rules if each.kind == "primaryKey"]
        self._expressed.update(each.id for each in rules)
        return tuple(name for each in rules for name in each.fields)

    def words(self, path: str) -> tuple[str, ...] | None:
        """The only texts that a field may have; None where any is allowed."""
        for rule in self.dataset.rules:
            if rule.fields == (path,) and _is_list(rule):
                self._expressed.add(rule.id)
                found = rule.arguments["values" if rule.kind == "enum" else "validValues"]
                return tuple(each for each in found if each is not None)  # type: ignore[attr-defined] # readers make tuples
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
        rules = (each for each in self.dataset.rules if each.kind not in BY_TYPES)
        return tuple(each.id for each in rules if each.id not in self._expressed)


def unread_csv(dataset: Dataset, null_words: int) -> tuple[str, ...]:
    """How CSV is read beyond what a format has, which has so many words for null of all columns together: settings by column."""
    csv = dataset.csv
    if dataset.storage.format is not Format.CSV:
        return ()
    separators = {"decimalSeparator": csv.decimal_separator != ".", "thousandsSeparator": bool(csv.thousands_separator)}
    own = {each.column for each in csv.null_values_by_column}
    found = ["csv.nullValues"] if len(csv.null_values) > null_words else []
    for each in dataset.fields:
        if each.type.numeric:
            found += [f"{each.name}: csv.{name}" for name, is_set in separators.items() if is_set]
        if each.name in own:
            found.append(f"{each.name}: csv.nullValuesByColumn")
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
    return next((each for each in parent.parts if each.name == f"{parent.name}{suffix}"), None)


def own_name(each: Field, parent: Field | None) -> str:
    """The name of a field without the path of its record."""
    return each.name if parent is None else each.name.removeprefix(f"{parent.name}.")
