"""Dataset with its ledger as an ODF dataset."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from lakegate.base.errors import InputError
from lakegate.base.json_codec import sha256_of
from lakegate.base.text import quote
from lakegate.cli import terminal
from lakegate.cli.datasets.chain_proofs import signatures_by
from lakegate.contract.delivery_policy import MergeStrategy, Policy, Pull
from lakegate.contract.file_formats import Format
from lakegate.features.odf.exchange.odf_repositories import OdfPlace, check_file, head_of, is_whole
from lakegate.features.odf.format.metadata_chain import (
    VOCABULARY,
    AddData,
    ChainState,
    DataSlice,
    Event,
    MetadataBlock,
    Moment,
    OtherEvent,
    Seed,
    SetAttachments,
    SetDataSchema,
    block_bytes,
    block_hash,
    follow,
    moment_of,
)
from lakegate.features.odf.format.odf_names import COMMON, DatasetId, point_of
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.ledger.blocks import (
    AnyBlock,
    Block,
    LedgerObject,
    LedgerSlice,
    Record,
    canonical_json,
    from_json,
    parse_block,
)
from lakegate.gate.ledger.signatures import SignedText, signature_document, signature_from
from lakegate.gate.ledger.stored_objects import Left, erasures_of
from lakegate.gate.ledger.verification import verify_signed
from lakegate.plan.plan import Plan
from lakegate.transfer.download_files import DiffersError, File, ListedDelivery, fetched

# ---- Events from the plan ----


SOURCE: Final = "default"
"""The name of a dataset's source: a dataset has one."""
NO_LICENSE: Final = {"short_name": "NOASSERTION", "name": "No licence is stated", "spdx_id": "NOASSERTION"}
"""Of a contract that stated a licence before (SPDX's word for it)."""
_STEPS: Final = {
    Format.CSV: "ReadStepCsv",
    Format.JSON: "ReadStepJson",
    Format.JSONL: "ReadStepNdJson",
    Format.ANY_JSON: "ReadStepNdJson",
    Format.PARQUET: "ReadStepParquet",
}
"""ODF has no step for ORC and Avro."""
MERGES: Final = {
    "append": "MergeStrategyAppend",
    "ledger": "MergeStrategyLedger",
    "snapshot": "MergeStrategySnapshot",
    "upsert": "MergeStrategyUpsertStream",
}
"""By the name of the strategy in contracts."""
UNSTATED: Final = {
    "SetInfo": OtherEvent("SetInfo", {}),
    "SetLicense": OtherEvent("SetLicense", {**NO_LICENSE, "website_url": ""}),
}
"""The state before the first event of a kind."""
DISABLED: Final = {
    "AddPushSource": OtherEvent("DisablePushSource", {"source_name": SOURCE}),
    "SetPollingSource": OtherEvent("DisablePollingSource", {}),
}
"""The end of a source, by the kind of event that it began with."""
LONGEST_PLAN: Final = 8 << 20
"""Bytes; a block has 16 MiB at the most."""


def named_plan(block: Block, text: bytes) -> Plan:
    """The plan that a block names. InputError where the text is not that plan."""
    if len(text) > LONGEST_PLAN:
        raise InputError(f"the plan of the block {block.height} has more than {LONGEST_PLAN:,} bytes")
    if sha256_of(text) != block.plan:
        raise InputError(f"the plan of the block {block.height} is not the one that it names")
    return Plan.from_bytes(text)


def describe_plan(block: Block, text: bytes, fields: Sequence[Mapping[str, Any]]) -> Iterator[OtherEvent]:
    """The events of the plan that a block names. InputError where the text is not that plan."""
    plan = named_plan(block, text)
    source = source_event(plan, fields)
    yield from (info_event(plan), license_event(plan), *(() if source is None else (source,)))


def info_event(plan: Plan) -> OtherEvent:
    """Description and keywords."""
    about = plan.about
    if about is None:
        return UNSTATED["SetInfo"]
    stated = {"description": about.description, "keywords": list(about.keywords)}
    return OtherEvent("SetInfo", {name: value for name, value in stated.items() if value})


def license_event(plan: Plan) -> OtherEvent:
    """The licence."""
    licence = plan.about.license if plan.about else None
    if licence is None:
        return UNSTATED["SetLicense"]
    spdx = {"spdx_id": licence.spdx} if licence.spdx else {}
    named = {"short_name": licence.short_name or licence.spdx or licence.name, "name": licence.name}
    return OtherEvent("SetLicense", {**named, **spdx, "website_url": licence.url})


def source_event(plan: Plan, fields: Sequence[Mapping[str, Any]]) -> OtherEvent | None:
    """The reading and merging of deliveries, and where they are fetched from; None where ODF does not have it.

    `fields`: the columns of a slice.
    """
    step, merge = _STEPS.get(plan.storage.format), MERGES[plan.policy.merge_strategy.value]
    if step is None or (step == "ReadStepCsv" and plan.csv.skip_rows):
        return None  # ODF skips no lines: another reader would take a title for the header
    own = [entry for entry in fields if entry["name"] not in COMMON]
    key, schema = _key(plan.policy, [str(entry["name"]) for entry in own]), {"fields": own}
    read = {**(_csv(plan) if step == "ReadStepCsv" else {}), "schema": schema}
    read |= {"sub_path": plan.storage.records} if plan.storage.records else {}
    event = {"read_type": step, "read": read, "merge_type": merge, "merge": key}
    if plan.policy.pull is None:
        return OtherEvent("AddPushSource", {"source_name": SOURCE, **event})
    fetch = {"fetch_type": "FetchStepUrl", "fetch": {"url": plan.policy.pull.source}, **_prepare_step(plan.policy.pull)}
    return OtherEvent("SetPollingSource", {**fetch, **event})


def _prepare_step(pull: Pull) -> dict[str, Any]:
    """The member of an archive that is read: ODF knows archives of zip."""
    if not pull.member or not pull.source.lower().endswith(".zip"):
        return {}
    step = {"format": "Zip", "sub_path": pull.member}
    return {"prepare": [{"value_type": "PrepStepDecompress", "value": step}]}


def _key(policy: Policy, names: list[str]) -> dict[str, Any]:
    """The columns of a merge strategy: the primary key, and those compared of snapshots, where their time is in a column."""
    key = {"primary_key": list(policy.merge_key)} if policy.merge_key else {}
    compared = [name for name in names if name not in {*policy.merge_key, policy.event_time}]
    is_dated = policy.merge_strategy is MergeStrategy.SNAPSHOT and policy.event_time is not None
    return {**key, "compare_columns": compared} if is_dated and compared else key


def _csv(plan: Plan) -> dict[str, Any]:
    """A quote in a quoted value is written twice."""
    csv = plan.csv
    encoding = "utf8" if csv.encoding == "utf-8" else csv.encoding
    null = {"null_value": csv.null_values[0]} if len(csv.null_values) == 1 else {}
    found = {"separator": csv.delimiter, "encoding": encoding, "quote": csv.quote, "escape": csv.quote}
    return {**found, "header": csv.header, **null}


# ---- The chain as blocks of ODF, and back ----
# Each block of the ledger becomes one `SetAttachments` with its canonical text and its signature, followed by one `AddData` for
# each of its slices, and before the first of these a `SetDataSchema` where the columns are others than before. What a longer
# chain becomes begins with what a shorter one becomes: an importer takes only what is new.


IDENTITY: Final = b"lakegate-dataset/1\n"
"""The beginning of the text whose hash is the identity of a dataset."""
_PATH: Final = "lakegate/ledger/{:012}{}.json"
PLAN: Final = "lakegate/plan.json"
"""The plan of the slices from here on, by whose digest blocks of the ledger name it."""
SIGNATURE: Final = ".signature"
_ATTACHED: Final = re.compile(r"lakegate/ledger/([0-9]{12})(\.signature)?\.json")
LONGEST_LEDGER_BLOCK: Final = 1 << 19
"""Characters of a block of the ledger: it is an item of DynamoDB, of at most 400 KB."""
Fields = tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class OdfBlock:
    """A block of a dataset."""

    name: str
    body: bytes
    fields: Fields
    """The columns from here on."""
    added: AddedSlice | None = None


@dataclass(frozen=True, slots=True)
class AddedSlice:
    """A slice in the event that adds it, in the block of the ledger that states it, and its file in the lake."""

    data: DataSlice
    stated: LedgerSlice
    file: LedgerObject


def dataset_of(genesis: bytes) -> DatasetId:
    """The identity of a dataset in Open Data Fabric, by the text of its first block: the same in every export.

    It is a public key whose private key nobody knows: nobody can sign as the dataset, neither can Lakegate.
    """
    return point_of(IDENTITY + hashlib.sha3_256(genesis).hexdigest().encode())


def odf_blocks(
    stored: Iterable[SignedText], fields_of: Callable[[Block], Fields], plan_of: Callable[[Block], bytes]
) -> Iterator[OdfBlock]:
    """The blocks of the dataset of a verified chain, the first one first.

    `fields_of` are the columns of a delivery's slices. `plan_of` is the text of its plan, which is asked for where it is
    another one than that of the slices before. InputError where it is not the one that the block names.
    """
    writer: _Writer | None = None
    for text in stored:
        block = from_json(text.text.decode())
        if writer is None:
            writer = _Writer()
            yield writer.write(block, Seed(dataset_of(text.text)))
            yield writer.write(block, OtherEvent("SetVocab", VOCABULARY))
        slices = (block.slices or ()) if isinstance(block, Block) else ()
        changed = plan_of(block) if isinstance(block, Block) and slices and block.plan != writer.plan else None
        yield writer.write(block, SetAttachments(tuple(_list_attachments(block, text, changed))))
        if isinstance(block, Record) and block.kind == "watermark":
            yield from writer.mark(block)
        if isinstance(block, Block) and slices:
            yield from writer.describe(block, changed, fields_of(block))
            files = {one.key: one for one in block.objects}
            for number, one in enumerate(slices, 1):
                yield writer.add(block, one, files[one.key], is_last=number == len(slices))


@dataclass(slots=True)
class _Writer:
    """Writes one block after the other."""

    state: ChainState | None = None
    fields: Fields = ()
    plan: str = ""
    """The digest of that of the slices before."""
    described: dict[str, OtherEvent] = field(default_factory=dict)
    """By kind, the last event."""

    def describe(self, at: Block, plan: bytes | None, fields: Fields) -> Iterator[OdfBlock]:
        """Changed statements of the plan of a delivery, and of its columns."""
        if fields != self.fields:
            self.fields = fields
            yield self.write(at, SetDataSchema(fields))
        if plan is None:
            return
        self.plan = at.plan
        for entry in describe_plan(at, plan, fields):
            if entry != self.described.get(entry.kind, UNSTATED.get(entry.kind)):
                for kind in DISABLED.keys() - {entry.kind} if entry.kind in DISABLED else ():
                    if self.described.pop(kind, None):  # a dataset is pulled or pushed, not both
                        yield self.write(at, DISABLED[kind])
                self.described[entry.kind] = entry
                yield self.write(at, entry)

    def write(self, at: AnyBlock, event: Event, added: AddedSlice | None = None) -> OdfBlock:
        time, before = _moment(at.system_time), self.state
        if before is None:
            block = MetadataBlock(time, None, 0, event)
        else:  # clocks of Lambdas differ by milliseconds; ODF's times do not go back
            block = MetadataBlock(max(time, before.system_time), before.head, before.sequence + 1, event)
        body = block_bytes(block)
        name = block_hash(body)
        self.state = follow(before, name, block)
        return OdfBlock(name, body, self.fields, added)

    def add(self, at: Block, stated: LedgerSlice, file: LedgerObject, *, is_last: bool) -> OdfBlock:
        """The block of a slice. A watermark is that of a whole delivery, so its last slice has it."""
        assert self.state is not None
        data = DataSlice(stated.logical, stated.physical, stated.offset, stated.end - 1, file.size)
        watermark = _moment(at.watermark) if is_last and at.watermark else self.state.watermark
        return self.write(at, AddData(self.state.last_offset, data, watermark), AddedSlice(data, stated, file))

    def mark(self, at: Record) -> Iterator[OdfBlock]:
        """The block of a watermark that a person set; before the first slice, that of the slice states it."""
        watermark = _moment(str(at.content["watermark"]))
        assert self.state is not None
        before = self.state.watermark
        if self.state.last_offset is not None and (before is None or watermark > before):
            yield self.write(at, AddData(self.state.last_offset, None, watermark))


def _moment(text: str) -> Moment:
    try:
        return moment_of(datetime.fromisoformat(text))
    except ValueError:
        raise InputError(f"a block has a time that is none: {quote(text)}") from None


def _list_attachments(block: AnyBlock, stored: SignedText, plan: bytes | None) -> Iterator[tuple[str, str]]:
    yield _PATH.format(block.height, ""), stored.text.decode()
    if stored.signature is not None:
        yield _PATH.format(block.height, SIGNATURE), canonical_json(signature_document(stored.signature)).decode()
    if plan is not None:
        yield PLAN, plan.decode()


def plan_in(attachments: SetAttachments) -> bytes | None:
    """The plan of a delivery in the attachments of its block; None where it is that of the slices before."""
    return next((content.encode() for path, content in attachments.items if path == PLAN), None)


def ledger_in(attachments: Iterable[SetAttachments]) -> Iterator[SignedText]:
    """The blocks of the ledger in the attachments of a dataset, the lowest first; none of a dataset of another tool.

    InputError where one is missing, or there twice.
    """
    height = 0
    for attachment in attachments:
        found: dict[str, str] = {}
        for path, content in attachment.items:
            attached = _ATTACHED.fullmatch(path)
            if attached is None:
                continue
            kind = attached[2] or ""
            if int(attached[1]) != height or kind in found:
                raise InputError(f"the ledger in the attachments is not in its order: {path}")
            if len(content) > LONGEST_LEDGER_BLOCK:
                raise InputError(
                    f"the ledger in the attachments has more than {LONGEST_LEDGER_BLOCK:,} characters: {path}"
                )
            found[kind] = content
        if not found:
            continue
        if "" not in found:
            raise InputError("the ledger in the attachments has a signature of no block")
        height += 1
        signature = found.get(SIGNATURE)
        yield SignedText(found[""].encode(), None if signature is None else signature_from(_json(signature)))


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("a signature in the attachments is not JSON") from None


# ---- `lakegate dataset export` ----
# The blocks follow from the chain of the dataset alone, so every export writes the same ones, and what is there already is left
# alone. Data is written first, then blocks, then the head: who reads meanwhile has a whole dataset.


@dataclass(frozen=True, slots=True)
class Exported:
    """The output of a run."""

    dataset: str
    id: str
    blocks: Sequence[OdfBlock]
    """Of the whole dataset."""
    new: int
    """Blocks that were not there."""
    size: int
    """Bytes of data that were not there."""

    @property
    def slices(self) -> int:
        """Slices of the new blocks."""
        return sum(block.added is not None for block in self.blocks[len(self.blocks) - self.new :])


def export_dataset(dependencies: Dependencies, dataset: str, place: OdfPlace) -> Exported:
    """Write what is new of a dataset. InputError where its chain is broken, or the place has something else."""
    head = dependencies.ledger.head(dataset)
    stored = list(islice(dependencies.ledger.signed(dataset), head.height + 1))
    if verify_signed(stored, dataset, signatures_by(None), head.digest):
        raise InputError(f"the chain of {dataset} is broken: `lakegate verify {dataset}` names the block")
    plans = _Plans(dependencies, {})
    blocks = list(odf_blocks(stored, plans.fields, plans.text))
    if not any(block.added for block in blocks):
        raise InputError(f"{dataset} has no slices: its contract needs `publishAs: parquet`, and a delivery")
    with place.locked():
        before = place.head()
        known = _count_known(blocks, head_of(place), dataset)
        moved = erasures_of(each for text in stored if (each := parse_block(text.text)) is not None).left
        size = _write(dependencies, place, blocks[known:], moved)
        if known < len(blocks):
            place.set_head(blocks[-1].name, before)
    return Exported(dataset, str(dataset_of(stored[0].text)), blocks, len(blocks) - known, size)


@dataclass(frozen=True, slots=True)
class _Plans:
    """The plans of deliveries, and the columns of slices that were written by them."""

    dependencies: Dependencies
    known: dict[str, Fields]

    def text(self, block: Block) -> bytes:
        return self.dependencies.plan_at(block.plan, block.workload)

    def fields(self, block: Block) -> Fields:
        from lakegate.features.odf.slices.slice_writer import plan_fields  # noqa: PLC0415 - the engine is for this command alone

        if block.plan not in self.known:
            self.known[block.plan] = plan_fields(Plan.from_bytes(self.text(block)))
        return self.known[block.plan]


def _count_known(blocks: Sequence[OdfBlock], head: str | None, dataset: str) -> int:
    """The number of blocks that are there."""
    if head is None:
        return 0
    names = [block.name for block in blocks]
    if head not in names:
        raise InputError(f"the destination has another dataset than {dataset}, or a longer one: name another place")
    return names.index(head) + 1


def _write(dependencies: Dependencies, place: OdfPlace, blocks: Sequence[OdfBlock], moved: Mapping[str, Left]) -> int:
    """Write data, then blocks; how many bytes of data were not there. `moved`: objects that have another version now."""
    missing = [
        (entry.added, entry.fields)
        for entry in blocks
        if entry.added and not is_whole(place, f"data/{entry.added.data.physical}")
    ]
    size = sum(added.data.size for added, _ in missing)
    with terminal.bytes_arriving("slices", size) as arrived:
        for added, fields in missing:
            left = moved.get(added.file.key)
            source = left.current if left and left.current else added.file
            with TemporaryDirectory(prefix="lakegate-export-") as name:
                file = File(source.key, source.version, source.size, source.checksum, "slice")
                try:
                    fetched(dependencies, Path(name), ListedDelivery({}, (file,)), arrived)
                    check_file(Path(name, file.place), added.data, fields, added.stated)
                except DiffersError as error:
                    raise InputError(f"{error}; `lakegate verify DATASET --objects` names every such object") from None
                except InputError as error:
                    text = "is not what its block states"
                    raise InputError(
                        f"{source.key} {text}: {error}; `lakegate verify DATASET --replay` names every such slice"
                    ) from None
                place.put(f"data/{added.data.physical}", Path(name, file.place))
    for block in blocks:
        place.put(f"blocks/{block.name}", block.body)
    return size
