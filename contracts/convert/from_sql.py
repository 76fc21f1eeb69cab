"""Contracts from SQL: `CREATE TABLE` in the dialects of sqlglot, with the constraints that columns and tables declare.

The text is hostile: its size, its tokens and its nesting are bounded before it is parsed, and nothing of it is run.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from lakegate.contracts.compile.sql.parse import silence_sqlglot
from lakegate.contracts.convert.imported import ImportedSchema, contract_of
from lakegate.contracts.errors import InputError
from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.model.contract import Contract, Dataset, Field

MAX_CHARACTERS = 1 << 20
MAX_TOKENS = 100_000
Type = exp.DataType.Type
_FAMILIES = {
    LogicalType.INTEGER: exp.DataType.INTEGER_TYPES - {Type.BIT},
    LogicalType.NUMBER: {Type.FLOAT, Type.DOUBLE},
    LogicalType.DECIMAL: exp.DataType.REAL_TYPES - {Type.FLOAT, Type.DOUBLE},
    LogicalType.BOOLEAN: {Type.BOOLEAN},
    LogicalType.STRING: exp.DataType.TEXT_TYPES | {Type.UUID, Type.ENUM},
    LogicalType.DATE: {Type.DATE, Type.DATE32},
    LogicalType.TIME: {Type.TIME},
    LogicalType.TIMESTAMP: exp.DataType.TEMPORAL_TYPES - {Type.DATE, Type.DATE32, Type.TIME, Type.TIMETZ},
    LogicalType.BINARY: {Type.BINARY, Type.VARBINARY, Type.BLOB, Type.LONGBLOB, Type.MEDIUMBLOB, Type.TINYBLOB},
}
TYPES = {each: logical for logical, family in _FAMILIES.items() for each in family}
"""The logical type of each type of SQL; all others are left out, and listed."""


def read(text: bytes, name: str, dialect: str = "") -> tuple[Contract, tuple[str, ...]]:
    """A draft with a dataset for each table, and what of the statements is not in it. InputError if there is no table."""
    found: list[Dataset] = []
    lost: list[str] = []
    for number, statement in enumerate(_statements(text, dialect), start=1):
        if isinstance(statement, exp.Create) and statement.kind == "TABLE" and isinstance(statement.this, exp.Schema):
            schema = ImportedSchema(statement.this.this.name)
            found.append(schema.dataset(_columns(statement.this, schema)))
            lost += [f"{schema.name}.{each}" for each in schema.lost]
        elif statement is not None and not isinstance(statement, exp.Semicolon):
            lost.append(f"statement {number}: it creates no table with columns")
    if not found:
        raise InputError("the text has no CREATE TABLE with columns")
    return contract_of(name, found, lost)


def field_of(schema: ImportedSchema, path: str, kind: exp.DataType, description: str | None = None) -> Field | None:
    """A field of a type of SQL with the rules of the type; None if no logical type has its values."""
    if kind.this in {Type.ARRAY, Type.LIST} and len(kind.expressions) == 1:
        items = field_of(schema, f"{path}[]", kind.expressions[0])
        return None if items is None else schema.nested(path, "array", [items], description)
    if kind.this is Type.MAP and len(kind.expressions) == 2:  # noqa: PLR2004 - key and value
        inner = [
            field_of(schema, f"{path}.{step}", each)
            for step, each in zip(("key", "value"), kind.expressions, strict=True)
        ]
        return None if None in inner else schema.nested(path, "map", [each for each in inner if each], description)
    if kind.this is Type.STRUCT:
        parts = [(each, each.args.get("kind")) for each in kind.expressions if isinstance(each, exp.ColumnDef)]
        fields = [field_of(schema, f"{path}.{each.name}", of) if of else None for each, of in parts]
        known = [each for each in fields if each is not None]
        return (
            schema.nested(path, "struct", known, description) if known and len(known) == len(kind.expressions) else None
        )
    logical = TYPES.get(kind.this)
    return None if logical is None else _value(schema, path, kind, logical, description)


def _value(
    schema: ImportedSchema, path: str, kind: exp.DataType, logical: LogicalType, description: str | None
) -> Field:
    found = schema.value(path, logical, description, declared=kind.sql().lower())
    sizes = [each.name for each in kind.expressions if isinstance(each, exp.DataTypeParam)]
    if logical is LogicalType.STRING and sizes and sizes[0].isdigit():
        schema.rule("maxLength", path, value=Decimal(sizes[0]))
    if kind.this is Type.ENUM:
        schema.rule("enum", path, values=tuple(each.name for each in kind.expressions))
    return found


def data_type(text: str, dialect: str = "") -> exp.DataType | None:
    """A type of SQL; None if the text is none."""
    try:
        _bounded(text, dialect)
        return exp.DataType.build(text, dialect=dialect or None)
    except (SqlglotError, ValueError, RecursionError, InputError):
        return None


def _statements(text: bytes, dialect: str) -> list[exp.Expr | None]:
    silence_sqlglot()
    try:
        decoded = text.decode()
        _bounded(decoded, dialect)
        return list(sqlglot.parse(decoded, read=dialect or None))
    except UnicodeDecodeError:
        raise InputError("the text is not UTF-8") from None
    except (SqlglotError, ValueError, RecursionError):
        raise InputError("the text is not SQL of this dialect: name another one with --dialect") from None


def _bounded(text: str, dialect: str) -> None:
    """InputError for a text that would take too long; sqlglot itself refuses nesting that is too deep."""
    if len(text) > MAX_CHARACTERS or len(sqlglot.tokenize(text, read=dialect or None)) > MAX_TOKENS:
        raise InputError(f"the text has more than {MAX_CHARACTERS:,} characters or {MAX_TOKENS:,} tokens")


def _columns(table: exp.Schema, schema: ImportedSchema) -> Iterator[Field]:
    """The columns of a table, with their constraints; then those of the table."""
    for each in table.expressions:
        if isinstance(each, exp.ColumnDef):
            yield from _column(each, schema)
    for each in table.expressions:
        if not isinstance(each, exp.ColumnDef):
            _constraint(each, schema)


def _column(column: exp.ColumnDef, schema: ImportedSchema) -> Iterator[Field]:
    kinds = [each.kind for each in column.constraints]
    comments = [each.this.name for each in kinds if isinstance(each, exp.CommentColumnConstraint)]
    kind = column.args["kind"]
    found = field_of(schema, column.name, kind, comments[0] if comments else None)
    if found is None:
        schema.lose(column.name, f"left out: no logical type has values of {shown(kind.sql())}")
        return
    yield found
    for each in kinds:
        match each:
            case exp.NotNullColumnConstraint():
                if not each.args.get("allow_null"):
                    schema.rule("required", column.name)
            case exp.UniqueColumnConstraint():
                schema.rule("unique", column.name)
            case exp.PrimaryKeyColumnConstraint():
                schema.rule("primaryKey", column.name)
            case exp.CommentColumnConstraint():
                continue
            case _:
                schema.lose(column.name, f"{shown(each.sql())} has no equivalent")


def _constraint(each: exp.Expr, schema: ImportedSchema) -> None:
    """A constraint of the table."""
    inner = each.expressions[0] if isinstance(each, exp.Constraint) and each.expressions else each
    names = [one.name for one in inner.expressions]
    if isinstance(inner, exp.PrimaryKey):
        schema.rule("primaryKey", *names)
    elif (
        isinstance(inner, exp.UniqueColumnConstraint)
        and isinstance(inner.this, exp.Schema)
        and len(inner.this.expressions) == 1
    ):
        schema.rule("unique", inner.this.expressions[0].name)
    else:
        schema.lose("table", f"{shown(inner.sql())} has no equivalent")
