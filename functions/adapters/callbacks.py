"""What tokens of callbacks are for: items of the table `workloads` that expire, by the hashes of the tokens."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lakegate.functions.adapters.tables import decoded, instant, number, text
from lakegate.functions.ports.callbacks import CallbackToken

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.functions.adapters.dynamodb import DynamoTable


@dataclass(frozen=True, slots=True)
class DynamoCallbacks:
    """Tokens of callbacks."""

    table: DynamoTable

    def keep(self, digest: str, token: CallbackToken) -> None:
        """A put."""
        content = {
            "workload": text(token.workload),
            "attempt": number(token.attempt),
            "channel": text(token.channel),
            "until": text(instant(token.until)),
        }
        expires = number(math.ceil(token.until.timestamp()))
        self.table.put({"id": text(f"callback#{digest}"), **content, "expires": expires}, "callback")

    def get(self, digest: str) -> CallbackToken | None:
        """A strongly consistent read."""
        item = self.table.get({"id": text(f"callback#{digest}")})
        return decoded(item, _token) if item else None


def _token(item: Mapping[str, Any]) -> CallbackToken:
    until = datetime.fromisoformat(item["until"]["S"])
    return CallbackToken(item["workload"]["S"], int(item["attempt"]["N"]), item["channel"]["S"], until)
