"""Refuses an object before any job: it is too large, empty, of another format, or its header rejects it whatever rows follow."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.door.file_signatures import UnreadableError
from lakegate.contracts.door.header import columns_of, first_line, text_of
from lakegate.contracts.door.terms import storage_of
from lakegate.contracts.model.storage import Csv, Format
from lakegate.contracts.plan.serialization import decode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.contracts.plan.result import Columns

FIRST_BYTES: Final = 65_536
"""How many bytes of an object are read: enough for any header and every file signature."""


def refusals(plan: bytes, size: int, first: bytes) -> tuple[str, ...]:
    """The reasons to refuse an object of `size` bytes that begins with `first`; none if the job has to judge it.

    A header that does not end within `first` is left to the job.
    """
    document = json.loads(plan)
    most = document["policy"]["max_bytes"]
    if most is not None and size > most:
        return (f"file/size: the object has {size:,} bytes, the contract allows {most:,}",)
    if size == 0:
        return () if document["policy"]["allow_empty"] else ("file/rows: the object is empty",)
    try:
        columns = _columns(document, size, first)
    except UnreadableError as error:
        return (f"file/readable: {error.finding.message}",)
    return _early_rejections(document, columns) if columns is not None and (columns.absent or columns.extra) else ()


def _columns(plan: Mapping[str, Any], size: int, first: bytes) -> Columns | None:
    """The header's columns; None where there is no header, or not all of it was read."""
    csv, storage = decode(Csv, plan["csv"]), storage_of(plan)
    text = text_of(first, storage, csv)
    if text is None or storage.format is not Format.CSV or (b"\n" not in text and len(first) < size):
        return None
    line = first_line(text, csv)
    declared = tuple(field["name"] for field in plan["fields"])
    return columns_of(line, csv, declared, text) if csv.header else None


def _early_rejections(plan: object, columns: Columns) -> tuple[str, ...]:
    from lakegate.contracts.judge.judgement import (  # noqa: PLC0415 - only a header that differs needs the whole plan
        early_rejections,
        reason_texts,
    )
    from lakegate.contracts.plan.plan import Plan  # noqa: PLC0415 - likewise

    return reason_texts(early_rejections(Plan.from_json(plan), columns))
