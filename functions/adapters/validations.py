"""Validations: items of the table `workloads` that expire."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from lakegate.contracts.lake.lifecycle import instant_of
from lakegate.functions.adapters.tables import decoded, number, text
from lakegate.functions.ports.validations import Validation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.functions.adapters.dynamodb import DynamoTable


@dataclass(frozen=True, slots=True)
class DynamoValidations:
    """Validations."""

    table: DynamoTable

    def create(self, validation: Validation) -> None:
        """A conditional put."""
        self.table.put(_item(validation), "validation", ConditionExpression="attribute_not_exists(id)")

    def get(self, validation: str) -> Validation | None:
        """A strongly consistent read."""
        item = self.table.get(_key(validation))
        return decoded(item, _validation) if item else None

    def replace(self, before: Validation, after: Validation) -> None:
        """A put on the condition that the whole text is unchanged."""
        self.table.put(
            _item(after),
            "validation",
            ConditionExpression="validation = :before",
            ExpressionAttributeValues={":before": _item(before)["validation"]},
        )


def _validation(item: Mapping[str, Any]) -> Validation:
    """Keys of a newer release are ignored, and are not written again: a validation expires after days."""
    document = json.loads(item["validation"]["S"])
    return Validation(**{each.name: document[each.name] for each in fields(Validation) if each.name in document})


def _key(validation: str) -> dict[str, dict[str, str]]:
    return {"id": text(f"validation#{validation}")}


def _item(validation: Validation) -> Mapping[str, Any]:
    content = json.dumps(asdict(validation), separators=(",", ":"), sort_keys=True)
    expires = number(math.ceil(instant_of(validation.expires).timestamp()))
    return {**_key(validation.id), "validation": text(content), "expires": expires}
