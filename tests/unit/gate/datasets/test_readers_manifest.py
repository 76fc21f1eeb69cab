"""The readers' manifest: what each delivery is, and what a reader needs to read it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from lakegate.base.errors import ConditionFailed, TransactionConflict
from lakegate.base.json_codec import canonical, encode, members_of
from lakegate.base.json_schemas import load
from lakegate.contract.file_formats import Csv, Format, Storage
from lakegate.gate.datasets.manifest_documents import AcceptedDelivery
from lakegate.gate.datasets.readers_manifest import newest, update
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.delivery_terms import terms_of
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import run
from lakegate.gate.lake_layout import OVERVIEW, OVERVIEW_PAGE, manifest_key, segment_key
from lakegate.gate.ports import Address
from lakegate.gate.registry.registry_rows import Publication
from lakegate.gate.sweep import sweep
from lakegate.plan.plan import Plan
from tests.simulation.environment import LAKE, LINE, PREFIX, Environment
from tests.simulation.promises import manifest_deliveries
from tests.simulation.stage import Fault, Stage, settle
from tests.unit.gate.scenarios import answered, drive

WHERE = Address(LAKE, manifest_key(LINE))


def manifest_of(env: Environment) -> dict[str, Any]:
    """The head."""
    document: dict[str, Any] = json.loads(env.dependencies.objects.read(WHERE))
    return document


def whole(env: Environment) -> list[dict[str, Any]]:
    """The deliveries of all segments, then those of the head."""
    found = manifest_deliveries(env.lake, WHERE.key)
    assert found is not None
    return found


def settled(*bodies: bytes) -> Stage:
    """An environment in which these uploads were finished, one after the other."""
    stage = Stage(Environment(), lambda _: Fault.NONE)
    for number, body in enumerate(bodies):
        stage.env.upload(f"{PREFIX}{number}.csv", body)
        settle(stage)
    return stage


def test_of_a_busy_line_somebody_writes_the_head() -> None:
    """Whenever a head is put, another worker was first, and there are more blocks: who sees its own block listed may go."""
    env = settled(*[b"good:%d" % number for number in range(4)]).env
    objects, top = env.dependencies.objects, manifest_of(env)["height"]
    head, puts = env.lake[WHERE.key][-1].body, 0
    objects.delete(WHERE)

    def put(to: Address, body: bytes, **conditions: Any) -> object:
        nonlocal puts
        puts += to == WHERE
        if to == WHERE:  # the head of the other one is below the top by now
            shown = json.loads(head) | {"height": top - 1}
            objects_put(WHERE, json.dumps(shown, sort_keys=True).encode())
            raise ConditionFailed("etag")
        return objects_put(to, body, **conditions)

    objects_put = env.memory.objects.put
    env.memory.objects.put = put  # type: ignore[method-assign, assignment]
    drive(env.dependencies, update(env.dependencies, LINE, top - 1))
    assert puts == 1
    with pytest.raises(TransactionConflict):
        drive(env.dependencies, update(env.dependencies, LINE, top))


def test_a_delivery_is_listed_with_version_verdict_rows_and_time() -> None:
    """The manifest contains everything a reader needs to choose deliveries, as the ledger has it."""
    env = settled(b"good:1").env
    (block,) = env.dependencies.ledger.blocks(LINE)
    (stored,) = block.objects

    assert manifest_of(env) == {
        "format": "lakegate-manifest/3",
        "line": LINE,
        "height": 0,
        "lifecycle": None,
        "segments": {"count": 0, "heights": 2},
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
                "report": f"runs/{block.workload}/report.html",
                "objects": [
                    {"key": stored.key, "version": stored.version, "size": 6, "checksum": stored.checksum},
                ],
                "plan": block.plan,
            }
        ],
        "gapless": True,
    }


def test_a_segment_is_named_by_its_first_height_and_has_its_last() -> None:
    """Segments of two heights: the first ends at height 1, the second at height 3."""
    env = settled(b"good:1", b"good:2", b"good:3", b"good:4", b"good:5").env
    segments = [json.loads(env.dependencies.objects.read(Address(LAKE, segment_key(LINE, first)))) for first in (0, 2)]

    assert [(each["height"], len(each["deliveries"])) for each in segments] == [(1, 2), (3, 2)]
    assert [each["height"] for each in whole(env)] == [0, 1, 2, 3, 4]


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
    env = settled(b"good:1", b"bad:2", b"good:3").env

    assert (manifest_of(env)["height"], [each["height"] for each in whole(env)]) == (2, [0, 2])


OF_HEAD = ("format", "line", "height", "segments", "lifecycle", "deliveries", "gapless")
OF_DELIVERY = tuple(each.key for each in members_of(AcceptedDelivery) if each.is_required)


@pytest.mark.parametrize("place", [*((each,) for each in OF_HEAD), *(("deliveries", each) for each in OF_DELIVERY)])
def test_a_head_that_lacks_a_member_is_derived_again(place: tuple[str, ...]) -> None:
    """It counts as one that cannot be read: height and order stay, and segments are made again."""
    env = settled(b"good:1", b"split:12", b"good:3").env
    before, deliveries = manifest_of(env), whole(env)
    damaged = manifest_of(env)
    *above, name = place
    del (damaged["deliveries"][0] if above else damaged)[name]
    env.memory.objects.put(WHERE, json.dumps(damaged).encode())
    env.memory.objects.delete(Address(LAKE, segment_key(LINE, 0)))
    run(update(env.dependencies, LINE), env.dependencies.clock)

    assert (manifest_of(env), whole(env)) == (before, deliveries)


def test_members_of_a_newer_release_are_kept() -> None:
    """Of deliveries, after a rollback: head and segments are read, and the next delivery is listed beside them."""
    stage = settled(b"good:1", b"good:2", b"good:3")
    env = stage.env
    document = manifest_of(env)
    document["later"] = document["deliveries"][0]["later"] = {"a": 1}
    env.memory.objects.put(WHERE, json.dumps(document).encode())
    env.upload(f"{PREFIX}next.csv", b"good:4")
    settle(stage)

    assert [each.get("later") for each in whole(env)] == [None, None, {"a": 1}, None]
    assert [each["height"] for each in newest(env.dependencies, LINE, 4)] == [3, 2, 1, 0]


def test_a_manifest_above_the_ledger_is_rebuilt() -> None:
    """The ledger was restored to an earlier time: what it has is listed, as if there had been no manifest."""
    env, row = answered()
    ahead = {
        "format": "lakegate-manifest/3",
        "line": LINE,
        "height": 7,
        "segments": {"count": 0, "heights": 2},
        "lifecycle": None,
        "deliveries": [],
        "gapless": True,
    }
    env.memory.objects.put(WHERE, json.dumps(ahead).encode())
    drive(env.dependencies, advance(DeliveryTurn(env.dependencies, row)))

    assert env.dependencies.workloads.get(row.id).state is State.PUBLISHED
    assert (manifest_of(env)["height"], [each["workload"] for each in whole(env)]) == (0, [row.id])


def test_a_segment_that_an_earlier_worker_wrote_is_kept() -> None:
    """A worker that died between segment and head leaves a segment that the next one does not write again."""
    stage = settled(b"good:1")
    env = stage.env
    head = env.lake[WHERE.key][-1]
    env.upload(f"{PREFIX}next.csv", b"good:2")
    settle(stage)
    (segment,) = env.lake[segment_key(LINE, 0)]
    complete = manifest_of(env)
    env.lake[WHERE.key] = [head]  # as if the second head had not been written
    drive(env.dependencies, update(env.dependencies, LINE))

    assert env.lake[segment_key(LINE, 0)] == [segment]
    assert manifest_of(env) == complete


def test_only_heads_and_overviews_are_marked_to_expire() -> None:
    """The lifecycle rule of replaced heads finds them by a tag that no data has: data and segments stay for ever."""
    env = settled(b"good:1", b"good:2", b"good:3").env
    tagged = {
        (key, env.memory.objects.tags[each.version])
        for key, stored in env.lake.items()
        for each in stored
        if each.version in env.memory.objects.tags
    }

    assert tagged == {(WHERE.key, "manifest"), (OVERVIEW, "manifest"), (OVERVIEW_PAGE, "manifest")}


def test_what_a_delivery_writes_does_not_grow_with_its_line() -> None:
    """Bytes of heads and segments by delivery: bounded by the size of a segment, whatever the height of the line."""
    env = settled(b"good:1").env
    chain = env.memory.chains[LINE]
    entry = len(json.dumps(whole(env)[0]))
    written: list[int] = []
    for height in range(1, 400):
        env.memory.put_block(replace(chain[0], height=height))
        before = env.memory.objects.written_bytes
        drive(env.dependencies, update(env.dependencies, LINE))
        written.append(env.memory.objects.written_bytes - before)

    assert max(written) < 2 * (env.dependencies.places.segment_heights + 1) * entry
    assert sum(written[200:]) < 1.1 * sum(written[:199])


@pytest.mark.parametrize(
    ("storage", "csv", "expected"),
    [
        (
            Storage(),
            Csv(
                delimiter=";",
                quote="'",
                header=False,
                encoding="latin-1",
                null_values=("NA",),
                multi_line=True,
                skip_rows=3,
            ),
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
                    "null_values_by_column": [],
                    "decimal_separator": ".",
                    "thousands_separator": "",
                    "skip_rows": 3,
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
    delivery: Any = load("manifest")["$defs"]["AcceptedDelivery"]["properties"]  # type: ignore[index] # of our own schema

    assert {each.value for each in Format} - {"unknown"} <= set(delivery["format"]["enum"])


def test_a_sweep_writes_a_head_that_cannot_be_read() -> None:
    """Without a further delivery of the line, and without reading more of each head than how it begins."""
    env, row = answered()
    drive(env.dependencies, advance(DeliveryTurn(env.dependencies, row)))
    whole_head = manifest_of(env)
    for body in (b"garbage", b""):
        env.memory.objects.put(WHERE, body)
        drive(env.dependencies, sweep(env.dependencies))
        assert manifest_of(env) == whole_head


def has_head(env: Environment) -> bool:
    return WHERE.key in env.memory.objects.current(LAKE, WHERE.key)


def lost(contracts: int) -> Environment:
    """An environment whose line has a delivery and no head; so many contracts come before its own."""
    env = settled(b"good:1").env
    for number in range(contracts):
        env.memory.registry.publish(Publication(f"a{number}", "1.0.0", "active", "contracts/1.0.0", ()))
    env.memory.objects.delete(WHERE)
    return env


def test_lost_heads_are_looked_for_a_page_of_the_registry_at_a_time() -> None:
    """Each sweep continues behind the contracts that the last one looked at; after the last page it begins again."""
    env, found = lost(contracts=3), []
    for _ in range(4):
        env.memory.objects.delete(WHERE)
        drive(env.dependencies, sweep(env.dependencies))
        found.append(has_head(env))

    assert found == [False, True, False, True]


def test_a_sweep_without_time_leaves_a_lost_head_to_the_next() -> None:
    """It is found there, because the page that was not finished is looked at again."""
    env = lost(contracts=0)
    left = iter([900.0] * 3)  # a landed object, and two looks at the registry
    hurried = replace(env.dependencies, remaining=lambda: next(left, 30.0))
    drive(hurried, sweep(hurried))
    first = has_head(env)
    drive(env.dependencies, sweep(env.dependencies))

    assert (first, has_head(env)) == (False, True)
