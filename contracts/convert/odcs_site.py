"""What every writer of ODCS rules needs: where a rule stands, what is written already, and plain values."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from lakegate.contracts.model.types import LogicalType

if TYPE_CHECKING:
    from lakegate.contracts.model.contract import Dataset, Rule
    from lakegate.contracts.plan.check import Check

DATASET = ""
"""The owner of what belongs to the object itself; all other owners are paths of fields."""
STABLE_ID = re.compile(r"[A-Za-z0-9_-]+")
"""What ODCS 3.2 accepts as an id (`StableId` of its schema)."""
NO_ROW = {"mustBe": 0}
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_LONGEST = Decimal(10) ** 30

Plain = dict[str, Any]
"""A mapping of a document, in the plain types of JSON; numbers with a point are `Decimal`."""
Quality = Iterator[tuple[str, Plain]]
"""Quality rules with their owners."""


@dataclass(slots=True)
class OwnKeys:
    """The keys of a property, or of an object, that rules become."""

    keys: Plain = field(default_factory=dict)
    options: Plain = field(default_factory=dict)
    relationships: list[Plain] = field(default_factory=list)
    quality: list[Plain] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RuleSite:
    """A rule with its checks, and what rules before it became."""

    dataset: Dataset
    rule: Rule
    checks: tuple[Check, ...]
    found: defaultdict[str, OwnKeys]

    def type(self, path: str) -> LogicalType:
        """The type of a field; text, if the dataset does not declare it."""
        declared = self.dataset.field(path)
        return LogicalType.STRING if declared is None else declared.type

    @property
    def owner(self) -> str:
        """The only field of the rule, else the dataset."""
        return self.rule.fields[0] if len(self.rule.fields) == 1 else DATASET


Write = Callable[[RuleSite], Quality]


def own_id(rule: Rule) -> str | None:
    """The id that the document gives a rule, if ODCS accepts it; None if the reader generated it."""
    is_generated = re.fullmatch(rf".*:{re.escape(rule.kind)}:[0-9]+", rule.id, re.DOTALL)
    return rule.id if not is_generated and STABLE_ID.fullmatch(rule.id) else None


def number(value: Decimal) -> int | Decimal:
    """A number as it is written: whole ones without a point."""
    return int(value) if value == value.to_integral_value() and abs(value) < _LONGEST else value


def listed(values: object, kind: LogicalType) -> list[Any]:
    """The values of a list: whole numbers as numbers, all others as the texts that they are, since `1.10` is not `1.1`."""
    texts = values if isinstance(values, list | tuple) else ()
    return [int(each) if kind.numeric and each is not None and _WHOLE.fullmatch(each) else each for each in texts]


def own_properties(passed: Mapping[str, Any], name: str, value: object) -> Plain:
    """`customProperties`: those that an element has already, and one more if it has a value."""
    found = [*passed.get("customProperties", []), *([] if value is None else [{"property": name, "value": value}])]
    return {"customProperties": found or None}
