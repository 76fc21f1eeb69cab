"""`lakegate verify --integrity` and `--replay`: slices are read, and built again from the originals beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import pytest

from lakegate.cli.datasets.chain_proofs import VerifiedChain
from lakegate.contract.delivery_policy import MergeStrategy, Policy, PublishAs
from lakegate.engine.read.data_source import path_of
from lakegate.features.odf.recompute_slices import read_slices, replayed_slices
from lakegate.features.odf.slice_comparisons import REPLAY
from lakegate.gate.ledger.blocks import AnyBlock, Block, Head, LedgerObject, LedgerSlice
from lakegate.gate.ledger.compare_objects import Compared
from lakegate.gate.ports import Address
from lakegate.plan.plan import Plan
from lakegate.plan.slice_order import SliceOrder
from tests.deliveries.delivery import plan_of
from tests.deliveries.sliced import slices
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LAKE
from tests.unit.gate.ledger.ledger_chain import a_block

LINE = "shop/visits_v1"
ORIGINAL = "part-00000-694bbcf4-c774-4add-9f0c-7e7a2f6ec555-c000.txt"
"""As Spark calls the accepted rows of a delivery."""
PLAN = replace(plan_of({"id": "integer"}), policy=Policy(publish_as=PublishAs.PARQUET))

MERGED = replace(PLAN, policy=replace(PLAN.policy, merge_strategy=MergeStrategy.LEDGER, merge_key=("id",)))


@dataclass(slots=True)
class SlicedLine:
    """Deliveries that are published as slices, in the lake bucket of a stack."""

    lakegate: Lakegate
    folder: Path
    offset: int = 0
    plan: Plan = PLAN

    def stored(self, key: str, body: bytes) -> LedgerObject:
        found = self.lakegate.dependencies.objects.put(Address(LAKE, key), body)
        return LedgerObject(key, found.version, len(body), found.checksum)

    def block(self, arrived: bytes, *, rows_of: bytes | None = None) -> Block:
        """Of a delivery, and of slices with the rows of another one if it is given."""
        name = sha256(str(self.offset).encode()).hexdigest()
        (self.folder / name).mkdir(parents=True)
        (found,) = slices(self.plan, self.folder / name, rows_of or arrived, order=SliceOrder(self.offset))
        prefix = f"accepted/{LINE}/ingest_date=2026-11-21/workload={name}"
        published = self.stored(f"{prefix}/part-00000.parquet", path_of(found.uri).read_bytes())
        originals = [
            self.stored(f"{prefix}/_original/{file}", body) for file, body in ((ORIGINAL, arrived), ("_SUCCESS", b""))
        ]
        stated = LedgerSlice(published.key, self.offset, found.rows, found.event_times, found.logical, found.physical)
        self.offset += found.rows
        objects = (*originals, published)
        return replace(a_block(), chain=LINE, workload=name, plan=self.plan.digest, objects=objects, slices=(stated,))

    def replayed(self, *blocks: AnyBlock) -> tuple[Compared, Iterator[str]]:
        """What `verify --replay` finds, and the same in words."""
        chain = VerifiedChain(LINE, Head(-1, ""), blocks, self.lakegate.dependencies, given=True)
        found = REPLAY.compare(chain)
        return found, REPLAY.words(chain, found)

    def damages(self, *blocks: Block) -> list[tuple[str, str]]:
        """Of each damaged slice: how, and the key."""
        found = replayed_slices(self.lakegate.dependencies, LINE, blocks)
        assert found.count == sum(len(each.slices or ()) for each in blocks)
        return [(each.damage.value, each.key) for each in found.damaged]


@pytest.fixture
def line(lakegate: Lakegate, tmp_path: Path) -> SlicedLine:
    for each in (PLAN, MERGED):
        lakegate.dependencies.objects.put(Address(LAKE, f"plans/{each.digest}.json"), each.to_bytes())
    return SlicedLine(lakegate, tmp_path / "made")


def test_slices_are_those_of_what_arrived(line: SlicedLine) -> None:
    """Two deliveries, beside one of a line that is published as it arrived."""
    blocks = [line.block(b"id\n1\n2\n"), line.block(b"id\n3\n"), a_block(5)]
    found, words = line.replayed(*blocks)

    assert (found.count, found.damaged) == (2, ())
    assert list(words) == [
        "2 slices built again from what arrived: the rows of each are the same, and its file is as recorded.",
        (
            "Not looked at: versions on top of the judged ones and objects that no block names (--objects), and what only the "
            "chain states, such as rows, plans and watermarks (--key, --anchor)."
        ),
    ]


def without(key: str) -> Callable[[SlicedLine, Block], Block]:
    """The version of an object that a block names is deleted."""

    def change(line: SlicedLine, block: Block) -> Block:
        judged = next(each for each in block.objects if key in each.key)
        line.lakegate.dependencies.objects.delete(Address(LAKE, judged.key, judged.version))
        return block

    return change


def other_hash(_line: SlicedLine, block: Block) -> Block:
    assert block.slices
    return replace(block, slices=(replace(block.slices[0], physical=f"f1620{7:064x}"),))


def no_original(_line: SlicedLine, block: Block) -> Block:
    return replace(block, objects=tuple(each for each in block.objects if ORIGINAL not in each.key))


def elsewhere(_line: SlicedLine, block: Block) -> Block:
    """An object in the folder of another line is no original of this one."""
    objects = (replace(each, key=each.key.replace(LINE, "other/line_v1")) for each in block.objects[:2])
    return replace(block, objects=(*objects, block.objects[2]))


def no_plan(_line: SlicedLine, block: Block) -> Block:
    return replace(block, plan="c" * 64)


@pytest.mark.parametrize(
    ("change", "damage"),
    [
        (without("_original/part"), "lost"),
        (without("part-00000.parquet"), "lost"),
        (other_hash, "altered"),
        (no_original, "irreproducible"),
        (elsewhere, "irreproducible"),
        (no_plan, "irreproducible"),
    ],
)
def test_each_damage_is_found(line: SlicedLine, change: Callable[[SlicedLine, Block], Block], damage: str) -> None:
    """Of the one slice that it concerns."""
    good, bad = line.block(b"id\n1\n"), line.block(b"id\n2\n3\n")

    assert line.damages(good, change(line, bad)) == [(damage, bad.objects[2].key)]


@pytest.mark.parametrize(
    ("change", "damage"),
    [
        (without("part-00000.parquet"), ["lost"]),
        (other_hash, ["altered"]),
        (without("_original/part"), []),
        (no_plan, []),
    ],
)
def test_a_slice_is_compared_with_its_block(
    line: SlicedLine, change: Callable[[SlicedLine, Block], Block], damage: list[str]
) -> None:
    """What arrived, and the plan, are not needed for it."""
    good, bad = line.block(b"id\n1\n"), line.block(b"id\n2\n3\n")
    found = read_slices(line.lakegate.dependencies, (good, change(line, bad), a_block(5)))

    assert (found.count, [each.damage.value for each in found.damaged]) == (2, damage)
    assert [(each.key, each.height) for each in found.damaged] == [(bad.objects[2].key, bad.height)] * len(damage)


def test_a_slice_of_other_rows_is_found(line: SlicedLine) -> None:
    """Even if file and block agree with each other: a value, a row less, and a row more than what arrived."""
    blocks = [line.block(b"id\n1\n2\n", rows_of=rows) for rows in (b"id\n1\n3\n", b"id\n1\n", b"id\n1\n2\n3\n")]
    _, first = line.replayed(*blocks)

    assert line.damages(*blocks) == [("irreproducible", each.objects[2].key) for each in blocks]
    assert list(first)[:2] == [
        "3 slices built again from what arrived: 3 are not as recorded.",
        f"irreproducible: {blocks[0].objects[2].key}, block 0",
    ]


def test_merged_rows_are_built_again_with_the_keys_below(line: SlicedLine) -> None:
    """Rows with keys of the slices below are in no slice; where one of those cannot be read, the rows above are not known."""
    line.plan = MERGED
    low, high = line.block(b"id\n1\n2\n1\n", rows_of=b"id\n1\n2\n"), line.block(b"id\n2\n3\n", rows_of=b"id\n3\n")
    keys = [each.objects[2].key for each in (low, high)]

    assert line.damages(low, high) == []
    assert line.damages(high) == [("irreproducible", keys[1])]
    lost = without("part-00000.parquet")(line, low)
    assert line.damages(lost, high) == [("lost", keys[0]), ("irreproducible", keys[1])]
    text = line.stored(keys[0], b"no Parquet")
    assert line.damages(replace(low, objects=(*low.objects[:2], text)), high) == [
        ("altered", keys[0]),
        ("irreproducible", keys[1]),
    ]


@pytest.mark.parametrize("option", ["--integrity", "--replay"])
def test_the_command_compares_the_slices_of_a_line(lakegate: Lakegate, option: str) -> None:
    """There is nothing to compare of a line without slices; one comparison at a time, and none without a stack."""
    lakegate.routed()
    lakegate.delivered()
    found = lakegate.json("verify", "orders_v1", option)

    assert (found["intact"], found["objects"]) == (True, {"compared": 0, "expired": 0, "damaged": []})
    assert "0 slices " in lakegate.ok("verify", "orders_v1", option)
    for words in (["--objects"], ["--data", "x"], ["--yaml", "x"], ["--anchors", "stack"]):
        assert option in str(lakegate("verify", "orders_v1", option, *words).exception)
