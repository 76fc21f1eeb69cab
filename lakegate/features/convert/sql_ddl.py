"""Contracts from CREATE TABLE."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal

from sqlglot import exp

from lakegate.base.errors import InputError
from lakegate.base.text import dataset_name, quote
from lakegate.contract.contract_model import Contract, Dataset, Field
from lakegate.contract.documents.imported_schema import (
    ImportedSchema,
    contract_of,
)
from lakegate.contract.field_paths import FieldPath, column_path, element_path, member_path
from lakegate.contract.logical_types import LogicalType
from lakegate.contract.physical_types import PHYSICAL
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

TYPES = {entry: logical for logical, family in _FAMILIES.items() for entry in family}
"""The logical type of each type of SQL; all others are left out, and listed."""


SHOWN = 5
"""The losses that an error names."""


def read(text: bytes, name: str, dialect: str = "") -> tuple[Contract, tuple[str, ...]]:
    """A draft with a dataset for each table, and what of the statements is not in it. InputError if there is no table."""
    tables: list[SqlTable] = []
    later: list[Statement] = []
    script = statements(text, dialect)
    for item in script:
        tree = item.tree
        if isinstance(tree, exp.Create) and tree.kind == "TABLE" and isinstance(tree.this, exp.Schema):
            tables.append(SqlTable(tree, item.lost))
        else:
            later.append(item)
    if not tables:
        unread = next((statement for statement in script if statement.tree is None), None)
        if unread is None:
            raise InputError("the text has no CREATE TABLE with columns")
        raise InputError(
            f"the text is not SQL of this dialect: {quote(unread.words)} on line {unread.line} {unread.fault}; name another one"
            " with --dialect"
        )
    by_name = {member.key: member for member in reversed(tables)}
    lost = [member for statement in later for member in _add_statement(statement, by_name)]
    for table in tables:
        table.refer(by_name)
    datasets = list[Dataset]()
    for table in tables:
        try:
            datasets.append(table.schema.dataset(table.fields))
        except InputError as error:
            table.schema.lose("left out", str(error))
    mine = [f"{table.schema.name}.{member}" for table in tables for member in table.schema.lost]
    if not datasets:
        raise InputError("; ".join(mine[:SHOWN]))
    return contract_of(name, datasets, [*mine, *lost])


def _add_statement(statement: Statement, tables: Mapping[str, SqlTable]) -> Iterator[str]:
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
            yield f"line {statement.line}: {quote(statement.words)} {statement.fault}"
        case _:
            yield f"line {statement.line}: {quote(statement.words)} creates no table with columns, and adds nothing to one"


def field_of(
    schema: ImportedSchema, path: FieldPath, kind: exp.DataType, description: str | None = None
) -> Field | None:
    """A field of a type of SQL with the rules of the type; None if no logical type has its values."""
    if kind.this in {Type.ARRAY, Type.LIST} and len(kind.expressions) == 1:
        items = field_of(schema, element_path(path), kind.expressions[0])
        return None if items is None else schema.nested(path, "array", [items], description)
    if kind.this is Type.MAP and len(kind.expressions) == 2:  # noqa: PLR2004 - key and value
        inner = [
            field_of(schema, member_path(path, step), expression)
            for step, expression in zip(("key", "value"), kind.expressions, strict=True)
        ]
        return None if None in inner else schema.nested(path, "map", [item for item in inner if item], description)
    if kind.this is Type.STRUCT:
        parts = [expression for expression in kind.expressions if isinstance(expression, exp.ColumnDef)]
        known = [field for part in parts if (field := _member(schema, path, part)) is not None]
        return (
            schema.nested(path, "struct", known, description) if known and len(known) == len(kind.expressions) else None
        )
    is_flag = kind.this is Type.BIT and [expression.name for expression in kind.expressions] in ([], ["1"])
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
    field = field_of(schema, inner, kind, _comment(constraints)) if kind else None
    for constraint in constraints if field is not None else ():
        match constraint:
            case exp.NotNullColumnConstraint():
                if not constraint.args.get("allow_null"):
                    schema.rule("required", inner)
            case _ if not _is_comment(constraint):
                schema.lose(inner, f"{quote(words_of(constraint))} has no equivalent")
    return field


def _constraints(column: exp.ColumnDef) -> list[exp.Expr]:
    """The constraints of a column; of a name alone the name, which is no constraint."""
    expressions: list[exp.Expr] = [*column.constraints]
    return [expr.kind if isinstance(expr, exp.ColumnConstraint) else expr for expr in expressions]


def _comment(expressions: Iterable[exp.Expr]) -> str | None:
    """The description among constraints of a column, or properties of a table; None if there is none."""
    for expr in expressions:
        if isinstance(expr, exp.CommentColumnConstraint | exp.SchemaCommentProperty):
            return str(expr.this.name)
        if isinstance(expr, exp.Properties):
            return _comment(expr.expressions)
        if isinstance(expr, exp.Property) and expr.name == "description":
            return str(expr.args["value"].name)
    return None


def _is_comment(expr: exp.Expr) -> bool:
    """Whether a constraint is nothing but a description."""
    return isinstance(expr, exp.CommentColumnConstraint) or (
        isinstance(expr, exp.Properties) and all(one.name == "description" for one in expr.expressions)
    )


def _value(
    schema: ImportedSchema, path: FieldPath, kind: exp.DataType, logical: LogicalType, description: str | None
) -> Field:
    signed = SIGNED.get(kind.this, _MOMENTS.get(kind.this))
    plain = kind if signed is None else exp.DataType(this=signed, expressions=kind.expressions)
    field = schema.value(path, logical, description, declared=words_of(plain).lower())
    if kind.this in UNSIGNED:
        schema.rule("minimum", path, value=Decimal(0), exclusive=False)
    if kind.this in SERIALS:
        schema.rule("required", path)
    sizes = [expression.name for expression in kind.expressions if isinstance(expression, exp.DataTypeParam)]
    if logical is LogicalType.STRING and sizes and sizes[0].isdigit():
        schema.rule("maxLength", path, value=Decimal(sizes[0]))
    if kind.this is Type.ENUM:
        schema.rule("enum", path, values=tuple(expression.name for expression in kind.expressions))
    return field


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
        for expression in properties.expressions if properties else ():
            if _comment([expression]) is None:
                self._lose("table", expression)
        self._references: list[tuple[tuple[str, ...], exp.Expr]] = []
        columns = [member for member in statement.this.expressions if isinstance(member, exp.ColumnDef)]
        self.fields = [found for member in columns if (found := self._field(member)) is not None]
        self._names = {field.own_name.casefold(): field for field in self.fields}
        for column in columns:
            if column.name.casefold() in self._names:
                for one in _constraints(column):
                    self._constraint(one, (column.name,))
        for item in statement.this.expressions:
            if isinstance(item, exp.Identifier):
                self.schema.lose(item.name, _UNTYPED)
            elif not isinstance(item, exp.ColumnDef):
                self._of_table(item)

    def _field(self, column: exp.ColumnDef) -> Field | None:
        kind = column.args.get("kind")
        if kind is None:
            self.schema.lose(column.name, f"{_UNTYPED}: {quote(words_of(column))}")
            return None
        field = field_of(self.schema, column_path(column.name), kind, _comment(_constraints(column)))
        if field is None:
            self.schema.lose(column.name, f"left out: no logical type has values of {quote(words_of(kind))}")
        return field

    def describe(self, column: str | None, text: str) -> None:
        """The comment of the table, or of a column."""
        if column is None:
            self.schema.description = text
            return
        self.fields = [
            replace(field, description=text) if field.own_name.casefold() == column.casefold() else field
            for field in self.fields
        ]

    def alter(self, action: exp.Expr) -> None:
        """A change of the table: constraints are added to it, all others are listed."""
        if isinstance(action, exp.AddConstraint):
            for expression in action.expressions:
                self._of_table(expression)
        elif isinstance(action, exp.AlterColumn) and action.args.get("allow_null") is False:
            self._rule("required", (action.this.name,), action)
        else:
            self._lose("table", action)

    def _of_table(self, expr: exp.Expr) -> None:
        """A constraint of the table; of SQL Server, a key is followed by its columns."""
        inner = expr.expressions if isinstance(expr, exp.Constraint) else [expr]
        of_columns = [one.name for part in inner[1:] if isinstance(part.this, list) for one in _columns(part.this)]
        self._constraint(inner[0], tuple(of_columns))

    def _constraint(self, expr: exp.Expr, names: tuple[str, ...]) -> None:
        """A constraint of the columns with the names, or of those that it names itself."""
        match expr:
            case exp.NotNullColumnConstraint():
                if not expr.args.get("allow_null"):
                    self._rule("required", names, expr)
            case exp.PrimaryKey() | exp.PrimaryKeyColumnConstraint():
                self._rule("primaryKey", names or [one.name for one in _columns(expr.expressions)], expr)
            case exp.UniqueColumnConstraint() if not expr.find(exp.Where):
                self._unique(names or tuple(one.name for one in _columns(_list_columns(expr.this))), expr)
            case exp.ForeignKey() | exp.Reference():
                # a reference of columns; before one, a dialect may write the words FOREIGN KEY alone
                own = tuple(one.name for one in expr.expressions) if isinstance(expr, exp.ForeignKey) else names
                reference = expr.args.get("reference") if isinstance(expr, exp.ForeignKey) else expr
                if reference is not None:
                    self._references.append((own, reference))
            case exp.CheckColumnConstraint():
                for one in _conditions(expr.this):
                    self._check(one)
            case _ if not _is_comment(expr):
                self._lose(", ".join(names) or "table", expr)

    def _unique(self, names: tuple[str, ...], expr: exp.Expr) -> None:
        known = self._find_columns(names)
        if known is None or len(known) == 1:
            self._rule("unique", names, expr)
        else:
            self.schema.metric("duplicateValues", *known)

    def _rule(self, kind: str, names: Iterable[str], expr: exp.Expr, **arguments: object) -> None:
        known = self._find_columns(names)
        if known is None:
            self._lose(", ".join(names) or "table", expr)
        else:
            self.schema.rule(kind, *known, **arguments)

    def _find_columns(self, names: Iterable[str]) -> tuple[FieldPath, ...] | None:
        """The columns with the names, as they are declared; None if there are none, or one is not known."""
        fields = [self._names.get(name.casefold()) for name in names]
        known = tuple(item.name for item in fields if item is not None)
        return known if known and len(known) == len(fields) else None

    def _lose(self, place: str, expr: exp.Expr) -> None:
        self.schema.lose(place, f"{quote(words_of(expr))} has no equivalent")

    def refer(self, tables: Mapping[str, SqlTable]) -> None:
        """The references to tables of the script become rules; those to others are listed."""
        for names, reference in self._references:
            target = reference.this
            table = tables.get((target.this if isinstance(target, exp.Schema) else target).name.casefold())
            known = self._find_columns(names)
            wanted = [one.name for one in _columns(_list_columns(target))]
            columns = table.targets(wanted) if table is not None else None
            if table is None or known is None or columns is None or len(columns) != len(known):
                words = "has no equivalent: no table of the text has what it names"
                self.schema.lose(", ".join(names), f"{quote(words_of(reference))} {words}")
            else:
                to = ",".join(f"{dataset_name(table.schema.name)}.{column}" for column in columns)
                self.schema.rule("foreignKey", *known, to=to)

    def targets(self, names: list[str]) -> tuple[FieldPath, ...] | None:
        """The columns that a reference names; where it names none, those of the primary key."""
        keys = (rule.fields for rule in self.schema.rules if rule.kind == "primaryKey")
        return self._find_columns(names) if names else next(keys, None)

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


def _columns(expressions: Iterable[exp.Expr]) -> Iterator[exp.Expr]:
    """The columns of a list, whose order does not matter."""
    for expr in expressions:
        yield expr.this if isinstance(expr, exp.Ordered) else expr


def _list_columns(of: object) -> list[exp.Expr]:
    """The columns that stand in a target or behind a kind of index."""
    if isinstance(of, exp.Schema):
        return list(of.expressions)
    inner = of.this if isinstance(of, exp.Expr) else None
    return inner if isinstance(inner, list) else []


def _conditions(of: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that all have to hold."""
    of = _bare(of)
    if isinstance(of, exp.And):
        for item in of.flatten():
            yield from _conditions(item)
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
    expressions = [_bare(value) for value in values]
    texts = [
        item.name if isinstance(item, exp.Literal) and item.is_string else str(_number_literal(item) or "")
        for item in expressions
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
