"""A gated table belongs to one dataset: another is refused when it is published, and gets nothing where it was all the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from lakegate.features.pull.snapshots.table_owners import owner_of
from lakegate.gate.datasets.dataset_states import DatasetStatus, StatusChange
from lakegate.gate.effects import run
from lakegate.gate.registry.publish_contract import DocumentRefused, compile_document, publish, referred_of
from tests.simulation.environment import Environment

TAKEN = ["A table has one dataset, and another one has this table: name another table, or retire that dataset."]
AUDIT = "iceberg://sales/orders?branch=audit"


def contract(name: str, version: str = "1.0.0", source: str = AUDIT, dataset: str = "rows") -> bytes:
    return json.dumps(
        {
            "apiVersion": "v3.1.0",
            "kind": "DataContract",
            "id": name,
            "version": version,
            "status": "active",
            "customProperties": [{"property": "lakegate", "value": {"format": "parquet", "pull": {"source": source}}}],
            "schema": [{"name": dataset, "properties": [{"name": "x", "logicalType": "integer"}]}],
        }
    ).encode()


def published(env: Environment, body: bytes, seen: Environment | None = None) -> list[str]:
    """The messages that refuse a document; it is published where there are none. `seen`: what its publisher saw before."""
    try:
        compiled = compile_document(body, referred_of((seen or env).dependencies, body))
    except DocumentRefused as refused:
        return [each.message for each in refused.examined.errors]
    run(publish(env.dependencies, compiled), env.dependencies.clock)
    return []


@pytest.mark.parametrize("source", [AUDIT, "iceberg://sales/orders?branch=other", "iceberg://sales/orders?wap=*"])
def test_a_table_of_another_dataset_is_refused(source: str) -> None:
    """Of another contract, or of the same one; whatever the branch. Nothing says whose it is."""
    env = Environment()
    published(env, contract("owner"))

    assert published(env, contract("evil", source=source)) == TAKEN
    assert published(env, contract("owner", "2.0.0", source)) == TAKEN


def test_the_own_dataset_goes_on_and_other_tables_are_free() -> None:
    """The same document again, a higher version, another branch, and another table."""
    env = Environment()
    other = "iceberg://sales/orders?branch=other"
    bodies = [contract("owner"), contract("owner"), contract("owner", "1.1.0"), contract("owner", "1.2.0", other)]
    free = [
        contract("b", source="iceberg://sales/returns?branch=audit"),
        contract("c", source="iceberg://x/orders?branch=audit"),
    ]

    assert [published(env, each) for each in (*bodies, *free)] == [[]] * 6


def test_a_table_that_an_earlier_version_names_is_still_its_own() -> None:
    env = Environment()
    published(env, contract("owner"))
    published(env, contract("owner", "1.1.0", "iceberg://sales/moved?branch=audit"))

    assert published(env, contract("evil")) == TAKEN


def test_of_two_that_were_published_at_once_the_first_has_the_table() -> None:
    """Not the one whose name is first."""
    env = Environment()
    published(env, contract("owner"))
    env.memory.clock.sleep(1)
    assert published(env, contract("evil"), Environment()) == []

    assert owner_of(env.dependencies, AUDIT) == "owner/rows_v1"
    assert owner_of(env.dependencies, "iceberg://sales/returns?branch=audit") is None


def _withdrawn(env: Environment) -> None:
    (version,) = env.memory.registry.contract("owner").versions
    env.memory.registry.publish(replace(version, status="withdrawn"))


def _retired(env: Environment) -> None:
    state = env.dependencies.datasets.get("owner/rows_v1")
    env.dependencies.datasets.write(
        replace(state, changes=(StatusChange(DatasetStatus.RETIRED, env.dependencies.moment),))
    )


@pytest.mark.parametrize("end", [_withdrawn, _retired])
def test_a_table_is_free_once_its_version_is_withdrawn_or_its_dataset_retired(
    end: Callable[[Environment], None],
) -> None:
    env = Environment()
    published(env, contract("owner"))
    end(env)

    assert published(env, contract("other")) == []
    assert owner_of(env.dependencies, AUDIT) == "other/rows_v1"
