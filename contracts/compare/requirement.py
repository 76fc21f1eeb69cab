"""One requirement of the data of a dataset: a check of a rule, with its path in changes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakegate.contracts.compare.order import rejecting
from lakegate.contracts.compare.texts import meaning
from lakegate.contracts.plan.metrics import Metric

if TYPE_CHECKING:
    from collections.abc import Hashable

    from lakegate.contracts.model.contract import Rule
    from lakegate.contracts.plan.check import Check

PRIMARY_KEY, TEXT = "primaryKey", "text"
FAMILIES = {PRIMARY_KEY: "key", "foreignKey": "relationship"}
"""The kinds of rules with kinds of change of their own."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One check of a rule of a dataset."""

    dataset: str
    rule: Rule
    check: Check

    @property
    def own_id(self) -> str | None:
        """The id that the document gives the rule; None if the reader generated it."""
        is_generated = re.fullmatch(rf".*:{re.escape(self.rule.kind)}:[0-9]+", self.rule.id, re.DOTALL)
        return None if is_generated else self.rule.id

    @property
    def suffix(self) -> str:
        """What distinguishes the check from others of its rule."""
        return self.check.id.removeprefix(self.rule.id)

    @property
    def path(self) -> str:
        """Its path in changes: `orders.country#minimum`, `orders#enough_rows`."""
        fields = "+".join(self.check.fields)
        return f"{self.dataset}.{fields}#{self._name}" if fields else f"{self.dataset}#{self._name}"

    @property
    def rule_path(self) -> str:
        """The path of changes that concern the whole rule."""
        return f"{self.dataset}#{self.own_id}" if self.own_id else self.path

    @property
    def _name(self) -> str:
        return self.own_id or self.rule.kind

    @property
    def is_quality(self) -> bool:
        """Whether the document has the rule in a list of its own, with keys of its own."""
        return re.search(r"\.quality\[[0-9]+\]$", self.rule.origin.path) is not None

    @property
    def words(self) -> str:
        """The requirement in words, e.g. `at least 5 rows, else warn`."""
        scheduled = ", by schedule" if self.is_scheduled else ""
        return f"{self.check.wanted}{'' if rejecting(self.check) else ', else warn'}{scheduled}"

    @property
    def is_scheduled(self) -> bool:
        """Whether it is measured over accepted data, and with no delivery."""
        return bool(self.rule.schedule)

    @property
    def family(self) -> str:
        """The first part of its kinds of change."""
        return "rule" if self.is_presence else FAMILIES.get(self.rule.kind, "rule")

    @property
    def is_presence(self) -> bool:
        """Whether it is the `required` of a field, or of a part of the primary key."""
        return self.rule.kind in {"required", PRIMARY_KEY} and self.check.metric is Metric.FAILING_ROWS

    @property
    def content(self) -> Hashable:
        """What the document declares, of a rule that is not measured."""
        note = self.rule.name if self.rule.kind == TEXT else None
        return meaning(
            (note, self.rule.kind, self.check.fields, self.rule.arguments, self.rule.comparison, self.rule.tolerance)
        )
