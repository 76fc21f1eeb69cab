"""Files of every format that are not what they should be, and bombs: each ends in a verdict with a reason."""

from __future__ import annotations

import resource
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from spark_jobs.lines import Stream, batches

from contracts.model import Compression, Format, Storage
from contracts.verdict import Verdict
from tests.spark.delivery import plan_of, rule
from tests.spark.refused import BAD, BOMBS, CODES, FIELDS, MALFORMED, MIXED, PACKED, PARQUET, PIECES, WRONG_CODEC
from tests.spark.written import as_parquet, packed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.spark.delivery import Judged

pytestmark = pytest.mark.spark


def refused(judged: Judged) -> str:
    """The one reason of a delivery that could not be read."""
    assert judged.verdict is Verdict.REJECTED
    assert [each.id for each in judged.judgement.reasons] == ["file/readable"]
    assert judged.result.unreadable is not None
    return judged.result.unreadable.code


@pytest.mark.parametrize(("storage", "name"), MIXED, ids=lambda it: it if isinstance(it, str) else it.suffix)
def test_another_format_is_refused_by_its_first_bytes(
    storage: Storage, name: str, judge_files: Callable[..., Judged]
) -> None:
    """Each format where each other one was promised, packed or plain: told before any scan, never by a name."""
    refused(judge_files(replace(plan_of(FIELDS), storage=storage), PIECES[name]))


@pytest.mark.parametrize(("promised", "delivered"), WRONG_CODEC, ids=str)
def test_another_codec_is_refused(
    promised: Compression, delivered: Compression, judge_files: Callable[..., Judged]
) -> None:
    """The reason names both."""
    plan = replace(plan_of(FIELDS), storage=Storage(Format.JSONL, promised))
    judged = judge_files(plan, PACKED[Format.JSONL, delivered])

    assert refused(judged) == delivered.value
    assert f"packed with {promised.value}" in judged.reasons


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_cannot_be_read_is_rejected(name: str, judge_files: Callable[..., Judged]) -> None:
    """Cut off, damaged or of another dataset: never read as a shorter file, never a failed job."""
    storage, content, code = BAD[name]

    assert refused(judge_files(replace(plan_of(FIELDS), storage=storage), content)) == code


def test_objects_of_one_delivery_have_one_schema(judge_files: Callable[..., Judged]) -> None:
    """Two Parquet files that differ in a type are no delivery."""
    other = as_parquet(pa.table({"id": pa.array([1], pa.int32()), "name": ["Ana"]}))

    assert refused(judge_files(replace(plan_of(FIELDS), storage=PARQUET), PIECES["parquet"], other)) == "schema"


@pytest.mark.parametrize("name", MALFORMED)
@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
def test_a_bad_record_is_its_own_fault(name: str, codec: Compression, judge_files: Callable[..., Judged]) -> None:
    """One malformed line rejects with its row; the others are measured."""
    content, reason = MALFORMED[name]
    judged = judge_files(replace(plan_of(FIELDS), storage=Storage(Format.JSONL, codec)), packed(content, codec))

    assert [(each.reason, each.rows, each.first_row) for each in judged.result.malformed] == [(reason, 1, 2)]
    assert judged.result.rows == 2
    assert judged.verdict is Verdict.REJECTED


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_ends_in_a_verdict(name: str, judge_files: Callable[..., Judged]) -> None:
    """Whatever unpacks beyond its bounds is refused, soon and with its reason (P13)."""
    storage, content = BOMBS[name]()
    began = time.monotonic()
    judged = judge_files(replace(plan_of(FIELDS, rule("required", "id")), storage=storage), content)
    took = time.monotonic() - began

    assert refused(judged) == CODES.get(name, "bomb")
    assert took < 60


@pytest.mark.parametrize(
    "name", [name for name, bomb in BOMBS.items() if "zip" in name or "zstd" in name or "array" in name]
)
def test_counting_a_bomb_takes_bounded_memory(name: str, tmp_path: Path) -> None:
    """A worker that reads it grows by less than 256 MiB (P13)."""
    storage, content = BOMBS[name]()
    path = tmp_path / "bomb"
    path.write_bytes(content)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    stream = Stream(path.as_uri(), storage.compression, storage.format is Format.JSON, None, skips_mark=False)
    ends = [batch.column("broken")[-1].as_py() for batch in batches(stream)]

    assert ends[-1] in {"bomb", "array"}
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 256 << 10


def test_the_corpus_is_large_enough() -> None:
    """At least 120 files that are not what they should be."""
    assert len(MIXED) + len(WRONG_CODEC) + len(BAD) + 2 * len(MALFORMED) + len(BOMBS) >= 120
