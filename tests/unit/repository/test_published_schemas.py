"""The published schemas are those of the dataclasses, and decoding accepts what they accept."""

from __future__ import annotations

import json
import math
import types
import typing
from copy import deepcopy
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from infra.site.published_schemas import BETWEEN_MEMBERS, FOLDER, FORMATS, schema_of, text_of
from lakegate.base.json_codec import DECIMAL, Bounds, DecodeError, Pattern, Permitted, Unique, canonical, decode, limits
from tests.reference.sampling import sampled

FORMAT = pytest.mark.parametrize("name", sorted(FORMATS))
INDEPENDENT = pytest.mark.parametrize("name", sorted(FORMATS.keys() - BETWEEN_MEMBERS))
"""Members of blocks depend on each other: tests/unit/gate/ledger/test_blocks.py."""
STRANGE = [None, True, 0, -1, 1, 1.5, 2.0, 2**64, "", "x", "\n", "é" * 2000, "0" * 64, "0" * 64 + "\n", [], [None], {}]
"""Values that stand anywhere in a mutated document."""


@FORMAT
def test_a_published_schema_is_current(name: str) -> None:
    """It is a schema, and the file has what `make published-schemas` writes."""
    Draft202012Validator.check_schema(schema_of(name))

    assert text_of(name) == (FOLDER / f"{name}.json").read_text(), "run `make published-schemas`"


@INDEPENDENT
@sampled(15, 1000)
@given(st.data())
def test_every_value_survives_its_document(name: str, data: st.DataObject) -> None:
    """A value that is written and read again is the same value with the same bytes, and its document fits the schema."""
    value = data.draw(values(FORMATS[name]))
    document = json.loads(canonical(value))
    read = decode(FORMATS[name], document, strict=True)

    assert (value, canonical(value)) == (read, canonical(read))
    assert validator(name).is_valid(document)


@INDEPENDENT
@sampled(20, 4000)
@given(st.data())
def test_decoding_accepts_what_the_schema_accepts(name: str, data: st.DataObject) -> None:
    """A valid document with random changes is decoded exactly if it still fits the schema, and never with another error."""
    document = json.loads(canonical(data.draw(values(FORMATS[name]))))
    for _ in range(data.draw(st.integers(1, 2))):
        document = mutated(document, data)
    try:
        decode(FORMATS[name], document, strict=True)
        accepted = True
    except DecodeError:
        accepted = False

    assert accepted == validator(name).is_valid(document)


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schema_of(name))


def mutated(document: Any, data: st.DataObject) -> Any:
    """The document with one change at a random place."""
    places = list(_places(document))
    holder, key = data.draw(st.sampled_from(places)) if places else (None, None)
    if holder is None:
        return deepcopy(data.draw(st.sampled_from(STRANGE)))
    act = data.draw(st.sampled_from(["replace", "other", "remove", "add", "repeat"]))
    if act == "replace":
        holder[key] = deepcopy(data.draw(st.sampled_from(STRANGE)))  # it may be changed afterwards
    elif act == "other":
        source, name = data.draw(st.sampled_from(places))
        holder[key] = json.loads(json.dumps(source[name]))
    elif act == "remove":
        del holder[key]
    elif isinstance(holder, dict):
        holder[data.draw(st.sampled_from(["surprise", "kind", ""]))] = "present"
    else:
        holder.extend(holder[:1] * data.draw(st.sampled_from([1, 100])))
    return document


def _places(node: Any) -> Any:
    members = list(node.items()) if isinstance(node, dict) else list(enumerate(node)) if isinstance(node, list) else []
    for key, each in members:
        yield node, key
        yield from _places(each)


@cache
def values(hint: Any) -> st.SearchStrategy[Any]:  # noqa: C901, PLR0911 - one case for each kind of hint
    """Random values of a hint of the codec."""
    base, constraints = limits(hint)
    origin: Any = typing.get_origin(base)
    bounds = constraints.get(Bounds, Bounds())
    least, most = bounds.least or 0, math.inf if bounds.most is None else bounds.most
    if origin in {typing.Union, types.UnionType}:
        members = [limited(each, constraints) for each in typing.get_args(base)]
        return st.one_of([values(each) for each in members])
    if Permitted in constraints or origin is typing.Literal:
        written = constraints[Permitted].values if Permitted in constraints else typing.get_args(base)
        return st.sampled_from([base(each) if isinstance(base, type) else each for each in written])
    if isinstance(base, type) and issubclass(base, Enum):
        return st.sampled_from(base)
    if is_dataclass(base):
        return st.deferred(lambda: instances(base))
    if base in {object, Any}:
        return st.sampled_from(STRANGE).map(deepcopy)
    if base is str and Pattern in constraints:
        found = st.from_regex(constraints[Pattern].expression, fullmatch=True)
        return found.filter(lambda text: least <= len(text) <= most)
    if base is Decimal:
        expression = constraints.get(Pattern, DECIMAL).expression
        return st.from_regex(expression, fullmatch=True).map(Decimal)
    if origin is tuple and typing.get_args(base)[-1] is not Ellipsis:
        return st.tuples(*map(values, typing.get_args(base)))
    if origin is tuple:
        unique = Unique in constraints
        found = st.lists(values(typing.get_args(base)[0]), min_size=least, max_size=min(most, least + 2), unique=unique)
        return found.map(tuple)
    if origin is dict:
        key, item = map(values, typing.get_args(base))
        return st.dictionaries(key, item, min_size=least, max_size=min(most, least + 2))
    end = None if most == math.inf else most
    texts = st.text(st.characters(codec="utf-8"), min_size=least, max_size=min(most, least + 20))
    return {
        types.NoneType: st.none(),
        bool: st.booleans(),
        str: texts,
        int: st.integers(bounds.least, end),
        float: st.floats(bounds.least, end, allow_nan=False, allow_infinity=False),
    }[base]


def limited(member: Any, constraints: dict[type, Any]) -> Any:
    return member if member is types.NoneType or not constraints else typing.Annotated[(member, *constraints.values())]


@cache
def instances(cls: Any) -> st.SearchStrategy[Any]:
    """Random values of a dataclass."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return st.builds(cls, **{each.name: values(hints[each.name]) for each in fields(cls)})
