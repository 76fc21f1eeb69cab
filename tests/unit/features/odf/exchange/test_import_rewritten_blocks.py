"""A repository that writes the blocks of a dataset again, with the right hashes: what an import finds of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakegate.base.errors import InputError
from lakegate.cli.datasets.chain_proofs import signatures_by
from lakegate.features.odf.exchange.odf_export import odf_blocks
from lakegate.features.odf.exchange.odf_import import BROKEN, Proof, bring_dataset, in_words, verify_dataset
from lakegate.features.odf.exchange.odf_repositories import FolderPlace
from lakegate.features.odf.format.metadata_chain import (
    AddData,
    MetadataBlock,
    Moment,
    OtherEvent,
    Seed,
    SetAttachments,
    SetDataSchema,
    block_bytes,
    block_hash,
    block_in,
)
from lakegate.features.odf.format.odf_names import COMMON, point_of
from lakegate.features.odf.slices.slice_writer import plan_fields
from lakegate.gate.ledger.blocks import Block, canonical, from_json
from lakegate.gate.ledger.signatures import SignedText
from lakegate.plan.plan import Plan
from tests.unit.features.odf.exchange.shared_dataset import LINE, WIDER, a_line, files_of
from tests.unit.gate.ledger.ledger_chain import RECORD
from tests.unit.gate.ledger.signing import FORGER, ONE

Blocks = list[MetadataBlock]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A signed line as a dataset."""
    folder = tmp_path_factory.mktemp("shared")
    a_line(folder / "line").export(folder / "dataset")
    (folder / "key.pem").write_bytes(ONE.pem)
    return folder


def blocks_of(folder: Path) -> Blocks:
    found = [block_in(each.read_bytes()) for each in (folder / "blocks").iterdir()]
    return sorted(found, key=lambda each: each.sequence)


def rewritten(shared: Path, folder: Path, blocks: Blocks, *, renumbered: bool = True) -> FolderPlace:
    """The blocks, each with the hash of the one before it, and the data as it was."""
    place, previous = FolderPlace(folder), None
    for number, each in enumerate(blocks):
        block = replace(each, previous=previous, sequence=number if renumbered else each.sequence)
        body = block_bytes(block)
        previous = block_hash(body)
        place.put(f"blocks/{previous}", body)
    place.put("refs/head", str(previous).encode())
    (folder / "data").symlink_to(shared / "dataset/data")
    return place


def refused(shared: Path, place: FolderPlace, folder: Path) -> str:
    """Why a dataset is refused where the key of the line is known; `dataset verify` finds it, too."""
    assert verify_dataset(place.path, Proof(signatures_by(shared / "key.pem"))).exit_code == BROKEN
    with pytest.raises(InputError) as found:
        bring_dataset(place, FolderPlace(folder), Proof(signatures_by(shared / "key.pem")))
    assert not (folder / "refs").exists()
    return str(found.value)


def test_the_blocks_as_they_were_are_imported(shared: Path, tmp_path: Path) -> None:
    """What the other tests change is imported without their change, byte for byte."""
    place = rewritten(shared, tmp_path / "same", blocks_of(shared / "dataset"))

    assert bring_dataset(place, FolderPlace(tmp_path / "copy"), Proof(signatures_by(shared / "key.pem"))).blocks == 17
    assert place.head() == FolderPlace(shared / "dataset").head()


@pytest.mark.parametrize("renumbered", [True, False])
def test_blocks_that_are_left_out_repeated_or_exchanged_are_found(
    shared: Path, tmp_path: Path, *, renumbered: bool
) -> None:
    """Any block of the chain. Without the last ones, a dataset is a shorter one: the next test."""
    blocks = blocks_of(shared / "dataset")
    changes = {f"without {at}": blocks[:at] + blocks[at + 1 :] for at in range(len(blocks) - 1)}
    changes |= {f"twice {at}": blocks[: at + 1] + blocks[at:] for at in range(len(blocks))}
    changes |= {
        f"swapped {at}": [*blocks[:at], blocks[at + 1], blocks[at], *blocks[at + 2 :]] for at in range(len(blocks) - 1)
    }
    for name, each in changes.items():
        place = rewritten(shared, tmp_path / name, each, renumbered=renumbered)
        assert refused(shared, place, tmp_path / f"copy {name}")


def test_a_shorter_dataset_is_one_that_was_there_earlier(shared: Path, tmp_path: Path) -> None:
    """It ends with a whole delivery; only a folder that has more refuses it, or a digest that is kept elsewhere."""
    blocks, accepted = blocks_of(shared / "dataset"), []
    whole = FolderPlace(tmp_path / "whole")
    bring_dataset(FolderPlace(shared / "dataset"), whole, Proof(signatures_by(None)))
    for length in range(1, len(blocks)):
        place = rewritten(shared, tmp_path / str(length), blocks[:length])
        with pytest.raises(InputError, match="older than the one in the folder"):
            bring_dataset(place, whole, Proof(signatures_by(None)))
        with suppress(InputError):
            bring_dataset(place, FolderPlace(tmp_path / f"copy {length}"), Proof(signatures_by(None)))
            accepted.append(length)

    assert accepted == [1, 2, 3, 9, 10, 12]


def at(kind: type, change: Callable[[Any], Any]) -> Callable[[Blocks], Blocks]:
    """The last event of a kind is another one."""

    def changed(blocks: Blocks) -> Blocks:
        (*_, last) = [number for number, each in enumerate(blocks) if isinstance(each.event, kind)]
        blocks[last] = replace(blocks[last], event=change(blocks[last].event))
        return blocks

    return changed


def data(**more: Any) -> Callable[[Blocks], Blocks]:
    return at(AddData, lambda event: replace(event, data=replace(event.data, **more)))


def later(blocks: Blocks) -> Blocks:
    return [*blocks[:-1], replace(blocks[-1], system_time=Moment(2030, 1, 0, 0))]


def verdict(event: SetAttachments) -> SetAttachments:
    (path, text), *others = event.items
    return SetAttachments(((path, text.replace('"rejected_rows":0', '"rejected_rows":1')), *others))


def without_signature(event: SetAttachments) -> SetAttachments:
    return SetAttachments(event.items[:1])


def by_somebody_else(event: SetAttachments) -> SetAttachments:
    text, (path, signature), *plan = event.items
    return SetAttachments((text, (path, signature.replace(ONE.name, FORGER.name)), *plan))


def without_plan(event: SetAttachments) -> SetAttachments:
    return SetAttachments(event.items[:2])


def other_plan(event: SetAttachments) -> SetAttachments:
    *others, (path, text) = event.items
    return SetAttachments((*others, (path, text.replace("Our terms", "Free for all"))))


def restated(kind: str, **more: Any) -> Callable[[Blocks], Blocks]:
    """The last description of a kind is another one."""

    def changed(blocks: Blocks) -> Blocks:
        (*_, last) = [number for number, each in enumerate(blocks) if getattr(each.event, "kind", "") == kind]
        event = blocks[last].event
        assert isinstance(event, OtherEvent)
        blocks[last] = replace(blocks[last], event=OtherEvent(kind, {**event.value, **more}))
        return blocks

    return changed


def renamed_everywhere(blocks: Blocks) -> Blocks:
    """In the schema and in the source."""
    blocks = at(SetDataSchema, renamed)(blocks)
    fields = [each.event.fields for each in blocks if isinstance(each.event, SetDataSchema)][-1]
    schema = {"fields": [each for each in fields if each["name"] not in COMMON]}
    (*_, source) = [each.event for each in blocks if getattr(each.event, "kind", "") == "AddPushSource"]
    assert isinstance(source, OtherEvent)
    return restated("AddPushSource", read={**source.value["read"], "schema": schema})(blocks)


def renamed(event: SetDataSchema) -> SetDataSchema:
    return SetDataSchema((*event.fields[:-1], {**event.fields[-1], "name": "other"}))


def nullable(event: SetDataSchema) -> SetDataSchema:
    """The last column may not be null any more."""
    last = event.fields[-1]
    assert last["type_type"] == "DataTypeOption"
    inner = {"type_type": last["type"]["inner_type"], "type": last["type"]["inner"]}
    return SetDataSchema((*event.fields[:-1], {**last, **inner}))


def in_another_zone(event: SetDataSchema) -> SetDataSchema:
    fields = [dict(each) for each in event.fields]
    (time,) = [each for each in fields if each["name"] == "event_time"]
    time["type"] = {**time["type"], "timezone": "Europe/Berlin"}
    return SetDataSchema(tuple(fields))


FALSE: dict[str, Any] = {"extra": {"attributes": '{"opendatafabric.org/description": "in euros"}'}}


def explained(event: SetDataSchema) -> SetDataSchema:
    return SetDataSchema((*event.fields[:-1], {**event.fields[-1], **FALSE}))


def explained_source(blocks: Blocks) -> Blocks:
    (*_, source) = [each.event for each in blocks if getattr(each.event, "kind", "") == "AddPushSource"]
    assert isinstance(source, OtherEvent)
    *others, last = source.value["read"]["schema"]["fields"]
    read = {**source.value["read"], "schema": {"fields": [*others, {**last, **FALSE}]}}
    return restated("AddPushSource", read=read)(blocks)


def nothing_attached(blocks: Blocks) -> Blocks:
    return [each for each in blocks if not isinstance(each.event, SetAttachments)]


LATER = "2026-11-23T00:00:00.000000Z"
LOGICAL = "f9680c00120" + "ab" * 32
PHYSICAL = "f1620" + "ab" * 32


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (data(start=4), "the offsets 4 to 3 do not begin at 3"),
        (data(end=4), "gives another dataset"),
        (data(logical=LOGICAL), "gives another dataset"),
        (data(physical=PHYSICAL), "gives another dataset"),
        (data(size=10), "gives another dataset"),
        (at(AddData, lambda event: replace(event, watermark=Moment(2030, 1, 0, 0))), "gives another dataset"),
        (at(AddData, lambda event: replace(event, watermark=Moment(2020, 1, 0, 0))), "the watermark moves back"),
        (at(AddData, lambda event: replace(event, data=None)), "gives another dataset"),
        (lambda blocks: blocks[:-1], "at its end: the ledger gives more blocks"),
        (lambda blocks: [*blocks, blocks[-2]], "block 17: the ledger ends before this block"),
        (lambda blocks: [*blocks[:-1], blocks[-2]], "it is `AddPushSource`, where the ledger gives `AddData`"),
        (later, "block 16: its system time is another than the ledger gives"),
        (at(Seed, lambda _: Seed(point_of(b"another"))), "gives another dataset"),
        (at(SetDataSchema, renamed), "gives another dataset"),
        (renamed_everywhere, "block 13: its event `SetDataSchema` states other values than the ledger gives"),
        (at(SetDataSchema, nullable), "its event `SetDataSchema` states other values"),
        (at(SetDataSchema, in_another_zone), "its event `SetDataSchema` states other values"),
        (at(SetDataSchema, explained), "its event `SetDataSchema` states other values"),
        (explained_source, "its event `AddPushSource` states other values"),
        (restated("SetVocab", offset_column=None), "gives another dataset"),
        (restated("SetInfo", description="Other visits"), "gives another dataset"),
        (restated("SetLicense", name="Free for all"), "gives another dataset"),
        (restated("AddPushSource", source_name="other"), "gives another dataset"),
        (restated("AddPushSource", merge_type="MergeStrategyLedger"), "gives another dataset"),
        (at(SetAttachments, without_plan), "gives another dataset at block 12: the plan of the block 4 is missing"),
        (
            at(SetAttachments, other_plan),
            "gives another dataset at block 13: the plan of the block 4 is not the one that it names",
        ),
        (at(SetAttachments, verdict), "broken: signature at block 4"),
        (at(SetAttachments, without_signature), "broken: unsigned at block 4"),
        (at(SetAttachments, by_somebody_else), "broken: unknown-key at block 4"),
        (at(SetAttachments, lambda _: SetAttachments(())), "gives another dataset"),
        (nothing_attached, "has no ledger in its attachments, so nothing proves"),
    ],
)
def test_what_somebody_wrote_otherwise_is_found(
    shared: Path, tmp_path: Path, change: Callable[[Blocks], Blocks], reason: str
) -> None:
    """With right hashes, links and numbers: the ledger does not give these blocks, or the data is not theirs."""
    place = rewritten(shared, tmp_path / "rewritten", change(blocks_of(shared / "dataset")))

    assert reason in refused(shared, place, tmp_path / "copy")


def test_a_line_that_somebody_else_signed_is_found(shared: Path, tmp_path: Path) -> None:
    """A whole line by another key is one without fault; only the key that is known shows it."""
    line = a_line(tmp_path / "line")
    forged = replace(line, folder=tmp_path / "by another", stored=[], offset=0, watermark=None, by=FORGER)
    forged.name_key()
    forged.publish("id,at\n1,2026-11-20T10:00:00Z\n")
    forged.export(tmp_path / "forged")

    assert (
        bring_dataset(
            FolderPlace(tmp_path / "forged"), FolderPlace(tmp_path / "copy"), Proof(signatures_by(None))
        ).blocks
        == 9
    )
    assert "no block is signed by the given key" in refused(
        shared, FolderPlace(tmp_path / "forged"), tmp_path / "other"
    )


def test_another_line_of_the_same_stack_is_found(shared: Path, tmp_path: Path) -> None:
    """The key of a stack signs all of its lines: which one it is, the name or the identity proves."""
    dataset, known = shared / "dataset", signatures_by
    own = bring_dataset(FolderPlace(dataset), FolderPlace(tmp_path / "own"), Proof(known(shared / "key.pem")))
    for number, names in enumerate(({LINE}, {str(own.state.id)}, {LINE, str(own.state.id)})):
        proof = Proof(known(shared / "key.pem"), names=frozenset(names))
        assert bring_dataset(FolderPlace(dataset), FolderPlace(tmp_path / str(number)), proof).name == LINE
        assert verify_dataset(dataset, replace_signatures(proof, shared)).exit_code == 0
    for number, names in enumerate(({"shop/orders_v1"}, {str(point_of(b"another"))}, {LINE, "shop/orders_v1"})):
        proof = Proof(known(shared / "key.pem"), names=frozenset(names))
        with pytest.raises(InputError, match=f"of the line `{LINE}`, not"):
            bring_dataset(FolderPlace(dataset), FolderPlace(tmp_path / f"other {number}"), proof)
        assert verify_dataset(dataset, replace_signatures(proof, shared)).exit_code == BROKEN


def replace_signatures(proof: Proof, shared: Path) -> Proof:
    """For another reading of the same chain."""
    return proof._replace(signatures=signatures_by(shared / "key.pem"))


def test_what_nobody_signed_is_left_out(shared: Path, tmp_path: Path) -> None:
    """A record at the end, which anybody can write in any name; what the line has in its place later is no fork."""
    line = a_line(tmp_path / "line")
    genuine = list(line.stored)
    forged = replace(RECORD, height=len(genuine), previous=line.previous, chain=LINE, system_time=LATER)
    line.stored.append(SignedText(canonical(forged)))
    line.export(tmp_path / "forged")

    def proof(*, takes_unsigned: bool = False) -> Proof:
        return Proof(signatures_by(shared / "key.pem"), takes_unsigned=takes_unsigned)

    copy, whole = FolderPlace(tmp_path / "copy"), FolderPlace(tmp_path / "whole")
    found = bring_dataset(FolderPlace(tmp_path / "forged"), copy, proof())
    assert found.ledger is not None
    assert (found.blocks, found.ledger.height, found.ledger.unproven) == (17, 4, 1)
    assert files_of(copy.path) == files_of(shared / "dataset")
    assert "Left out: 1 block of the ledger above" in "\n".join(in_words(found, "", proof()))
    assert verify_dataset(tmp_path / "forged", proof()).exit_code == BROKEN
    assert verify_dataset(tmp_path / "forged", proof(takes_unsigned=True)).exit_code == 0
    assert bring_dataset(FolderPlace(tmp_path / "forged"), whole, proof(takes_unsigned=True)).blocks == 18
    with pytest.raises(InputError, match="the folder has 18 blocks, and signatures cover 17 of them"):
        bring_dataset(FolderPlace(tmp_path / "forged"), whole, proof())

    line.stored = genuine
    line.publish("id,at,note\n5,2026-11-22T10:00:00Z,more\n", WIDER)
    line.export(tmp_path / "genuine")
    assert bring_dataset(FolderPlace(tmp_path / "genuine"), copy, proof()).blocks == 2
    assert files_of(copy.path) == files_of(tmp_path / "genuine")


def test_event_times_that_the_ledger_states_wrongly_are_found(shared: Path, tmp_path: Path) -> None:
    """Slices are chosen by them when a time is asked for; so a line that states other ones is refused."""
    line = a_line(tmp_path / "line")
    block = from_json(line.stored.pop().text.decode())
    assert isinstance(block, Block)
    assert block.slices is not None
    line.append(replace(block, slices=(replace(block.slices[0], event_time=("x", "2026-11-21T10:00:00Z")),)))

    def plans(of: Block) -> bytes:
        return line.plans[of.plan]

    written = odf_blocks(line.stored, lambda each: plan_fields(Plan.from_bytes(plans(each))), plans)
    place = rewritten(shared, tmp_path / "stated", [block_in(each.body) for each in written])

    assert "its event times are others than the ledger states" in refused(shared, place, tmp_path / "copy")


def test_a_dataset_of_another_tool_is_imported(shared: Path, tmp_path: Path) -> None:
    """Without a ledger it is a dataset all the same, under its own identity."""
    blocks = at(Seed, lambda _: Seed(point_of(b"another")))(nothing_attached(blocks_of(shared / "dataset")))
    place = rewritten(shared, tmp_path / "foreign", blocks)
    found = bring_dataset(place, FolderPlace(tmp_path / "copy"), Proof(signatures_by(None)))

    assert (found.name, found.ledger, found.blocks) == (str(point_of(b"another")), None, 12)
