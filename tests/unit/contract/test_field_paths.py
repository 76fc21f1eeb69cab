from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.contract.contract_model import Dataset, Field, Origin
from lakegate.contract.field_paths import (
    FieldPath,
    column_name,
    column_path,
    element_path,
    member_path,
    own_name,
    path_of,
    spelled_out,
    steps_of,
)
from lakegate.contract.logical_types import LogicalType
from lakegate.rules.compile_plan import plan_fields, with_parts

HOSTILE = st.text(st.sampled_from('ab.[]" {}\nkey'), max_size=6)
"""Names made of the characters that paths are made of."""
STEPS = st.tuples(
    HOSTILE.map(".{}".format), st.lists(st.one_of(HOSTILE.map(".{}".format), st.just("[]")), max_size=4)
).map(lambda found: (found[0], *found[1]))


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ((".address", ".street"), "address.street"),
        ((".lines", "[]", ".sku"), "lines[].sku"),
        ((".prices", "{key}"), "prices.key"),
        ((".prices", "{value}", "[]"), "prices.value[]"),
        ((".a.b",), '"a.b"'),
        ((".a", ".b.c"), 'a."b.c"'),
        ((".a.b", ".c"), '"a.b".c'),
        ((".l[]",), '"l[]"'),
        ((".m.value",), '"m.value"'),
        (('."x"',), '"""x"""'),
        (("."), ""),
        ((".", "."), '"".""'),
        ((".No.",), "No."),
        ((".0",), "0"),
        (("..0",), ".0"),
        ((".Emp. ID",), "Emp. ID"),
        ((".price [EUR]",), "price [EUR]"),
        (('.5" disk',), '5" disk'),
        ((".a", ". b"), 'a." b"'),
    ],
)
def test_a_path_has_one_text(steps: tuple[str, ...], text: str) -> None:
    """Names are in quotes where they would be read as paths, or as quoted names, and as they are everywhere else."""
    parts = tuple(f".{each[1:-1]}" if each.startswith("{") else each for each in steps)

    assert (path_of(steps), steps_of(text)) == (text, parts)


@given(STEPS, STEPS)
def test_texts_and_paths_are_one_to_one(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    """Whatever the names, a text gives its path back, and two paths never have one text."""
    text = path_of(one)

    assert steps_of(text) == one
    assert path_of(steps_of(text) or ()) == text
    assert (text == path_of(other)) is (one == other)


@given(STEPS)
def test_a_path_that_is_spelled_out_is_the_same(steps: tuple[str, ...]) -> None:
    """With its first name in quotes a path is still that path, and no column has this text as its path."""
    text = spelled_out(path_of(steps))

    assert steps_of(text) == steps
    assert len(steps) == 1 or text != column_path(text)


@given(HOSTILE)
def test_data_has_the_name_of_the_last_step(name: str) -> None:
    """The name of a column, and that of a member, are those of the data."""
    column = column_path(name)

    assert (column_name(column), own_name(column)) == (name, name)
    assert own_name(member_path(column_path("a"), name)) == name
    assert own_name(element_path(column)) == "[]"


@pytest.mark.parametrize("text", ['"a', '"a"b', "a[]b", "a[]."])
def test_other_texts_are_no_paths(text: str) -> None:
    """A quote that does not close, and what follows neither a name nor elements."""
    assert (steps_of(text), own_name(text), column_name(text)) == (None, text, text)


@st.composite
def schemas(draw: st.DrawFn) -> Dataset:
    """A dataset with columns, records, lists and maps whose names are hostile; of neighbours none has the name of another."""

    def parts(path: FieldPath, depth: int) -> Field:
        kind = draw(st.sampled_from(("string", "object", "array", "map") if depth else ("string",)))
        inner: list[FieldPath] = []
        if kind == "object":
            inner = [member_path(path, name) for name in draw(st.lists(HOSTILE, unique=True, max_size=3))]
        elif kind == "array":
            inner = [element_path(path)]
        elif kind == "map":
            inner = [member_path(path, part) for part in ("key", "value")]
        made = tuple(parts(each, depth - 1) for each in inner)
        return Field(path, LogicalType.STRING, Origin("$"), declared=kind, parts=made)

    names = draw(st.lists(HOSTILE, unique=True, min_size=1, max_size=5))
    return Dataset("d", tuple(parts(column_path(name), 2) for name in names), (), Origin("$"))


@given(schemas())
def test_no_two_fields_of_a_schema_have_one_name(dataset: Dataset) -> None:
    """Every field is found by its path, and its place in the plan is that of its names."""
    fields = list(with_parts(dataset.fields))

    assert len({each.name for each in fields}) == len(fields)
    assert all(dataset.field(each.name) is each for each in fields)
    places = {each.name: each.place for each in plan_fields(dataset.fields, with_inner=True)}
    assert {
        name: tuple(re.sub(r"^\{(key|value)\}$", r".\1", step) for step in place) for name, place in places.items()
    } == {each.name: steps_of(each.name) for each in fields}


def test_a_document_names_a_field_by_path_or_a_column_by_name() -> None:
    """A name that is also the path of a nested field names both; in quotes it is one of them."""
    inner = Field(FieldPath("a.b"), LogicalType.STRING, Origin("$"))
    record = Field(FieldPath("a"), LogicalType.STRING, Origin("$"), declared="object", parts=(inner,))
    flat, dotted = (Field(column_path(name), LogicalType.STRING, Origin("$")) for name in ("a.b", "x.y"))
    dataset = Dataset("d", (record, flat, dotted), (), Origin("$"))

    assert dataset.named("a.b") == (inner, flat)
    assert (dataset.named('"a.b"'), dataset.named('"a".b'), dataset.named('a."b"')) == ((flat,), (inner,), (inner,))
    assert (dataset.named("x.y"), dataset.named('"x.y"'), dataset.named("b")) == ((dotted,), (dotted,), ())
