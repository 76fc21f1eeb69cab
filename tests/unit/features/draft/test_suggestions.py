"""What a draft suggests of a column: patterns, ranges, lists, shares, personal data, keys, freshness."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.contract.documents.yaml_writer import Mapping, YamlEntry, write_document
from lakegate.contract.logical_types import LogicalType
from lakegate.features.draft.found_fields import Values
from lakegate.features.draft.suggestions import (
    CODES,
    DIGIT,
    UUID,
    bounds,
    first_day,
    freshness,
    last_day,
    options,
    others,
    pattern_of,
    primary_key,
    quality,
    share,
    sounds_like_key,
    type_note,
    whole_bounds,
    why_personal,
)
from tests.unit.features.draft.columns import ROWS, column, of

NUMBERS = st.decimals(-(10**12), 10**12, allow_nan=False, places=3)
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("shapes", "extremes", "pattern"),
    [
        ([("AAA-999", 100)], ("ABC-001", "XYZ-999"), "^[A-Z]{3}-[0-9]{3}$"),
        ([("AAA-99999999", 100)], ("ORD-00000001", "ORD-00011520"), "^ORD-[0-9]{8}$"),
        ([("a9", 60), ("a99", 40)], ("n1", "n99"), "^n[0-9]{1,2}$"),
        ([("9a", 60), ("999a", 40)], ("1x", "999x"), "^[0-9]{1,3}[a-z]$"),
        ([("AA9", 100)], ("AB1", "AB1"), "^AB[0-9]$"),
        ([("A", 100)], ("X", "X"), "^X$"),
        ([("99999", 100)], ("00123", "99999"), "^[0-9]{5}$"),
        ([("9.9.9", 50), ("9/9", 50)], ("1.1.1", "9/9"), "^(?:[0-9]\\.[0-9]\\.[0-9]|[0-9]\\/[0-9])$"),
        ([("AA", 100)], ("AR", "US"), "^[A-Z]{2}$"),
        ([("AA", 50), ("AAA", 50)], ("AR", "USA"), None),
        ([("Aaa", 100)], ("Ana", "Eva"), None),
        ([("AAAAAAAA", 100)], ("AAAAAAAA", "ZZZZZZZZ"), None),
        ([("9ã", 100)], ("1ã", "2ã"), None),
        ([("9\n", 100)], ("1\n", "2\n"), None),
        ([("9-9-9-9-9-9-9", 100)], ("1", "2"), None),
        ([("9", 40), ("a9", 30), ("A9", 20), ("9a", 10)], ("1", "9a"), None),
        ([("9", 99)], ("1", "9"), None),
        ([("", 100)], ("", ""), None),
        ([], ("a", "b"), None),
    ],
)
def test_a_pattern_from_shapes(shapes: list[tuple[str, int]], extremes: tuple[str, str], pattern: str | None) -> None:
    """Few forms of codes that all values have make a pattern; words, many forms and strange characters do not."""
    values = Values(low=extremes[0], high=extremes[1], shapes=tuple(shapes))

    assert pattern_of(values, 100) == pattern


@pytest.mark.parametrize(
    ("counts", "lengths", "pattern"),
    [
        ({UUID: 100, DIGIT: 100}, (36, 36), f"^{UUID}$"),
        ({UUID: 99, DIGIT: 100}, (36, 36), None),
        ({"[A-Z0-9]+": 100, DIGIT: 1}, (4, 4), "^[A-Z0-9]{4}$"),
        ({"[A-Z0-9]+": 100, DIGIT: 0}, (4, 4), None),
        ({"[A-Z0-9]+": 100, DIGIT: 1}, (3, 4), None),
        ({"[0-9a-f]+": 100, DIGIT: 90}, (40, 40), "^[0-9a-f]{40}$"),
        ({"[A-Z0-9]+": 99, "[0-9a-f]+": 1, DIGIT: 90}, (4, 4), None),
    ],
)
def test_a_pattern_of_codes_of_many_shapes(
    counts: dict[str, int], lengths: tuple[int, int], pattern: str | None
) -> None:
    """UUIDs, and codes of one length of which some have digits, make a pattern; words in capitals do not."""
    codes = tuple((each, counts.get(each, 0)) for each in CODES)

    assert pattern_of(Values(shortest=lengths[0], longest=lengths[1], codes=codes), 100) == pattern


@given(NUMBERS, NUMBERS)
def test_bounds_enclose_the_data_with_a_margin_and_keep_its_sign(one: Decimal, other: Decimal) -> None:
    """Every measured number is allowed, and numbers of one sign stay of it."""
    low, high = min(one, other), max(one, other)
    least, most = bounds(low, high)

    assert least <= low <= high <= most
    assert least >= 0 or low < 0
    assert most <= 0 or high > 0 or low >= 0
    assert least < low or low == 0 or least == 0


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_whole_bounds_are_within_64_bits(one: int, other: int) -> None:
    """The largest whole numbers have a bound too."""
    least, most = whole_bounds(min(one, other), max(one, other))

    assert -(2**63) <= least <= min(one, other) <= max(one, other) <= most <= 2**63 - 1


def test_marks_of_yes_and_no_have_no_margin() -> None:
    """A column of 0 and 1 does not allow 2."""
    assert (whole_bounds(0, 1), whole_bounds(0, 2)) == ((0, 1), (0, 3))


def test_days_have_a_margin_of_years() -> None:
    """Dates are bounded by whole years, within the calendar."""
    assert (first_day("2020-05-01", "2026-01-01"), last_day("2026-01-01")) == ("2017-01-01", "2036-12-31")
    assert (first_day("0001-01-01", "0001-02-01"), last_day("9998-01-01")) == ("0001-01-01", "9999-12-31")


def test_a_share_is_never_rounded_up_to_all() -> None:
    """100 % means every one."""
    assert [share(40000, 40000), share(39999, 40000), share(0, 0)] == [
        "100 % of 40,000",
        "99.9 % of 40,000",
        "0 % of 0",
    ]


@pytest.mark.parametrize(
    ("given_", "text"),
    [
        (
            column(kind="integer", low="1", high="9"),
            "minimum: 0  # suggested: the smallest of 100 is 1\nmaximum: 13  # suggested: the largest of 100 is 9\n",
        ),
        (
            column(kind="number", low="-1.50", high="1.5"),
            "minimum: -3.0  # suggested: the smallest of 100 is -1.5\nmaximum: 3.0  # suggested: the largest of 100 is 1.5\n",
        ),
        (
            column(kind="date", low="2026-01-01", high="2026-02-01"),
            'minimum: "2025-01-01"  # suggested: the first of 100 is in 2026\nmaximum: "2036-12-31"  # suggested: the last of 100 is in 2026\n',  # noqa: E501 - as it is written
        ),
        (
            column(low="a", high="zz", shortest=1, longest=12),
            "minLength: 1  # suggested: the shortest of 100 has 1\nmaxLength: 30  # suggested: the longest of 100 has 12\n",
        ),
        (column(low="", high="zz", shortest=0, longest=0), "maxLength: 1  # suggested: the longest of 100 has 0\n"),
        (column(low="A1", high="A9", shapes=(("A9", 100),)), 'pattern: "^A[0-9]$"  # suggested: 100 % of 100 match\n'),
        (column(kind="time", low="10:00", high="12:00"), None),
        (column(kind="integer", low=str(-(2**63)), high=str(2**63 - 1)), None),
        (column(kind="boolean"), None),
        (column(kind="integer", present=19, low="1", high="9"), None),
        (column(low="a", high="b", words=(("a", 50), ("b", 50))), None),
    ],
)
def test_options_of_a_column(given_: Any, text: str | None) -> None:
    """Bounds, lengths and patterns come from at least 20 values; a list of words needs none of them."""
    found = options(given_, is_key=False)

    assert (found and write_document(found)) == text


@pytest.mark.parametrize(
    ("low", "high", "unit", "parts"),
    [
        (1_764_460_800, 1_764_547_199, "seconds", 1),
        (1_764_460_800_000, 1_764_547_199_000, "milliseconds", 10**3),
        (1_764_460_800_000_000, 1_764_547_199_000_000, "microseconds", 10**6),
        (1_764_460_800_000_000_000, 1_764_547_199_000_000_000, "nanoseconds", 10**9),
    ],
)
def test_times_that_are_numbers_have_the_bounds_of_dates(low: int, high: int, unit: str, parts: int) -> None:
    """A file of one day says nothing of the next one, whose numbers are all larger."""
    found = options(column(kind="integer", low=str(low), high=str(high)), is_key=False)

    assert found is not None
    assert write_document(found) == (
        f"minimum: {1_704_067_200 * parts}  # suggested: as {unit} since 1970 the first of 100 is in 2025\n"
        f"maximum: {2_082_672_000 * parts}  # suggested: as {unit} since 1970 the last of 100 is in 2025\n"
    )


@pytest.mark.parametrize(
    ("low", "high"), [(1_000_000_000, 4_000_000_000), (1, 1_764_547_199_000), (1_764_460_800, 10**11), (-5, 5)]
)
def test_other_whole_numbers_are_no_times(low: int, high: int) -> None:
    """Numbers of accounts, and counts: their bounds are those of numbers."""
    found = options(column(kind="integer", low=str(low), high=str(high)), is_key=False)

    assert found is not None
    assert "since 1970" not in write_document(found)


def test_a_key_grows_without_a_maximum() -> None:
    """Numbers of a key count upwards."""
    found = options(column(kind="integer", low="1", high="9"), is_key=True)

    assert found is not None
    assert write_document(found) == "minimum: 0  # suggested: the smallest of 100 is 1\n"


@pytest.mark.parametrize(
    ("given_", "is_personal", "expected"),
    [
        (column(words=(("no", 60), ("yes", 40))), False, [("invalidValues", 0)]),
        (column(words=(("no", 60), ("yes", 40))), True, []),
        (column(words=(("no", 99), ("yes", 1))), False, []),
        (column(words=(("no", 60), ("y" * 41, 40))), False, []),
        (column(words=(("no", 100),)), False, []),
        (column(kind="integer", words=(("1", 60), ("2", 40))), False, []),
        (column(present=90), False, [("nullValues", 24)]),
        (column(present=2), False, []),
        (column(present=0), False, []),
        (column(almost=(LogicalType.INTEGER, 98)), False, [("invalidValues", 3)]),
        (column(present=1, almost=(LogicalType.INTEGER, 1)), False, []),
    ],
)
def test_quality_rules_of_a_column(given_: Any, expected: list[tuple[str, int]], *, is_personal: bool) -> None:
    """Lists of words, shares of nulls and of values of another type become rules; values of persons are in none."""
    found = quality(given_, is_personal=is_personal)
    rules = [] if found is None else [_plain(each) for each in found.items if isinstance(each, Mapping)]

    assert [(each["metric"], each.get("mustBe", each.get("mustBeLessOrEqualTo"))) for each in rules] == expected


def _plain(rule: Mapping) -> dict[str, Any]:
    return {each.key: each.value for each in rule.entries if isinstance(each, YamlEntry)}


def test_the_evidence_of_a_type() -> None:
    """A type that the file declares has none; an empty column, and texts that are almost numbers, say so."""
    almost = column(almost=(LogicalType.INTEGER, 98))

    assert type_note(column()) == "suggested: 100 % of 100"
    assert type_note(column(present=0)) == "no value in the data: any text is accepted, so give it its type"
    assert type_note(almost) == "suggested: only 98 % of 100 are of the type integer"


@pytest.mark.parametrize(
    "name",
    [
        "email",
        "customerEmail",
        "first_name",
        "Vorname",
        "street",
        "dob",
        "home phone",
        "iban",
        "Postal Code",
        "Family Name",
        "Race",
    ],
)
def test_names_of_personal_data(name: str) -> None:
    """Names in several languages and spellings are known."""
    assert why_personal(column(name)) == "its name is one of personal data"


def test_forms_of_personal_data() -> None:
    """Most values have to look so."""
    assert (
        why_personal(column("x", forms=(("an IBAN", 0), ("an email address", 80))))
        == "80 of 100 values look like an email address"
    )
    assert why_personal(column("x", forms=(("an email address", 79),))) is None
    assert why_personal(column("x", present=0, forms=(("an email address", 0),))) is None


def test_a_key_is_named_so_or_first() -> None:
    """Of unique columns the one with the name of a key is chosen; amounts and moments are no keys."""
    columns = (column("amount", "number"), column("label", longest=30), column("orderId", "integer"), column("code"))

    assert primary_key(of(*columns, unique=("amount", "label", "orderId", "code"))) == ("orderId",)
    assert others(of(*columns, unique=("amount", "label", "orderId", "code")), ("orderId",)) == ("code",)
    assert primary_key(of(*columns, unique=("amount", "label"))) == ("label",)
    assert primary_key(of(*columns, unique=("amount",), pairs=(("label", "code"),))) == ("label", "code")
    assert primary_key(of(*columns)) == ()
    assert (
        primary_key(of(*columns, unique=("code",), rows=19)),
        others(of(*columns, unique=("code",), rows=19), ()),
    ) == ((), ())
    assert not sounds_like_key("paid")


def test_a_name_of_people_is_no_key() -> None:
    """It may be unique in one file by chance; what is named as a key of people is one."""
    columns = (column("first_name"), column("national_id"))

    assert primary_key(of(*columns, unique=("first_name",))) == ()
    assert primary_key(of(*columns, unique=("first_name", "national_id"))) == ("national_id",)


def _levels(*columns: Any) -> str:
    return write_document(Mapping(list(freshness(columns, "d", NOW))))


def test_freshness_of_current_data_is_promised() -> None:
    """Twice the age of the newest row, at least two days, of the timestamp that is named best."""
    loaded = column("loaded_at", "timestamp", low="2026-01-01 00:00:00", high="2026-11-20 12:00:00")
    day = column("day", "date", low="2026-01-01", high="2026-11-22")

    assert _levels(day, column("seen", "timestamp", low="2026-01-01 00:00:00", high="2026-11-22 00:00:00"), loaded) == (
        "slaProperties:\n"
        "  - property: freshness  # suggested: the newest of 100 is 2 days old\n    value: 4\n    unit: d\n    element: d.loaded_at\n"  # noqa: E501 - as it is written
    )
    assert "12 hours old\n    value: 2" in _levels(day)


def test_freshness_of_other_data_is_not() -> None:
    """An old sample gets a comment; a moment in the future, a column with gaps, and a strange name get no promise."""
    old = column("day", "date", low="2020-01-01", high="2020-11-22")
    future = column("day", "date", low="2020-01-01", high="2027-11-22")
    gaps = column("day", "date", present=80, low="2020-01-01", high="2026-11-22")

    assert "is 2,191 days old" in _levels(old)
    assert "slaProperties:\n" not in _levels(old)
    assert _levels(future) == "# The newest day lies in the future: no freshness is suggested.\n"
    assert (
        _levels(gaps, column("my day", "date", low="2020-01-01", high="2026-11-22"), column(), column("e", "date"))
        == "{}\n"[3:]
    )
    assert timedelta(0) < NOW - datetime(2026, 1, 1, tzinfo=UTC)
    assert ROWS == 100


def test_bounds_of_long_numbers_include_them() -> None:
    """Of 38 digits, and of floats far apart: nothing is rounded inwards."""
    long = Decimal("123456789012345678901234567890123456.78")
    for low, high in (
        (long, long + Decimal("0.01")),
        (-long, long),
        (Decimal("5e-324"), Decimal("1.7976931348623157e308")),
    ):
        least, most = bounds(low, high)

        assert least <= low <= high <= most
