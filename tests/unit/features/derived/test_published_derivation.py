"""Publishing a derived dataset: its inputs are there, open to it, as declared, and not made of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lakegate.gate.effects import run
from lakegate.gate.registry.publish_contract import DocumentRefused, compile_document, publish, referred_of
from lakegate.lints.linter import examine
from tests.simulation.environment import Environment

OWN = ("a", "b")


def contract(name: str, of: str, column: str = "x", kind: str = "integer") -> bytes:
    """The contract `name`, whose dataset is derived from one of another contract."""
    derive = {
        "inputs": {"i": {"dataset": f"{of}/rows_v1", "columns": {column: kind}}},
        "query": f"SELECT 1 AS x FROM i WHERE {column} IS NOT NULL",  # noqa: S608 - of this test
    }
    extension: dict[str, Any] = {"replaces": "delivery", "derive": derive} if of else {}
    return json.dumps(
        {
            "apiVersion": "v3.1.0",
            "kind": "DataContract",
            "id": name,
            "version": "1.0.0",
            "status": "active",
            "customProperties": [{"property": "lakegate", "value": extension}],
            "schema": [{"name": "rows", "properties": [{"name": "x", "logicalType": "integer"}]}],
        }
    ).encode()


def published(env: Environment, body: bytes, own: tuple[str, ...] = OWN) -> list[str]:
    """The messages that refuse a document; it is published where there are none."""
    dependencies = env.dependencies
    try:
        run(publish(dependencies, compile_document(body, referred_of(dependencies, body, own))), dependencies.clock)
    except DocumentRefused as refused:
        return [each.message for each in refused.examined.errors if each.code == "derived-input"]
    return []


def test_an_input_that_is_published_and_of_the_same_owner_is_taken() -> None:
    env = Environment()

    assert (published(env, contract("a", "")), published(env, contract("b", "a"))) == ([], [])


@pytest.mark.parametrize("own", [("b",), ()])
def test_an_input_of_another_owner_is_as_one_that_is_not_there(own: tuple[str, ...]) -> None:
    env = Environment()
    published(env, contract("a", ""))

    assert published(env, contract("b", "a"), own) == published(Environment(), contract("b", "a"), own)
    assert published(env, contract("b", "a"), own) == [
        "`a/rows_v1` is not published here, or not shared with this contract (`sharedWith`)."
    ]


@pytest.mark.parametrize(
    ("column", "kind", "message"),
    [
        ("y", "integer", "a/rows_v1 has no column `y`."),
        ("x", "string", "`x` of a/rows_v1 is of the type integer: declare it so in `inputs`."),
    ],
)
def test_columns_are_those_of_the_input(column: str, kind: str, message: str) -> None:
    env = Environment()
    published(env, contract("a", ""))

    assert published(env, contract("b", "a", column, kind)) == [message]


def test_no_dataset_is_derived_from_itself() -> None:
    """Directly, and by way of another one."""
    env = Environment()
    published(env, contract("a", ""))
    published(env, contract("b", "a"))
    again = contract("a", "b").replace(b'"1.0.0"', b'"1.1.0"')

    assert [each.code for each in examine(contract("a", "a")).errors] == ["derived-settings"]
    assert published(env, again) == ["b/rows_v1 is derived from a/rows_v1: no dataset is derived from itself."]


def test_a_circle_is_found_over_datasets_of_others() -> None:
    """The one in the middle is not open to the contract that would close the circle."""
    env = Environment()
    published(env, contract("a", ""))
    published(env, contract("b", "a"), ("a", "b"))
    published(env, contract("c", "b"), ("b", "c"))
    again = contract("a", "c").replace(b'"1.0.0"', b'"1.1.0"')

    assert published(env, again, ("a", "c")) == [
        "c/rows_v1 is derived from a/rows_v1: no dataset is derived from itself."
    ]
