"""`batch.json`: the deliveries that one job run judges, each by a request of its own and with a result of its own."""

from __future__ import annotations

from dataclasses import dataclass

from lakegate.contracts.plan.document import VersionedDocument

VERSION = "lakegate/batch/1"


@dataclass(frozen=True, slots=True)
class BatchRequest(VersionedDocument):
    """A closed batch."""

    schema = "batch"
    batch: str
    """Its id."""
    requests: tuple[str, ...]
    """Addresses of request.json, in the order in which they are judged."""
    version: str = VERSION
