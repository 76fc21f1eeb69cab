"""CREATE TABLE written and read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

from sqlglot import exp

from lakegate.contract.contract_model import Contract, Dataset, Field, Shape, full_dataset_name, shape_of
from lakegate.contract.delivery_policy import PublishAs
from lakegate.contract.documents.declared_types import DeclaredType, declared_type, express, is_usual, lost_type
from lakegate.contract.documents.imported_schema import (
    Converted,
    ExpressedRequirements,
    ImportedSchema,
    contract_of,
    part,
    unread_csv,
)
from lakegate.contract.field_paths import FieldPath, column_path, element_path, member_path
from lakegate.contract.file_formats import Format
from lakegate.contract.logical_types import LogicalType
from lakegate.contract.physical_types import PHYSICAL
from lakegate.contract.semantic_versions import major
from lakegate.errors import InputError
from lakegate.features.convert.sql_script import (
    LostClause,
    Statement,
    bounded_tokens,
    in_words,
    reader_of,
    statements,
    with_types_of,
    words_of,
)
from lakegate.text import dataset_name, shown

# ---- CREATE TABLE for DuckDB and Athena: every name is quoted ----


BUCKET = "LAKE-BUCKET"
"""Stands for the lake bucket in the location of an Athena table."""
_SERDES = {
    Format.CSV: "ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.OpenCSVSerde'",
    Format.PARQUET: "STORED AS PARQUET",
    Format.ORC: "ROW FORMAT SERDE 'org.apache.hadoop.hive.ql.io.orc.OrcSerde'\n"
    "WITH SERDEPROPERTIES ('orc.column.index.access' = 'false')\nSTORED AS ORC",
    Format.AVRO: "STORED AS AVRO",
}
"""The readers of columns of each format: by name, but for CSV. Of ORC, Athena otherwise reads them by position."""
_SLICES = {"offset": "bigint", "op": "int", "system_time": "timestamp", "event_time": "timestamp"}
"""The columns that every slice has before its own (`publishAs: parquet`)."""
LONGEST_COMMENT = 255
"""The characters of a column's description in the Glue catalog."""
LONGEST_TYPE = 500
_OWN_TYPE = re.compile(
    r"[a-z][a-z0-9_]*(?: precision| varying)?(?P<parts>[(<][\w ,:<>()]*[)>])?(?: with(?:out)?(?: local)? time zone)?",
    re.IGNORECASE | re.ASCII,
)
_JSON = "ROW FORMAT SERDE 'org.openx.data.jsonserde.JsonSerDe'"


def _is_closed(parts: str) -> bool:
    """Whether the first bracket is closed by the last one, and all others in between."""
    opened: list[str] = []
    for at, each in enumerate(parts):
        if each in _BRACKETS:
            opened.append(_BRACKETS[each])
        elif each in _BRACKETS.values() and (opened.pop() != each or (not opened and at < len(parts) - 1)):
            return False
    return not opened


_BRACKETS = {"(": ")", "<": ">"}


@dataclass(frozen=True, slots=True)
class DdlDialect:
    """The names and types of a system."""

    quote: str
    types: Mapping[LogicalType, str]
    """Templates: a decimal contains its scale."""
    text: str
    list_of: str
    map_of: str
    record_of: str
    member: str
    """A name and a type."""
    native: str = ""
    """The key of a field's own type in this system."""
    is_escaped: bool = False
    """Whether a backslash in a name escapes the next character."""
    comment: str = ""
    """The template of a description behind a column; empty where columns have none there."""
    has_comments: bool = False
    """Whether statements of their own (`COMMENT ON`) describe columns and tables."""
    escape: str = ""
    """What a backslash in a text is doubled by, and a quote begins with; empty where a quote is doubled."""
    digits: str = ""
    """The template of a decimal with a precision and a scale; empty: of a decimal only the scale is written."""
    small_digits: str = ""
    """The same of decimals with at most 29 digits before the point and 9 after it."""
    moments: Mapping[bool, str] = field(default_factory=dict)
    """The types of moments with an offset from UTC, and without one; empty: there is one type for all."""
    whole: Mapping[int, str] = field(default_factory=dict)
    """The types of whole numbers of less than 64 bits."""
    sized: str = ""
    """The template of a text of limited length; empty: no type limits it."""
    longest: int = 0
    """The largest limit."""
    bytes_each: int = 1
    """What a limit counts for each character: more than 1 where it counts bytes."""

    def name(self, text: str) -> str:
        """A quoted name."""
        if self.is_escaped:
            text = text.replace("\\", "\\\\")
            return f"{self.quote}{text.replace(self.quote, chr(92) + self.quote)}{self.quote}"
        return f"{self.quote}{text.replace(self.quote, self.quote * 2)}{self.quote}"

    def literal(self, text: str) -> str:
        """A quoted text."""
        text = text.replace("\\", self.escape + "\\") if self.escape else text
        return "'" + text.replace("'", (self.escape or "'") + "'").replace("\n", "\\n" if self.escape else "\n") + "'"

    def undescribed(self, fields: Iterable[Field], *, is_part: bool = False) -> Iterator[str]:
        """The fields whose descriptions are not written: parts of others, and all where the system has none."""
        for each in fields:
            if each.description and (is_part or not (self.comment or self.has_comments)):
                yield f"{each.name} (its description)"
            yield from self.undescribed(each.parts, is_part=True)

    def type(self, each: Field, requirements: ExpressedRequirements) -> str:
        """The type of a field with its parts; its own in this system, if the contract names one that can be read."""
        return self.own_type(each) or self._type(each, requirements)

    def own_type(self, each: Field) -> str | None:
        """The type that the contract names for this system, if it has the form of a type: it is hostile text."""
        text = each.native.get(self.native, "")
        found = _OWN_TYPE.fullmatch(text) if len(text) <= LONGEST_TYPE else None
        return text if found and _is_closed(found["parts"] or "") else None

    def lost(self, fields: Iterable[Field], requirements: ExpressedRequirements) -> Iterator[str]:
        """The types of this system that cannot be read, and the declared types that it does not have."""
        for each in fields:
            is_own = self.own_type(each) is not None
            if self.native in each.native and not is_own:
                yield f"{each.name} ({self.native}: it has not the form of a type)"
            if not is_own and self._is_widened(each, declared_type(each, requirements)):
                yield lost_type(each, self._type(each, requirements))
            elif not is_own and self._has_parts(each):
                yield from self.lost(each.parts, requirements)

    def _is_widened(self, each: Field, found: DeclaredType) -> bool:
        """Whether a field's type has less than the field declares, and no rule says it."""
        if shape_of(each) is not Shape.VALUE:
            return shape_of(each) is Shape.ANY or (bool(each.parts) and not self._has_parts(each))
        is_text = each.type is not LogicalType.STRING and self.types.get(each.type, self.text) == self.text
        return is_text or not (found.is_plain or found.is_rule or is_usual(each, found) or self._is_exact(found))

    def _has_parts(self, each: Field) -> bool:
        """Whether a type of a field says what its parts are."""
        return "{}" in self._template(each)

    def _template(self, each: Field) -> str:
        """The type of values with parts; empty for values whose parts are not described."""
        templates = {Shape.LIST: self.list_of, Shape.MAP: self.map_of}
        return templates.get(shape_of(each), self.record_of if each.parts else "")

    def _is_exact(self, found: DeclaredType) -> bool:
        """Whether a type has exactly the values that a field declares."""
        limit = (found.length or 0) * self.bytes_each
        return bool(
            (found.digits and self.digits)
            or found.zone in self.moments
            or found.bits in self.whole
            or (self.sized and 0 < limit <= self.longest and self.bytes_each == 1)
        )

    def _type(self, each: Field, requirements: ExpressedRequirements) -> str:
        if shape_of(each) is not Shape.VALUE and not self._has_parts(each):
            return self._template(each) or self.text
        match shape_of(each):
            case Shape.LIST:
                return self.list_of.format(self._part(each, "[]", requirements))
            case Shape.MAP:
                inner = (self._part(each, suffix, requirements) for suffix in (".key", ".value"))
                return self.map_of.format(*inner)
            case Shape.RECORD:
                members = (
                    self.member.format(self.name(one.own_name), self.type(one, requirements)) for one in each.parts
                )
                return self.record_of.format(", ".join(members))
            case _:
                return self._value(each, requirements)

    def _value(self, each: Field, requirements: ExpressedRequirements) -> str:
        """The type of scalar values, with what the field declares of them where the system has it."""
        found = declared_type(each, requirements)
        limit = (found.length or 0) * self.bytes_each
        if self._is_exact(found):
            express(each, found, requirements)
        if found.digits and self.digits:
            precision, scale = found.digits
            is_small = precision - scale <= SMALL_DIGITS[0] and scale <= SMALL_DIGITS[1]
            return (self.small_digits if is_small and self.small_digits else self.digits).format(precision, scale)
        if found.zone in self.moments:
            return self.moments[bool(found.zone)]
        if found.bits in self.whole:
            return self.whole[found.bits or 0]
        if self.sized and 0 < limit <= self.longest:
            return self.sized.format(limit)
        return self.types.get(each.type, self.text).format(each.scale)

    def _part(self, each: Field, suffix: str, requirements: ExpressedRequirements) -> str:
        found = part(each, suffix)
        return self.text if found is None else self.type(found, requirements)


SMALL_DIGITS = (29, 9)
"""The digits before and after the point that a NUMERIC of BigQuery has."""


DUCKDB = DdlDialect(
    '"',
    {
        LogicalType.INTEGER: "BIGINT",
        LogicalType.NUMBER: "DOUBLE",
        LogicalType.DECIMAL: "DECIMAL(38,{0})",
        LogicalType.BOOLEAN: "BOOLEAN",
        LogicalType.DATE: "DATE",
        LogicalType.TIME: "TIME",
        LogicalType.TIMESTAMP: "TIMESTAMP",
        LogicalType.BINARY: "BLOB",
    },
    "VARCHAR",
    "{}[]",
    "MAP({}, {})",
    "STRUCT({})",
    "{} {}",
    digits="DECIMAL({0},{1})",
    moments={True: "TIMESTAMPTZ", False: "TIMESTAMP"},
    whole={16: "SMALLINT", 32: "INTEGER"},
    has_comments=True,
)
"""A length of its texts has no effect."""

ATHENA = DdlDialect(
    "`",
    {
        LogicalType.INTEGER: "bigint",
        LogicalType.NUMBER: "double",
        LogicalType.DECIMAL: "decimal(38,{0})",
        LogicalType.BOOLEAN: "boolean",
        LogicalType.DATE: "date",
        LogicalType.TIMESTAMP: "timestamp",
        LogicalType.BINARY: "binary",
    },
    "string",
    "array<{}>",
    "map<{}, {}>",
    "struct<{}>",
    "{}: {}",
    "glueType",
    comment=" COMMENT {}",
    escape="\\",
)


def athena(contract: Contract, dataset: Dataset) -> Converted:
    """An external table over the accepted data of the line, whose columns Athena reads by name, as the gate does.

    Athena enforces no rule. InputError for CSV with a header, whose columns it could only read by position.
    """
    storage, is_sliced = dataset.storage.format, dataset.policy.publish_as is PublishAs.PARQUET
    form = Format.PARQUET if is_sliced else storage
    if form is Format.CSV and dataset.csv.header:
        raise InputError(
            f"Athena reads the columns of CSV by position, and the gate accepts {dataset.name} with its columns in any order: "
            "declare `publishAs: parquet` in the `lakegate` extension, and convert again"
        )
    common = [f"{ATHENA.name(name)} {kind}" for name, kind in _SLICES.items()] if is_sliced else []
    fields = [each for each in dataset.fields if form is not Format.PARQUET or each.type is not LogicalType.TIME]
    requirements = ExpressedRequirements.in_contract(contract, dataset)
    types = [ATHENA.text if form is Format.CSV else ATHENA.type(each, requirements) for each in fields]
    described = [each for each in fields if each.description and len(each.description) <= LONGEST_COMMENT]
    comments = {each.name: ATHENA.comment.format(ATHENA.literal(each.description or "")) for each in described}
    own = (f"{ATHENA.name(each.own_name)} {kind}" for each, kind in zip(fields, types, strict=True))
    columns = [*common, *(f"{text}{comments.get(each.name, '')}" for each, text in zip(fields, own, strict=True))]
    silent = [f"{each.name} (its description)" for each in fields if each.description and each not in described]
    place = _literal(f"s3://{BUCKET}/accepted/{full_dataset_name(contract.id, dataset.name, major(contract.version))}/")
    lines = [
        f"CREATE EXTERNAL TABLE {ATHENA.name(dataset.name)} (",
        "  " + ",\n  ".join(columns),
        ")",
        _SERDES.get(form, _JSON),
        *(_csv_lines(dataset) if form is Format.CSV else []),
        f"LOCATION {place}",
    ]
    left_out = [f"{each.name} (left out: Athena reads no time of day)" for each in dataset.fields if each not in fields]
    unread = _unread(dataset) if form is Format.CSV else ()
    lost = () if form is Format.CSV else ATHENA.lost(fields, requirements)
    return Converted(
        "\n".join(lines) + ";\n",
        (*left_out, *lost, *silent, *ATHENA.undescribed(fields), *unread, *requirements.omitted()),
    )


def _csv_lines(dataset: Dataset) -> list[str]:
    csv = dataset.csv
    return [f"WITH SERDEPROPERTIES ('separatorChar' = {_literal(csv.delimiter)}, 'quoteChar' = {_literal(csv.quote)})"]


def _unread(dataset: Dataset) -> Iterator[str]:
    """The parts of CSV that the gate reads and Athena does not: it reads every column as text of UTF-8, a record in each line."""
    if dataset.csv.encoding != "utf-8":
        yield "csv.encoding"
    if dataset.csv.multi_line:
        yield "csv.multiLine"
    yield from unread_csv(dataset, 0)


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\t", "\\t") + "'"


# ---- Contracts from SQL ----


Type = exp.DataType.Type
SERIALS = frozenset({Type.SMALLSERIAL, Type.SERIAL, Type.BIGSERIAL})
"""Whole numbers that the database counts, and that are never null."""
SIGNED = {Type.UDECIMAL: Type.DECIMAL, Type.UDOUBLE: Type.DOUBLE}
"""The types of ODCS of numbers that sqlglot has a type of its own for."""
_MOMENTS = {
    Type.DATETIME2: Type.TIMESTAMPNTZ,
    Type.SMALLDATETIME: Type.TIMESTAMPNTZ,
    Type.TIMESTAMPLTZ: Type.TIMESTAMPTZ,
}
"""Other names of moments without an offset, and with one."""
UNSIGNED = exp.DataType.UNSIGNED_INTEGER_TYPES | frozenset(SIGNED)
_FLOATS = frozenset({Type.FLOAT, Type.DOUBLE, Type.UDOUBLE})
_FAMILIES = {
    LogicalType.INTEGER: (exp.DataType.INTEGER_TYPES | SERIALS) - {Type.BIT},
    LogicalType.NUMBER: _FLOATS,
    LogicalType.DECIMAL: (exp.DataType.REAL_TYPES | {Type.UDECIMAL}) - _FLOATS,
    LogicalType.BOOLEAN: {Type.BOOLEAN},
    LogicalType.STRING: exp.DataType.TEXT_TYPES | {Type.UUID, Type.ENUM},
    LogicalType.DATE: {Type.DATE, Type.DATE32},
    LogicalType.TIME: {Type.TIME},
    LogicalType.TIMESTAMP: exp.DataType.TEMPORAL_TYPES - {Type.DATE, Type.DATE32, Type.TIME, Type.TIMETZ},
    LogicalType.BINARY: {Type.BINARY, Type.VARBINARY, Type.BLOB, Type.LONGBLOB, Type.MEDIUMBLOB, Type.TINYBLOB},
}

TYPES = {each: logical for logical, family in _FAMILIES.items() for each in family}
"""The logical type of each type of SQL; all others are left out, and listed."""


SHOWN = 5
"""The losses that an error names."""


def read(text: bytes, name: str, dialect: str = "") -> tuple[Contract, tuple[str, ...]]:
    """A draft with a dataset for each table, and what of the statements is not in it. InputError if there is no table."""
    tables: list[SqlTable] = []
    later: list[Statement] = []
    script = statements(text, dialect)
    for each in script:
        tree = each.tree
        if isinstance(tree, exp.Create) and tree.kind == "TABLE" and isinstance(tree.this, exp.Schema):
            tables.append(SqlTable(tree, each.lost))
        else:
            later.append(each)
    if not tables:
        unread = next((each for each in script if each.tree is None), None)
        if unread is None:
            raise InputError("the text has no CREATE TABLE with columns")
        raise InputError(
            f"the text is not SQL of this dialect: {shown(unread.words)} on line {unread.line} {unread.fault}; name another one"
            " with --dialect"
        )
    by_name = {each.key: each for each in reversed(tables)}
    lost = [each for statement in later for each in _added(statement, by_name)]
    for table in tables:
        table.refer(by_name)
    found = list[Dataset]()
    for table in tables:
        try:
            found.append(table.schema.dataset(table.fields))
        except InputError as error:
            table.schema.lose("left out", str(error))
    mine = [f"{table.schema.name}.{each}" for table in tables for each in table.schema.lost]
    if not found:
        raise InputError("; ".join(mine[:SHOWN]))
    return contract_of(name, found, [*mine, *lost])


def _added(statement: Statement, tables: Mapping[str, SqlTable]) -> Iterator[str]:
    """Comments, and constraints that are added to tables, become part of them; the words of what does not."""
    tree = statement.tree
    subject = None if tree is None else tree.args.get("kind")
    is_column = isinstance(tree, exp.Comment) and subject == "COLUMN"
    named = tree.this.args.get("table") if is_column and tree is not None else None if tree is None else tree.this
    table = tables.get(named.name.casefold()) if isinstance(named, exp.Expr) else None
    match tree:
        case exp.Comment() if table and subject in {"TABLE", "COLUMN"}:
            table.describe(tree.this.name if is_column else None, tree.expression.name)
        case exp.Alter() if table:
            for action in tree.args["actions"]:
                table.alter(action)
        case None:
            yield f"line {statement.line}: {shown(statement.words)} {statement.fault}"
        case _:
            yield f"line {statement.line}: {shown(statement.words)} creates no table with columns, and adds nothing to one"


def field_of(
    schema: ImportedSchema, path: FieldPath, kind: exp.DataType, description: str | None = None
) -> Field | None:
    """A field of a type of SQL with the rules of the type; None if no logical type has its values."""
    if kind.this in {Type.ARRAY, Type.LIST} and len(kind.expressions) == 1:
        items = field_of(schema, element_path(path), kind.expressions[0])
        return None if items is None else schema.nested(path, "array", [items], description)
    if kind.this is Type.MAP and len(kind.expressions) == 2:  # noqa: PLR2004 - key and value
        inner = [
            field_of(schema, member_path(path, step), each)
            for step, each in zip(("key", "value"), kind.expressions, strict=True)
        ]
        return None if None in inner else schema.nested(path, "map", [each for each in inner if each], description)
    if kind.this is Type.STRUCT:
        parts = [each for each in kind.expressions if isinstance(each, exp.ColumnDef)]
        known = [each for part in parts if (each := _member(schema, path, part)) is not None]
        return (
            schema.nested(path, "struct", known, description) if known and len(known) == len(kind.expressions) else None
        )
    is_flag = kind.this is Type.BIT and [each.name for each in kind.expressions] in ([], ["1"])
    logical = LogicalType.BOOLEAN if is_flag else TYPES.get(kind.this) or _physical(kind)
    return None if logical is None else _value(schema, path, kind, logical, description)


_TYPE_ARGUMENTS = re.compile(r"\(.*\)")


def _physical(kind: exp.DataType) -> LogicalType | None:
    """The logical type of a type that contracts name, such as RAW; a time of day with an offset is none."""
    return None if kind.this is Type.TIMETZ else PHYSICAL.get(_TYPE_ARGUMENTS.sub("", words_of(kind)).lower())


def _member(schema: ImportedSchema, path: FieldPath, member: exp.ColumnDef) -> Field | None:
    """A field of a record, with its description, and whether it is required; other constraints are listed."""
    kind, inner = member.args.get("kind"), member_path(path, member.name)
    constraints = _constraints(member)
    found = field_of(schema, inner, kind, _comment(constraints)) if kind else None
    for each in constraints if found is not None else ():
        match each:
            case exp.NotNullColumnConstraint():
                if not each.args.get("allow_null"):
                    schema.rule("required", inner)
            case _ if not _is_comment(each):
                schema.lose(inner, f"{shown(words_of(each))} has no equivalent")
    return found


def _constraints(column: exp.ColumnDef) -> list[exp.Expr]:
    """The constraints of a column; of a name alone the name, which is no constraint."""
    found: list[exp.Expr] = [*column.constraints]
    return [each.kind if isinstance(each, exp.ColumnConstraint) else each for each in found]


def _comment(found: Iterable[exp.Expr]) -> str | None:
    """The description among constraints of a column, or properties of a table; None if there is none."""
    for each in found:
        if isinstance(each, exp.CommentColumnConstraint | exp.SchemaCommentProperty):
            return str(each.this.name)
        if isinstance(each, exp.Properties):
            return _comment(each.expressions)
        if isinstance(each, exp.Property) and each.name == "description":
            return str(each.args["value"].name)
    return None


def _is_comment(each: exp.Expr) -> bool:
    """Whether a constraint is nothing but a description."""
    return isinstance(each, exp.CommentColumnConstraint) or (
        isinstance(each, exp.Properties) and all(one.name == "description" for one in each.expressions)
    )


def _value(
    schema: ImportedSchema, path: FieldPath, kind: exp.DataType, logical: LogicalType, description: str | None
) -> Field:
    signed = SIGNED.get(kind.this, _MOMENTS.get(kind.this))
    plain = kind if signed is None else exp.DataType(this=signed, expressions=kind.expressions)
    found = schema.value(path, logical, description, declared=words_of(plain).lower())
    if kind.this in UNSIGNED:
        schema.rule("minimum", path, value=Decimal(0), exclusive=False)
    if kind.this in SERIALS:
        schema.rule("required", path)
    sizes = [each.name for each in kind.expressions if isinstance(each, exp.DataTypeParam)]
    if logical is LogicalType.STRING and sizes and sizes[0].isdigit():
        schema.rule("maxLength", path, value=Decimal(sizes[0]))
    if kind.this is Type.ENUM:
        schema.rule("enum", path, values=tuple(each.name for each in kind.expressions))
    return found


def data_type(text: str, dialect: str = "") -> exp.DataType | None:
    """A type of SQL; None if the text is none."""
    try:
        bounded_tokens(text, dialect)
        found = exp.DataType.build(text, dialect=reader_of(dialect))
        return found if isinstance(with_types_of(found, dialect), exp.DataType) else None
    except Exception:  # noqa: BLE001 - a foreign parser before a hostile text may raise anything
        return None


_UNTYPED = "left out: it has no type"


class SqlTable:
    """A table of a script with what its own statement, and later ones, declare of it."""

    def __init__(self, statement: exp.Create, lost: Iterable[LostClause] = ()) -> None:
        self.schema = ImportedSchema(statement.this.this.name)
        self.key = self.schema.name.casefold()
        properties = statement.args.get("properties")
        self.schema.description = _comment([properties] if properties else [])
        for clause in lost:
            self.schema.lose(*in_words(clause))
        for each in properties.expressions if properties else ():
            if _comment([each]) is None:
                self._lose("table", each)
        self._references: list[tuple[tuple[str, ...], exp.Expr]] = []
        columns = [each for each in statement.this.expressions if isinstance(each, exp.ColumnDef)]
        self.fields = [found for each in columns if (found := self._field(each)) is not None]
        self._names = {each.own_name.casefold(): each for each in self.fields}
        for each in columns:
            if each.name.casefold() in self._names:
                for one in _constraints(each):
                    self._constraint(one, (each.name,))
        for each in statement.this.expressions:
            if isinstance(each, exp.Identifier):
                self.schema.lose(each.name, _UNTYPED)
            elif not isinstance(each, exp.ColumnDef):
                self._of_table(each)

    def _field(self, column: exp.ColumnDef) -> Field | None:
        kind = column.args.get("kind")
        if kind is None:
            self.schema.lose(column.name, f"{_UNTYPED}: {shown(words_of(column))}")
            return None
        found = field_of(self.schema, column_path(column.name), kind, _comment(_constraints(column)))
        if found is None:
            self.schema.lose(column.name, f"left out: no logical type has values of {shown(words_of(kind))}")
        return found

    def describe(self, column: str | None, text: str) -> None:
        """The comment of the table, or of a column."""
        if column is None:
            self.schema.description = text
            return
        self.fields = [
            replace(each, description=text) if each.own_name.casefold() == column.casefold() else each
            for each in self.fields
        ]

    def alter(self, action: exp.Expr) -> None:
        """A change of the table: constraints are added to it, all others are listed."""
        if isinstance(action, exp.AddConstraint):
            for each in action.expressions:
                self._of_table(each)
        elif isinstance(action, exp.AlterColumn) and action.args.get("allow_null") is False:
            self._rule("required", (action.this.name,), action)
        else:
            self._lose("table", action)

    def _of_table(self, each: exp.Expr) -> None:
        """A constraint of the table; of SQL Server, a key is followed by its columns."""
        inner = each.expressions if isinstance(each, exp.Constraint) else [each]
        of_columns = [one.name for part in inner[1:] if isinstance(part.this, list) for one in _columns(part.this)]
        self._constraint(inner[0], tuple(of_columns))

    def _constraint(self, each: exp.Expr, names: tuple[str, ...]) -> None:
        """A constraint of the columns with the names, or of those that it names itself."""
        match each:
            case exp.NotNullColumnConstraint():
                if not each.args.get("allow_null"):
                    self._rule("required", names, each)
            case exp.PrimaryKey() | exp.PrimaryKeyColumnConstraint():
                self._rule("primaryKey", names or [one.name for one in _columns(each.expressions)], each)
            case exp.UniqueColumnConstraint() if not each.find(exp.Where):
                self._unique(names or tuple(one.name for one in _columns(_listed(each.this))), each)
            case exp.ForeignKey() | exp.Reference():
                self._refers(names, each)
            case exp.CheckColumnConstraint():
                for one in _conditions(each.this):
                    self._check(one)
            case _ if not _is_comment(each):
                self._lose(", ".join(names) or "table", each)

    def _unique(self, names: tuple[str, ...], each: exp.Expr) -> None:
        known = self._known(names)
        if known is None or len(known) == 1:
            self._rule("unique", names, each)
        else:
            self.schema.metric("duplicateValues", *known)

    def _rule(self, kind: str, names: Iterable[str], each: exp.Expr, **arguments: object) -> None:
        known = self._known(names)
        if known is None:
            self._lose(", ".join(names) or "table", each)
        else:
            self.schema.rule(kind, *known, **arguments)

    def _known(self, names: Iterable[str]) -> tuple[FieldPath, ...] | None:
        """The columns with the names, as they are declared; None if there are none, or one is not known."""
        found = [self._names.get(name.casefold()) for name in names]
        known = tuple(each.name for each in found if each is not None)
        return known if known and len(known) == len(found) else None

    def _lose(self, place: str, each: exp.Expr) -> None:
        self.schema.lose(place, f"{shown(words_of(each))} has no equivalent")

    def _refers(self, names: tuple[str, ...], each: exp.Expr) -> None:
        """A reference of columns; before one, a dialect may write the words FOREIGN KEY alone."""
        own = tuple(one.name for one in each.expressions) if isinstance(each, exp.ForeignKey) else names
        reference = each.args.get("reference") if isinstance(each, exp.ForeignKey) else each
        if reference is not None:
            self._references.append((own, reference))

    def refer(self, tables: Mapping[str, SqlTable]) -> None:
        """The references to tables of the script become rules; those to others are listed."""
        for names, reference in self._references:
            target = reference.this
            table = tables.get((target.this if isinstance(target, exp.Schema) else target).name.casefold())
            known = self._known(names)
            wanted = [one.name for one in _columns(_listed(target))]
            columns = table.targets(wanted) if table is not None else None
            if table is None or known is None or columns is None or len(columns) != len(known):
                words = "has no equivalent: no table of the text has what it names"
                self.schema.lose(", ".join(names), f"{shown(words_of(reference))} {words}")
            else:
                to = ",".join(f"{dataset_name(table.schema.name)}.{each}" for each in columns)
                self.schema.rule("foreignKey", *known, to=to)

    def targets(self, names: list[str]) -> tuple[FieldPath, ...] | None:
        """The columns that a reference names; where it names none, those of the primary key."""
        keys = (each.fields for each in self.schema.rules if each.kind == "primaryKey")
        return self._known(names) if names else next(keys, None)

    def _check(self, condition: exp.Expr) -> None:
        """A condition about one column and literals is the constraint of the same meaning; all others are listed."""
        for kind, column, arguments in _meanings(condition):
            field = self._names.get(column.casefold())
            is_number = field is not None and field.type.numeric
            if field is not None and (kind not in {"minimum", "maximum"} or is_number):
                self.schema.rule(kind, field.name, **arguments)
                return
        self._lose("table", exp.Check(this=condition))


Meaning = tuple[str, str, dict[str, object]]
"""The kind of a rule, the column, and the arguments."""


def _columns(found: Iterable[exp.Expr]) -> Iterator[exp.Expr]:
    """The columns of a list, whose order does not matter."""
    for each in found:
        yield each.this if isinstance(each, exp.Ordered) else each


def _listed(of: object) -> list[exp.Expr]:
    """The columns that stand in a target or behind a kind of index."""
    if isinstance(of, exp.Schema):
        return list(of.expressions)
    inner = of.this if isinstance(of, exp.Expr) else None
    return inner if isinstance(inner, list) else []


def _conditions(of: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that all have to hold."""
    of = _bare(of)
    if isinstance(of, exp.And):
        for each in of.flatten():
            yield from _conditions(each)
    elif isinstance(of, exp.Between):
        yield exp.GTE(this=of.this, expression=of.args["low"])
        yield exp.LTE(this=of.this, expression=of.args["high"])
    else:
        yield of


def _bare(of: exp.Expr) -> exp.Expr:
    """A value without parentheses and casts."""
    while isinstance(of, exp.Paren | exp.Cast):
        of = of.this
    return of


BOUNDS = {
    exp.GTE: ("minimum", False),
    exp.GT: ("minimum", True),
    exp.LTE: ("maximum", False),
    exp.LT: ("maximum", True),
}

_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {exp.GTE: exp.LTE, exp.GT: exp.LT, exp.LTE: exp.GTE, exp.LT: exp.GT}


def _meanings(condition: exp.Expr) -> Iterator[Meaning]:
    """The constraint of a condition; nothing where it has none."""
    left, right, kind = _bare(condition.this), condition.args.get("expression"), type(condition)
    right = _bare(right) if isinstance(right, exp.Expr) else right
    if isinstance(right, exp.Column) and kind in _MIRRORED:
        left, right, kind = right, left, _MIRRORED[kind]
    if isinstance(condition, exp.In) and not condition.args.get("query"):
        yield from _of_list(left, condition.expressions)
    elif isinstance(condition, exp.EQ) and isinstance(right, exp.Any):
        array = _bare(right.this)
        yield from _of_list(left, array.expressions if isinstance(array, exp.Array) else [])
    elif kind in BOUNDS and isinstance(left, exp.Column) and (limit := _number_literal(right)) is not None:
        word, is_open = BOUNDS[kind]
        yield word, left.name, {"value": limit, "exclusive": is_open}


def _of_list(column: exp.Expr, values: Iterable[exp.Expr]) -> Iterator[Meaning]:
    found = [_bare(each) for each in values]
    texts = [
        each.name if isinstance(each, exp.Literal) and each.is_string else str(_number_literal(each) or "")
        for each in found
    ]
    if isinstance(column, exp.Column) and texts and all(texts):
        yield "enum", column.name, {"values": tuple(texts)}


def _number_literal(of: object) -> Decimal | None:
    """A number that is written as one; None for everything else."""
    sign = -1 if isinstance(of, exp.Neg) else 1
    inner = of.this if isinstance(of, exp.Neg) else of
    try:
        return sign * Decimal(inner.name) if isinstance(inner, exp.Literal) and not inner.is_string else None
    except ArithmeticError:
        return None
