"""The part of a readers' manifest that answers for a time."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.gate.datasets.readers_manifest import CLOCKS, published_since, read_manifest, whole
from lakegate.gate.datasets.slice_projection import Projection, select
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.lake_layout import manifest_key
from lakegate.gate.ports import Address
from tests.reference.sampling import sampled
from tests.simulation.environment import LINE, PREFIX
from tests.simulation.sliced import PLAN, SlicedDataset, settled


class Asked:
    """A store that knows what was read of it."""

    def __init__(self, line: SlicedDataset) -> None:
        self.objects, self.keys = line.env.memory.objects, list[str]()

    def read(self, address: Address) -> bytes:
        self.keys.append(address.key)
        return self.objects.read(address)


@pytest.fixture(scope="module")
def line() -> SlicedDataset:
    """Nine deliveries, some hours apart; two heights are a segment."""
    made = SlicedDataset.of(plan=PLAN)
    for number in range(9):
        made.env.upload(f"{PREFIX}{number}.csv", b"good:" + b"1" * (number + 1))
        settled(made)
    return made


def deliveries_of(line: SlicedDataset, until: datetime | None) -> tuple[list[dict[str, Any]], list[str]]:
    asked = Asked(line)
    dependencies: Dependencies = replace(line.env.dependencies, objects=asked)  # type: ignore[arg-type]  # as far as it is read
    head = read_manifest(dependencies, manifest_key(LINE), LINE)
    return whole(dependencies, head, -1, until)["deliveries"], asked.keys


def test_later_segments_are_not_read(line: SlicedDataset) -> None:
    """Behind the first one whose deliveries are all later, nothing is: of that one the first may have had its turn before."""
    everything, keys = deliveries_of(line, None)
    times = [datetime.fromisoformat(each["published_at"]) for each in everything]
    first, read = deliveries_of(line, times[0])
    last, _ = deliveries_of(line, times[-1])

    assert (len(everything), len(keys)) == (9, 5)
    assert (first, len(read)) == (everything[:4], 3)
    assert last == everything


@sampled(50, 500)
@given(st.integers(-1, 9), st.integers(-2 * 3600, 2 * 3600))
def test_a_part_of_the_manifest_answers_as_all_of_it_does(line: SlicedDataset, number: int, seconds: int) -> None:
    """Whatever the time is: the same slices, and the same height to continue from."""
    everything, _ = deliveries_of(line, None)
    time = datetime.fromisoformat(everything[min(max(number, 0), 8)]["published_at"])
    wanted = Projection(as_at=datetime.fromtimestamp(time.timestamp() + seconds, time.tzinfo))
    part, all_of_it = (select(each, wanted) for each in (deliveries_of(line, wanted.as_at)[0], everything))

    assert replace(part, skipped=0) == replace(all_of_it, skipped=0)


def published_from(line: SlicedDataset, begin: datetime) -> tuple[list[dict[str, Any]], int, list[str]]:
    """What was published since a time, from what is read, the height before it, and the keys that were read."""
    asked = Asked(line)
    dependencies: Dependencies = replace(line.env.dependencies, objects=asked)  # type: ignore[arg-type]  # as far as it is read
    head = read_manifest(dependencies, manifest_key(LINE), LINE)
    manifest, height = published_since(dependencies, head, begin)
    assert manifest["segments"]["count"] == 0
    return [each for each in manifest["deliveries"] if each["height"] > height], height, asked.keys


def test_earlier_segments_are_not_read(line: SlicedDataset) -> None:
    """Before the one that has an earlier delivery, nothing is; of a time before the line, all is wanted."""
    everything, _ = deliveries_of(line, None)
    times = [datetime.fromisoformat(each["published_at"]) for each in everything]
    last, height, read = published_from(line, times[-1])
    middle, _, some = published_from(line, times[5])
    begin = times[0] - timedelta(days=1)

    assert (last, height, len(read)) == (everything[8:], 7, 2)
    assert (middle, len(some)) == (everything[5:], 3)
    assert published_from(line, begin)[:2] == (everything, -1)
    assert published_from(line, times[-1] + timedelta(days=1)) == ([], 8, read[:1])


@sampled(50, 500)
@given(st.integers(0, 8), st.integers(-2 * 3600, 2 * 3600), st.integers(0, 8), st.floats(0, 1))
def test_a_part_of_the_manifest_has_all_that_was_published_since_a_time(
    line: SlicedDataset, number: int, seconds: int, late: int, part: float
) -> None:
    """Whatever the time is, also where the clock of one delivery was behind: nothing is missed."""
    objects = line.env.memory.objects
    everything, _ = deliveries_of(line, None)
    changed = [dict(each) for each in everything]
    time = datetime.fromisoformat(changed[late]["published_at"]) - CLOCKS * part
    changed[late]["published_at"] = time.isoformat()
    begin = datetime.fromisoformat(everything[number]["published_at"]) + timedelta(seconds=seconds)
    wanted = [each["height"] for each in changed if datetime.fromisoformat(each["published_at"]) >= begin]
    asked = Asked(line)
    asked.read = lambda address: objects.read(address).replace(  # type: ignore[method-assign]
        json.dumps(everything[late]["published_at"]).encode(), json.dumps(changed[late]["published_at"]).encode()
    )
    dependencies: Dependencies = replace(line.env.dependencies, objects=asked)  # type: ignore[arg-type]  # as far as it is read
    head = read_manifest(dependencies, manifest_key(LINE), LINE)

    manifest, height = published_since(dependencies, head, begin)

    found = [each["height"] for each in manifest["deliveries"] if each["height"] > height]
    assert found == list(range(min(wanted, default=9), 9))
