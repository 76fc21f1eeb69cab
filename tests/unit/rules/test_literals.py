"""P10: what a contract writes as a literal means exactly that text, whatever characters it is made of."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.json_codec import encode
from lakegate.contract.logical_types import LONGEST_NUMBER, LogicalType, literal, number_of, text_of
from lakegate.plan.plan import Plan
from lakegate.plan.predicates import OneOf
from tests.reference.cases import contract_of, field_of, only_plan, rule_of
from tests.reference.lexical import parse
from tests.reference.sampling import sampled
from tests.reference.strategies import names, texts
from tests.reference.truths import holds


@sampled(300, 50000)
@given(texts, texts)
def test_a_list_of_one_text_accepts_exactly_that_text(listed: str, other: str) -> None:
    """The enum [v] accepts v and nothing that differs from it, after its way through plan.json."""
    contract = contract_of({"a": "string"}, rule_of("enum", {"values": [listed]}, ("a",)))
    plan = Plan.from_json(encode(only_plan(contract)))
    predicate = OneOf("a", (listed,))

    assert predicate == plan.checks[0].accept.predicate
    assert holds(plan, predicate, {"a": listed})
    assert (other == listed) is holds(plan, predicate, {"a": other})


@sampled(100, 20000)
@given(names, texts)
def test_a_column_may_have_any_name(name: str, value: str) -> None:
    """Whatever a column is called, its rule judges that column."""
    contract = contract_of({name: "string", f"{name}2": "string"}, rule_of("enum", {"values": [value]}, (name,)))
    plan = Plan.from_json(encode(only_plan(contract)))
    predicate = plan.checks[0].accept.predicate

    assert predicate is not None
    assert holds(plan, predicate, {name: value, f"{name}2": None})
    assert not holds(plan, predicate, {name: value + "x", f"{name}2": value})


@pytest.mark.parametrize(
    ("logical", "written", "expected"),
    [
        ("string", "x", "x"),
        ("string", Decimal("1.10"), "1.10"),
        ("string", True, "true"),
        ("integer", Decimal("1E+3"), "1000"),
        ("integer", "-007", "-7"),
        ("integer", "1.5", "1.5"),
        ("integer", "9" * 21, None),
        ("integer", "x", None),
        ("integer", True, None),
        ("number", "1e5", "100000"),
        ("number", Decimal("NaN"), None),
        ("number", Decimal("Infinity"), None),
        ("number", "1e400", None),
        ("number", " 1", None),
        ("number", "1_0", None),
        ("decimal", "0.123456789012345678", "0.123456789012345678"),
        ("decimal", "0.1234567890123456789", None),
        ("decimal", "0.1000000000000000000000", "0.1"),
        ("decimal", "-.5", "-0.5"),
        ("decimal(38,0)", "9" * 38, "9" * 38),
        ("decimal(38,0)", "5.00", "5"),
        ("decimal(38,0)", "0.5", None),
        ("decimal(38,0)", "1" + "0" * 38, None),
        ("decimal(38,10)", "1.0123456789", "1.0123456789"),
        ("decimal(38,10)", "1.01234567891", None),
        ("decimal(38,38)", "0." + "9" * 38, "0." + "9" * 38),
        ("decimal(38,38)", "1", None),
        ("boolean", "TRUE", "true"),
        ("boolean", "1", None),
        ("date", "2024-02-29", "2024-02-29"),
        ("date", "2023-02-29", None),
        ("date", "20240229", None),
        ("time", "12:30", "12:30:00.000000000"),
        ("time", "12:30:45.5", "12:30:45.500000000"),
        ("time", "24:00", None),
        ("timestamp", "2024-02-29", "2024-02-29T00:00:00Z"),
        ("timestamp", "2024-02-29T12:00:00+01:00", "2024-02-29T12:00:00+01:00"),
        ("timestamp", "2024-02-29T12:00+01:00", None),
        ("timestamp", "2024-02-29T12:00:00-18:30", None),
        ("timestamp", "2023-02-29T12:00", None),
        ("timestamp", "2024-02-29T25:00", None),
        ("timestamp", "soon", None),
    ],
)
def test_a_literal_is_written_in_one_way(logical: str, written: object, expected: str | None) -> None:
    """A value of a document becomes the one text plans carry for it, or is refused as none of its type."""
    field = field_of("a", logical)

    assert expected == literal(field.type, written, field.scale)


@sampled(300, 20000)
@given(st.sampled_from(LogicalType), st.decimals() | st.dates() | st.times() | st.booleans() | texts)
def test_a_literal_is_a_value_of_its_type(logical: LogicalType, written: object) -> None:
    """What compiles as a literal is a value by the type's own grammar; whole numbers may be bounded by fractions."""
    found = literal(logical, written)
    judged_as = LogicalType.DECIMAL if logical is LogicalType.INTEGER else logical

    assert found is None or parse(judged_as, found) is not None


@pytest.mark.parametrize(
    ("value", "expected"), [(True, "true"), (False, "false"), (7, "7"), (Decimal("1E+2"), "100"), ("é", "é")]
)
def test_scalars_are_written_as_documents_write_them(value: object, expected: str) -> None:
    """Booleans are lower case, numbers have no exponent, texts stay."""
    assert expected == text_of(value)


@pytest.mark.parametrize("text", ["", "x", "1d", "0x1", "1e9999", "1" * (LONGEST_NUMBER + 1), "\u0661"])
def test_what_is_no_bearable_number_is_none(text: str) -> None:
    """Only plain decimal numbers of bearable length are numbers of a contract."""
    assert number_of(text) is None
