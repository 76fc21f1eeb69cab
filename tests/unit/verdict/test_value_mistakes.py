"""How failing values are written, what may be shown of them, and what single lines of a file show."""

from __future__ import annotations

import pytest

from lakegate.admission.file_signatures import readable_in
from lakegate.admission.value_masks import cut_text, hexadecimal, mask
from lakegate.contract.file_formats import Csv, Format, Storage
from lakegate.contract.logical_types import LogicalType
from lakegate.plan.result import ValueMistake
from lakegate.verdict.value_mistakes import (
    MASKED_WORDS,
    MISTAKES,
    NULL_WORDS,
    SEEN_OF_A_LINE,
    form_of,
    masked_mistake,
    record_of,
    remedy,
    values_in,
)

SEMICOLON = Csv(delimiter=";")
WRITTEN = {
    "thousands": [(LogicalType.NUMBER, "1,234.50"), (LogicalType.INTEGER, "1'234"), (LogicalType.DECIMAL, "1.234.567")],
    "thousands-point": [(LogicalType.INTEGER, "12.345")],
    "decimal-comma": [(LogicalType.NUMBER, "9,99"), (LogicalType.DECIMAL, "-1.234,5"), (LogicalType.NUMBER, ",5")],
    "whole-as-fraction": [(LogicalType.INTEGER, "5.0")],
    "scientific": [(LogicalType.INTEGER, "1.23E+12")],
    "percent": [(LogicalType.NUMBER, "9.5 %")],
    "currency": [(LogicalType.NUMBER, "€ 9.99"), (LogicalType.DECIMAL, "9.99 EUR"), (LogicalType.NUMBER, "$1")],
    "sign-behind": [
        (LogicalType.NUMBER, "123.00-"),
        (LogicalType.DECIMAL, "1.234,56-"),
        (LogicalType.INTEGER, "20 -"),
        (LogicalType.NUMBER, "5+"),
        (LogicalType.DECIMAL, "9.99 CR"),
    ],
    "parentheses": [
        (LogicalType.NUMBER, "(1,234.50)"),
        (LogicalType.INTEGER, "(3)"),
        (LogicalType.DECIMAL, "($ 9.99)"),
        (LogicalType.DECIMAL, "$(9.99)"),
    ],
    "other-minus": [(LogicalType.NUMBER, "\u22121.5"), (LogicalType.INTEGER, "\u201320")],
    "apostrophe": [
        (LogicalType.DECIMAL, "'-4.0"),
        (LogicalType.INTEGER, "'20"),
        (LogicalType.DATE, "'2024-12-31"),
        (LogicalType.NUMBER, "\u20191.5"),
    ],
    "beyond-type": [
        (LogicalType.TIMESTAMP, "beyond all calendars"),
        (LogicalType.DECIMAL, "9999.99, beyond its type"),
        (LogicalType.TIME, "<value out of range: 90000000>"),
    ],
    "boolean-word": [(LogicalType.BOOLEAN, "yes"), (LogicalType.BOOLEAN, "0"), (LogicalType.BOOLEAN, "Ja")],
    "dotted-date": [(LogicalType.DATE, "31.12.2024"), (LogicalType.TIMESTAMP, "1.2.24 10:00")],
    "slashed-date": [(LogicalType.DATE, "12/31/2024"), (LogicalType.DATE, "2024/12/31")],
    "day-first": [(LogicalType.DATE, "31-12-2024")],
    "month-name": [(LogicalType.DATE, "31-Dez-2024"), (LogicalType.DATE, "Dec 31, 2024")],
    "compact-date": [(LogicalType.DATE, "20241231")],
    "epoch": [(LogicalType.TIMESTAMP, "1704067200"), (LogicalType.TIMESTAMP, "1704067200000")],
    "serial-date": [(LogicalType.DATE, "45292"), (LogicalType.TIMESTAMP, "45292.5")],
    "date-time": [(LogicalType.DATE, "2024-12-31 00:00:00")],
    "date-only": [(LogicalType.TIMESTAMP, "2024-12-31")],
    "offset": [(LogicalType.TIMESTAMP, "2024-12-31 10:00:00+00"), (LogicalType.TIMESTAMP, "2024-12-31T10:00:00 UTC")],
    "short-time": [(LogicalType.TIME, "9:05"), (LogicalType.TIME, "09:05 PM")],
}


@pytest.mark.parametrize(("code", "logical", "text"), [(code, *each) for code in MISTAKES for each in WRITTEN[code]])
def test_a_known_mistake_is_told_from_the_text(code: str, logical: LogicalType, text: str) -> None:
    """Each known way to write a value wrongly is recognised, and has words that say what to write."""
    found = form_of(logical, [text])
    assert found is not None
    assert (found.code, found.values, found.of) == (code, 1, 1)
    assert ": write" in remedy(ValueMistake(code, 1, 1), Storage())


@pytest.mark.parametrize(
    ("text", "code"),
    [("1.234,56-", "sign-behind"), ("(3,00)", "parentheses"), ("7,5%", "percent"), ("1,234.5", "separators")],
)
def test_mistakes_are_told_beside_declared_separators(text: str, code: str) -> None:
    """Where a contract declares how numbers are written, what else is wrong with them is named."""
    csv = Csv(delimiter=";", decimal_separator=",", thousands_separator=".")

    assert form_of(LogicalType.DECIMAL, [text], csv=csv) == ValueMistake(code, 1, 1)


@pytest.mark.parametrize("text", ["2026-02-30", "0000-00-00", "2026-13-01"])
def test_a_day_that_does_not_exist_is_told(text: str) -> None:
    """Its shape is that of good values, so that the shape alone would explain nothing; a day that exists is no such mistake."""
    assert form_of(LogicalType.DATE, [text]) == ValueMistake("no-day", 1, 1)
    assert form_of(LogicalType.TIMESTAMP, [f"{text}T10:00:00"]) == ValueMistake("no-day", 1, 1)
    assert form_of(LogicalType.DATE, ["2024-02-29"]) is None
    assert ": write" in remedy(ValueMistake("no-day", 1, 1), Storage())


@pytest.mark.parametrize("logical", [LogicalType.NUMBER, LogicalType.DATE, LogicalType.STRING])
def test_words_for_null_are_told_by_a_closed_list(logical: LogicalType) -> None:
    """The word leaves because it is not a value of the data; what to do depends on the format."""
    forms = {form_of(logical, [word, f" {word}"]) for word in NULL_WORDS}

    assert forms == {ValueMistake("null-word", 2, 2, word) for word in NULL_WORDS}
    assert remedy(ValueMistake("null-word", 1, 1, "NA"), Storage()).endswith('declare csv.nullValues: ["NA"]')
    assert remedy(ValueMistake("null-word", 1, 1, "NA"), Storage(Format.JSONL)).endswith("write null")
    assert remedy(ValueMistake("null-word", 1, 1, "NA"), Storage(Format.ORC)).endswith("store a null")


@pytest.mark.parametrize(
    ("logical", "texts", "is_json", "form"),
    [
        (LogicalType.INTEGER, [" 5", "6 "], False, ValueMistake("blanks", 2, 2)),
        (LogicalType.STRING, ["A ", "B"], False, None),
        (LogicalType.STRING, ["A ", " B", "C"], False, ValueMistake("blanks", 2, 3)),
        (LogicalType.INTEGER, ["5"], True, ValueMistake("quoted", 1, 1)),
        (LogicalType.INTEGER, ["5"], False, None),
        (LogicalType.DATE, ["2024-02-30"], True, ValueMistake("no-day", 1, 1)),
        (LogicalType.BINARY, ["x"], True, None),
        (LogicalType.NUMBER, ["x", "y"], False, None),
        (LogicalType.NUMBER, ["1,5", "1,5", "x"], False, ValueMistake("decimal-comma", 2, 3, ",")),
        (LogicalType.NUMBER, ["1,5", "x"], False, None),
        (LogicalType.NUMBER, ["1,234.5", "1,234"], False, ValueMistake("thousands", 2, 2, ".,")),
        (LogicalType.NUMBER, ["1,234.5", "1'234.5"], False, ValueMistake("thousands", 2, 2)),
        (LogicalType.NUMBER, ["1.234,5", "7,25", "x"], False, ValueMistake("decimal-comma", 2, 3, ",.")),
        (LogicalType.INTEGER, ["12.345", "1.000"], False, ValueMistake("thousands-point", 2, 2, ",.")),
        (LogicalType.INTEGER, ["9" * 19], False, ValueMistake("too-large", 1, 1)),
        (LogicalType.INTEGER, ["+-1"], False, None),
        (LogicalType.NUMBER, ["\u00a01"], False, ValueMistake("non-breaking", 1, 1)),
        (LogicalType.NUMBER, ["  "], False, None),
        (LogicalType.NUMBER, [], False, None),
    ],
)
def test_a_form_is_that_of_most_values(
    logical: LogicalType,
    texts: list[str],
    is_json: bool,  # noqa: FBT001 - a parameter of the test
    form: ValueMistake | None,
) -> None:
    """What half of the values or fewer show is not an explanation; values of the type itself show nothing."""
    assert form_of(logical, texts, is_json=is_json) == form


@pytest.mark.parametrize(
    ("texts", "allowed", "good", "form"),
    [
        (["de"], ["DE"], [], ValueMistake("case", 1, 1, "DE")),
        (["KÃ¶ln"], ["Köln"], ["Ulm"], ValueMistake("garbled", 1, 1)),
        (["DÃ\x9cREN"], [], [], ValueMistake("garbled", 1, 1)),
        (["5 \u00e2\u201a\u00ac"], [], [], ValueMistake("garbled", 1, 1)),
        (["KÃ¶ln"], [], ["DÃ¼ren"], None),
        (["Köln", "MANHÃ…", "東京"], [], [], None),
        (["de"], ["x" * 41, "DE"], [], ValueMistake("case", 1, 1, "DE")),
        (["1A"], ["1a" * 30, "1a"], [], ValueMistake("case", 1, 1, "1a")),
        (["DE"], ["DE"], [], None),
        (["9"], [], ["99", "98"], ValueMistake("leading-zeros", 1, 1)),
        (["9"], [], ["99", "998"], None),
        (["999"], [], ["99"], None),
        (["sku-1"], [], ["SKU-2"], ValueMistake("case", 1, 1)),
        (["SKU-1"], [], ["SKU-2"], None),
        (["x"], [], [], None),
    ],
)
def test_values_are_compared_with_what_passes(
    texts: list[str], allowed: list[str], good: list[str], form: ValueMistake | None
) -> None:
    """With the words of a list, and with other values of the field."""
    assert form_of(LogicalType.STRING, texts, of_type=False, allowed=allowed, good=good) == form


def test_values_that_are_shared_have_words_too() -> None:
    """Blanks and quotes have a remedy."""
    assert remedy(ValueMistake("blanks", 1, 1), Storage()).endswith("write them without")
    assert remedy(ValueMistake("quoted", 1, 1), Storage(Format.JSON)).endswith("without quotes")


@pytest.mark.parametrize(
    ("line", "header", "record"),
    [
        ("id;name", "id;name", "header"),
        ("id;name\r", "id;name", "header"),
        ("id;name2", "id;name", None),
        (";;;", "id;name", "blank"),
        (' ;"";\t', None, "blank"),
        ("", "id", None),
        ("1;2", None, None),
        ("TOTAL:;2", None, "total"),
        (";Grand Total (EUR) 1.800,00;", None, "total"),
        ('"=== Summe ===";', None, "total"),
        ("Records: 300;", None, "total"),
        ("(300 rows affected)", None, "total"),
        ("*** END OF REPORT ***", None, "total"),
        ("Total Energies;1", None, None),
        ("Grand;Records", None, None),
        ("End of year;1", None, None),
        ("x" * 2 * SEEN_OF_A_LINE, "x" * 3 * SEEN_OF_A_LINE, "header"),
    ],
)
def test_a_line_without_data_is_told(line: str, header: str | None, record: str | None) -> None:
    """The header once more, nothing but delimiters, quotes and blanks, or a label of totals and of the end of a list."""
    assert record_of(line, header, SEMICOLON) == record


@pytest.mark.parametrize(
    ("line", "values"),
    [("1;2;3", 3), ('1;"2;3"\r', 2), ("", 1), ('1;"2', None), ("x" * SEEN_OF_A_LINE, None)],
)
def test_values_of_a_line_are_counted(line: str, values: int | None) -> None:
    """By the quotes and the delimiter of the contract; not where quotes do not close, nor in endless lines."""
    assert values_in(line, SEMICOLON) == values


@pytest.mark.parametrize(
    ("content", "declared", "encoding"),
    [
        ("João".encode("latin-1"), "utf-8", "windows-1252"),
        ("João €".encode("windows-1252"), "utf-8", "windows-1252"),
        ("João".encode(), "us-ascii", "utf-8"),
        (b"Jo\x81o", "utf-8", None),
        (b"Jo\x00\xe3o", "utf-8", None),
    ],
)
def test_an_encoding_that_works_is_found(content: bytes, declared: str, encoding: str | None) -> None:
    """One of the usual encodings that reads the bytes without control characters; none where none does."""
    assert readable_in(content, declared) == encoding


@pytest.mark.parametrize(
    ("text", "shape"),
    [(None, "null"), ("SKU-12 é\x07✓", "AAA-99 a??"), ("x" * 40, "a" * 40), ("x" * 41, "a" * 40 + "…")],
)
def test_a_shape_tells_no_value(text: str | None, shape: str) -> None:
    """Capitals are `A`, other letters `a`, digits `9`; what is not a plain character is `?`; long ones are cut."""
    assert mask(text) == shape


def test_bytes_are_shown_as_hexadecimal_digits() -> None:
    """One character stands for each byte; raw texts are cut as shapes are."""
    assert hexadecimal("\x00\xff") == "00ff"
    assert (cut_text("y" * 40), cut_text("y" * 41)) == ("y" * 40, "y" * 40 + "…")


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        (LogicalType.DATE, "2026-02-30", "no such day"),
        (LogicalType.DATE, "2026-02-28", None),
        (LogicalType.TIMESTAMP, "2026-02-28T25:00:00Z", "no such time of day"),
        (LogicalType.STRING, "Paid", "other capitals"),
        (LogicalType.STRING, "payd", "a word that is none of the list"),
        (LogicalType.STRING, "paid ", "a blank at the end"),
        (LogicalType.STRING, " paid", "a blank at the beginning"),
        (LogicalType.BOOLEAN, "maybe", "a word that is none of the list"),
        (LogicalType.BOOLEAN, "True", "other capitals"),
        (LogicalType.INTEGER, "12", None),
    ],
)
def test_what_a_shape_hides_is_named(kind: LogicalType, text: str, words: str | None) -> None:
    """The kind of the mistake, in words that have nothing of the value."""
    allowed = ("paid", "sent") if kind is LogicalType.STRING else ()
    found = masked_mistake(kind, text, allowed)

    assert (MASKED_WORDS[found] if found else None) == words
