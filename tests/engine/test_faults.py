"""Common faults of files: one fault, one reason, with the remedy."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet
import pytest

from lakegate.contracts.judge.verdict import Verdict
from lakegate.contracts.model.policy import Additional, Policy
from lakegate.contracts.model.storage import Csv, Format, Storage
from lakegate.contracts.plan.result import MalformedRecords, Sample, ValueMistake
from tests.deliveries.delivery import plan_of, rule, with_classification
from tests.deliveries.written import as_jsonl

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.contracts.plan.plan import Plan
    from tests.deliveries.delivery import Judged


FIELDS = {"id": "integer", "price": "number", "weight": "decimal", "day": "date", "sku": "string", "ok": "boolean"}
RULES = (
    *(rule("required", name) for name in ("id", "price", "day", "sku")),
    rule("pattern", "sku", pattern="^SKU[0-9]{2}$"),
)
COMMAS = plan_of(FIELDS, *RULES)
SEMICOLONS = plan_of(FIELDS, *RULES, csv=Csv(delimiter=";"))
STRICT = plan_of(FIELDS, *RULES, policy=Policy(additional_fields=Additional.FORBID))
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
        ["cause/decimal-comma: price, weight: written with a decimal comma: write 1234.5, not 1234,5 or 1.234,5"],
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
                "type-3/day: day: wanted a calendar date as YYYY-MM-DD; measured 1 of 1 rows fail (100 %); "
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
                "type-1/price: price: wanted a decimal number such as 1234.50; measured 1 of 1 rows fail (100 %); "
                "written with separators of thousands: write 1234567, not 1,234,567"
            )
        ],
    ),
    "a line that breaks off": (
        COMMAS,
        text(*GOOD) + b"7,1.5,2",
        [
            (
                "file/records: 1 row (first: row 7) have another number of values than the header (3 instead of 6): "
                "it is the last line, was the upload cut off?"
            )
        ],
    ),
    "a value that holds the delimiter": (
        COMMAS,
        text(GOOD[0], "2,9,99,1,2024-12-31,SKU11,true", GOOD[1]),
        [
            (
                "file/records: 1 row (first: row 3) have another number of values than the header (7 instead of 6): "
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
                "every row has one "
                "more, an index without a name in the header, a delimiter at the end, or a decimal comma"
            )
        ],
    ),
    "an encoding that is not declared": (
        COMMAS,
        text(*GOOD, "7,1.5,1,2024-12-31,SKU1é,true").decode().encode("windows-1252"),
        [
            (
                "file/records: 1 row (first: row 7) are not valid in the declared encoding (csv.encoding): save the file in it, "
                "or declare csv.encoding: windows-1252, in which they can be read"
            )
        ],
    ),
    "blank lines of delimiters of another number": (
        COMMAS,
        text(*GOOD, ",,,"),
        [
            (
                "file/records: 1 row (first: row 7) have another number of values than the header (4 instead of 6): "
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


def test_of_several_files_the_one_that_is_meant_is_named(judge_files: Callable[..., Judged]) -> None:
    """Unreadable objects and the first malformed record are reported with the number of the object."""
    unreadable = judge_files(COMMAS, text(*GOOD), b"PK\x03\x04").result.unreadable
    (malformed,) = judge_files(COMMAS, text(*GOOD), text(*GOOD, "7,1.5")).result.malformed

    assert unreadable is not None
    assert (unreadable.code, unreadable.part) == ("zip", 1)
    assert malformed == MalformedRecords("fields", 1, 7, part=1, values=2, wanted=6, is_last=True)


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
    assert (found.good, found.form) == (("aaa99",), None)


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
