"""The memory of a judgement grows with what a file holds by a stated constant: the smallest size of each series."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.deliveries.judged import Judge, judge
from tests.security.growth import ABOVE, CSV, PLAIN, SERIES, SMALL, judged


@pytest.fixture(scope="module")
def judging() -> Iterator[Judge]:
    """It is one process for the tests of this file."""
    with judge() as found:
        yield found


@pytest.fixture(scope="module")
def small(judging: Judge) -> int:
    """The peak where a small file is judged by a process that has imported all that it needs."""
    return [judging(CSV, SMALL, PLAIN).peak for _ in range(2)][-1]


@pytest.mark.parametrize("name", SERIES)
def test_memory_grows_by_a_stated_constant(name: str, judging: Judge, small: int) -> None:
    """The verdict is as expected, and what the file takes beside 192 MiB is no more than its units may take."""
    series = SERIES[name]
    found = judged(judging, series, series.sizes[0])

    assert found.verdict == series.verdict
    assert found.peak - small <= ABOVE + series.memory * series.sizes[0]
