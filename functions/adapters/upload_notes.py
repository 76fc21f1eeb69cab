"""Notes of multipart uploads in progress, so that the next worker continues the same one."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakegate.functions.adapters.tables import decoded, text
from lakegate.functions.ports.errors import ConditionFailed

if TYPE_CHECKING:
    from lakegate.functions.adapters.dynamodb import DynamoTable
    from lakegate.functions.ports.objects import Address


@dataclass(frozen=True, slots=True)
class Uploads:
    """At most one note for each destination, in the table `workloads`."""

    table: DynamoTable

    def get(self, to: Address) -> str | None:
        """The upload under way to this destination."""
        item = self.table.get(_key(to))
        return decoded(item, lambda each: str(each["upload"]["S"])) if item else None

    def note(self, to: Address, upload: str) -> str:
        """Note an upload that was just begun. Returns the noted one: another worker may have been first."""
        try:
            self.table.put({**_key(to), "upload": text(upload)}, ConditionExpression="attribute_not_exists(id)")
        except ConditionFailed:
            return self.get(to) or upload
        return upload

    def drop(self, to: Address) -> None:
        """Forget the upload; absent is done."""
        self.table.delete(_key(to))


def _key(to: Address) -> dict[str, dict[str, str]]:
    return {"id": text("upload#" + hashlib.sha256(f"{to.bucket}\0{to.key}".encode()).hexdigest())}
