"""Contracts from schemas of Open Data Fabric (RFC-016), and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from lakegate.base.errors import ContractError, InputError
from lakegate.contract.contract_model import Contract
from lakegate.features.convert.odcs_export import odcs_of_schema
from lakegate.features.odf.exchange.odf_schema import odf, read
from lakegate.lints.linter import examine
from tests.unit.features.convert.test_convert_targets import HOSTILE, converted
from tests.unit.features.odf.exchange.test_odf_schema import MOMENT, option

COMMON = [
    {"name": "offset", "type": {"kind": "UInt64"}},
    {"name": "op", "type": {"kind": "UInt8"}},
    *({"name": name, "type": MOMENT} for name in ("system_time", "event_time")),
]
VALUES: list[dict[str, Any]] = [
    *({"kind": kind} for kind in ("Int64", "Float64", "Bool", "Date", "String", "Binary")),
    {"kind": "Decimal", "precision": 38, "scale": 18},
    {"kind": "Time", "unit": "Microsecond"},
    {"kind": "Timestamp", "unit": "Microsecond", "timezone": "UTC"},
]
"""The types that `--to odf` writes."""

names = st.sampled_from(["id", "key", "value", "Größe", "no", "0o17", HOSTILE])


def optional(kinds: Any) -> Any:
    """Types whose values may be null, and others."""
    return kinds | kinds.map(option)


def fields(kinds: Any, **more: Any) -> Any:
    """Fields of different names, some with a description."""
    extras = st.just({}) | st.just({"extra": {"opendatafabric.org/description": HOSTILE}})
    field = st.tuples(names, kinds, extras).map(lambda each: {"name": each[0], "type": each[1]} | each[2])
    return st.lists(field, min_size=1, max_size=4, unique_by=lambda each: each["name"], **more)


kinds = st.recursive(
    st.sampled_from(VALUES),
    lambda inner: (
        fields(optional(inner)).map(lambda parts: {"kind": "Struct", "fields": parts})
        | optional(inner).map(lambda item: {"kind": "List", "itemType": item})
        | st.tuples(st.sampled_from(VALUES), optional(inner)).map(
            lambda each: {"kind": "Map", "keyType": each[0], "valueType": each[1]}
        )
    ),
    max_leaves=4,
)
events = fields(optional(kinds)).map(lambda own: {"kind": "SetDataSchema", "schema": {"fields": [*COMMON, *own]}})


def text_of(document: object) -> bytes:
    """A document as YAML."""
    return yaml.safe_dump(document, allow_unicode=True, sort_keys=False).encode()


def of(*own: dict[str, Any], **more: Any) -> tuple[Contract, tuple[str, ...]]:
    """The contract of a schema with some fields."""
    return read(text_of({"kind": "SetDataSchema", "schema": {"fields": list(own), **more}}), "orders")


@given(events)
def test_what_is_written_is_read_back(event: dict[str, Any]) -> None:
    """An event as `--to odf` writes it becomes a contract without a loss, and that the same event."""
    contract, lost = read(text_of(event), "orders")

    assert lost == ()
    assert yaml.safe_load(converted(odf, contract).text) == event


@settings(max_examples=25)
@given(events)
def test_what_is_read_survives_the_document(event: dict[str, Any]) -> None:
    """The draft that `--from odf` writes as ODCS lints clean, and leads to the same event."""
    document = odcs_of_schema(read(text_of(event), "orders")[0])
    examined = examine(document.text.encode())

    assert (examined.errors, document.omitted) == ((), ())
    assert yaml.safe_load(converted(odf, examined.contract).text) == event


def test_a_contract_survives_odf() -> None:
    """Columns, types and options of a contract are those of the event that is written of it."""
    text = converted(odf).text
    contract, lost = read(text.encode(), "orders")

    assert lost == ()
    assert converted(odf, contract).text == text


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda event: [event],
        lambda event: [{"kind": "SetInfo"}, {**event, "schema": {"fields": [{"name": "x", "type": "Int8"}]}}, event],
        lambda event: {"kind": "DatasetSnapshot", "content": {"name": "a/b", "metadata": [{"kind": "SetInfo"}, event]}},
        lambda event: {"kind": "MetadataBlock", "content": {"sequenceNumber": 1, "event": event}},
        lambda event: {**event, "kind": "setDataSchema"},
    ],
)
def test_an_event_is_found_where_odf_has_it(wrapped: Any) -> None:
    """Alone, in a list, in the manifest of a dataset or a block; the last one counts, and the case of its kind does not."""
    event = {"kind": "SetDataSchema", "schema": {"fields": [{"name": "id", "type": {"kind": "Int64"}}]}}

    assert read(text_of(wrapped(event)), "orders") == read(text_of(event), "orders")


@pytest.mark.parametrize(
    ("kind", "same"),
    [
        ("Int64", {"kind": "Int64"}),
        ("string", {"kind": "String"}),
        *(({"kind": f"{sign}Int{bits}"}, {"kind": "Int64"}) for sign in ("", "U") for bits in (8, 16, 32, 64)),
        *(({"kind": f"Float{bits}"}, {"kind": "Float64"}) for bits in (16, 32, 64)),
        ({"kind": "Decimal", "precision": 10, "scale": 2}, {"kind": "Decimal", "precision": 38, "scale": 18}),
        ({"kind": "Time"}, {"kind": "Time", "unit": "Microsecond"}),
        ({"kind": "Timestamp"}, {"kind": "Timestamp", "unit": "Microsecond", "timezone": "UTC"}),
        ({"kind": "Timestamp", "timezone": "utc"}, {"kind": "Timestamp", "unit": "Microsecond", "timezone": "UTC"}),
        (option(option({"kind": "Bool"})), option({"kind": "Bool"})),
    ],
)
def test_types_are_read_in_every_form(kind: Any, same: dict[str, Any]) -> None:
    """A kind alone is a type; widths are not kept; an option of an option is one; nothing is listed."""
    contract, lost = of({"name": "a", "type": kind})

    assert lost == ()
    assert yaml.safe_load(converted(odf, contract).text)["schema"]["fields"][4:] == [{"name": "a", "type": same}]


def test_digits_of_decimals_are_kept() -> None:
    """In the contract, as its physical type."""
    contract, _ = of({"name": "a", "type": {"kind": "Decimal", "precision": 10, "scale": 2}})

    assert contract.datasets[0].fields[0].declared == "decimal(10,2)"


@pytest.mark.parametrize(
    ("field", "listed", "is_left_out"),
    [
        ({"type": {"kind": "Duration"}}, "a: left out: no logical type has values of the type `duration`", True),
        ({"type": "Null"}, "a: left out: no logical type has values of the type `null`", True),
        ({}, "a: left out: no logical type has values of the type `none`", True),
        ({"type": "List"}, "a[]: left out: no logical type has values of the type `none`", True),
        (
            {"type": {"kind": "Struct", "fields": []}},
            "a: left out: no logical type has values of the type `struct`",
            True,
        ),
        (
            {"type": {"kind": "Map", "keyType": "String", "valueType": "Null"}},
            "a.value: left out: no logical type has values of the type `null`",
            True,
        ),
        ({"type": {"kind": "List", "itemType": "Bool", "fixedLength": 3}}, "a: `fixedLength` has no equivalent", False),
        ({"type": {"kind": "Binary", "fixedLength": 3}}, "a: `fixedLength` has no equivalent", False),
        (
            {"type": {"kind": "Time", "unit": "Nanosecond"}},
            "a: nanoseconds: values are compared in microseconds",
            False,
        ),
        (
            {"type": {"kind": "Timestamp", "timezone": "+07:30"}},
            "a: the time zone `+07:30`: timestamps are moments in UTC",
            False,
        ),
        (
            {"type": {"kind": "Decimal", "precision": 76, "scale": 2}},
            "a: its precision and scale: a decimal has at most 38 digits, and no negative scale",
            False,
        ),
        ({"type": "Bool", "extra": {"a.com/a": {"b": 1}}}, "a: `a.com/a` has no equivalent", False),
        ({"type": "Bool", "more": 1}, "a: `more` has no equivalent", False),
    ],
)
def test_what_a_contract_cannot_have_is_listed(field: dict[str, Any], listed: str, is_left_out: bool) -> None:  # noqa: FBT001 - a column of the table
    """It is named with its place; a field without a logical type is left out."""
    contract, lost = of({"name": "a", **field}, {"name": "b", "type": "Bool"})

    assert lost[0] == listed
    assert [each.name for each in contract.datasets[0].fields] == (["b"] if is_left_out else ["a", "b"])


def test_attributes_of_a_schema_are_listed() -> None:
    """They are about the dataset."""
    assert of({"name": "b", "type": "Bool"}, extra={"c.com/z": 1})[1] == ("$.schema: `extra` has no equivalent",)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"kind": "SetInfo"}, "orders has no event `SetDataSchema`: give one"),
        ([], "orders has no event `SetDataSchema`"),
        ({"kind": "SetDataSchema", "schema": "AAAA"}, "$.schema of orders has no `fields`"),
        ([{"kind": "SetDataSchema"}], "$[0].schema of orders has no `fields`"),
        ({"kind": "SetDataSchema", "schema": {"fields": [{"type": "Bool"}]}}, "$.schema.fields[0] has no `name`"),
        ({"kind": "SetDataSchema", "schema": {"fields": COMMON}}, "orders has no column that a contract can describe"),
    ],
)
def test_what_is_no_schema_is_refused(document: object, message: str) -> None:
    """Other events, schemas of Arrow as bytes, and fields without names have one clear error."""
    with pytest.raises(InputError) as error:
        read(text_of(document), "orders")

    assert str(error.value).startswith(message)


def test_a_text_beyond_the_limits_of_documents_is_refused() -> None:
    """Deep options are refused before they are read."""
    kind = '{"kind": "Option", "inner": ' * 60 + '"Bool"' + "}" * 60
    with pytest.raises(ContractError):
        read(
            json.dumps({"kind": "SetDataSchema"})[:-1].encode() + f', "schema": {{"fields": [{kind}]}}}}'.encode(), "x"
        )
