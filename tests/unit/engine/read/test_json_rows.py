"""The values of fields in a JSON text: by its tokens, before any cast."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.contract.contract_model import Shape
from lakegate.engine.read.json_rows import MAX_EXTRA, OBJECT, RowReader, levels
from lakegate.engine.read.json_texts import MalformedError, NumberText, parse_object
from lakegate.engine.read.read_bounds import LONGEST_RECORD
from lakegate.engine.read.stored_columns import repeats, sizes
from lakegate.engine.read.stored_types import physical
from lakegate.lints.linter import read
from tests.reference.cases import only_plan
from tests.reference.truths import size, unrepeated
from tests.unit.rules.test_nested_fields import nested_plan

MALFORMED = {
    "no JSON": (b"hello", "json"),
    "an object that breaks off": (b'{"a": [1', "cut"),
    "a text that breaks off": (b'{"a": "b', "cut"),
    "a line of an object on several lines": (b"{", "spread"),
    "a further line of it": (b'  "a": {', "spread"),
    "its last line": (b" },\r", "spread"),
    "Python": (b'{"a": None}', "python"),
    "a comma behind": (b'{"a": 1},', "comma"),
    "a comma in a list": (b'{"a": [1, ]}', "comma"),
    "two values": (b"1 {}", "json"),
    "two objects": (b"{} {}", "several"),
    "objects without a break": (b'{"a": 1}{"a": 2}{"a": 3}', "several"),
    "NaN": (b'{"a": NaN}', "nan"),
    "minus infinity": (b'{"a": -Infinity}', "nan"),
    "a leading zero": (b'{"a": 01}', "json"),
    "a bare point": (b'{"a": .5}', "json"),
    "single quotes": (b"{'a': 1}", "python"),
    "a trailing comma": (b'{"a": 1,}', "comma"),
    "a comment": (b'{"a": 1} // x', "json"),
    "a control character": (b'{"a": "\x01"}', "json"),
    "a nesting that is too deep": (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "json"),
    "a byte order mark": (b'\xef\xbb\xbf{"a": 1}', "json"),
    "an array": (b"[1]", "object"),
    "a number": (b"1", "object"),
    "null": (b"null", "object"),
    "a key twice": (b'{"a": 1, "a": 1}', "keys"),
    "an inner key twice": (b'{"a": {"b": 1, "b": 2}}', "keys"),
    "a key twice, escaped": (b'{"a": 1, "\\u0061": 2}', "keys"),
    "Latin-1": ('{"a": "ã"}'.encode("latin-1"), "encoding"),
    "half a surrogate pair": (b'{"a": ["\\ud83d"]}', "surrogate"),
    "half a surrogate pair as a key": (b'{"\\ude00": 1}', "surrogate"),
    "2 MiB": (b'{"a": "' + b"x" * (2 * LONGEST_RECORD) + b'"}', "too_long"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_no_record_is_malformed(name: str) -> None:
    """Each way to be no JSON object (RFC 8259) has its reason."""
    text, code = MALFORMED[name]

    with pytest.raises(MalformedError) as caught:
        parse_object(text)

    assert caught.value.code == code


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b" \t\r\n", None),
        (b"", None),
        (b" {} ", {}),
        (b'{"a": 1.10}', {"a": "1.10"}),
        (b'{"a": -0}', {"a": "-0"}),
        (b'{"a": 1E400}', {"a": "1E400"}),
        (b'{"a": ' + b"9" * 5000 + b"}", {"a": "9" * 5000}),
        (b'{"a": "\\ud83d\\ude00"}', {"a": "😀"}),
        (b'{"a": "\\u0000"}', {"a": "\0"}),
        (b'{"": true}', {"": True}),
    ],
)
def test_an_object_is_read_with_its_numbers_as_they_are_written(text: bytes, value: Any) -> None:
    """No number is rounded, shortened or too long; space alone is not a record."""
    assert parse_object(text) == value


def test_a_number_is_told_from_a_text() -> None:
    """Though both are kept as text."""
    found = parse_object(b'{"a": 5, "b": "5"}')
    assert found is not None

    assert [type(each) for each in found.values()] == [NumberText, str]


def read_values(*values: object) -> RowReader:
    reading = RowReader(nested_plan().fields)
    for value in values:
        reading.add(parse_object(json.dumps(value).encode()))
    return reading


def cells(reading: RowReader, name: str) -> list[tuple[str | None, bool]]:
    field = nested_plan().field(name)
    found = reading.levels[field.level].cells if field.level else reading.rows
    (texts, own) = next(each[1:] for each in found.arrays() if each[0] == field.alias)
    return list(zip(texts.to_pylist(), own.to_pylist(), strict=True))


def test_a_cell_has_its_text_and_whether_it_is_of_its_own_kind() -> None:
    """A text is not a number, a number is not a text, an object is neither; null and absent are the same."""
    reading = read_values({"id": 5}, {"id": "5"}, {"id": True}, {"id": {}}, {"id": [1]}, {"id": None}, {})

    assert cells(reading, "id") == [
        ("5", True),
        ("5", False),
        ("true", False),
        ("{...}", False),
        ("[...]", False),
        (None, False),
        (None, False),
    ]


def test_parts_of_records_stand_in_their_row() -> None:
    """A value that is not the declared object has no parts."""
    reading = read_values({"address": {"street": "x"}}, {"address": "y"}, {"address": {}})

    assert cells(reading, "address") == [("{...}", True), ("y", False), ("{...}", True)]
    assert cells(reading, "address.street") == [("x", True), (None, False), (None, False)]


def test_elements_have_places_in_their_rows() -> None:
    """Lists in lists and entries of maps count from 0, as JSON paths do; what is not a list has no elements."""
    reading = read_values(
        {"items": [{"sku": "a", "tags": ["t", 1]}, None], "prices": {"x": 1}},
        {"items": "none", "prices": []},
        {"items": [{"sku": 2}]},
    )
    items, tags, prices = reading.levels.values()

    assert items.places == ["items[0]", "items[1]", "items[0]"]
    assert items.ends == [2, 2, 3]
    assert cells(reading, "items[].sku") == [("a", True), (None, False), ("2", False)]
    assert (tags.places, tags.ends) == (["items[0].tags[0]", "items[0].tags[1]"], [2, 2, 2])
    assert (prices.places, prices.ends) == (["prices[0]"], [1, 1, 1])
    assert cells(reading, "prices.key") == [("x", True)]
    assert cells(reading, "prices.value") == [("1", True)]


def test_levels_come_in_the_order_of_the_plan() -> None:
    """Outer ones first."""
    assert levels(nested_plan().fields) == ((".items", "[]"), (".items", "[]", ".tags", "[]"), (".prices", "{}"))


def test_keys_that_nobody_declared_are_kept_by_their_paths() -> None:
    """Of the record and of its parts, a bounded number of each row; keys of a map are data."""
    reading = read_values({"a": 1, "address": {"b": 1}, "items": [{"c": 1}], "prices": {"d": 1}})
    many = read_values(*({f"{row}-{n}": 1 for n in range(2 * MAX_EXTRA)} for row in range(30)))

    assert sorted(reading.extra) == ["a", "address.b", "items[].c"]
    assert (f"0-{MAX_EXTRA - 1}" in many.extra, f"0-{MAX_EXTRA}" in many.extra) == (True, False)
    assert len(many.extra) == 20 * MAX_EXTRA


WHOLE = b"""
dataContractSpecification: 1.2.1
id: x
info: {title: t, version: 1.0.0}
models:
  m:
    config: {lakegate: {format: jsonl}}
    fields:
      items: {type: array, items: {type: variant}}
      box: {type: record, fields: {a: {type: variant}}}
      codes: {type: map, keys: {type: text}, values: {type: variant}}
"""
PLAIN = only_plan(read(WHOLE))
texts = st.sampled_from(["", "1", "a", "None", "true"])
scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, -0.0, 1e300]) | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@given(values, values)
def test_parts_are_counted_and_compared_as_by_the_reference(items: object, box: object) -> None:
    """Whatever a value consists of; equal numbers in two spellings are one, and a member without a value is none."""
    aliases = {each.name: each.alias for each in PLAIN.columns}
    reading = RowReader(PLAIN.fields, aliases.values(), [aliases["items"]])

    reading.add(parse_object(json.dumps({"items": items, "box": box, "codes": box}).encode()))

    found = {name: reading.rows.sizes[alias] for name, alias in aliases.items()}
    assert found == {
        "items": [size(Shape.LIST, items)],
        "box": [size(Shape.RECORD, box)],
        "codes": [size(Shape.MAP, box)],
    }
    unique = unrepeated(items)
    assert reading.rows.repeats == {aliases["items"]: [None if unique is None else not unique]}


@pytest.mark.parametrize(
    ("text", "is_repeated"),
    [
        ("[1, 1.0]", True),
        ("[10, 1e1]", True),
        ("[100, 1]", False),
        ("[0, -0.0]", True),
        ("[-1, 1]", False),
        ("[1e99999999999999999999, 1e99999999999999999999]", True),
        ('[1, "1"]', False),
        ("[null, null]", True),
        ('[{"a": 1, "b": null}, {"a": 1.0}]', True),
    ],
)
def test_numbers_are_equal_by_their_value(text: str, is_repeated: bool) -> None:  # noqa: FBT001 - a case
    """Not by their spelling; a number is no text."""
    (alias,) = (each.alias for each in PLAIN.columns if each.name == "items")
    reading = RowReader(PLAIN.fields, (), [alias])

    reading.add(parse_object(f'{{"items": {text}}}'.encode()))

    assert reading.rows.repeats == {alias: [is_repeated]}


@given(
    st.lists(st.none() | st.lists(st.none() | st.sampled_from([-0.0, 0.0, 0.5]), max_size=4), max_size=5),
    st.integers(0, 3),
)
def test_lists_of_a_table_are_compared_as_by_the_reference(lists: list[list[float | None] | None], cut: int) -> None:
    """Also of a part of a column, and of elements with parts."""
    for kind, rows in (
        (pa.list_(pa.float64()), lists),
        (
            pa.large_list(pa.struct({"a": pa.float64()})),
            [each and [{"a": it and 0.5} for it in each] for each in lists],
        ),
        (
            pa.map_(pa.string(), pa.float64()),
            [each and [(f"k{at}", it) for at, it in enumerate(each)] for each in lists],
        ),
    ):
        array = pa.array(rows, kind).slice(min(cut, len(lists)))
        told, shown = physical(kind), [each if each is None else len(each) for each in rows][min(cut, len(lists)) :]
        assert sizes(array, told).to_pylist() == shown
        if not pa.types.is_map(kind):
            unique = [unrepeated(each) for each in rows[min(cut, len(lists)) :]]
            assert repeats(array, told).to_pylist() == [None if each is None else not each for each in unique]


def test_values_stand_in_their_rows_although_others_lack_the_key() -> None:
    """Absent keys cost nothing, and the values after them keep their rows."""
    reading = read_values({}, {"id": 1}, {}, {}, {"id": 2}, {"items": [{}, {"sku": "a"}, None]}, {"id": 3}, {})

    assert [text for text, _ in cells(reading, "id")] == [None, "1", None, None, "2", None, "3", None]
    assert cells(reading, "items[].sku") == [(None, False), ("a", True), (None, False)]


def test_keys_that_occur_are_known_with_the_objects_that_may_have_them() -> None:
    """A key occurs with any value, also null; what is no object has no keys."""
    reading = read_values({"address": None}, {"items": [{"sku": 1}, 2], "prices": {"a": 1}}, {"id": "x"})

    assert reading.keys == {
        (OBJECT,),
        (".address",),
        (".items",),
        (".items", "[]", OBJECT),
        (".items", "[]", ".sku"),
        (".prices",),
        (".id",),
    }
