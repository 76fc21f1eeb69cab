"""Patterns of file names: DCM's own forms, whole names, and nothing whose time has no bound."""

from __future__ import annotations

from contextlib import suppress
from time import process_time

import pytest

from lakegate.admission.refusals import fits
from lakegate.patterns.ecma_patterns import PatternError
from lakegate.patterns.name_patterns import file_names


@pytest.mark.parametrize(
    ("pattern", "fitting", "others"),
    [
        (
            r"(.*)southeast_\d{4}.csv",
            ["southeast_2026.csv", "w-southeast_1999.csv"],
            ["southeast_26.csv", "southeast_2026.csv.gz"],
        ),
        (r"(.*)southeast_\\d{4}.csv", ["southeast_2026.csv"], ["southeast_x.csv", "southeast_dddd.csv"]),
        ("*.csv", ["a.csv", ".csv"], ["a.csv.gz", "acsv"]),
        ("day_*.csv", ["day_.csv", "day_24.csv"], ["day.csv", "my_day_1.csv"]),
        ("day-?.csv", ["day-1.csv"], ["day-.csv", "day-12.csv"]),
        ("orders.csv", ["orders.csv"], ["ordersxcsv", "my-orders.csv"]),
        ("a|b", ["a", "b"], ["ab", "xa", "bx"]),
        ("^a$", ["a"], ["aa"]),
        ("(?!old).*", ["new.csv"], ["old.csv"]),
    ],
)
def test_a_name_matches_as_a_whole(pattern: str, fitting: list[str], others: list[str]) -> None:
    """As ECMA-262 or as a shell has it; a backslash that is printed twice is one."""
    assert [name for name in fitting if not fits(file_names(pattern), name)] == []
    assert [name for name in others if fits(file_names(pattern), name)] == []


def test_a_fetched_object_has_the_name_of_its_source() -> None:
    """Without what a pull puts before it, once."""
    made = "20261127T090000Z-0123456789ab-"

    rates = file_names("rates.csv")

    assert fits(rates, f"{made}rates.csv")
    assert fits(rates, f"{made}20261124T180000Z-rates.csv")
    assert not fits(rates, f"{made}{made}rates.csv")
    assert not fits(rates, f"{made[:-2]}-rates.csv")


@pytest.mark.parametrize(
    "pattern",
    [
        *("a)|(b", "(", "[", r"(a)\1", "(?<=a+)b", "(a+)+b", "(a|a)*b(x", "x" * 1_025, "(" * 60 + ")" * 60),
        *(r"a(?:ab)?\B(a|b)*a*", ".*[ab]{0,90}c?^a*[ab]{0,90}c?"),
    ],
)
def test_a_pattern_without_a_bound_is_refused(pattern: str) -> None:
    """None of these could be compared safely, or at all."""
    with pytest.raises(PatternError):
        file_names(pattern)


@pytest.mark.parametrize(
    "pattern", ["(.*)*x", "(a*)*b", "(.*)(.*)(.*)(.*)(.*)x", "((a|aa){1,9}){1,9}b", "*a" * 300, "(a?){200}a{200}"]
)
def test_the_worst_name_takes_no_time(pattern: str) -> None:
    """A pattern is refused, or searches the longest key in a moment."""
    began = process_time()
    with suppress(PatternError):
        fits(file_names(pattern), "a" * 1_024)

    assert process_time() - began < 2
