"""The schemas of accepted objects, by the readers of the engine. The only module of functions/ that needs pyarrow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from io import BufferedReader
from typing import TYPE_CHECKING

from lakegate.contracts.door.file_signatures import UnreadableError
from lakegate.contracts.judge.drift import SchemaDifference, differences
from lakegate.contracts.plan.plan import Plan
from lakegate.contracts.plan.request import StagedPart
from lakegate.engine.read.addressed import AddressedFile
from lakegate.engine.read.presence import columns_in
from lakegate.functions.ports.objects import Address

if TYPE_CHECKING:
    from typing import BinaryIO

    from lakegate.functions.ports.objects import ObjectReader, ObjectVersion

_AHEAD = 1 << 20
"""Bytes of an object that a stream requests at a time."""


@dataclass(frozen=True, slots=True)
class EngineSchemas:
    """SchemaReader."""

    objects: ObjectReader

    def differences(self, plan: bytes, accepted_by: bytes, data: ObjectVersion) -> tuple[SchemaDifference, ...]:
        """Head or footer against the plan."""
        wanted, own = Plan.from_bytes(plan), Plan.from_bytes(accepted_by)
        read = replace(wanted, storage=own.published.storage, csv=own.csv)
        try:
            columns = columns_in(read, StagedPart(data.key, data.size), _OneObject(self.objects, data))
        except UnreadableError as error:
            return (SchemaDifference("unreadable", found=str(error.finding.message)),)
        return differences(wanted, own, columns)


@dataclass(frozen=True, slots=True)
class _OneObject:
    """One version of an object, whatever the address (`lakegate.engine.read.chunk.Store`)."""

    objects: ObjectReader
    data: ObjectVersion

    def size(self, _: str) -> int:
        """See `Store`."""
        return self.data.size

    def part(self, _: str, start: int, length: int) -> bytes:
        """See `Store`."""
        where = Address(self.data.bucket, self.data.key, self.data.version)
        return self.objects.read(where, start, length)

    def stream(self, address: str) -> BinaryIO:
        """See `Store`."""
        return BufferedReader(AddressedFile(self, address), _AHEAD)
