"""Types that files bring, in our kinds, against declared types."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from lakegate.admission.file_signatures import UnreadableError
from lakegate.contract.contract_model import Shape
from lakegate.contract.logical_types import LogicalType
from lakegate.engine.read import stored_types
from lakegate.engine.read.avro import describe_file, read_blocks, read_header
from lakegate.engine.read.avro_types import read_schema
from lakegate.engine.read.stored_types import Kind, Physical, holds
from lakegate.plan.plan import PlanField
from tests.deliveries.avro import SYNC, container, long, write_avro
from tests.deliveries.refusal import refusal_of

ARROW: list[tuple[pa.DataType, Kind, pa.DataType]] = [
    (pa.string(), Kind.TEXT, pa.string()),
    (pa.large_string(), Kind.TEXT, pa.string()),
    (pa.dictionary(pa.int32(), pa.string()), Kind.TEXT, pa.string()),
    (pa.binary(), Kind.BYTES, pa.binary()),
    (pa.binary(16), Kind.BYTES, pa.binary()),
    *(
        (kind, Kind.WHOLE, pa.int64())
        for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32())
    ),
    (pa.uint64(), Kind.EXACT, pa.decimal128(20, 0)),
    (pa.decimal128(10, 2), Kind.EXACT, pa.decimal128(10, 2)),
    (pa.decimal128(38, 18), Kind.EXACT, pa.decimal128(38, 18)),
    (pa.decimal128(10, -2), Kind.OTHER, pa.bool_()),
    (pa.decimal256(50, 2), Kind.OTHER, pa.bool_()),
    (pa.float16(), Kind.FLOAT, pa.float32()),
    (pa.float32(), Kind.FLOAT, pa.float32()),
    (pa.float64(), Kind.DOUBLE, pa.float64()),
    (pa.bool_(), Kind.BOOLEAN, pa.bool_()),
    (pa.date32(), Kind.DATE, pa.date32()),
    (pa.date64(), Kind.DATE, pa.date32()),
    (pa.time32("ms"), Kind.TIME, pa.string()),
    (pa.time64("ns"), Kind.TIME, pa.string()),
    (pa.timestamp("ns"), Kind.MOMENT, pa.timestamp("us", "UTC")),
    (pa.timestamp("ms", "Europe/Berlin"), Kind.MOMENT, pa.timestamp("us", "UTC")),
    (pa.null(), Kind.NOTHING, pa.string()),
    (pa.duration("s"), Kind.OTHER, pa.bool_()),
    (pa.struct([("a", pa.int32())]), Kind.RECORD, pa.struct([("f0", pa.int64())])),
    (pa.list_(pa.string()), Kind.LIST, pa.list_(pa.string())),
    (pa.list_(pa.string(), 3), Kind.LIST, pa.list_(pa.string())),
    (pa.map_(pa.string(), pa.int32()), Kind.MAP, pa.map_(pa.string(), pa.int64())),
]
"""Types of files, each with its kind and the type of its canonical arrays."""
DECIMALS = [
    (pa.array([Decimal("1.20"), Decimal("-99999999.99"), None], pa.decimal128(10, 2))),
    (pa.array([Decimal("0.000000000000000001"), Decimal(10**20 - 1), None], pa.decimal128(38, 18))),
    (pa.array([0, 2**64 - 1, None], pa.uint64())),
]


@pytest.mark.parametrize(("kind", "expected", "type_"), ARROW, ids=str)
def test_every_type_of_arrow_has_a_kind(kind: pa.DataType, expected: Kind, type_: pa.DataType) -> None:
    """And a canonical form of exactly one type, nulls kept."""
    found = stored_types.physical(kind)
    array = stored_types.to_canonical(pa.nulls(2, kind), found)

    assert (found.kind, array.type, array.null_count) == (expected, type_, 2)


@pytest.mark.parametrize("array", DECIMALS, ids=lambda array: str(array.type))
def test_decimals_keep_every_digit(array: pa.Array) -> None:
    """Neither scale nor precision changes, up to the most digits that a decimal can have."""
    assert canonical(array) == [None if each is None else Decimal(each) for each in array.to_pylist()]


def canonical(array: pa.Array) -> list[Any]:
    found: list[Any] = stored_types.to_canonical(array, stored_types.physical(array.type)).to_pylist()
    return found


def test_values_keep_their_meaning() -> None:
    """Parts of nested values too; times become texts, what has no kind is only there or not."""
    nested = pa.array([[{"a": [1]}, None], None, []], pa.list_(pa.struct([("a", pa.list_(pa.int8()))])))
    mapped = pa.array([[("x", 1)], None], pa.map_(pa.string(), pa.int32()))

    assert canonical(nested) == [[{"f0": [1]}, None], None, []]
    assert canonical(nested.slice(1)) == [None, []]
    assert canonical(mapped) == [[("x", 1)], None]
    assert canonical(pa.array([3_723_000_004, None], pa.time64("us"))) == ["01:02:03.000004", None]
    assert canonical(pa.array([1, None], pa.duration("s"))) == [True, None]
    assert canonical(pa.array(["a", None]).dictionary_encode()) == ["a", None]


HELD = {
    (LogicalType.STRING, Kind.TEXT),
    (LogicalType.INTEGER, Kind.WHOLE),
    (LogicalType.INTEGER, Kind.EXACT),
    *((LogicalType.NUMBER, kind) for kind in (Kind.WHOLE, Kind.EXACT, Kind.FLOAT, Kind.DOUBLE)),
    (LogicalType.DECIMAL, Kind.WHOLE),
    (LogicalType.DECIMAL, Kind.EXACT),
    (LogicalType.BOOLEAN, Kind.BOOLEAN),
    (LogicalType.DATE, Kind.DATE),
    (LogicalType.TIME, Kind.TIME),
    (LogicalType.TIME, Kind.TEXT),
    (LogicalType.TIMESTAMP, Kind.MOMENT),
    (LogicalType.BINARY, Kind.BYTES),
    (LogicalType.BINARY, Kind.TEXT),
}


@pytest.mark.parametrize("logical", LogicalType)
@pytest.mark.parametrize("kind", Kind)
def test_a_kind_holds_values_of_the_types_that_are_listed_and_no_other(kind: Kind, logical: LogicalType) -> None:
    """The whole table; a column of nulls alone is of every type."""
    expected = (logical, kind) in HELD or kind is Kind.NOTHING

    assert expected is holds(Physical(kind, "x"), PlanField("f", "c0", logical))


def test_fractions_are_no_integers() -> None:
    """The scale of an exact number decides."""
    field = PlanField("f", "c0", LogicalType.INTEGER)

    assert [holds(Physical(Kind.EXACT, "x", (10, scale)), field) for scale in (0, 2)] == [True, False]


@pytest.mark.parametrize("shape", [each for each in Shape if each is not Shape.VALUE])
def test_values_with_parts_are_held_by_columns_with_such_parts(shape: Shape) -> None:
    """A record by a record, a list by a list, a map by a map; what is left open by anything."""
    kinds = {Shape.RECORD: {Kind.RECORD}, Shape.LIST: {Kind.LIST}, Shape.MAP: {Kind.MAP}, Shape.ANY: set(Kind)}
    field = PlanField("f", "c0", LogicalType.STRING, shape=shape)

    assert {kind for kind in Kind if holds(Physical(kind, "x"), field)} == kinds[shape] | {Kind.NOTHING}


AVRO: list[tuple[object, Kind]] = [
    ("string", Kind.TEXT),
    (["null", "int"], Kind.WHOLE),
    (["int", "long", "null"], Kind.WHOLE),
    (["float", "double"], Kind.DOUBLE),
    (["int", "string"], Kind.OTHER),
    (["null"], Kind.NOTHING),
    ({"type": "string"}, Kind.TEXT),
    ({"type": {"type": "long"}}, Kind.WHOLE),
    ({"type": "enum", "name": "e", "symbols": ["A"]}, Kind.TEXT),
    ({"type": "fixed", "name": "f", "size": 4}, Kind.BYTES),
    ({"type": "bytes", "logicalType": "decimal", "precision": 4}, Kind.EXACT),
    ({"type": "int", "logicalType": "date"}, Kind.DATE),
    ({"type": "int", "logicalType": "time-millis"}, Kind.TIME),
    ({"type": "long", "logicalType": "local-timestamp-millis"}, Kind.MOMENT),
    ({"type": "string", "logicalType": "uuid"}, Kind.TEXT),
    ({"type": "array", "items": "int"}, Kind.LIST),
    ({"type": "map", "values": "int"}, Kind.MAP),
    ({"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]}, Kind.RECORD),
]


@pytest.mark.parametrize(("schema", "expected"), AVRO, ids=str)
def test_every_type_of_avro_has_a_kind(schema: object, expected: Kind) -> None:
    """Unions with null have the type of the other member; logical types have their own kinds."""
    assert expected is read_schema(schema)[0].kind


INNER = {"type": "record", "name": "i", "namespace": "n", "fields": [{"name": "x", "type": "int"}]}


def test_named_types_of_avro_are_known_below() -> None:
    """By their name in their own namespace, and by their whole name."""
    fields = [{"name": "a", "type": INNER}, {"name": "b", "type": "n.i"}, {"name": "c", "type": ["null", "i"]}]
    found, _ = read_schema({"type": "record", "name": "r", "namespace": "n", "fields": fields})

    assert [part.kind for _, part in found.parts] == [Kind.RECORD] * 3
    assert [leaf.kind for leaf in found.leaves()] == [Kind.WHOLE] * 3


@pytest.mark.parametrize(
    "schema",
    [
        "unheard-of",
        5,
        {},
        {"type": "record"},
        {"type": "record", "name": "r", "fields": [{"name": "a", "type": ["null", "r"]}]},
    ],
    ids=str,
)
def test_what_is_no_schema_is_refused(schema: object) -> None:
    """Unknown names, and types that lead back to themselves."""
    with pytest.raises(UnreadableError) as caught:
        read_schema(schema)

    assert caught.value.finding.code == "schema"


TABLE = pa.table({"a": list(range(5))})


def damage_of(content: bytes) -> str:
    return refusal_of(lambda: describe_file(io.BytesIO(content)))[0]


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_every_block_of_an_avro_file_is_counted(codec: str) -> None:
    """Records and bytes, packed or plain."""
    content = write_avro(TABLE, codec, block=2)
    source = io.BytesIO(content)
    found = describe_file(source)
    source.seek(0)
    header = read_header(source)
    source.seek(found.bounds[0])
    blocks = list(read_blocks(source, header, len(content) - found.bounds[0]))

    assert (found.rows, found.bounds[-1]) == (5, len(content))
    assert (sum(count for count, _ in blocks), sum(len(block) for _, block in blocks)) == (5, 10)


@pytest.mark.parametrize("cut", [1, 3, 20, 40])
def test_an_avro_file_that_was_cut_off_is_damaged(cut: int) -> None:
    """Wherever it ends but after a block."""
    assert damage_of(write_avro(TABLE)[:-cut]) == "inside"


AVRO_FLAWS = {
    "another magic": (b"PAR1" + bytes(40), "inside"),
    "bytes behind it": (write_avro(TABLE) + b"more", "inside"),
    "another mark": (write_avro(TABLE)[:-1] + b"?", "inside"),
    "a count below zero": (container({}, []) + long(-1) + long(0) + SYNC, "inside"),
    "a number without end": (b"Obj\x01" + b"\xff" * 30, "inside"),
    "a header of 1 GiB": (b"Obj\x01" + long(1) + long(1 << 30), "inside"),
    "an unknown codec": (write_avro(TABLE, "lzo"), "codec"),
    "a codec that does not unpack": (
        container({}, [b"\x01"] * 3, "deflate").replace(b"deflate", b"bzip2\x00\x00"),
        "codec",
    ),
    "a schema that is none": (write_avro(TABLE).replace(b'{"type"', b'{type":'), "schema"),
}


@pytest.mark.parametrize("name", AVRO_FLAWS)
def test_an_avro_file_is_walked_to_its_end(name: str) -> None:
    """An inconsistent schema is refused before Spark reads it."""
    content, code = AVRO_FLAWS[name]

    assert damage_of(content) == code


def test_an_avro_block_that_unpacks_to_too_much_is_refused() -> None:
    """A block of 128 MiB in some 130 KiB is not unpacked."""
    assert damage_of(container({}, [bytes(128 << 20)], "deflate")) == "bomb"
