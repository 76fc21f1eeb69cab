"""The table of a dataset whose typed files were erased: told, waited for, and rid of old versions of its metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from lakegate.aws.clients import client, port_errors
from lakegate.aws.open_stack import DeployedStack, ask_service
from lakegate.base.errors import NotFound
from lakegate.features.tables.keep_table import DATASET, EXPIRED, HEIGHT, TableKind, table_folder, table_name
from lakegate.features.tables.table_hints import hint_of_erasure
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.ledger.stored_objects import versions_of
from lakegate.gate.ports import ObjectVersion

PATIENCE: Final = timedelta(minutes=5)
"""A table function takes a few seconds, and up to a minute where it starts, or has other tables to keep."""
BETWEEN: Final = 2.0
"""Seconds until the table is asked again."""


@dataclass(frozen=True, slots=True)
class ErasedTable:
    """See `lakegate.features.erasure.erasure.TableOfErasure`."""

    there: DeployedStack
    gate: Dependencies
    dataset: str
    database: str

    def follows(self, erased: Mapping[str, int]) -> bool:
        """As documented there."""
        if self._show(erased):
            return True
        with port_errors():
            queue = self.there.resource("TableQueue")
            client("sqs").send_message(QueueUrl=queue, MessageBody=hint_of_erasure(self.dataset))
        until = self.gate.now + PATIENCE
        while self.gate.now < until:
            self.gate.clock.sleep(BETWEEN)
            if self._show(erased):
                return True
        return False

    def unused(self) -> Iterator[ObjectVersion]:
        """As documented there: the table function, and other programs, delete files, and leave their versions."""
        folders = (f"{table_folder(self.dataset, kind)}/" for kind in TableKind)
        return (version for each in folders for version in versions_of(self.gate, each) if not version.current)

    def _show(self, erased: Mapping[str, int]) -> bool:
        """Whether both tables show that their files of these keys are erased."""
        heights = {kind: [height for key, height in erased.items() if kind.has(key)] for kind in TableKind}
        return all(self._shows(kind, max(own)) for kind, own in heights.items() if own)

    def _shows(self, kind: TableKind, height: int) -> bool:
        """Whether a table is at the height, and nothing is left of the snapshots before; also where there is no table."""
        properties = table_properties(self.gate, self.database, self.dataset, kind)
        if properties is None or properties.get(DATASET) != self.dataset:
            return True
        return int(properties.get(HEIGHT, -1)) >= height and EXPIRED not in properties


def open_table(there: DeployedStack, dataset: str) -> ErasedTable | None:
    """The table of a dataset; None where the stack keeps no tables."""
    database = there.outputs.get("TableDatabase", "")
    return ErasedTable(there, there.dependencies(), dataset, database) if database else None


def table_properties(
    gate: Dependencies, database: str, dataset: str, kind: TableKind = TableKind.ACCEPTED
) -> Mapping[str, str] | None:
    """The properties of a table; None: there is no such table."""
    document = table_metadata(gate, database, dataset, kind)
    return None if document is None else document.get("properties", {})


def table_metadata(
    gate: Dependencies, database: str, dataset: str, kind: TableKind = TableKind.ACCEPTED
) -> dict[str, Any] | None:
    """The newest metadata of a table; None: there is no such table."""
    try:
        found = ask_service("glue", "get_table", DatabaseName=database, Name=table_name(dataset, kind))["Table"]
    except NotFound:
        return None
    _, _, key = found["Parameters"]["metadata_location"].removeprefix("s3://").partition("/")
    document: dict[str, Any] = json.loads(gate.read_lake(key))
    return document
