"""What is drafted of a generated file is accepted by a check of the same file, in every format, and describes all of it."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.verdict.verdict import Verdict
from tests.deliveries.avro import write_avro
from tests.engine.drafted import drafted, judged
from tests.reference.sampling import sampled

# The witness is the generated table itself: names, rows and nulls of the draft are counted in it, by no code of the product.


LETTERS = st.text("abcXYZ \u00e4\u00df\u4e2d-_", min_size=1, max_size=12).map(str.strip).filter(bool)
NAMES = st.text("abcdXYZ_0123.[]{}\u00e4\u4e2d -", min_size=1, max_size=9).filter(
    lambda each: each == each.strip() and each[0].isalpha()
)
VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.float64(): st.floats(allow_nan=False, allow_infinity=False),
    pa.bool_(): st.booleans(),
    pa.string(): LETTERS,
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)),  # noqa: DTZ001 - of no zone; ORC has ns
    pa.decimal128(12, 3): st.decimals(-(10**8), 10**8, places=3, allow_nan=False, allow_infinity=False),
}


def columns(kinds: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.Table]:
    """Tables of one to five columns with nulls; names that are special in paths are among theirs."""

    @st.composite
    def table(draw: st.DrawFn) -> pa.Table:
        names = draw(st.lists(NAMES, min_size=2, max_size=5, unique_by=str.casefold))
        rows = draw(st.integers(1, 30))
        arrays = []
        for _ in names:
            kind = draw(kinds)
            values = st.none() | value_of(kind) if draw(st.booleans()) else value_of(kind)
            arrays.append(pa.array(draw(st.lists(values, min_size=rows, max_size=rows)), kind))
        return pa.table(arrays, names=names)

    return table()


def value_of(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """Values of a type, of lists and records also without values."""
    if pa.types.is_list(kind):
        return st.lists(st.none() | value_of(kind.value_type), max_size=3)
    if pa.types.is_struct(kind):
        return st.fixed_dictionaries({each.name: st.none() | value_of(each.type) for each in kind})
    return VALUES[kind]


PLAIN = st.sampled_from(list(VALUES))
NESTED = PLAIN | st.one_of(
    PLAIN.map(pa.list_),
    st.tuples(PLAIN, PLAIN).map(lambda pair: pa.struct([("a.b", pair[0]), ("c", pair[1])])),
    PLAIN.map(lambda kind: pa.list_(pa.struct([("x", kind)]))),
)
OF_JSON = st.sampled_from([pa.int64(), pa.float64(), pa.bool_(), pa.string()])
OF_CSV = st.sampled_from([pa.int64(), pa.bool_(), pa.string(), pa.date32(), pa.decimal128(12, 3)])


def as_parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(table, sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def as_orc(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pa.orc.write_table(table, sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def as_lines(table: pa.Table) -> bytes:
    """Objects without the keys that have no value in every second row."""
    rows = [
        {key: value for key, value in row.items() if value is not None or at % 2 == 0}
        for at, row in enumerate(table.to_pylist())
    ]
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode()


def as_array(table: pa.Table) -> bytes:
    return json.dumps(table.to_pylist(), ensure_ascii=False, indent=1).encode()


def as_csv(table: pa.Table) -> bytes:
    """Each text in quotes."""
    rows = [
        [f'"{name}"' for name in table.column_names],
        *([_cell(each) for each in row.values()] for row in table.to_pylist()),
    ]
    return "".join(f"{','.join(row)}\r\n" for row in rows).encode()


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case int() | Decimal() | dt.date():
            return str(value)
        case _:
            return f'"{value}"'


@pytest.mark.parametrize(
    ("kinds", "write"),
    [
        (NESTED, as_parquet),
        (PLAIN, as_orc),
        (NESTED, write_avro),
        (OF_JSON, as_lines),
        (OF_JSON, as_array),
        (OF_CSV, as_csv),
    ],
    ids=["parquet", "orc", "avro", "jsonl", "json", "csv"],
)
def test_a_draft_accepts_its_file_and_has_all_of_it(
    kinds: st.SearchStrategy[pa.DataType], write: Callable[[pa.Table], bytes]
) -> None:
    """Columns in their order, rows, and rows with a value of each column; nothing is left out without a word."""

    @sampled(8, 1_000)
    @given(columns(kinds))
    def agrees(table: pa.Table) -> None:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "data"
            path.write_bytes(write(table))
            found = drafted(path)
            said = judged(found.plan, path)
            lost = len(found.draft.left_out)

            assert (found.profile.rows, found.profile.malformed) == (table.num_rows, 0)
            assert {each.name: each.present for each in found.profile.columns} == {
                name: table.num_rows - table.column(name).null_count for name in table.column_names
            }
            assert found.draft.columns == table.num_columns - lost
            assert said.verdict is (Verdict.ACCEPTED_WITH_WARNINGS if lost else Verdict.ACCEPTED), said.outcomes

    agrees()
