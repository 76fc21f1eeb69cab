"""Contracts from files that contain their schema: Parquet, Avro, and the schema of Avro as a text (`.avsc`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lakegate.admission.file_signatures import UnreadableError
from lakegate.base.errors import InputError
from lakegate.base.text import quote
from lakegate.contract.contract_model import Contract, Field
from lakegate.contract.documents.imported_schema import ImportedSchema, contract_of
from lakegate.contract.field_paths import FieldPath, column_path, element_path, member_path
from lakegate.contract.file_formats import Format
from lakegate.contract.logical_types import LogicalType
from lakegate.engine.read.avro import MAGIC, read_header
from lakegate.engine.read.avro_types import logical_of, read_schema
from lakegate.engine.read.data_source import LocalStore
from lakegate.engine.read.parquet_orc import ArrowReader, open_parquet
from lakegate.engine.read.stored_columns import refuse_wide
from lakegate.engine.read.stored_types import TYPES, Kind, Physical

if TYPE_CHECKING:
    Found = tuple[Contract, tuple[str, ...]]

MAX_BYTES = 1 << 20
"""Bytes of a schema of Avro as text."""
UNREAD = ("symbols", "doc", "default", "aliases", "size", "namespace")
"""Keys of Avro that describe more than types."""
NAMED = ("record", "error", "enum", "fixed")
"""Types whose names may state the namespace themselves: `x.y.Order`."""
_NARROW = {
    **dict.fromkeys(("int8", "int16"), "smallint"),
    **dict.fromkeys(("int", "int32"), "int"),
    **dict.fromkeys(("float", "halffloat"), "float"),
}
"""The physical types of numbers that have fewer values than the logical one."""


def parquet(path: Path, name: str) -> Found:
    """A draft of the columns of a Parquet file; no value is read. InputError if it cannot be read."""
    try:
        return _contract(
            ArrowReader(open_parquet, LocalStore()).described(path.absolute().as_uri()).schema, name, Format.PARQUET
        )
    except UnreadableError as error:
        raise InputError(f"{path}: {error.finding.message}") from None


def avro(path: Path, name: str) -> Found:
    """A draft of the schema of an Avro file, or of a text that is such a schema. InputError if it cannot be read."""
    try:
        with path.open("rb") as file:
            is_file = file.read(len(MAGIC)) == MAGIC
            file.seek(0)
            document = read_header(file).schema if is_file else _of_text(file.read(MAX_BYTES + 1))
        contract, lost = _contract(_records(document), name, Format.AVRO)
    except UnreadableError as error:
        raise InputError(f"{path}: {error.finding.message}") from None
    return contract, (*lost, *_unread(document))


def _of_text(text: bytes) -> object:
    try:
        document = json.loads(text) if len(text) <= MAX_BYTES else None
    except (ValueError, RecursionError):
        document = None
    if document is None:
        raise UnreadableError(
            "schema", f"it is neither an Avro file nor a schema of Avro of at most {MAX_BYTES:,} bytes"
        )
    return document


def _records(document: object) -> Physical:
    schema, _ = read_schema(document)
    if schema.kind is not Kind.RECORD:
        raise UnreadableError("schema", "the schema is not one of records")
    refuse_wide(schema)
    return schema


def _unread(document: object) -> Iterator[str]:
    """The keys of a schema that are no types, each with the name that it belongs to."""
    waiting = [document]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            word, logical = each.get("type"), each.get("logicalType")
            if isinstance(word, str) and logical is not None and not logical_of(word, each):
                yield f"a logical type has no equivalent: {quote(logical)}: values are read as {word}"
            stated = {*each, *(["namespace"] if word in NAMED and "." in str(each.get("name")) else [])}
            yield from (f"{each.get('name')}: `{key}` has no equivalent" for key in UNREAD if key in stated)
            waiting += [each[key] for key in ("fields", "items", "values", "type") if key in each]
        elif isinstance(each, list):
            waiting += reversed(each)


def _contract(top: Physical, name: str, form: Format) -> Found:
    schema = ImportedSchema(name, storage=form)
    fields = [_field(schema, column_path(entry), part) for entry, part in top.parts]
    return contract_of(name, [schema.dataset([field for field in fields if field is not None])], schema.lost)


def _field(schema: ImportedSchema, path: FieldPath, kind: Physical) -> Field | None:
    """A field; None for what no contract declares, such as a union of several types."""
    field = _describe_field(schema, path, kind)
    if field is None:
        schema.lose(path, f"left out: no logical type has values of the type {kind.words}")
    elif kind.is_required:
        schema.rule("required", path)
    return field


def _describe_field(schema: ImportedSchema, path: FieldPath, kind: Physical) -> Field | None:
    match kind.kind:
        case Kind.RECORD:
            members = [_field(schema, member_path(path, name), part) for name, part in kind.parts]
            known = [member for member in members if member is not None]
            return schema.nested(path, "object", known) if known else None
        case Kind.LIST:
            items = _field(schema, element_path(path), kind.parts[0][1])
            return None if items is None else schema.nested(path, "array", [items])
        case Kind.MAP:
            key, value = (
                _describe_field(schema, member_path(path, name.strip("{}")), part) for name, part in kind.parts
            )
            return None if key is None or value is None else schema.nested(path, "map", [key, value])
        case Kind.EXACT:
            return schema.value(path, LogicalType.DECIMAL, declared="decimal({},{})".format(*kind.digits))
        case Kind.MOMENT:
            zoned = re.fullmatch(r"timestamp-\w+|timestamp\[\w+, tz=.*\]", kind.words)
            return schema.value(path, LogicalType.TIMESTAMP, declared="timestamptz" if zoned else "timestamp_ntz")
        case _:
            logical_type = TYPES.get(kind.kind)
            return None if logical_type is None else schema.value(path, logical_type, declared=_NARROW.get(kind.words))
