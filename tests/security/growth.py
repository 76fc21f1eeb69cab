"""How the cost of a judgement grows with what a file can make of itself: `python -m tests.security.growth [NAME…]`.

Each series is a file that grows in one way: rows, columns, elements, members, repeats. Each size is judged by `lakegate check`
in a process of its own; the table has processor seconds and the peak of memory above that of a small file, both of the
largest size, and what each unit costs between the smallest and the largest. `test_growth.py` asserts the constants of memory
with the smallest size of each series (docs/guarantees.md, P13).
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lakegate.contract.file_formats import Compression, Format, Storage
from tests.deliveries.avro import container, long, text
from tests.deliveries.judged import Judge, Judged, judge
from tests.deliveries.written import as_orc, as_parquet, packed

MIB = 1 << 20
ABOVE = 192 * MIB
"""Bytes above a small file's judgement that no unit costs (docs/guarantees.md, P13)."""
CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: growth
version: 1.0.0
status: active
name: Growth
customProperties: [{property: lakegate, value: FORM}]
schema:
  - name: rows
    logicalType: object
    properties:
"""
SMALL = b"id,name\n1,Ana\n2,Rui\n"


def contract(*fields: str) -> str:
    """A contract of fields, each in YAML's flow style."""
    return CONTRACT + "".join(f"      - {{{each}}}\n" for each in fields)


PLAIN = contract("name: id, logicalType: integer", "name: name, logicalType: string")
UNIQUE = contract("name: id, logicalType: integer", "name: name, logicalType: string, unique: true")
REQUIRED = contract("name: id, logicalType: integer, required: true", "name: name, logicalType: string, required: true")
RULES = contract(
    "name: id, logicalType: integer, logicalTypeOptions: {minimum: 2, multipleOf: 2}",
    'name: name, logicalType: string, logicalTypeOptions: {pattern: "^[A-Z]", maxLength: 0}',
)
COMMON = contract(
    "name: id, logicalType: integer",
    "name: name, logicalType: string, quality: [{type: library, metric: duplicateValues, mustBe: 0}]",
)
RECORDS = contract(
    "name: id, logicalType: integer",
    "name: l, logicalType: array, items: {logicalType: object, properties: [{name: a, logicalType: integer}]}",
)
TEXTS = contract(
    "name: id, logicalType: integer", "name: l, logicalType: array, items: {logicalType: string, unique: true}"
)
CSV, JSONL, JSON = (Storage(each) for each in (Format.CSV, Format.JSONL, Format.JSON))
PARQUET, ORC, AVRO = (Storage(each) for each in (Format.PARQUET, Format.ORC, Format.AVRO))
PACKED = {each: Storage(Format.CSV, each) for each in Compression}


@dataclass(frozen=True, slots=True)
class Series:
    """A file that grows."""

    unit: str
    """What there is more of."""
    storage: Storage
    contract: Callable[[int], str]
    make: Callable[[int], bytes]
    sizes: tuple[int, int]
    """Units of the smallest and of the largest file."""
    verdict: str
    cpu: float
    """Microseconds that a unit costs at the most."""
    memory: float = 0
    """Bytes that a unit costs at the most, beside `ABOVE`."""


def always(given: str) -> Callable[[int], str]:
    """The same contract, whatever the size."""
    return lambda _: given


def wide(kind: str) -> Callable[[int], str]:
    """A contract of so many fields."""
    return lambda count: contract(*(f"name: f{at}, logicalType: {kind}" for at in range(count)))


def zipped(head: bytes, line: bytes, count: int) -> bytes:
    """A gzip of so many equal lines."""
    packer = zlib.compressobj(9, wbits=31)
    parts = [packer.compress(head)]
    parts += [packer.compress(line * min(100_000, count - at)) for at in range(0, count, 100_000)]
    return b"".join([*parts, packer.flush()])


def lines(head: str, line: Callable[[int], str]) -> Callable[[int], bytes]:
    """So many lines below a head."""
    return lambda count: (head + "".join(map(line, range(count)))).encode()


def long_texts(count: int) -> pa.Table:
    """Texts of 1 MiB that pack to nothing."""
    return pa.table({"id": range(count), "name": ["x" * MIB] * count})


def nulls(count: int) -> pa.Table:
    """Rows without a value."""
    return pa.table({"id": pa.nulls(count, pa.int64()), "name": pa.nulls(count, pa.string())})


def parquet(table: Callable[[int], pa.Table], **options: Any) -> Callable[[int], bytes]:
    """A Parquet file without dictionaries."""
    return lambda count: as_parquet(table(count), use_dictionary=False, write_statistics=False, **options)


def avro(count: int) -> bytes:
    """So many blocks without records behind one with a record."""
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": "string"}],
    }
    content = container(schema, [long(1) + text("Ana")])
    return content + (long(0) + long(0) + content[-16:]) * count


def array(count: int) -> bytes:
    """A JSON array of equal records."""
    return b"[" + b",".join([b'{"id":1,"name":"x"}'] * count) + b"]"


def of_elements(inner: str) -> Callable[[int], bytes]:
    """So many lines, each with 10,000 elements."""
    return lambda count: (f'{{"id":1,"l":[{",".join([inner] * 10_000)}]}}\n' * count).encode()


SERIES: dict[str, Series] = {
    # ---- repeats: rules that compare rows ----
    "equal keys": Series(
        "rows",
        PACKED[Compression.GZIP],
        always(UNIQUE),
        lambda n: zipped(b"id,name\n", b"1,x\n", n),
        (500_000, 6_000_000),
        "rejected",
        0.7,
        40,
    ),
    "keys in pairs": Series(
        "rows",
        PACKED[Compression.GZIP],
        always(UNIQUE),
        lambda n: gzip.compress(lines("id,name\n", lambda at: f"1,{at // 2}\n")(n), 1),
        (100_000, 1_500_000),
        "rejected",
        4,
        100,
    ),
    "equal values, counted": Series(
        "rows",
        PACKED[Compression.GZIP],
        always(COMMON),
        lambda n: zipped(b"id,name\n", b"1,x\n", n),
        (500_000, 6_000_000),
        "rejected",
        0.7,
        40,
    ),
    "every rule broken": Series(
        "rows",
        PACKED[Compression.GZIP],
        always(RULES),
        lambda n: zipped(b"id,name\n", b"1,x\n", n),
        (500_000, 6_000_000),
        "rejected",
        0.7,
        4,
    ),
    "missing values": Series(
        "rows",
        PACKED[Compression.GZIP],
        always(REQUIRED),
        lambda n: zipped(b"id,name\n", b",\n", n),
        (500_000, 6_000_000),
        "rejected",
        0.5,
        4,
    ),
    # ---- columns ----
    "columns of JSON lines": Series(
        "columns",
        JSONL,
        wide("integer"),
        always(b'{"f1":"a"}\n'),  # type: ignore[arg-type]
        (1000, 9000),
        "rejected",
        4000,
        20_000,
    ),
    "columns of CSV": Series(
        "columns",
        CSV,
        wide("string"),
        lambda n: (",".join(f"f{at}" for at in range(n)) + "\n" + ",".join("x" for _ in range(n)) + "\n").encode(),
        (1000, 9000),
        "accepted",
        4000,
        20_000,
    ),
    "columns of Parquet": Series(
        "columns",
        PARQUET,
        wide("integer"),
        lambda n: as_parquet(pa.table({f"f{at}": [1] for at in range(n)})),
        (1000, 9000),
        "accepted",
        4000,
        20_000,
    ),
    "rows without any of 400 columns": Series(
        "rows",
        JSONL,
        always(wide("string")(400)),
        lambda n: b'{"f1":"a"}\n' + b"{}\n" * n,
        (30_000, 300_000),
        "accepted_with_warnings",
        60,
    ),
    # ---- JSON ----
    "lists of records": Series(
        "records of 10,000", JSONL, always(RECORDS), of_elements('{"a":1}'), (20, 200), "accepted", 40_000
    ),
    "lists of texts": Series(
        "records of 10,000", JSONL, always(TEXTS), of_elements('"x"'), (20, 200), "rejected", 40_000, 2_000_000
    ),
    "an array": Series("records", JSON, always(PLAIN), array, (50_000, 500_000), "accepted", 5),
    "empty objects": Series(
        "rows",
        JSONL,
        always(PLAIN),
        lambda n: b'{"id":1,"name":"x"}\n' + b"{}\n" * n,
        (200_000, 4_000_000),
        "accepted",
        4,
        16,
    ),
    # ---- members and blocks without content ----
    "members of gzip": Series(
        "members",
        PACKED[Compression.GZIP],
        always(PLAIN),
        lambda n: gzip.compress(SMALL) + gzip.compress(b"") * n,
        (50_000, 400_000),
        "accepted",
        8,
    ),
    "members of bzip2": Series(
        "members",
        PACKED[Compression.BZIP2],
        always(PLAIN),
        lambda n: bz2.compress(SMALL) + bz2.compress(b"") * n,
        (50_000, 400_000),
        "accepted",
        20,
    ),
    "frames of zstd": Series(
        "members",
        PACKED[Compression.ZSTD],
        always(PLAIN),
        lambda n: packed(SMALL, Compression.ZSTD) + packed(b"", Compression.ZSTD) * n,
        (50_000, 400_000),
        "accepted",
        8,
    ),
    "blocks of Avro": Series("blocks", AVRO, always(PLAIN), avro, (100_000, 1_000_000), "accepted", 8),
    # ---- faulty CSV ----
    "lines that are no UTF-8": Series(
        "rows", CSV, always(PLAIN), lambda n: b"id,name\n" + b"1,\x80\xbf\n" * n, (200_000, 2_000_000), "rejected", 2
    ),
    "an open quote": Series(
        "rows", CSV, always(PLAIN), lambda n: b'id,name\n1,"\n' + b"x\n" * n, (500_000, 10_000_000), "rejected", 1
    ),
    "lines of delimiters": Series(
        "rows", CSV, always(PLAIN), lambda n: b"id,name\n" + b",,\n" * n, (250_000, 5_000_000), "rejected", 2
    ),
    "lines of a quote": Series(
        "rows", CSV, always(PLAIN), lambda n: b"id,name\n" + b'"\n' * n, (500_000, 10_000_000), "rejected", 1
    ),
    "empty lines": Series(
        "rows", CSV, always(PLAIN), lambda n: SMALL + b"\n" * n, (1_000_000, 20_000_000), "accepted", 0.4
    ),
    # ---- long texts and nulls in tables ----
    "nulls in ORC": Series(
        "rows",
        ORC,
        always(PLAIN),
        lambda n: as_orc(nulls(n), compression="zlib"),
        (2_000_000, 50_000_000),
        "accepted",
        0.5,
        12,
    ),
    "long texts in ORC": Series(
        "texts of 1 MiB",
        ORC,
        always(PLAIN),
        lambda n: as_orc(long_texts(n), compression="zstd", dictionary_key_size_threshold=0.0),
        (100, 600),
        "accepted",
        12_000,
        3.2 * MIB,
    ),
    "long texts in Parquet": Series(
        "texts of 1 MiB",
        PARQUET,
        always(PLAIN),
        parquet(long_texts, compression="snappy", write_batch_size=1),
        (150, 900),
        "accepted",
        10_000,
    ),
    "nulls in Parquet": Series(
        "rows", PARQUET, always(PLAIN), parquet(nulls), (2_000_000, 50_000_000), "accepted", 0.5
    ),
}


@dataclass(frozen=True, slots=True)
class Grown:
    """The two ends of a series."""

    series: Series
    first: Judged
    last: Judged

    @property
    def cpu(self) -> float:
        """Microseconds of a unit."""
        return (self.last.cpu - self.first.cpu) / (self.series.sizes[1] - self.series.sizes[0]) * 1e6

    def above(self, small: Judged) -> float:
        """Bytes of memory of the largest file, without `ABOVE` and those that its units may take."""
        return self.last.peak - small.peak - ABOVE - self.series.memory * self.series.sizes[1]

    def holds(self, small: Judged) -> bool:
        """Whether verdicts, processor time and memory are as stated."""
        verdicts = {self.first.verdict, self.last.verdict}
        return verdicts == {self.series.verdict} and self.cpu <= self.series.cpu and self.above(small) <= 0


def judged(judging: Judge, series: Series, size: int, seconds: int = 300) -> Judged:
    """One size of a series."""
    return judging(series.storage, series.make(size), series.contract(size), seconds)


def table(names: list[str]) -> Iterator[str]:
    """The lines of the table."""
    form = "{:34}{:>22}{:>9}{:>9}{:>10}{:>10}{:>10}  {}"
    yield form.format("series", "unit x largest", "CPU s", "+ MiB", "µs/unit", "bound", "B/unit", "holds")
    with judge() as judging:
        small = [judging(CSV, SMALL, PLAIN) for _ in range(2)][-1]
        for name in names:
            series = SERIES[name]
            found = Grown(series, *(judged(judging, series, size) for size in series.sizes))
            units = f"{series.unit} x {series.sizes[1]:,}"
            above = (found.last.peak - small.peak) / MIB
            verdict = (
                ""
                if found.holds(small)
                else f" ({found.first.verdict or found.first.code}, {found.last.verdict or found.last.code})"
            )
            yield form.format(
                name[:34],
                units,
                f"{found.last.cpu:.1f}",
                f"{above:.0f}",
                f"{found.cpu:.2f}",
                f"{series.cpu:g}",
                f"{series.memory:g}",
                ("yes" if found.holds(small) else "NO") + verdict,
            )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="series; all by default")
    for line in table(parser.parse_args().names or [*SERIES]):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
