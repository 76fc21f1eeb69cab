"""Times in names of objects."""

from __future__ import annotations

import string
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.contract.name_times import LONGEST_NAME_FORMAT, pattern_of, time_in

DAY = datetime(2026, 11, 24, tzinfo=UTC)


@pytest.mark.parametrize(
    ("written", "name", "found"),
    [
        ("_%Y-%m-%d", "in/customers_2026-11-24.csv", DAY),
        ("%d.%m.%Y", "24.11.2026", DAY),
        ("dt=%Y%m%d/", "in/dt=20261124/customers.csv", DAY),
        ("%Y%m%dT%H%M%S", "a20261124T175507.csv", datetime(2026, 11, 24, 17, 55, 7, tzinfo=UTC)),
        ("%Y%m%d-%H", "20261124-17", datetime(2026, 11, 24, 17, tzinfo=UTC)),
        ("%Y%m%d", "20261123/20261124", DAY),
        ("%Y%m%d", "20261124/99999999", DAY),
        ("100%%_%Y%m%d", "100%_20261124", DAY),
        ("a.%Y%m%d", "ab20261124", None),
        ("%Y%m%d", "20261131", None),
        ("%Y%m%d", "\u0662\u0660261124", None),
    ],
)
def test_a_time_is_found_in_a_name(written: str, name: str, found: datetime | None) -> None:
    """The last one that is a time, in UTC; other characters stand for themselves, and digits are those of ASCII."""
    assert time_in(written, name) == found


@pytest.mark.parametrize(
    ("key", "found"),
    [
        (f"in/{'20260101' * 8}/all.csv", None),
        (f"{'20260101' * 8}/all.csv", None),
        (f"in/{'20260101' * 8}/all_20261124.csv", datetime(2026, 11, 24, tzinfo=UTC)),
        (f"in/a{'20260101' * 8}/all.csv", datetime(2026, 1, 1, tzinfo=UTC)),
        ("in/20261125T060000Z-a20240101bcd-all.csv", datetime(2026, 11, 25, tzinfo=UTC)),
        ("in/20261125T060000Z-a20240101bcd-all_20261124.csv", datetime(2026, 11, 24, tzinfo=UTC)),
        ("in/a20240101bcd-all.csv", datetime(2024, 1, 1, tzinfo=UTC)),
    ],
)
def test_no_digits_of_a_hash_in_a_key_are_a_time(key: str, found: datetime | None) -> None:
    """Identifiers of announced uploads, and digests in the keys of what was pulled, are no text of the producer."""
    assert time_in("%Y%m%d", key) == found


@pytest.mark.parametrize(
    "written",
    [
        "",
        "%Y-%m",
        "%Y%m%d%Y",
        "%Y%m%d%q",
        "%Y%m%d%",
        "%Y%m%d%M",
        "%Y%m%d%H%S",
        "%Y%m%d%\n",
        "%Y%m%d".rjust(LONGEST_NAME_FORMAT + 1),
    ],
)
def test_a_text_without_a_day_is_no_pattern(written: str) -> None:
    """Year, month and day, then as much of the time as there is; each once."""
    assert pattern_of(written) is None
    assert time_in(written, "20261124") is None


@given(
    st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)),  # noqa: DTZ001 - they get one below
    st.text(string.printable.replace("%", "").translate(dict.fromkeys(range(48, 58))), max_size=9),
    st.text(max_size=9),
)
def test_what_a_pattern_writes_it_finds(at: datetime, text: str, around: str) -> None:
    """Whatever stands around it that has no digits."""
    around = "".join(each for each in around if not each.isdigit())
    written = f"{text}%Y%m%d{text}%H%M%S"
    name = f"{around}{text}{at.year:04}{at:%m%d}{text}{at:%H%M%S}{around}"

    assert time_in(written, name) == at.replace(microsecond=0, tzinfo=UTC)
