"""The same bytes give the same result, however they are cut, and by however many threads they are evaluated (P20)."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.contract.file_formats import Compression, Csv, Format, Storage
from lakegate.engine.read import csv
from lakegate.plan.result import MalformedRecords, Result, Sample
from tests.deliveries.delivery import Judged, plan_of, rule
from tests.deliveries.written import packed
from tests.reference.sampling import sampled
from tests.spark.test_sameness import PLAN, essence, rows, whole


def document(result: Result) -> object:
    """A result but for what it cost."""
    return replace(result, timings={}, vcpu_seconds=None)


@sampled(6, 500)
@given(seed=st.integers(0, 10**6), share=st.integers(1_000, 20_000), threads=st.integers(1, 8))
def test_shares_and_threads_change_nothing(
    judge_files: Callable[..., Judged], seed: int, share: int, threads: int
) -> None:
    """In shares of any size, evaluated by any number of threads: the whole document is that of one share."""
    content = whole(rows(seed))
    once = judge_files(PLAN, content)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(csv, "SHARE_BYTES", share)
        patched.setattr(os, "cpu_count", lambda: threads)
        again = judge_files(PLAN, content)

    assert essence(again) == essence(once)
    assert again.result.malformed == once.result.malformed
    assert [each.samples for each in again.result.measurements] == [each.samples for each in once.result.measurements]


def test_two_runs_give_one_document(judge_files: Callable[..., Judged]) -> None:
    """Two runs over the same bytes differ in nothing but what they cost."""
    content = whole(rows(1))

    assert document(judge_files(PLAN, content).result) == document(judge_files(PLAN, content).result)


@pytest.mark.parametrize("codec", Compression)
def test_a_codec_changes_nothing(codec: Compression, judge_files: Callable[..., Judged]) -> None:
    """Packed bytes give the result of plain ones."""
    plan = replace(PLAN, storage=Storage(Format.CSV, codec))

    assert essence(judge_files(plan, packed(whole(rows(1)), codec))) == essence(judge_files(PLAN, whole(rows(1))))


def test_in_whatever_order_records_and_objects_come(judge_files: Callable[..., Judged]) -> None:
    """Records shuffled, or spread over objects that come in any order: the same answer."""
    records = rows(2)
    once = judge_files(PLAN, whole(records))
    shuffled = random.Random(3).sample(records, len(records))
    parts = [whole(records[:50]), whole(records[50:51]), whole(records[51:])]

    assert essence(judge_files(PLAN, whole(shuffled))) == essence(once)
    assert essence(judge_files(PLAN, *parts)) == essence(once)
    assert essence(judge_files(PLAN, *reversed(parts))) == essence(once)


def test_a_quote_that_stays_open_is_the_last_record(
    judge_files: Callable[..., Judged], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records of several lines are put together wherever the file is cut; an open quote ends with the file."""
    plan = plan_of({"number": "integer", "text": "string"}, rule("unique", "text"), csv=Csv(multi_line=True))
    text = '"{0}\n""{0}\n"'
    content = "number,text\n" + "".join(f"{number},{text.format(number)}\n" for number in range(200)) + '200,"open\n'
    once = judge_files(plan, content.encode())
    monkeypatch.setattr(csv, "SHARE_BYTES", -(-len(content) // 7))
    again = judge_files(plan, content.encode())

    assert essence(again) == essence(once)
    assert (
        again.result.malformed
        == once.result.malformed
        == (MalformedRecords("quotes", 1, 602, is_last=True, samples=(Sample(602, ()),)),)
    )


@pytest.mark.parametrize("share", [5, 11, 8 << 20])
def test_a_value_keeps_a_byte_order_mark_wherever_the_file_is_cut(
    share: int, judge_files: Callable[..., Judged], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the file has a mark that is no part of its text: a value that begins with one differs from the value without."""
    monkeypatch.setattr(csv, "SHARE_BYTES", share)
    plan = plan_of({"text": "string", "number": "integer"}, rule("unique", "text"))
    content = "text,number\n" + "".join(f"{mark}a{at},{at}\n" for at in range(30) for mark in ("\ufeff", ""))

    judged = judge_files(plan, content.encode())

    assert [each.accept and each.accept.failing for each in judged.result.measurements] == [0, 0, 0]
