"""docs/openapi.json is what the code answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from infra.site.published_schemas import Definitions, value_schema
from lakegate.base.json_codec import DecodeError, canonical, decode
from lakegate.features.http_api.api_routes import ROUTES
from tests.reference.sampling import sampled
from tests.unit.features.http_api.openapi import FILE, written
from tests.unit.repository.test_published_schemas import mutated, values

BODIES = {each.name: each.takes for each in ROUTES.values() if each.takes not in {None, str}}


def test_the_committed_document_is_the_generated_one() -> None:
    """`python -m tests.unit.features.http_api.openapi` writes it."""
    assert FILE.read_text() == written()


@pytest.mark.parametrize("name", sorted(BODIES))
@sampled(50, 4000)
@given(st.data())
def test_a_route_takes_the_bodies_of_its_schema(name: str, data: st.DataObject) -> None:
    """A body with random changes is decoded exactly if it still fits the derived schema."""
    form: Any = BODIES[name]
    definitions: Definitions = {}
    schema = value_schema(form, definitions)
    whole = {**schema, "$defs": {each: definition for each, (_, definition) in definitions.items()}}
    document = json.loads(canonical(data.draw(values(form))))
    for _ in range(data.draw(st.integers(0, 2))):
        document = mutated(document, data)
    try:
        decode(form, document, strict=True)
        accepted = True
    except DecodeError:
        accepted = False

    assert accepted == Draft202012Validator(whole).is_valid(document)
