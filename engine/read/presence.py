"""Which declared fields an object has, by its head or its footer alone: no record after the first ones is read.

A header line, a footer or the header of an Avro file names all fields. JSON has no schema: the records in the first `HEAD`
bytes show which fields have values. A CSV file without a header names no column, so nothing is compared.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from lakegate.contracts.door.file_signatures import BOM, UnreadableError, settled
from lakegate.contracts.door.header import HEAD
from lakegate.contracts.model.storage import Format
from lakegate.contracts.plan.plan import Shape
from lakegate.contracts.plan.predicate import Present
from lakegate.contracts.plan.result import Columns, IncompatibleType
from lakegate.engine.read.avro_blocks import schema_in
from lakegate.engine.read.json_rows import RowReader
from lakegate.engine.read.json_text import MalformedError, parsed
from lakegate.engine.read.open import beginning, open_source
from lakegate.engine.read.schema import columns_of, found_in
from lakegate.engine.read.streams import elements

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakegate.contracts.plan.check import Check
    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.request import StagedPart
    from lakegate.engine.read.chunk import Store

OTHER_KIND = "JSON values of another kind"
"""The type of a field whose values are all of another kind than the declared one."""
_JSON = {Format.JSON, Format.JSONL, Format.ANY_JSON}


def columns_in(plan: Plan, part: StagedPart, store: Store) -> Columns:
    """The fields of an object against those of a plan, nested ones included.

    Of JSON, a field without a value is absent only if the plan requires it: in an optional one, a missing key is a null.
    UnreadableError if the object is not as declared, InputError if it has another size.
    """
    if plan.storage.format is Format.AVRO:
        with closing(store.stream(part.uri)) as source:
            schema = schema_in(source)
        return columns_of(schema, plan, found_in(schema, plan))
    if plan.storage.format in _JSON:
        return _of_json(plan, beginning(0, part, plan, store))
    return open_source(plan, (part,), store).columns


def _of_json(plan: Plan, head: bytes) -> Columns:
    """What the whole records of a beginning show."""
    reading = RowReader(plan.fields)
    for text in _records(settled(plan.storage, head).format, head):
        try:
            value = parsed(text)
        except MalformedError:
            continue
        if value is not None:
            reading.add(value)
    absent, foreign = [], []
    valued: set[tuple[str, ...]] = set()
    required = {each.fields for each in plan.checks if _is_required(each)}
    for field in plan.fields:
        cells = reading.levels[field.level].cells if field.level else reading.rows
        column = cells.columns[field.alias]
        of_values = [is_own for text, is_own in zip(column.texts, column.own, strict=True) if text is not None]
        is_looked_for = cells.rows and (field.place[:-1] in valued or len(field.place) - len(field.level) <= 1)
        if of_values:
            valued.add(field.place)
        if of_values and not any(of_values) and field.shape is not Shape.ANY:
            foreign.append(IncompatibleType(field.name, OTHER_KIND))
        elif is_looked_for and not of_values and (field.name,) in required:
            absent.append(field.name)
    return Columns((), tuple(absent), foreign=tuple(foreign))


def _is_required(check: Check) -> bool:
    """Whether every record, or every one with the field's parent, must have a value."""
    return isinstance(check.accept.predicate, Present) or check.kind == "required"


def _records(form: Format, head: bytes) -> Iterable[bytes]:
    """The whole records of a text as it begins; none where the first one is longer."""
    is_whole = len(head) < HEAD
    if form is Format.JSONL:
        lines = head.removeprefix(BOM).split(b"\n")
        return lines if is_whole else lines[:-1]
    try:
        return next(elements(iter([(head, 0)])))[0]
    except UnreadableError:
        if is_whole:
            raise
        return ()
