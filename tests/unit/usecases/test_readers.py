"""The part of a readers' manifest that answers for a time."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.contracts.lake.projection import Projection, select
from lakegate.functions.usecases.layout import manifest_key
from lakegate.functions.usecases.readers import read_manifest, whole
from tests.reference.sampling import sampled
from tests.simulation.environment import LINE, PREFIX
from tests.simulation.sliced import PLAN, Line, settled

if TYPE_CHECKING:
    from lakegate.functions.ports.objects import Address
    from lakegate.functions.usecases.dependencies import Dependencies


class Asked:
    """A store that knows what was read of it."""

    def __init__(self, line: Line) -> None:
        self.objects, self.keys = line.env.memory.objects, list[str]()

    def read(self, address: Address) -> bytes:
        self.keys.append(address.key)
        return self.objects.read(address)


@pytest.fixture(scope="module")
def line() -> Line:
    """Nine deliveries, some hours apart; two heights are a segment."""
    made = Line.of(plan=PLAN)
    for number in range(9):
        made.env.upload(f"{PREFIX}{number}.csv", b"good:" + b"1" * (number + 1))
        settled(made)
    return made


def deliveries_of(line: Line, until: datetime | None) -> tuple[list[dict[str, Any]], list[str]]:
    asked = Asked(line)
    dependencies: Dependencies = replace(line.env.dependencies, objects=asked)  # type: ignore[arg-type]  # as far as it is read
    head = read_manifest(dependencies, manifest_key(LINE), LINE)
    return whole(dependencies, head, -1, until)["deliveries"], asked.keys


def test_later_segments_are_not_read(line: Line) -> None:
    """Behind the first one whose deliveries are all later, nothing is."""
    everything, keys = deliveries_of(line, None)
    times = [datetime.fromisoformat(each["published_at"]) for each in everything]
    first, read = deliveries_of(line, times[0])
    last, _ = deliveries_of(line, times[-1])

    assert (len(everything), len(keys)) == (9, 5)
    assert (first, len(read)) == (everything[:2], 3)
    assert last == everything


@sampled(50, 500)
@given(st.integers(-1, 9), st.integers(-2 * 3600, 2 * 3600))
def test_a_part_of_the_manifest_answers_as_all_of_it_does(line: Line, number: int, seconds: int) -> None:
    """Whatever the time is: the same slices, and the same height to continue from."""
    everything, _ = deliveries_of(line, None)
    time = datetime.fromisoformat(everything[min(max(number, 0), 8)]["published_at"])
    wanted = Projection(as_at=datetime.fromtimestamp(time.timestamp() + seconds, time.tzinfo))
    part, all_of_it = (select(each, wanted) for each in (deliveries_of(line, wanted.as_at)[0], everything))

    assert replace(part, skipped=0) == replace(all_of_it, skipped=0)
