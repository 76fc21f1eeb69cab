"""The types in which Spark writes the columns of a table again."""

from __future__ import annotations

from pyspark.sql import types

from lakegate.engine.type.physical import Kind, Physical


def named_type(physical: Physical) -> types.DataType:
    """The type in Spark, members of records under their own names."""
    inner = [named_type(part) for _, part in physical.parts]
    match physical.kind:
        case Kind.EXACT:
            return types.DecimalType(*physical.digits)
        case Kind.RECORD:
            members = zip(physical.parts, inner, strict=True)
            return types.StructType([types.StructField(name, each) for (name, _), each in members])
        case Kind.LIST:
            return types.ArrayType(inner[0])
        case Kind.MAP:
            return types.MapType(inner[0], inner[1])
        case _:
            return _TYPES[physical.kind]()


_TYPES: dict[Kind, type[types.DataType]] = {
    Kind.TEXT: types.StringType,
    Kind.BYTES: types.BinaryType,
    Kind.WHOLE: types.LongType,
    Kind.FLOAT: types.FloatType,
    Kind.DOUBLE: types.DoubleType,
    Kind.BOOLEAN: types.BooleanType,
    Kind.DATE: types.DateType,
    Kind.MOMENT: types.TimestampType,
}
