"""Pages of the registry, and their cursors: random names of kept places, which say nothing about contracts of others."""

from __future__ import annotations

import math
import re
import secrets
from datetime import timedelta
from typing import Final

from lakegate.gate.dependencies import Dependencies
from lakegate.gate.registry.registry_rows import RegistryPage
from lakegate.gate.table import Put, Row, RowAbsent, RowKey, workloads_key
from lakegate.library.http_messages import HttpProblem, HttpRequest

KEPT: Final = timedelta(days=1)
"""For so long a cursor is good."""
CURSOR: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
REFUSED: Final = (
    "`cursor` is not one that a page of this list had in the last day: ask for the first page again, without it."
)


def page_of_registry(dependencies: Dependencies, request: HttpRequest) -> tuple[RegistryPage, str | None]:
    """The page that a request wants, and the cursor of the next one; None after the last one. Raises HttpProblem.

    The registry is read in the order of all contracts, so the place where a page ends is the name of one that the caller may
    not know. It is kept in a row that expires.
    """
    cursor = request.query.get("cursor", "")
    page = dependencies.registry.page(_place(dependencies, cursor) if cursor else "")
    if not page.after:
        return page, None
    following = secrets.token_hex(32)
    until = dependencies.now + KEPT
    row = Row(_key(following), {"place": page.after, "expires": math.ceil(until.timestamp())})
    dependencies.table.write(Put(row, RowAbsent()))
    return page, following


def _place(dependencies: Dependencies, cursor: str) -> str:
    row = dependencies.table.get(_key(cursor)) if CURSOR.fullmatch(cursor) else None
    if row is None:
        raise HttpProblem(400, "invalid-parameter", REFUSED)
    return row.decoded(lambda row: row.text("place"))


def _key(cursor: str) -> RowKey:
    return workloads_key("request", f"page:{cursor}")
