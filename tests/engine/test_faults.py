"""Common faults of files: one fault, one reason, with the remedy."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from lakegate.contract.delivery_policy import FieldTreatment, Policy
from lakegate.contract.file_formats import Compression, Csv, Format, Storage
from lakegate.engine.native_backend import measure
from lakegate.engine.read import csv
from lakegate.engine.read.data_source import LocalStore
from lakegate.plan.plan import Plan
from lakegate.plan.result import MalformedRecords, Sample, ValueMistake
from lakegate.verdict.verdict import Verdict, judge
from tests.deliveries.delivery import Judged, plan_of, request_for, rule, with_classification
from tests.deliveries.written import as_jsonl, packed

FIELDS = {"id": "integer", "price": "number", "weight": "decimal", "day": "date", "sku": "string", "ok": "boolean"}
RULES = (
    *(rule("required", name) for name in ("id", "price", "day", "sku")),
    rule("pattern", "sku", pattern="^SKU[0-9]{2}$"),
)
COMMAS = plan_of(FIELDS, *RULES)
SEMICOLONS = plan_of(FIELDS, *RULES, csv=Csv(delimiter=";"))
STRICT = plan_of(FIELDS, *RULES, policy=Policy(additional_fields=FieldTreatment.FORBID))
HEADER = "id,price,weight,day,sku,ok"
GOOD = [f"{at},{at}.5,1.25,2024-01-{at + 10},SKU{at + 10},true" for at in range(1, 6)]


def text(*lines: str, header: str = HEADER, end: str = "\n") -> bytes:
    return (end.join([header, *lines]) + end).encode()


def european(content: bytes) -> bytes:
    return content.replace(b",", b";")


FAULTS: dict[str, tuple[Plan, bytes, list[str]]] = {
    "a header that is repeated": (
        COMMAS,
        text(*GOOD[:3], HEADER, *GOOD[3:]),
        ["cause/header-repeated: row 5 repeats the header line: remove it (was the file put together of several?)"],
    ),
    "a file put together of several": (
        COMMAS,
        text(*GOOD, HEADER, *GOOD, HEADER, *GOOD),
        [
            (
                "cause/header-repeated: row 7 (and 1 more) repeats the header line: remove it "
                "(was the file put together of several?)"
            )
        ],
    ),
    "lines of delimiters below the last row": (
        SEMICOLONS,
        european(text(*GOOD, ",,,,,", ",,,,,", " , ,,,,")),
        [
            (
                "cause/blank-records: row 7 (and 2 more) holds nothing but delimiters, as spreadsheets write below the last row: "
                "remove such rows"
            )
        ],
    ),
    "blanks in the names of the header": (
        COMMAS,
        text(*GOOD, header="id, price , weight,day, sku,ok"),
        [
            (
                "cause/column-names: the header has blanks in the names: ' price ' should be price, ' weight' should be weight, "
                "' sku' should be sku"
            )
        ],
    ),
    "names in another case": (
        COMMAS,
        text(*GOOD, header="ID,Price,WEIGHT,Day,sku,ok"),
        [
            (
                "cause/column-names: the header has another case: 'ID' should be id, 'Price' should be price, "
                "'WEIGHT' should be weight, 'Day' should be day"
            )
        ],
    ),
    "an extra column that differs in capitals": (
        COMMAS,
        text(*(f"{line},x" for line in GOOD), header=f"{HEADER},ID"),
        [
            (
                "file/column-case: names differ in capitals only: id and ID; Spark, Athena and others take them for one: "
                "rename one"
            )
        ],
    ),
    "a column that is misspelt": (
        STRICT,
        text(*GOOD, header="id,prise,weight,day,sku,ok"),
        ["cause/column-names: the header has another spelling: 'prise' should be price"],
    ),
    "a column that lacks": (
        COMMAS,
        text("1,2.5,1.5,2024-01-01,true", header="id,price,weight,day,ok"),
        ["cause/missing-columns: the file has no column sku: deliver it"],
    ),
    "the index of pandas": (
        STRICT,
        text(*(f"{at},{line}" for at, line in enumerate(GOOD)), header=f",{HEADER}"),
        [
            (
                "file/additional-columns: the file has columns the contract does not name: one without a name; "
                "the first column only numbers the rows: "
                "write the file without it (pandas: index=False; R: row.names = FALSE)"
            )
        ],
    ),
    "decimal commas": (
        SEMICOLONS,
        european(text(*GOOD)).replace(b".5", b",5").replace(b"1.25", b"1,25"),
        [
            (
                "cause/decimal-comma: price, weight: written with a decimal comma: write 1234.5, not 1234,5 or 1.234,5, "
                'or declare csv.decimalSeparator: ","'
            )
        ],
    ),
    "a word for null in two columns": (
        COMMAS,
        text(*GOOD, "7,N/A,N/A,2024-01-01,SKU11,true"),
        [
            (
                "cause/null-word: price, weight: `N/A` where there is no value: "
                'write nothing there, or declare csv.nullValues: ["N/A"]'
            )
        ],
    ),
    "dates of day, month and year": (
        COMMAS,
        text("1,1.5,1,31/12/2024,SKU11,true"),
        [
            (
                "type-3/day: day: wanted a calendar date as YYYY-MM-DD; measured 1 of 1 row fails (100 %); "
                "dates with slashes, which leave open what is the day and what the month: write YYYY-MM-DD"
            )
        ],
    ),
    "yes and no": (
        COMMAS,
        text("1,1.5,1,2024-12-31,SKU11,yes", "2,1.5,1,2024-12-31,SKU11,no"),
        [
            (
                "type-5/ok: ok: wanted true or false; measured 2 of 2 rows fail (100 %); "
                "other words than true and false (yes, no, 0, 1, …): write true and false"
            )
        ],
    ),
    "separators of thousands": (
        COMMAS,
        text('1,"1,234.50",1,2024-12-31,SKU11,true'),
        [
            (
                "type-1/price: price: wanted a decimal number such as 1234.50; measured 1 of 1 row fails (100 %); "
                'written with separators of thousands: write 1234567, not 1,234,567, or declare csv.thousandsSeparator: ","'
            )
        ],
    ),
    "a line that breaks off": (
        COMMAS,
        text(*GOOD) + b"7,1.5,2",
        [
            (
                "file/records: 1 row (first: row 7) has another number of values than the header (3 instead of 6): "
                "it is the last line, was the upload cut off?"
            )
        ],
    ),
    "a value that holds the delimiter": (
        COMMAS,
        text(GOOD[0], "2,9,99,1,2024-12-31,SKU11,true", GOOD[1]),
        [
            (
                "file/records: 1 row (first: row 3) has another number of values than the header (7 instead of 6): "
                "a value that holds the delimiter, such as a decimal comma, stands in quotes"
            )
        ],
    ),
    "an index without a name": (
        COMMAS,
        text(*(f"{at},{line}" for at, line in enumerate(GOOD))),
        [
            (
                "file/records: 5 rows (first: row 2) have another number of values than the header (7 instead of 6): "
                "no row has as many, "
                "look for an index without a name in the header, a delimiter at the end, or a decimal comma"
            )
        ],
    ),
    "an encoding that is not declared": (
        COMMAS,
        text(*GOOD, "7,1.5,1,2024-12-31,SKU1é,true").decode().encode("windows-1252"),
        [
            (
                "file/records: 1 row (first: row 7) is not valid UTF-8: save the file as UTF-8 (in Excel: CSV UTF-8), "
                "or declare csv.encoding: windows-1252, in which it can be read"
            )
        ],
    ),
    "other separators than those of the contract": (
        replace(SEMICOLONS, csv=replace(SEMICOLONS.csv, decimal_separator=",")),
        european(text(*GOOD[:2])),
        [
            (
                "cause/separators: price, weight: numbers with other separators than the contract declares: "
                "write them as it does, or declare csv.decimalSeparator and csv.thousandsSeparator as the file has them"
            )
        ],
    ),
    "codes that lost their zeros": (
        plan_of({"id": "integer", "sku": "string"}, rule("pattern", "sku", pattern="^[0-9]{5}$")),
        b"id,sku\n1,01234\n2,23456\n3,7654\n",
        [
            (
                "pattern/sku: sku: wanted matching ^[0-9]{5}$; measured 1 of 3 rows fails (33.33 %); "
                "shorter than the others, as numbers that lost leading zeros: write all digits "
                "(pandas: dtype=str; spreadsheets: format the column as text)"
            )
        ],
    ),
    "small letters of a list": (
        plan_of({"id": "integer", "land": "string"}, rule("enum", "land", values=["1", "DE", "AT"])),
        b"id,land\n1,DE\n2,de\n3,at\n",
        [
            (
                "enum/land: land: wanted one of 1, DE, AT; measured 2 of 3 rows fail (66.67 %); "
                "written in another case: write `DE`, not `de`"
            )
        ],
    ),
    "small letters of a pattern": (
        plan_of({"id": "integer", "sku": "string"}, rule("pattern", "sku", pattern="^SKU-[0-9]+$")),
        b"id,sku\n1,SKU-12\n2,sku-13\n",
        [
            (
                "pattern/sku: sku: wanted matching ^SKU-[0-9]+$; measured 1 of 2 rows fails (50 %); "
                "written in another case than good values: write capitals and small letters as they have them"
            )
        ],
    ),
    "NA that pandas read as missing": (
        plan_of(
            {"id": "integer", "land": "string"}, rule("required", "land"), rule("enum", "land", values=["NA", "DE"])
        ),
        b"id,land\n1,DE\n2,\n",
        [
            (
                "required/land: land: wanted present; measured 1 of 2 rows fails (50 %); "
                "no value, although `NA` is one: pandas reads the word as a missing value (keep_default_na=False)"
            )
        ],
    ),
    "a row of totals": (
        COMMAS,
        text(*GOOD, "Total,17.5,,,,"),
        ["cause/total-records: row 7 holds totals or the end of a list, not a record: remove such rows"],
    ),
    "a row of totals above lines of delimiters": (
        COMMAS,
        text(*GOOD, "Total,17.5,,,,", ",,,,,", ",,,,,"),
        [
            (
                "cause/blank-records: row 8 (and 1 more) holds nothing but delimiters, as spreadsheets write below the last row: "
                "remove such rows"
            ),
            (
                "type-0/id: id: wanted a whole number such as 1234, within 64 bits; measured 1 of 8 rows fails (12.5 %); "
                "row 7 holds totals or the end of a list, not a record: remove such rows"
            ),
        ],
    ),
    "an empty text": (
        COMMAS,
        text('1,"",1,2024-12-31,SKU11,true'),
        [
            (
                "type-1/price: price: wanted a decimal number such as 1234.50; measured 1 of 1 row fails (100 %); "
                'an empty text (`""`) where there is no value: '
                'write nothing, without quotes, or declare csv.nullValues: [""]'
            )
        ],
    ),
    "non-breaking blanks": (
        COMMAS,
        text("1\u00a0,1.5,1,2024-12-31,SKU11,true"),
        [
            (
                "type-0/id: id: wanted a whole number such as 1234, within 64 bits; measured 1 of 1 row fails (100 %); "
                "values with non-breaking blanks (U+00A0, as web pages and spreadsheets have): write them without"
            )
        ],
    ),
    "blank lines of delimiters of another number": (
        COMMAS,
        text(*GOOD, ",,,"),
        [
            (
                "file/records: 1 row (first: row 7) has another number of values than the header (4 instead of 6): "
                "it holds nothing but delimiters, remove such rows"
            )
        ],
    ),
    "another delimiter, whatever the names are": (
        COMMAS,
        b"a;b;c;d;e;f\n1;2;3;4;5;6\n",
        [
            (
                "file/readable: the values are separated by a semicolon, although the contract declares a comma, and the first "
                "line names none of the declared columns (id, price, weight, day, sku and 1 more): the file needs a header line"
            )
        ],
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_one_fault_is_one_reason_with_what_to_do(name: str, judge_files: Callable[..., Judged]) -> None:
    """Whatever a fault makes fail, people read one reason, and what to write instead."""
    plan, content, reasons = FAULTS[name]

    judged = judge_files(plan, content)

    assert Verdict.REJECTED is judged.verdict
    assert [f"{each.id}: {each.message}" for each in judged.judgement.reasons] == reasons


MISREAD = (
    "file/encoding: the bytes are UTF-8, although the contract declares {0}, so that readers see `Ã¼` for `ü`: "
    "save the file as {0}{1}, or declare csv.encoding: utf-8, in which it can be read"
)


@pytest.mark.parametrize(
    ("encoding", "reason"),
    [
        ("windows-1252", MISREAD.format("Windows-1252", " (in Excel: CSV)")),
        ("iso-8859-1", MISREAD.format("ISO-8859-1", "")),
    ],
)
@pytest.mark.parametrize("codec", Compression)
def test_utf_8_in_place_of_another_encoding_is_a_warning(
    encoding: str, reason: str, codec: Compression, judge_files: Callable[..., Judged], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every byte is a character of the declared encoding, so no record is malformed; one object of several suffices."""
    monkeypatch.setattr(csv, "BLOCK_LINES", 1)
    plan = replace(
        plan_of({"id": "integer", "town": "string"}, csv=Csv(encoding=encoding)), storage=Storage(Format.CSV, codec)
    )
    right, wrong = (
        packed(f"id,town\n1,Köln\n2,{town}\n".encode(own), codec)
        for own, town in ((encoding, "Überlingen"), ("utf-8", "München"))
    )

    mixed = packed("id,town\n1,Köln\n".encode(encoding) + "2,Ulm/Süd\n".encode(), codec)

    found = [judge_files(plan, *objects).judgement for objects in ((right, wrong), (right, right), (mixed,))]

    assert [(each.verdict, [f"{it.id}: {it.message}" for it in each.reasons]) for each in found] == [
        (Verdict.ACCEPTED_WITH_WARNINGS, [reason]),
        (Verdict.ACCEPTED, []),
        (Verdict.ACCEPTED, []),
    ]


def test_letters_that_were_read_in_another_encoding_are_named(judge_files: Callable[..., Judged]) -> None:
    """Where they break a rule, in a file of the declared encoding or of UTF-8: the reason says it, and not the warning alone."""
    rules = (rule("enum", "town", values=["Köln", "Ulm"]), rule("pattern", "id", pattern="^[0-9]$"))
    plan = plan_of({"id": "string", "town": "string"}, *rules, csv=Csv(encoding="windows-1252"))
    content = "id,town\n1,Köln\n2,Ulm\n3,Köln\n"

    reason = judge_files(plan, content.encode()).judgement.reasons[0]
    again = judge_files(replace(plan, csv=Csv()), content.replace("ö", "Ã¶").encode()).judgement.reasons

    assert reason.message == (
        "town: wanted one of Köln, Ulm; measured 2 of 3 rows fail (66.67 %); letters of UTF-8 that were read in another encoding "
        "(`Ã¼` for `ü`): write them as they are, in the encoding that the contract declares"
    )
    assert [each.message for each in again] == [reason.message]


def test_titles_above_the_header_are_of_any_encoding(judge_files: Callable[..., Judged]) -> None:
    """Skipped lines show nothing of the encoding of the rows; the header does, which the contract may not even name."""
    dialect = Csv(encoding="windows-1252", skip_rows=1)
    plan = plan_of({"id": "integer"}, csv=dialect, policy=Policy(additional_fields=FieldTreatment.ALLOW))
    rows = "id,größe\n1,2\n"

    judged = [
        judge_files(each, content.encode()).result.is_utf_8
        for each, content in ((plan, f"Übersicht\n{rows}"), (replace(plan, csv=replace(dialect, skip_rows=0)), rows))
    ]

    assert judged == [False, True]


def test_utf_8_with_bytes_that_the_declared_encoding_lacks_is_one_reason(judge_files: Callable[..., Judged]) -> None:
    """Records that cannot be decoded have the same remedy, which is not said twice."""
    plan = plan_of({"id": "integer", "town": "string"}, csv=Csv(encoding="windows-1252"))

    judged = judge_files(plan, "id,town\n1,Köln\n2,Ávila\n".encode())

    assert [f"{each.id}: {each.message}" for each in judged.judgement.reasons] == [
        (
            "file/records: 1 row (first: row 3) is not valid Windows-1252: save the file as Windows-1252 (in Excel: CSV), "
            "or declare csv.encoding: utf-8, in which it can be read"
        )
    ]


def test_of_several_files_the_one_that_is_meant_is_named(judge_files: Callable[..., Judged]) -> None:
    """Unreadable objects and the first malformed record are reported with the number of the object."""
    unreadable = judge_files(COMMAS, text(*GOOD), b"PK\x03\x04").result.unreadable
    (malformed,) = judge_files(COMMAS, text(*GOOD), text(*GOOD, "7,1.5")).result.malformed

    assert unreadable is not None
    assert (unreadable.code, unreadable.part) == ("zip", 1)
    assert malformed == MalformedRecords(
        "fields", 1, 7, part=1, values=2, wanted=6, is_last=True, samples=(Sample(7, (), 1),)
    )


def test_a_fault_hides_no_other(judge_files: Callable[..., Judged]) -> None:
    """A value that fails in another row than the repeated header keeps its own reason."""
    judged = judge_files(COMMAS, text(*GOOD, HEADER, "7,x,1,2024-12-31,SKU11,true"))

    assert [each.id for each in judged.judgement.reasons] == ["cause/header-repeated", "type-1/price"]


def test_dates_that_parquet_stores_as_texts_are_named(judge_files: Callable[..., Judged]) -> None:
    """Columns of another type are one reason, which names each with its two types."""
    file = io.BytesIO()
    pa.parquet.write_table(pa.table({"id": ["1"], "day": ["2024-12-31"]}), file)
    plan = replace(plan_of({"id": "integer", "day": "date"}), storage=Storage(Format.PARQUET))

    judged = judge_files(plan, file.getvalue())

    assert [f"{each.id}: {each.message}" for each in judged.judgement.reasons] == [
        (
            "cause/column-types: id is stored as string, not as integer, day is stored as string, not as date: "
            "convert before the file is written"
        )
    ]


@pytest.mark.parametrize("stored", [Format.PARQUET, Format.JSONL])
def test_an_extra_name_in_other_capitals_is_refused_in_each_format(
    judge_files: Callable[..., Judged], stored: Format
) -> None:
    """Of an extra key of JSON whose name is masked nothing is known but that it is none of the declared ones."""
    rows = [{"id": 1, "ID": 2, "Erika M": 3, "erika m": 4}]
    file = io.BytesIO()
    pa.parquet.write_table(pa.Table.from_pylist(rows), file)
    plan = replace(plan_of({"id": "integer"}), storage=Storage(stored))

    judged = judge_files(plan, file.getvalue() if stored is Format.PARQUET else as_jsonl(rows))
    names = "id and ID, Erika M and erika m" if stored is Format.PARQUET else "id and ID"

    assert [f"{each.id}: {each.message}" for each in judged.judgement.reasons] == [
        f"file/column-case: names differ in capitals only: {names}; Spark, Athena and others take them for one: rename one"
    ]


def test_numbers_in_quotes_are_named(judge_files: Callable[..., Judged]) -> None:
    """JSON with numbers written as texts is reported as such."""
    plan = replace(plan_of({"id": "integer"}), storage=Storage(Format.JSONL))

    judged = judge_files(plan, as_jsonl([{"id": "1"}, {"id": "2"}]))

    assert [each.message for each in judged.judgement.reasons] == [
        (
            "id: wanted a whole number such as 1234, within 64 bits; measured 2 of 2 rows fail (100 %); "
            "written as texts, in quotes: write the values without quotes"
        )
    ]


def test_the_first_rows_that_fail_are_sampled(judge_files: Callable[..., Judged]) -> None:
    """Twenty rows of each check in the order of the file, masked, with shapes of values that pass beside them."""
    rows = [f"{at},1,1,2024-12-31,{'XKU0048' if at % 2 else f'SKU{at % 90 + 10}'},true" for at in range(1, 101)]

    judged = judge_files(COMMAS, text(*rows))
    found = next(each for each in judged.result.measurements if each.check == "pattern/sku")

    assert found.samples == tuple(Sample(at + 1, ("AAA9999",), raw=(False,)) for at in range(1, 40, 2))
    assert (found.good, found.form) == (("AAA99",), None)


def test_a_masked_value_of_a_good_shape_has_its_mistake(judge_files: Callable[..., Judged]) -> None:
    """`9999-99-99` beside good values `9999-99-99` says nothing: the kind of the mistake is sampled; not of another shape."""
    judged = judge_files(
        COMMAS, text("1,1,1,2024-12-31,SKU11,true", "2,1,1,2024-02-30,SKU11,mayb", "3,1,1,x,SKU11,true")
    )
    samples = {each.check: [sample.mistake for sample in each.samples] for each in judged.result.measurements}

    assert {check: found for check, found in samples.items() if found} == {
        "type-3/day": ["no-day", None],
        "type-5/ok": ["unlisted"],
    }


def test_a_rare_failure_is_found_among_frequent_ones(judge_files: Callable[..., Judged]) -> None:
    """The rows of a check that fails once are sampled too, however many rows fail another before it."""
    rows = ["1,1,1,2024-12-31,X,true"] * 3000 + ["2,x,1,2024-12-31,X,true"]
    judged = judge_files(COMMAS, text(*rows))
    rows_of = {each.check: [it.row for it in each.samples] for each in judged.result.measurements}

    assert (rows_of["type-1/price"], rows_of["pattern/sku"]) == ([3002], list(range(2, 22)))


def test_public_values_are_shown_as_they_are(judge_files: Callable[..., Judged]) -> None:
    """A public value is raw, and cut where it is long; the form of values is reported for masked ones too."""
    plan = with_classification(COMMAS, sku="public")
    judged = judge_files(plan, text(f"1,1,1,2024-12-31,{'S' * 50},true", "2,1.5,NULL,2024-12-31,SKU11,true"))
    found = {each.check: each for each in judged.result.measurements}

    assert found["pattern/sku"].samples == (Sample(2, (f"{'S' * 40}…",), raw=(True,)),)
    assert found["type-2/weight"].samples == (Sample(3, ("AAAA",), raw=(False,)),)
    assert found["type-2/weight"].form == ValueMistake("null-word", 1, 1, "NULL")


JSON_VALUES: dict[str, tuple[str, bytes, str]] = {
    "numbers in place of texts": ("string", b'{"a": 10115}', "write the values in quotes"),
    "truths in place of texts": ("string", b'{"a": true}', "write the values in quotes"),
    "an object in place of a text": ("string", b'{"a": {"b": 1}}', "objects or lists, although one value is declared"),
    "a list in place of a number": ("integer", b'{"a": [1]}', "objects or lists, although one value is declared"),
    "a whole number beyond 64 bits": ("integer", b'{"a": 12345678901234567890}', "whole numbers beyond 64 bits"),
    "a negative one": ("integer", b'{"a": -12345678901234567890}', "whole numbers beyond 64 bits"),
    "a number in quotes": ("integer", b'{"a": "5"}', "write the values without quotes"),
    "an empty text": ("number", b'{"a": ""}', "where there is no value: write null"),
}


@pytest.mark.parametrize("name", JSON_VALUES)
def test_tokens_of_another_kind_have_a_cause(name: str, judge_files: Callable[..., Judged]) -> None:
    """What a type is written with in JSON is named, beside the check that fails."""
    kind, content, words = JSON_VALUES[name]

    judged = judge_files(replace(plan_of({"a": kind}), storage=Storage(Format.JSONL)), content)

    assert judged.verdict is Verdict.REJECTED
    assert words in judged.reasons


JSON_LINES: dict[str, tuple[bytes, str]] = {
    "NaN in a whole last line": (
        b'{"a": 1}\n{"a": NaN}',
        "1 row (first: row 2) holds NaN or Infinity, which JSON does not have",
    ),
    "a list of Python": (b"{'a': 1}\n{'a': None}\n", "2 rows (first: row 1) are written as Python prints values"),
    "commas between objects": (b'{"a": 1},\n{"a": 2},\n', "2 rows (first: row 1) have a comma too many"),
    "an object of several lines": (b'{\n  "a": 1\n}\n', "3 rows (first: row 1) are pieces of objects"),
    "a line that breaks off": (b'{"a": 1}\n{"a": ', "it is the last line, was the upload cut off?"),
    "two objects in a line": (
        b'{"a": 1}\n{"a": 1} {"a": 2}\n',
        "(first: row 2) has several objects in one line: write each object on a line of its own",
    ),
    "half of a character": (b'{"a": "\\ud83d"}\n', "half of a character"),
    "all records in one line": (
        b'{"data": [' + b", ".join([b'{"a": 1}'] * 200_000) + b"]}",
        "it is one object with the records in a list",
    ),
    "all records in one short line": (b'{"data": [{"a": 1}]}', "a list in the key 'data' of one object"),
}


@pytest.mark.parametrize("name", JSON_LINES)
def test_lines_that_are_no_records_of_json_have_a_cause(name: str, judge_files: Callable[..., Judged]) -> None:
    """Each way to write JSON lines wrongly is named with its place and its remedy."""
    content, words = JSON_LINES[name]

    judged = judge_files(replace(plan_of({"a": "integer"}), storage=Storage(Format.JSONL)), content)

    assert judged.verdict is Verdict.REJECTED
    assert words in judged.reasons


MANY = {
    "fields": (COMMAS, [HEADER, *(f"{line},x" for line in GOOD * 300)], 2),
    "encoding": (COMMAS, [HEADER, *GOOD * 300], 2),
    "python": (replace(COMMAS, storage=Storage(Format.JSONL)), ["{'id': 1}"] * 1500, 1),
}


@pytest.mark.parametrize("reason", MANY)
@pytest.mark.parametrize("samples", [20, 1000])
def test_malformed_records_are_sampled_as_failing_rows_are(reason: str, samples: int, tmp_path: Path) -> None:
    """The first ones in the order of the file, as many as of any check."""
    plan, lines, first = MANY[reason]
    text = "\n".join(lines)
    content = text.replace("true", "é").encode("latin-1") if reason == "encoding" else text.encode()

    request = request_for(plan, tmp_path, content, content)
    result = measure(request, plan, LocalStore(), tmp_path, samples=samples)

    (records,) = judge(plan, result).outcomes[:1]
    assert [(each.part, each.row) for each in result.malformed[0].samples] == [(0, first + at) for at in range(samples)]
    assert (records.id, records.failing_rows, records.samples) == ("file/records", 3000, result.malformed[0].samples)


def test_rows_are_lines_of_the_file_where_values_go_over_lines(judge_files: Callable[..., Judged]) -> None:
    """A record has the number of its first line, malformed or not, also behind a header of two lines."""
    plan = plan_of({"id": "integer", "name": "string"}, csv=Csv(multi_line=True))
    content = b'id,name,"free\nnote"\n1,"a\nb",x\n\nx,"c\n\nd",x\n3,4\n5,"e\n",x\ny,f,x\n6,"open\n'

    judged = judge_files(plan, content)

    (typed,) = (each.samples for each in judged.result.measurements if each.check == "type-0/id")
    assert [each.row for each in typed] == [6, 12]
    assert [(each.reason, each.first_row, each.is_last) for each in judged.result.malformed] == [
        ("fields", 9, False),
        ("quotes", 13, True),
    ]
    assert (judged.result.rows, judged.result.rejected_rows) == (6, 4)
