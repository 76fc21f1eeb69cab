"""Idempotency keys: items of the table `workloads` that expire."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakegate.functions.adapters.tables import decoded, number, text
from lakegate.functions.ports.errors import ConditionFailed
from lakegate.functions.ports.request_keys import KeptRequest

if TYPE_CHECKING:
    from datetime import datetime

    from lakegate.functions.adapters.dynamodb import DynamoTable


@dataclass(frozen=True, slots=True)
class DynamoRequestKeys:
    """Keys of requests."""

    table: DynamoTable

    def keep(self, key: str, request: KeptRequest, until: datetime) -> KeptRequest:
        """A conditional put; where it fails, a strongly consistent read. What has just expired is as good as new."""
        own = {"id": text(f"request#{key}")}
        item = {**own, "fingerprint": text(request.fingerprint), "token": text(request.token)}
        expiring = {**item, "expires": number(math.ceil(until.timestamp()))}
        try:
            self.table.put(expiring, "request", ConditionExpression="attribute_not_exists(id)")
        except ConditionFailed:
            there = self.table.get(own) or item
            return decoded(there, lambda item: KeptRequest(item["fingerprint"]["S"], item["token"]["S"]))
        return request
