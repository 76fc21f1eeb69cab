"""The same bytes give the same answer, however they are cut, ordered or timed (P20)."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from lakegate.contract.file_formats import Csv
from lakegate.engine.read import csv
from lakegate.verdict.verdict import Verdict
from tests.deliveries.delivery import Judged, plan_of, rule

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = pytest.mark.spark
FULL = pytest.mark.full
HEADER = "number,name,share,day,moment\n"
PLAN = plan_of(
    {"number": "integer", "name": "string", "share": "number", "day": "date", "moment": "timestamp"},
    rule("unique", "number"),
    rule("required", "name"),
    rule("maximum", "day", value="2024-03-01"),
    rule("maximum", "moment", value="2024-03-31T01:30:00"),
    rule("primaryKey", "moment", "day"),
    rule("mean", "share", parameter="0.5"),
    rule("stdev", "share", parameter="0.3"),
    rule("pattern", "name", pattern="^(nn|nnn)*$"),
)
ZONES = ("Asia/Kathmandu", "America/Sao_Paulo", "Europe/Berlin")


def rows(seed: int, count: int = 210) -> list[str]:
    """Records of which some break each rule, one is malformed, and line lengths differ."""
    chance = random.Random(seed)
    records = [
        f"{chance.randrange(count * 4)},{'n' * chance.randrange(9)},{chance.random():.17g},"
        f"2024-0{chance.randint(1, 3)}-0{chance.randint(1, 9)},"
        f"2024-03-{chance.choice((10, 31))}T0{chance.randrange(4)}:30{chance.choice(('', ':00', '+01:00', 'Z'))}"
        for _ in range(count)
    ]
    return [*records[:100], "bad", *records[100:]]


def whole(records: list[str]) -> bytes:
    return (HEADER + "\n".join(records) + "\n").encode()


SAME = whole(rows(1))


@pytest.fixture(scope="module")
def once(judge_files: Callable[..., Judged]) -> Judged:
    """The result of the job for the same bytes on an ordinary machine."""
    return judge_files(PLAN, SAME)


def essence(judged: Judged) -> object:
    """All that must not change: the verdict, every outcome, every number but those of floating point's last digits."""
    outcomes = [(each.id, each.status, each.measured, each.failing_rows) for each in judged.judgement.outcomes]
    return judged.verdict, judged.result.rows, judged.result.rejected_rows, outcomes


@pytest.mark.parametrize("pieces", [pytest.param(2, marks=FULL), 7, pytest.param(64, marks=FULL)])
def test_however_the_file_is_cut(
    pieces: int, judge_files: Callable[..., Judged], once: Judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In shares of several tasks (cut inside of lines): the same answer, down to the line of each sample."""
    monkeypatch.setattr(csv, "SHARE_BYTES", -(-len(SAME) // pieces))

    again = judge_files(PLAN, SAME)

    assert essence(again) == essence(once)
    assert again.result.malformed == once.result.malformed
    assert [each.samples for each in again.result.measurements] == [each.samples for each in once.result.measurements]
    assert once.verdict is Verdict.REJECTED


def test_utf_8_in_place_of_another_encoding_is_seen_in_whatever_share(
    judge_files: Callable[..., Judged], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The evidence of all shares of an object counts together: the job warns as the native engine does."""
    monkeypatch.setattr(csv, "SHARE_BYTES", 16)
    plan = plan_of({"town": "string"}, csv=Csv(encoding="windows-1252"))
    begun = "town\nHalle\nM\u00fcnchen\nUlm\n".encode()
    utf_8, mixed = begun + "K\u00f6ln\n".encode(), begun + b"K\xf6ln\n"

    assert [judge_files(plan, content).result.is_utf_8 for content in (utf_8, mixed)] == [True, False]


def test_in_whatever_order_records_and_objects_come(judge_files: Callable[..., Judged]) -> None:
    """Records shuffled, or spread over objects that come in any order: the same answer."""
    records = rows(2)
    once = judge_files(PLAN, whole(records))
    shuffled = random.Random(3).sample(records, len(records))
    parts = [whole(records[:50]), whole(records[50:51]), whole(records[51:])]

    assert essence(judge_files(PLAN, whole(shuffled))) == essence(once)
    assert essence(judge_files(PLAN, *parts)) == essence(once)
    assert essence(judge_files(PLAN, *reversed(parts))) == essence(once)


@pytest.fixture
def live_in(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Set the time zone of this process and its JVM."""
    zones = spark._jvm.java.util.TimeZone  # noqa: SLF001 - PySpark has no other way to the JVM's own time zone
    before = zones.getDefault()

    def live(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        zones.setDefault(zones.getTimeZone(zone))

    yield live
    zones.setDefault(before)
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("zone", [ZONES[0], *(pytest.param(zone, marks=FULL) for zone in ZONES[1:])])
def test_wherever_the_machine_stands(
    zone: str, judge_files: Callable[..., Judged], once: Judged, live_in: Callable[[str], None]
) -> None:
    """In another time zone (with an hour that never was on 31 March): the same answer."""
    live_in(zone)

    assert os.environ["TZ"] == zone
    assert essence(judge_files(PLAN, SAME)) == essence(once)


def test_whatever_zone_the_session_was_left_in(
    judge_files: Callable[..., Judged], once: Judged, spark: SparkSession
) -> None:
    """A session that somebody set to another time zone is set right by the job: the same answer."""
    spark.conf.set("spark.sql.session.timeZone", ZONES[0])

    assert essence(judge_files(PLAN, SAME)) == essence(once)
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


@pytest.mark.parametrize("partitions", [1, pytest.param(2, marks=FULL), 7, pytest.param(64, marks=FULL)])
def test_however_many_tasks_group_and_count(
    partitions: int, judge_files: Callable[..., Judged], once: Judged, spark: SparkSession
) -> None:
    """Keys and counts shuffled to that many tasks, planned adaptively or not, in batches of any size: the same answer."""
    settings = {
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.adaptive.enabled": str(partitions % 2 == 0).lower(),
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(10 * partitions),
    }
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)

    try:
        again = judge_files(PLAN, SAME)
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)

    assert essence(again) == essence(once)


def test_the_same_bytes_give_the_same_document(judge_files: Callable[..., Judged], once: Judged) -> None:
    """Two results of the same bytes differ only in their cost."""
    documents = [judge_files(PLAN, SAME).result.to_json(), once.result.to_json()]

    for each in documents:
        assert each.pop("timings")
        assert each.pop("vcpu_seconds") > 0
    assert documents[0] == documents[1]
