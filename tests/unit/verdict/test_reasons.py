"""Causes: one fault that explains several outcomes is one reason, and changes no verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakegate.admission.header import MAX_COMPARED, match_physical, plain
from lakegate.contract.delivery_policy import FieldTreatment, Mode, Policy
from lakegate.contract.logical_types import LogicalType
from lakegate.plan.check import NONE, Check, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.predicates import Present, Typed
from lakegate.plan.result import (
    Columns,
    IncompatibleType,
    MalformedRecords,
    Measured,
    Measurement,
    Result,
    Sample,
    Unreadable,
    ValueMistake,
)
from lakegate.verdict.check_status import Status
from lakegate.verdict.reasons import is_of_gate
from lakegate.verdict.verdict import Verdict, early_rejections, judge

FIELDS = tuple(PlanField(name, f"c{at}", LogicalType.NUMBER) for at, name in enumerate(("id", "price", "weight")))
HEADER_AGAIN = Sample(5, ("aa",), record="header")
COMMA = ValueMistake("decimal-comma", 2, 2)


def check(name: str, kind: str = "type", **changes: object) -> Check:
    usual = Check(
        id=f"{kind}/{name}",
        rule=kind,
        kind=kind,
        fields=(name,),
        metric=Metric.FAILING_ROWS,
        unit=Unit.ROWS,
        accept=Tier(NONE, Typed(name) if kind == "type" else Present(name)),
        wanted="so",
    )
    return replace(usual, **changes)  # type: ignore[arg-type]


CHECKS = tuple(check(each.name, kind) for each in FIELDS for kind in ("type", "required"))
PLAN = Plan("c", "1.0.0", "d", FIELDS, CHECKS)
ALL = Columns(("id", "price", "weight"))


def measured(name: str, failing: int = 0, *samples: Sample, form: ValueMistake | None = None) -> Measurement:
    return Measurement(name, Measured(10, failing), samples=samples, form=form)


def answer(*failed: Measurement, columns: Columns = ALL, **changes: object) -> Result:
    by_name = {each.check: each for each in failed}
    measurements = tuple(by_name.get(each.id, measured(each.id)) for each in CHECKS)
    usual = Result("w", 1, "0" * 64, "v", 10, columns=columns, measurements=measurements)
    return replace(usual, **changes)  # type: ignore[arg-type]


def reasons(result: Result, plan: Plan = PLAN) -> list[tuple[str, str, str]]:
    return [(each.id, each.status.value, each.message) for each in judge(plan, result).reasons]


def test_an_unreadable_file_is_one_reason() -> None:
    """The cause explains that nothing was measured; the outcomes keep every check."""
    judgement = judge(PLAN, answer(unreadable=Unreadable("zip", "it is a zip"), measurements=(), columns=None))

    assert Verdict.REJECTED is judgement.verdict
    assert [(each.id, each.message) for each in judgement.reasons] == [("file/readable", "it is a zip")]
    assert judgement.explained == {each.id for each in judgement.outcomes}
    assert len(judgement.outcomes) == 1 + len(CHECKS)


def test_what_fails_in_a_repeated_header_alone_is_one_reason() -> None:
    """Checks that fail in such rows and in no other are explained by them; samples say where."""
    both = measured("type/price", 2, HEADER_AGAIN, replace(HEADER_AGAIN, row=9))
    other = measured("type/weight", 2, HEADER_AGAIN, Sample(7, ("a",)))
    judgement = judge(PLAN, answer(measured("type/id", 1, HEADER_AGAIN), both, other))

    assert [(each.id, each.samples) for each in judgement.reasons] == [
        ("cause/header-repeated", both.samples),
        ("type/weight", other.samples),
    ]
    assert judgement.reasons[0].message == (
        "row 5 (and 1 more) repeats the header line: remove it (was the file put together of several?)"
    )
    assert judgement.explained == {"type/id", "type/price"}
    assert {each.id for each in judgement.outcomes if each.status is Status.FAIL} == {
        "type/id",
        "type/price",
        "type/weight",
    }


def test_a_fault_that_explains_one_outcome_is_said_by_it() -> None:
    """There is no reason beside it: the remedy stands in its own message."""
    assert reasons(answer(measured("type/id", 1, replace(HEADER_AGAIN, record="blank")))) == [
        (
            "type/id",
            "fail",
            (
                "id: wanted so; measured 1 of 10 rows fails (10 %); row 5 holds nothing but delimiters, "
                "as spreadsheets write below the last row: remove such rows"
            ),
        )
    ]


def test_a_known_mistake_in_several_columns_is_one_reason() -> None:
    """Columns whose values are all written so share a reason; that of a column with other failures names its share."""
    mixed = measured("type/weight", 3, form=ValueMistake("decimal-comma", 2, 3))
    found = reasons(answer(measured("type/id", 2, form=COMMA), measured("type/price", 2, form=COMMA), mixed))

    words = "written with a decimal comma: write 1234.5, not 1234,5 or 1.234,5"
    assert found == [
        ("cause/decimal-comma", "fail", f"id, price: {words}"),
        (
            "type/weight",
            "fail",
            f"weight: wanted so; measured 3 of 10 rows fail (30 %); 2 of 3 sampled values are {words}",
        ),
    ]


def test_a_known_mistake_of_one_column_is_said_by_its_outcome() -> None:
    """A single check is hinted at; an answer to no check of the plan explains nothing."""
    stray = measured("nobody", 1, form=COMMA)
    result = answer(measured("type/id", 2, form=COMMA))

    assert [each[2] for each in reasons(replace(result, measurements=(*result.measurements, stray)))] == [
        (
            "id: wanted so; measured 2 of 10 rows fail (20 %); "
            "written with a decimal comma: write 1234.5, not 1234,5 or 1.234,5"
        )
    ]


NAMES: dict[str, tuple[Columns, list[tuple[str, str, str]]]] = {
    "blanks": (
        Columns(("id", " price", "wei ght"), absent=("price", "weight"), extra=(" price", "wei ght")),
        [
            (
                "cause/column-names",
                "fail",
                "the header has blanks in the names: ' price' should be price, 'wei ght' should be weight",
            )
        ],
    ),
    "case": (
        Columns(("id", "PRICE", "weight"), absent=("price",), extra=("PRICE",)),
        [("cause/column-names", "fail", "the header has another case: 'PRICE' should be price")],
    ),
    "spelling": (
        Columns(("id", "pricé", "wieght"), absent=("price", "weight"), extra=("pricé", "wieght")),
        [
            (
                "cause/column-names",
                "fail",
                "the header has another spelling: 'pricé' should be price, 'wieght' should be weight",
            )
        ],
    ),
    "lacking": (
        Columns(("id",), absent=("price", "weight")),
        [("cause/missing-columns", "fail", "the file has no columns price, weight: deliver them")],
    ),
    "both": (
        Columns(("id", "Price"), absent=("price", "weight"), extra=("Price",)),
        [
            ("cause/column-names", "fail", "the header has another case: 'Price' should be price"),
            ("cause/missing-columns", "fail", "the file has no column weight: deliver it"),
        ],
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_columns_are_one_reason_for_each_fault(name: str) -> None:
    """Whatever rules a column has, its absence is reported once, with the name that the file has instead."""
    columns, expected = NAMES[name]

    assert reasons(answer(columns=columns)) == expected
    assert [each.message for each in early_rejections(PLAN, columns)] == [message for _, _, message in expected]


def test_physical_names_are_named_as_such() -> None:
    """A file that has columns by their `physicalName` gets a hint, also where such a name resembles another column."""
    physical = {"price": "AMT_01", "weight": "prices"}
    fields = tuple(replace(each, physical=physical.get(each.name)) for each in FIELDS)
    plan = replace(PLAN, fields=fields, policy=Policy(additional_fields=FieldTreatment.FORBID))
    columns = Columns(("id", "prices", "AMT_01"), absent=("price", "weight"), extra=("prices", "AMT_01"))
    mixed = Columns(("id", "AMT_01", "Weight"), absent=("price", "weight"), extra=("AMT_01", "Weight"))
    hint = "physical names (`physicalName`), where files have the `name`"

    assert reasons(answer(columns=columns), plan) == [
        ("cause/column-names", "fail", f"the header has {hint}: 'AMT_01' should be price, 'prices' should be weight")
    ]
    assert [message for _, _, message in reasons(answer(columns=mixed), plan)] == [
        "the header has another spelling: 'AMT_01' should be price, 'Weight' should be weight"
    ]


def test_a_renamed_column_explains_the_additional_one() -> None:
    """An extra column that is a declared one in another spelling is not a second fault; another extra one is."""
    plan = replace(PLAN, policy=Policy(additional_fields=FieldTreatment.FORBID))
    columns = Columns(("id", "PRICE", "weight"), absent=("price",), extra=("PRICE",))

    assert [each[0] for each in reasons(answer(columns=columns), plan)] == ["cause/column-names"]
    assert [each[0] for each in reasons(answer(columns=replace(columns, extra=("PRICE", "x"))), plan)] == [
        "cause/column-names",
        "file/additional-columns",
    ]


@pytest.mark.parametrize(
    ("extra", "is_hinted"), [(("",), True), (("Unnamed: 0",), True), (("", "x"), False), (("x",), False)]
)
def test_an_exported_index_is_named(extra: tuple[str, ...], is_hinted: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """For a first column that only numbers the rows the reason has the remedy, where it is the only additional one."""
    plan = replace(PLAN, policy=Policy(additional_fields=FieldTreatment.WARN))
    (reason,) = reasons(answer(columns=Columns((*extra, *ALL.found), extra=extra)), plan)

    assert reason[:2] == ("file/additional-columns", "warn")
    assert ("index=False" in reason[2]) is is_hinted


def test_columns_of_other_types_are_one_reason() -> None:
    """Each is named with both types; a column that is only a part of another's type is left to its own check."""
    columns = replace(ALL, foreign=(IncompatibleType("id", "string"), IncompatibleType("price", "bool")))
    failed = (measured("type/id", 10), measured("type/price", 10))

    assert reasons(answer(*failed, columns=columns)) == [
        (
            "cause/column-types",
            "fail",
            (
                "id is stored as string, not as number, price is stored as bool, not as number: "
                "convert before the file is written"
            ),
        )
    ]


def test_a_cause_of_warnings_is_a_warning() -> None:
    """A cause is as bad as the worst it explains, and changes no verdict."""
    checks = tuple(replace(each, fields=(*each.fields,)) for each in CHECKS if each.kind == "type")
    plan = replace(PLAN, checks=checks, policy=Policy(mode=Mode.OBSERVE))
    columns = Columns(("id",), absent=("price", "weight"))

    judgement = judge(plan, answer(columns=columns, measurements=(measured("type/id"),)))

    assert (judgement.verdict, [each.status for each in judgement.reasons]) == (
        Verdict.ACCEPTED_WITH_WARNINGS,
        [Status.WARN],
    )


DETAILS: dict[str, tuple[MalformedRecords, str]] = {
    "fewer": (
        MalformedRecords("fields", 1, 3, values=2, wanted=5),
        "has another number of values than the header (2 instead of 5)",
    ),
    "cut off": (
        MalformedRecords("fields", 1, 9, values=2, wanted=5, is_last=True),
        "has another number of values than the header (2 instead of 5): it is the last line, was the upload cut off?",
    ),
    "more": (
        MalformedRecords("fields", 1, 3, values=6, wanted=5, is_last=True),
        (
            "has another number of values than the header (6 instead of 5): a value that holds the delimiter, "
            "such as a decimal comma, stands in quotes"
        ),
    ),
    "one more in the first row, and none right": (
        MalformedRecords("fields", 10, 2, values=6, wanted=5),
        (
            "have another number of values than the header (6 instead of 5): no row has as many, look for an index without a "
            "name in the header, a delimiter at the end, or a decimal comma"
        ),
    ),
    "blank": (
        MalformedRecords("fields", 1, 9, values=2, wanted=5, record="blank", is_last=True),
        "has another number of values than the header (2 instead of 5): it holds nothing but delimiters, remove such rows",
    ),
    "json": (
        MalformedRecords("json", 1, 9, is_last=True, at=1200),
        "is no JSON (RFC 8259), from character 1,200 on",
    ),
    "a JSON line that breaks off": (
        MalformedRecords("cut", 1, 9, is_last=True),
        "breaks off before its object closes: it is the last line, was the upload cut off?",
    ),
    "a whole last line of JSON": (
        MalformedRecords("nan", 1, 9, is_last=True),
        "holds NaN or Infinity, which JSON does not have: write null",
    ),
    "a record that holds all of them": (
        MalformedRecords("too_long", 1, 1, is_last=True, record="wrapped"),
        "is longer than 1 MiB: it is one object with the records in a list, write each of them on a line of its own",
    ),
    "totals": (
        MalformedRecords("fields", 1, 9, values=2, wanted=5, record="total", is_last=True),
        "has another number of values than the header (2 instead of 5): it holds totals or the end of a list, remove such rows",
    ),
    "encoding": (
        MalformedRecords("encoding", 1, 9, encoding="windows-1252", is_last=True),
        (
            "is not valid UTF-8: save the file as UTF-8 (in Excel: CSV UTF-8), "
            "or declare csv.encoding: windows-1252, in which it can be read"
        ),
    ),
}


@pytest.mark.parametrize("name", DETAILS)
def test_a_malformed_record_says_what_its_first_one_tells(name: str) -> None:
    """How many values it has, whether it is the last line, and in which encoding it can be read."""
    found, words = DETAILS[name]
    rows = "1 row" if found.rows == 1 else f"{found.rows} rows"

    assert [each[2] for each in reasons(answer(malformed=(found,)))] == [
        f"{rows} (first: row {found.first_row}) {words}"
    ]


def test_two_letters_that_change_places_are_one_name() -> None:
    """A short name with two letters exchanged is the same name; one of other letters is not."""
    assert match_physical(["nmae"], ["name"]) == {"name": "nmae"}
    assert match_physical(["size"], ["name"]) == {}


def test_names_are_compared_in_bounds() -> None:
    """Nothing is compared with an endless header, and each of its names belongs to one declared column."""
    many = [f"x{at}" for at in range(10_000)]

    assert match_physical([*many, "price"], ["price"]) == {}
    assert match_physical([*many[: MAX_COMPARED - 1], "Price"], ["price", "PRICE"]) == {"price": "Price"}
    assert plain(" Größe_(kg) ") == "grossekg"


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("duplicate-content", True),
        ("line-sunset: it ends on 2027-01-31", True),
        ("waived: known (until 2027-01-31, by arn:aws:iam::123456789012:user/alice)", True),
        ("declined: known (by callback:webhook:erp)", True),
        ("declined: known (by https://login.example.org#42)", True),
        ("orders/total/minimum: 3 of 9 rows", False),
        ("declined: a rule of this name", False),
        ("totals/declined: known (by arn:aws:iam::123456789012:user/alice)", False),
    ],
)
def test_a_reason_of_the_gate_is_a_code_a_warning_or_that_of_a_person(reason: str, expected: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """A person's reason says last who gave it; one that begins like it and names nobody is that of a rule."""
    assert is_of_gate(reason) is expected
