"""Lines of records in a share: what the driver keeps of each record that breaks nothing."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.engine.measure.partial_results import AscendingLines, Broken, Partial


@given(st.lists(st.integers(0, 10**12), unique=True).map(sorted))
def test_lines_are_those_of_the_array(lines: list[int]) -> None:
    """Whatever lies between them, also none at all."""
    found = AscendingLines.of(np.array(lines, np.int64))

    assert found.numbers().tolist() == lines
    assert (found.count, found.numbers().dtype) == (len(lines), np.int64)


@pytest.mark.parametrize(("lines_of_a_record", "most"), [(1, 1_000), (3, 1_100_000)])
def test_a_record_that_breaks_nothing_takes_no_memory_of_the_driver(lines_of_a_record: int, most: int) -> None:
    """A million records: nothing for each where a record is a line, else a byte; eight bytes each would be 8 MB.

    500 GB of CSV have three billion records, and Spark's results together are bounded (spark.driver.maxResultSize).
    """
    lines = np.arange(5, 5 + 1_000_000 * lines_of_a_record, lines_of_a_record)
    partial = Partial(0, broken=[Broken(AscendingLines.of(lines), {})])

    assert len(pickle.dumps(partial)) < most
