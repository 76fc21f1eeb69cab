"""Work for one delivery does not grow with the age of its dataset: rows that are read of the tables, by the length of a chain."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lakegate.base.errors import UnreadableItem
from lakegate.gate.datasets.dataset_names import chains
from lakegate.gate.datasets.readers_manifest import update
from lakegate.gate.delivery.advance import advance, completion
from lakegate.gate.delivery.attempt_request import accepted_objects
from lakegate.gate.delivery.delivery_row import Referred, workload_row
from lakegate.gate.delivery.find_deliveries import find_delivery, recent
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.lake_layout import manifest_key, segment_key
from lakegate.gate.ledger.blocks import Block, digest
from lakegate.gate.ledger.ledger_store import head_key
from lakegate.gate.ports import Address
from lakegate.gate.send_messages import notify
from lakegate.gate.sweep import sweep
from lakegate.gate.table import Row, RowKey, StoredRecord, TableName, workloads_key
from tests.simulation.environment import LAKE, LANDING, LINE, PREFIX, Environment
from tests.simulation.sliced import SNAPSHOTS, SlicedDataset, judged
from tests.simulation.sliced import settled as finished
from tests.unit.features.revalidation.revalidation_stage import SCHEDULED, RevalidationStage
from tests.unit.gate.delivery.test_attempt_request_references import referring
from tests.unit.gate.scenarios import drive

YOUNG = 200
HEIGHTS = [pytest.param(1_000, id="1000"), pytest.param(100_000, id="100000", marks=pytest.mark.full)]
SEGMENT = 100
"""Heights of a segment, as in a stack."""
UNIT = 4096
"""Bytes of a strongly consistent read unit."""


@contextmanager
def reads_of(env: Environment) -> Iterator[Counter[str]]:
    """The rows of the tables that are read meanwhile, their read units, and the segments of manifests."""
    found: Counter[str] = Counter()
    table: Any = env.memory.table
    objects: Any = env.memory.objects

    def seen(row: Row | None) -> Row | None:
        found["rows"] += 1
        found["units"] += -(-sum(len(str(_sent(each))) for each in (row.values if row else {}).values()) // UNIT) or 1
        return row

    def rows(method: Callable[..., Iterator[Row]]) -> Callable[..., Iterator[Row]]:
        def counted(*given: Any, **find_delivery: Any) -> Iterator[Row]:
            found["queries"] += 1
            for row in method(*given, **find_delivery):
                seen(row)
                yield row

        return counted

    def counted_read(method: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any, **find_delivery: Any) -> Any:
            found["segments"] += "/_manifest/" in given[0].key
            return method(*given, **find_delivery)

        return counted

    get = table.get
    table.get = lambda key: seen(get(key))
    table.heights, table.scan = rows(table.heights), rows(table.scan)
    objects.read = counted_read(objects.read)
    try:
        yield found
    finally:
        del table.get, table.heights, table.scan, objects.read


def _sent(value: object) -> object:
    return value.write() if isinstance(value, StoredRecord) else value


def aged(env: Environment, height: int) -> None:
    """Continue the chain of the line with copies of its first block up to a height, as if they had been delivered."""
    first = env.memory.chains[LINE][0]
    assert isinstance(first, Block)
    places = replace(env.dependencies.places, segment_heights=SEGMENT)
    env.dependencies = replace(env.dependencies, places=places)
    rows = sum(each.rows for each in first.slices or ())
    for at in range(len(env.memory.chains[LINE]), height):
        block = _copy(first, at, rows)
        place = RowKey(TableName.LEDGER, LINE, at)
        env.memory.table.put(Row(place, {"block": StoredRecord(block, lambda: "x" * 1200), "digest": ""}))
    top = Row(head_key(LINE), {"top": height - 1, "digest": digest(_copy(first, height - 1, rows))})
    env.memory.table.put(top)
    if rows:
        turn = env.memory.table.get(workloads_key("slices", LINE))
        assert turn is not None
        env.memory.table.put(Row(turn.key, {**turn.values, "following": height * rows}))
    drive(env.dependencies, update(env.dependencies, LINE))


def _copy(first: Block, at: int, rows: int) -> Block:
    slices = first.slices and tuple(replace(each, offset=each.offset + at * rows) for each in first.slices)
    return replace(first, height=at, workload=f"{at:064x}", slices=slices)


def delivered(env: Environment, body: bytes = b"good:9") -> str:
    """One delivery from its upload to its end, with what is sent about it; its id."""
    upload = env.upload(f"{PREFIX}late.csv", body)
    drive(env.dependencies, intake(env.dependencies, LANDING, upload.version.key))
    row = env.dependencies.workloads.get(upload.workload)
    for _, job in env.new_jobs():
        drive(env.dependencies, job)
    if row.run:
        drive(env.dependencies, completion(env.dependencies, row.run))
    return row.id


def plain(height: int) -> Counter[str]:
    """A delivery that is accepted."""
    env = Environment()
    delivered(env, b"good:1")
    aged(env, height)
    with reads_of(env) as found:
        identity = delivered(env)
        drive(env.dependencies, notify(env.dependencies))
    assert env.dependencies.workloads.get(identity).state is State.PUBLISHED
    return found


def duplicate(height: int) -> Counter[str]:
    """A delivery whose content the first one of the dataset had."""
    env = Environment()
    delivered(env, b"good:1")
    aged(env, height)
    with reads_of(env) as found:
        identity = delivered(env, b"good:1")
        drive(env.dependencies, notify(env.dependencies))
    row = env.dependencies.workloads.get(identity)
    assert row.decision is not None
    assert row.decision.reasons[0].startswith("duplicate-content")
    return found


def referred(height: int) -> Counter[str]:
    """A delivery whose rules refer to all accepted data of an old dataset."""
    env = Environment()
    delivered(env, b"good:1")
    aged(env, height)
    referring(env, LINE)
    with reads_of(env) as found:
        identity = delivered(env)
    request = json.loads(env.lake[f"runs/{identity}/attempt=1/request.json"][-1].body)
    assert len(request["references"][0]["parts"]) == height
    return found


def snapshot(height: int) -> Counter[str]:
    """A snapshot of a dataset with slices."""
    line = judged(plan=SNAPSHOTS)
    _land(line, 1)
    finished(line)
    aged(line.env, height)
    with reads_of(line.env) as found:
        _land(line, 2)
    request = json.loads(line.env.lake[f"runs/{line.rows()[-1].id}/attempt=1/request.json"][-1].body)
    slices = request["slices"]["merge"]["snapshot"]["slices"]
    assert len(slices) >= height
    assert [each["offset"] for each in slices] == sorted(each["offset"] for each in slices)
    return found


def _land(line: SlicedDataset, number: int) -> None:
    line.env.memory.clock.sleep(3600)
    line.env.upload(f"{PREFIX}day-2024050{number}.csv", b"good:%d" % number)
    line.take_in()


def measured(height: int) -> Counter[str]:
    """A measurement of all accepted data by schedule, twice: the second time a rule does not hold before."""
    stage = RevalidationStage()
    stage.publish(*SCHEDULED)
    stage.deliver()
    aged(stage.env, height)
    stage.broken = {"once"}
    with reads_of(stage.env) as found:
        for _ in range(3):
            stage.measure()
    assert stage.ends == [("BROKEN", "")] * 2
    assert len(stage.request(stage.runs[0]).parts) == height
    return found


def shown(height: int) -> Counter[str]:
    """`lakegate status` of the first delivery."""
    env = Environment()
    identity = delivered(env, b"good:1")
    aged(env, height)
    with reads_of(env) as found:
        block = find_delivery(env.dependencies, identity, 10).block
    assert block is not None
    assert block.height == 0
    return found


def listed(height: int) -> Counter[str]:
    """`lakegate status`: the latest deliveries."""
    env = Environment()
    delivered(env, b"good:1")
    aged(env, height)
    with reads_of(env) as found:
        latest = recent(env.dependencies, 20)
    assert [each.block and each.block.height for each in latest] == list(range(height - 1, height - 21, -1))
    return found


def set_back(height: int) -> Counter[str]:
    """A row that is that of an earlier time, of the first delivery."""
    env = Environment()
    identity = delivered(env, b"good:1")
    aged(env, height)
    row = env.dependencies.workloads.get(identity)
    env.memory.table.put(workload_row(row._replace(state=State.DECIDED, due_at=env.memory.clock.now())))
    with reads_of(env) as found:
        drive(env.dependencies, advance(DeliveryTurn(env.dependencies, env.dependencies.workloads.get(identity))))
    assert env.dependencies.workloads.get(identity).state is State.PUBLISHED
    return found


def swept(height: int) -> Counter[str]:
    """A sweep that finds nothing to do."""
    env = Environment()
    delivered(env, b"good:1")
    aged(env, height)
    with reads_of(env) as found:
        drive(env.dependencies, sweep(env.dependencies))
    return found


@pytest.mark.parametrize("height", HEIGHTS)
@pytest.mark.parametrize(
    "work",
    [plain, duplicate, referred, snapshot, measured, shown, listed, set_back, swept],
    ids=lambda each: each.__name__,
)
def test_the_tables_are_read_as_much_for_an_old_dataset(work: Callable[[int], Counter[str]], height: int) -> None:
    """Rows, units and queries are equal; segments that list accepted data are read where all of it is asked for."""
    young, old = work(YOUNG), work(height)
    segments = young.pop("segments", 0), old.pop("segments", 0)

    assert old == young
    assert segments[1] * YOUNG == segments[0] * height


@pytest.mark.parametrize("damage", ["head", "segment", "other line", "other height", "no plan", "not gapless", "ahead"])
def test_a_manifest_that_is_not_what_the_ledger_says_counts_as_absent(damage: str) -> None:
    """The chain is read as a whole, and the request is the same."""
    env = Environment()
    delivered(env, b"good:1")
    aged(env, 2 * SEGMENT)
    referred = Referred(LINE, 2 * SEGMENT - 2)
    expected = accepted_objects(env.dependencies, referred)
    _damage(env, damage)
    with reads_of(env) as found:
        objects = accepted_objects(env.dependencies, referred)

    assert objects == expected
    assert len(objects) == 2 * SEGMENT - 1
    assert found["rows"] >= 2 * SEGMENT


def _damage(env: Environment, damage: str) -> None:
    of_head = damage in {"head", "not gapless", "ahead"}
    where = Address(LAKE, manifest_key(LINE) if of_head else segment_key(LINE, 0))
    document = json.loads(env.memory.objects.read(where))
    if damage == "no plan":
        del document["deliveries"][7]["plan"]
    elif damage == "not gapless":
        del document["gapless"]
    else:
        document |= {"other line": {"line": "orders/other_v1"}, "ahead": {"height": 9 * SEGMENT}}.get(
            damage, {"height": SEGMENT - 2}
        )
    body = b"{" if damage in {"head", "segment"} else json.dumps(document).encode()
    env.memory.objects.put(where, body)


def test_a_manifest_that_lacks_members_is_listed_again_once() -> None:
    """With the next delivery: until then, and where a block cannot be read, the chain is read as a whole."""
    env = Environment()
    delivered(env, b"good:1")
    aged(env, SEGMENT)
    for number in ("not gapless", "no plan"):
        _damage(env, number)
    delivered(env, b"good:2")
    head = json.loads(env.memory.objects.read(Address(LAKE, manifest_key(LINE))))
    with reads_of(env) as found:
        objects = accepted_objects(env.dependencies, Referred(LINE, SEGMENT))

    assert head["gapless"] is True
    assert (len(objects), found["rows"]) == (SEGMENT + 1, 1)


def test_a_block_that_cannot_be_read_is_no_part_of_what_rules_refer_to() -> None:
    """Neither is it left out: the delivery waits, though the manifest of the line went on without it."""
    env = Environment()
    delivered(env, b"good:1")
    delivered(env, b"good:2")
    env.memory.table.put(Row(RowKey(TableName.LEDGER, LINE, 1), {"block": "damaged", "digest": ""}))
    env.memory.objects.delete(Address(LAKE, manifest_key(LINE)))
    delivered(env, b"good:3")

    assert json.loads(env.memory.objects.read(Address(LAKE, manifest_key(LINE))))["height"] == 2
    with pytest.raises(UnreadableItem):
        accepted_objects(env.dependencies, Referred(LINE, 2))


def test_a_list_reads_of_each_dataset_what_it_shows() -> None:
    """Of 60 chains with 100 blocks each the heads, one block of each, and those that are listed, with their rows."""
    env = Environment()
    delivered(env, b"good:1")
    first = env.memory.chains[LINE][0]
    assert isinstance(first, Block)
    days = [(env.memory.clock.now() - timedelta(days=ago)).date() for ago in range(60)]
    for number, day in enumerate(days):
        chain = f"_unrouted/{day}"
        for at in range(100):
            time = f"2026-02-{1 + at % 28:02}T00:{number:02}:00.000000Z"
            block = replace(first, chain=chain, height=at, system_time=time, workload=f"{number * 100 + at:064x}")
            env.memory.table.put(Row(RowKey(TableName.LEDGER, chain, at), {"block": StoredRecord(block, lambda: "x")}))
        env.memory.table.put(Row(head_key(chain), {"top": 99, "digest": "0" * 64}))
    known = len(chains(env.dependencies))
    with reads_of(env) as found:
        latest = recent(env.dependencies, 20)

    assert len(latest) == 20
    assert found["rows"] < 4 * known + 3 * 20
