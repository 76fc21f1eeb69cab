"""The readers' manifest: what each delivery is, and what a reader needs to read it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lakegate.contracts.door.terms import terms_of
from lakegate.contracts.model.storage import Csv, Format, Storage
from lakegate.contracts.plan.plan import Plan
from lakegate.contracts.plan.serialization import canonical, encode
from lakegate.contracts.schemas import load
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases.advance import advance
from lakegate.functions.usecases.layout import manifest_key
from lakegate.functions.workload import State
from tests.simulation.environment import LAKE, LINE, PREFIX, Environment
from tests.simulation.stage import Fault, Stage, settle
from tests.unit.usecases.scenarios import answered, drive

WHERE = Address(LAKE, manifest_key(LINE))


def manifest_of(env: Environment) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(env.dependencies.objects.read(WHERE))
    return document


def settled(*bodies: bytes) -> Stage:
    """An environment in which these uploads were finished, one after the other."""
    stage = Stage(Environment(), lambda _: Fault.NONE)
    for number, body in enumerate(bodies):
        stage.env.upload(f"{PREFIX}{number}.csv", body)
        settle(stage)
    return stage


def test_a_delivery_is_listed_with_version_verdict_rows_and_time() -> None:
    """The manifest contains everything a reader needs to choose deliveries, as the ledger has it."""
    env = settled(b"good:1").env
    (block,) = env.dependencies.ledger.blocks(LINE)
    (stored,) = block.objects

    assert manifest_of(env) == {
        "format": "lakegate-manifest/2",
        "line": LINE,
        "height": 0,
        "deliveries": [
            {
                "height": 0,
                "workload": block.workload,
                "contract_version": "1.0.0",
                "verdict": "accepted",
                "published_at": block.system_time,
                "event_time": None,
                "rows": 6,
                "published_rows": 6,
                "rejected_rows": 0,
                "format": "csv",
                "compression": "none",
                "csv": encode(Csv(header=False)),
                "objects": [
                    {"key": stored.key, "version": stored.version, "size": 6, "checksum": stored.checksum},
                ],
            }
        ],
    }


def test_rows_that_were_kept_apart_are_counted_and_not_listed() -> None:
    """With separated rows, the objects of a delivery are its accepted share, and both counts are listed."""
    (delivery,) = manifest_of(settled(b"split:12").env)["deliveries"]

    assert [delivery[name] for name in ("verdict", "rows", "published_rows", "rejected_rows")] == [
        "accepted_with_warnings",
        8,
        7,
        1,
    ]
    assert [each["key"].partition("/")[0] for each in delivery["objects"]] == ["accepted"]


def test_a_rejected_delivery_only_raises_the_height() -> None:
    """Gaps between heights are deliveries that were rejected."""
    manifest = manifest_of(settled(b"good:1", b"bad:2", b"good:3").env)

    assert (manifest["height"], [each["height"] for each in manifest["deliveries"]]) == (2, [0, 2])


def older(manifest: dict[str, Any]) -> bytes:
    """The manifest as releases before this format wrote it."""
    kept = ("height", "workload", "objects")
    deliveries = [{name: each[name] for name in kept} for each in manifest["deliveries"]]
    return json.dumps({"line": manifest["line"], "height": manifest["height"], "deliveries": deliveries}).encode()


def test_an_older_manifest_is_replaced_with_the_next_delivery() -> None:
    """Older deliveries get their facts from the ledger; height and order stay."""
    stage = settled(b"good:1", b"split:12")
    env = stage.env
    before = manifest_of(env)
    env.memory.objects.put(WHERE, older(before))
    env.upload(f"{PREFIX}next.csv", b"good:3")
    settle(stage)
    after = manifest_of(env)

    assert (after["format"], after["height"]) == ("lakegate-manifest/2", 2)
    assert after["deliveries"][:2] == before["deliveries"]
    assert [each["height"] for each in after["deliveries"]] == [0, 1, 2]


def test_a_manifest_that_is_ahead_is_left_alone() -> None:
    """Another worker has written more than this one knows: the height never goes back."""
    env, row = answered()
    ahead = {"format": "lakegate-manifest/2", "line": LINE, "height": 7, "deliveries": []}
    env.memory.objects.put(WHERE, json.dumps(ahead).encode())
    drive(env.dependencies, advance(env.dependencies, row))

    assert env.dependencies.workloads.get(row.id).state is State.PUBLISHED
    assert manifest_of(env) == ahead


@pytest.mark.parametrize(
    ("storage", "csv", "expected"),
    [
        (
            Storage(),
            Csv(delimiter=";", quote="'", header=False, encoding="latin-1", null_values=("NA",), multi_line=True),
            {
                "format": "csv",
                "compression": "none",
                "csv": {
                    "delimiter": ";",
                    "quote": "'",
                    "header": False,
                    "encoding": "latin-1",
                    "null_values": ["NA"],
                    "multi_line": True,
                },
            },
        ),
        (Storage(Format.PARQUET), Csv(), {"format": "parquet", "compression": "none", "csv": None}),
    ],
)
def test_the_dialect_is_the_plans(storage: Storage, csv: Csv, expected: dict[str, object]) -> None:
    """Format settings are those with which the job read the file; CSV's settings only of CSV."""
    plan = Plan("orders", "1.0.0", "lines", (), (), csv=csv, storage=storage)

    assert terms_of(canonical(plan)).dialect == expected


def test_the_schema_knows_every_format() -> None:
    """A format that contracts may promise can stand in a manifest."""
    delivery: Any = load("manifest")["$defs"]["delivery"]["properties"]  # type: ignore[index] # of our own schema

    assert {each.value for each in Format} - {"unknown"} <= set(delivery["format"]["enum"])
