"""A format, a compression, a metric and a refusal are added by one row in the contracts and, of data, one in the engine."""

from __future__ import annotations

import io
import lzma
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from lakegate.admission import file_signatures
from lakegate.admission.refusals import REFUSALS, refusals
from lakegate.base import json_codec
from lakegate.base.json_codec import canonical
from lakegate.contract.file_formats import (
    COMPRESSIONS,
    FORMATS,
    Compression,
    CompressionSpec,
    Format,
    FormatSpec,
    Storage,
)
from lakegate.engine.evaluate.predicate_sql import NUMBER_METRICS, NumberMetric
from lakegate.engine.read.data_source import Share, Store
from lakegate.engine.read.open_delivery import OPENERS
from lakegate.engine.read.stored_columns import Table, open_tables
from lakegate.engine.read.stored_types import Kind, Physical, physical
from lakegate.plan.check import Check, Interval, Tier, Unit
from lakegate.plan.metrics import METRICS, Metric, MetricSpec, Number
from lakegate.plan.plan import Plan
from lakegate.verdict.check_status import Status
from tests.deliveries.delivery import Judged, plan_of, rule

if TYPE_CHECKING:
    Judge = Callable[..., Judged]

ROWS = pa.table({"id": [1, 2, 2], "name": ["Ana", None, "x"]})
FIELDS = {"id": "integer", "name": "string"}
CSV = b"id,name\n1,Ana\n2,\n2,x\n"


@pytest.fixture(autouse=True)
def codec() -> Iterator[None]:
    """The codec examines a type once: it forgets members that ended with a test."""
    yield
    forget()


def forget() -> None:
    json_codec.decoder.cache_clear()
    json_codec.member_decoders.cache_clear()


def add_member(monkeypatch: pytest.MonkeyPatch, kind: type[Enum], value: str) -> Any:
    """A new member of an enumeration, until the test ends."""
    member: Any = object.__new__(kind)
    member._name_, member._value_ = value.upper(), value
    monkeypatch.setitem(kind._member_map_, value.upper(), member)
    monkeypatch.setitem(kind._value2member_map_, value, member)
    monkeypatch.setattr(kind, "_member_names_", [*kind._member_names_, value.upper()])
    forget()
    return member


class FeatherReader:
    """Arrow's own file format, one record batch after the other (`lakegate.engine.read.stored_columns.Reader`)."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def described(self, address: str) -> Table:
        with self._store.stream(address) as source, pa.ipc.open_file(source) as file:
            parts = tuple((each.name, physical(each.type)) for each in file.schema)
            rows = sum(file.get_batch(at).num_rows for at in range(file.num_record_batches))
            return Table(Physical(Kind.RECORD, "record", parts=parts), rows, (0, file.num_record_batches))

    def batches(self, share: Share, names: list[str]) -> Iterator[pa.RecordBatch]:
        with self._store.stream(share.address) as source, pa.ipc.open_file(source) as file:
            for at in range(share.start, share.end):
                yield file.get_batch(at).select(names)


def feather(rows: pa.Table) -> bytes:
    content = io.BytesIO()
    with pa.ipc.new_file(content, rows.schema) as file:
        file.write_table(rows)
    return content.getvalue()


def test_a_format_is_a_row_of_the_model_and_an_opener(monkeypatch: pytest.MonkeyPatch, judge_files: Judge) -> None:
    """A plan names it, other files are refused by its title, and its files are judged as any other."""
    toy = add_member(monkeypatch, Format, "feather")
    monkeypatch.setitem(FORMATS, toy, FormatSpec("a Feather file", ".feather", b"ARROW1"))
    monkeypatch.setitem(OPENERS, toy, lambda plan, parts, store, _: open_tables(FeatherReader(store), plan, parts))
    plan = replace(plan_of(FIELDS, rule("unique", "id"), rule("required", "name")), storage=Storage(toy))
    plan = Plan.from_json(plan.to_json())

    assert plan.storage.suffix == ".feather"
    assert judge_files(plan, feather(ROWS)).statuses() == judge_files(plan_of_csv(), CSV).statuses()
    assert "the contract promises a Feather file" in judge_files(plan, b"PAR1").reasons
    assert "deliver what it promises" not in refusals(canonical(plan), 4, b"PAR1")[0]


def plan_of_csv() -> Plan:
    return plan_of(FIELDS, rule("unique", "id"), rule("required", "name"))


def test_a_compression_is_a_row_of_the_model(monkeypatch: pytest.MonkeyPatch, judge_files: Judge) -> None:
    """The door and the engine decompress it by the decompressor of its row, and refuse what is not compressed so."""
    toy = add_member(monkeypatch, Compression, "xz")
    spec = CompressionSpec(".xz", b"\xfd7zXZ", lzma.LZMADecompressor, failures=(lzma.LZMAError, EOFError))
    monkeypatch.setitem(COMPRESSIONS, toy, spec)
    plan = replace(plan_of_csv(), storage=Storage(Format.CSV, toy))
    plan = Plan.from_json(plan.to_json())
    packed, other = lzma.compress(CSV), lzma.compress(b"a,b\n1,2\n")

    assert plan.storage.suffix == ".csv.xz"
    assert judge_files(plan, packed).statuses() == judge_files(plan_of_csv(), CSV).statuses()
    assert refusals(canonical(plan), len(packed), packed) == ()
    assert refusals(canonical(plan), len(other), other)[0].startswith("file/readable: the first line names none")
    assert "not compressed" in judge_files(plan, CSV).reasons
    assert "declare compression: xz" in judge_files(plan_of_csv(), packed).reasons
    assert "cannot be unpacked" in judge_files(plan, packed[:-8]).reasons


def longest(monkeypatch: pytest.MonkeyPatch) -> Check:
    """A check of a metric that the project does not have: the length of the longest text is at most 2."""
    toy = add_member(monkeypatch, Metric, "longest")
    monkeypatch.setitem(METRICS, toy, MetricSpec(Number.FLOATING, unit="characters"))
    monkeypatch.setitem(NUMBER_METRICS, toy, NumberMetric("length", "greatest", lambda found, _: float(found)))
    return Check("longest/name", "longest", "longest", ("name",), toy, Unit.VALUE, Tier(Interval(high=Decimal(2))))


def test_a_metric_is_a_row_of_the_plan_and_one_of_the_engine(
    monkeypatch: pytest.MonkeyPatch, judge_files: Judge
) -> None:
    """It is planned, measured over its population, compared with its threshold, and put into words."""
    plan = plan_of(FIELDS)
    plan = Plan.from_json(replace(plan, checks=(*plan.checks, longest(monkeypatch))).to_json())

    judged = judge_files(plan, CSV)

    assert judged.statuses()["longest/name"] is Status.FAIL
    assert "measured 3" in judged.reasons
    assert judged.result.measurements[-1].accept.number == 3  # type: ignore[union-attr] # it is measured


def test_a_refusal_by_first_bytes_is_one_row(monkeypatch: pytest.MonkeyPatch, judge_files: Judge) -> None:
    """The door and the engine both apply it."""

    def refuse_html(head: bytes, *_: object) -> tuple[str, str] | None:
        return ("html", "the file is a web page: deliver the data") if head.startswith(b"<!DOCTYPE html") else None

    page, plan = b"<!DOCTYPE html>\n", plan_of_csv()
    monkeypatch.setitem(file_signatures.TEXT_REFUSALS, "html", refuse_html)

    assert refusals(canonical(plan), len(page), page) == ("file/readable: the file is a web page: deliver the data",)
    assert judge_files(plan, page).result.unreadable.code == "html"  # type: ignore[union-attr] # it is unreadable
    assert "is a web page" in judge_files(plan, page).reasons


def test_a_refusal_of_an_arrival_is_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first row with reasons decides."""
    reasons = ("file/odd: the object has an odd number of bytes",)
    monkeypatch.setitem(REFUSALS, "odd", lambda arrival: reasons if arrival.size % 2 else ())

    assert refusals(canonical(plan_of_csv()), len(CSV), CSV) == (reasons if len(CSV) % 2 else ())
    assert refusals(canonical(plan_of_csv()), len(CSV) + 1, CSV + b"\n") == (() if len(CSV) % 2 else reasons)
