"""Deliveries that cannot be read, and bombs: each ends in a verdict with a reason (readers: tests/unit/engine/read)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest

from lakegate.contract.file_formats import Compression, Format, Storage
from lakegate.verdict.verdict import Verdict
from tests.deliveries.delivery import Judged, plan_of, rule
from tests.deliveries.refused import BAD, BOMBS, CODES, FIELDS, MALFORMED, PACKED
from tests.deliveries.written import packed, written


def unreadable_code(judged: Judged) -> str:
    """The code of the one reason of a delivery that could not be read."""
    assert judged.verdict is Verdict.REJECTED
    assert [each.id for each in judged.judgement.reasons] == ["file/readable"]
    assert judged.result.unreadable is not None
    return judged.result.unreadable.code


def test_the_reason_names_both_codecs(judge_files: Callable[..., Judged]) -> None:
    """The one that was found, and the one that was promised."""
    plan = replace(plan_of(FIELDS), storage=Storage(Format.JSONL, Compression.GZIP))
    judged = judge_files(plan, PACKED[Format.JSONL, Compression.ZSTD])

    assert unreadable_code(judged) == "zstd"
    assert "packed with gzip" in judged.reasons


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_cannot_be_read_is_rejected(name: str, judge_files: Callable[..., Judged]) -> None:
    """Cut off, damaged or of another dataset: a verdict with one reason, never a failed attempt."""
    storage, content, code = BAD[name]

    assert unreadable_code(judge_files(replace(plan_of(FIELDS), storage=storage), content)) == code


SCHEMAS: dict[str, tuple[dict[str, pa.Array], str]] = {
    "a column less": ({"a": pa.array(["x"])}, "it lacks b"),
    "a column more": ({"a": pa.array(["x"]), "b": pa.array([1]), "c": pa.array([1])}, "it has 'c' beside"),
    "another type": ({"a": pa.array(["x"]), "b": pa.array(["1"])}, "it stores b as string, not as int64"),
    "another order": ({"b": pa.array([1]), "a": pa.array(["x"])}, "it has another order"),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_object_with_another_schema_is_named(name: str, judge_files: Callable[..., Judged]) -> None:
    """The delivery is refused with the object that differs from the first one, and with the difference."""
    columns, words = SCHEMAS[name]
    storage = Storage(Format.PARQUET)
    first = written(pa.table({"a": ["x"], "b": [1]}), storage)
    plan = replace(plan_of({"a": "string", "b": "integer"}), storage=storage)

    found = judge_files(plan, first, first, written(pa.table(columns), storage)).result.unreadable

    assert found is not None
    assert (found.code, found.part) == ("schema", 2)
    assert words in found.message


@pytest.mark.parametrize("name", MALFORMED)
@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
def test_a_bad_record_is_its_own_fault(name: str, codec: Compression, judge_files: Callable[..., Judged]) -> None:
    """One malformed line rejects with its row; the others are measured."""
    content, reason = MALFORMED[name]
    judged = judge_files(replace(plan_of(FIELDS), storage=Storage(Format.JSONL, codec)), packed(content, codec))

    assert [(each.reason, each.rows, each.first_row) for each in judged.result.malformed] == [(reason, 1, 2)]
    assert judged.result.rows == 2
    assert judged.verdict is Verdict.REJECTED


@pytest.mark.parametrize("name", ["gzip of rows", "zstd of an array", "Parquet of one number"])
def test_a_bomb_ends_in_a_verdict(name: str, judge_files: Callable[..., Judged]) -> None:
    """A file that decompresses beyond its bounds is refused during its evaluation, soon and with its reason (P13)."""
    storage, content = BOMBS[name]()
    began = time.monotonic()
    judged = judge_files(replace(plan_of(FIELDS, rule("required", "id")), storage=storage), content)

    assert unreadable_code(judged) == CODES.get(name, "bomb")
    assert time.monotonic() - began < 60
