"""Bytes: a field of the type `binary` in every format that has a form for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest

from lakegate.contract.file_formats import Format, Storage
from lakegate.plan.plan import Plan
from lakegate.verdict.check_status import Status
from lakegate.verdict.verdict import Verdict
from tests.deliveries.delivery import Judged, plan_of, rule, with_classification
from tests.deliveries.written import as_jsonl, as_parquet, written

TABLES = (Format.PARQUET, Format.ORC, Format.AVRO)
BYTES = pa.table({"id": [1, 2, 3, 4], "raw": pa.array([b"AB\x00", b"AB\xff", None, b"\xc3\x28"], pa.binary())})
FIELDS = {"id": "integer", "raw": "binary"}


def plan_for(form: Format, *rules: str, **arguments: object) -> Plan:
    plan = plan_of(FIELDS, *(rule(kind, "raw", **arguments) for kind in rules))
    return with_storage(plan, form)


def with_storage(plan: Plan, form: Format) -> Plan:

    return replace(plan, storage=Storage(form))


@pytest.mark.parametrize("form", TABLES)
def test_columns_of_bytes_are_accepted_and_compared_byte_by_byte(
    form: Format, judge_files: Callable[..., Judged]
) -> None:
    """Bytes that differ in one byte are two values, whether they are text or not; null is null."""
    judged = judge_files(plan_for(form, "unique"), written(BYTES, Storage(form)))

    assert Verdict.ACCEPTED is judged.verdict
    assert set(judged.statuses().values()) == {Status.PASS}


@pytest.mark.parametrize("form", TABLES)
def test_bytes_have_lengths_and_patterns(form: Format, judge_files: Callable[..., Judged]) -> None:
    """Lengths count bytes; a pattern sees one character for each byte."""
    longest = judge_files(plan_for(form, "minLength", value=3), written(BYTES, Storage(form)))
    pattern = judge_files(plan_for(form, "pattern", pattern="^AB.$"), written(BYTES, Storage(form)))

    assert [failing(each) for each in (longest, pattern)] == [1, 1]


def failing(judged: Judged) -> int | None:
    return judged.judgement.reasons[-1].failing_rows


@pytest.mark.parametrize(("classification", "shape"), [("public", "c328"), (None, "9999")])
def test_samples_of_bytes_are_hexadecimal(
    classification: str | None, shape: str, judge_files: Callable[..., Judged]
) -> None:
    """Of a public field as they are, of any other only their number."""
    plan = plan_for(Format.PARQUET, "minLength", value=3)
    if classification:
        plan = with_classification(plan, raw=classification)

    judged = judge_files(plan, as_parquet(BYTES))

    assert [each.shapes for each in judged.judgement.reasons[-1].samples] == [(shape,)]


def test_fixed_and_texts_are_bytes_too(judge_files: Callable[..., Judged]) -> None:
    """Bytes of a fixed length, and texts, which are their UTF-8 bytes; a number is none."""
    fixed = pa.table({"id": [1], "raw": pa.array([b"\x00\x01"], pa.binary(2))})
    texts = pa.table({"id": [1], "raw": ["é"]})
    numbers = pa.table({"id": [1], "raw": [7]})

    plan = plan_for(Format.PARQUET, "minLength", value=2)
    verdicts = [judge_files(plan, as_parquet(each)).verdict for each in (fixed, texts, numbers)]

    assert verdicts == [Verdict.ACCEPTED, Verdict.ACCEPTED, Verdict.REJECTED]


def test_texts_of_csv_and_json_are_read_as_they_stand(judge_files: Callable[..., Judged]) -> None:
    """Neither has bytes: any text is a value."""
    csv = judge_files(plan_of(FIELDS), b"id,raw\n1,3q2+7w==\n")
    jsonl = judge_files(with_storage(plan_of(FIELDS), Format.JSONL), as_jsonl([{"id": 1, "raw": "deadbeef"}]))

    assert [each.verdict for each in (csv, jsonl)] == [Verdict.ACCEPTED, Verdict.ACCEPTED]
