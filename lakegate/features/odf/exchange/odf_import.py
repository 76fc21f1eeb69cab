"""ODF dataset imported, verified before it is visible."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice, zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from lakegate.aws.open_stack import enter_stack, readable_errors
from lakegate.base.errors import InputError, NotFound
from lakegate.base.text import plural, printable, quote
from lakegate.cli import terminal
from lakegate.cli.command_runner import CommandResult
from lakegate.cli.datasets import chain_proofs
from lakegate.cli.datasets.chain_proofs import MAX_SHOWN
from lakegate.features.odf.exchange.named_repositories import locate_repository
from lakegate.features.odf.exchange.odf_export import Fields, OdfBlock, ledger_in, named_plan, odf_blocks, plan_in
from lakegate.features.odf.exchange.odf_repositories import (
    FOLDERS,
    HEAD,
    Added,
    FolderPlace,
    Link,
    OdfSource,
    SourceError,
    check_file,
    follow_chain,
    head_of,
    names,
    source_of,
    walk_chain,
)
from lakegate.features.odf.format.logical_hash import slice_in
from lakegate.features.odf.format.metadata_chain import ChainState, SetAttachments, block_in
from lakegate.gate.ledger.blocks import Block, LedgerSlice, parse_block
from lakegate.gate.ledger.ledger_yaml import Passed
from lakegate.gate.ledger.signatures import Signatures, SignedText
from lakegate.gate.ledger.verification import verify_signed
from lakegate.transfer.download_files import foreign_entries

# ---- Output of `import` and `verify` ----


LICENSE: Final = ("name", "short_name", "spdx_id", "website_url")


@dataclass(frozen=True, slots=True)
class DatasetCopy:
    """A dataset in a folder, and which part of it a run brought or compared."""

    state: ChainState
    blocks: int
    """Of that part, as are those below."""
    added: tuple[Added, ...]
    ledger: CheckedLedger | None
    """None: another tool wrote the dataset."""

    @property
    def name(self) -> str:
        """The name of the dataset, or its identity."""
        return self.ledger.dataset if self.ledger else str(self.state.id)


def check_names(state: ChainState, ledger: CheckedLedger | None, proof: Proof) -> None:
    """InputError where the dataset has another name or identity than it must have."""
    own = {str(state.id), ledger.dataset if ledger else ""}
    if not proof.names <= own:
        wanted = " and ".join(sorted(proof.names))
        dataset = f"the line {quote(ledger.dataset)}" if ledger else "no dataset of Lakegate"
        raise InputError(f"this is the dataset {state.id} of {dataset}, not {wanted}")


def as_document(copy: DatasetCopy, folder: Path, proof: Proof) -> dict[str, object]:
    """For machines."""
    ledger = copy.ledger
    return {
        "dataset": copy.name,
        "id": str(copy.state.id),
        "folder": str(folder),
        "head": copy.state.head,
        "license": copy.state.license and {name: copy.state.license.get(name) for name in LICENSE},
        "blocks": copy.blocks,
        "slices": len(copy.added),
        "rows": sum(entry.data.rows for entry in copy.added),
        "bytes": sum(entry.data.size for entry in copy.added),
        "ledger": ledger and {"line": ledger.dataset, "height": ledger.height, "digest": ledger.digest},
        "left_out": ledger.unproven if ledger else 0,
        "signatures": ledger and chain_proofs.as_document(proof.signatures, proof.anchors),
    }


def in_words(copy: DatasetCopy, new: str, proof: Proof) -> Iterator[str]:
    """For people. `new`: a word before what is counted."""
    rows, size = (sum(getattr(entry.data, name) for entry in copy.added) for name in ("rows", "size"))
    slices = plural(len(copy.added), "slice")
    yield f"{copy.name}: {plural(copy.blocks, f'{new}block')}"
    yield f"  {slices}, each as its block states: {plural(rows, 'row')}, {plural(size, 'byte')}"
    yield f"  identity  {copy.state.id}"
    yield f"  head      {copy.state.head}"
    if copy.state.license:
        terms = (copy.state.license.get(name) for name in ("name", "website_url"))
        yield f"  licence   {' '.join(quote(term) for term in terms if term)}"
    if copy.ledger is None:
        yield "Another tool wrote this dataset: it has no verdicts of Lakegate."
    else:
        yield "The ledger in its attachments is intact, and gives this dataset."
        yield f"  height and digest  {copy.ledger.height}={copy.ledger.digest}"
        if copy.ledger.unproven:
            blocks = plural(copy.ledger.unproven, "block")
            yield f"Left out: {blocks} of the ledger above, which no signature covers yet; --unsigned takes them."
        yield from chain_proofs.in_words(proof.signatures, copy.ledger.height, proof.anchors)


# ---- The ledger in the attachments ----


OTHER: Final = "the ledger in the attachments gives another dataset"


@dataclass(frozen=True, slots=True)
class CheckedLedger:
    """The ledger of a dataset, which was verified."""

    dataset: str
    height: int
    """Of the last block."""
    digest: str
    """Likewise."""
    slices: Mapping[int, LedgerSlice]
    """By the offsets of their first rows."""
    proven: int
    """Blocks of the dataset, from the first one, that a signature or an anchor covers; all of them where no key is given."""
    unproven: int = 0
    """Blocks of the ledger above these."""


class Proof(NamedTuple):
    """Evidence about a ledger from elsewhere."""

    signatures: Signatures
    anchors: Mapping[int, str] = MappingProxyType({})
    """Digests by height."""
    names: frozenset[str] = frozenset()
    """The name, the identity or both that the dataset must have."""
    takes_unsigned: bool = False
    """Whether blocks above the highest signed one are taken, although a key is given."""


def ledger_of(links: Sequence[Link], proof: Proof) -> CheckedLedger | None:
    """The ledger of a dataset; None where it has none. InputError where its chain is broken, or gives another dataset.

    The blocks of a dataset follow from its ledger and from the plans that it names: they are written again, and compared.
    The signatures of `proof` then have what is signed by whom.
    """
    first = next(_Attached().ledger(links), None)
    if first is None:
        if proof.signatures.given is not None or proof.anchors:
            raise InputError(
                "the dataset has no ledger in its attachments, so nothing proves that it is the one of --key or --anchor"
            )
        return None
    lowest = parse_block(first.text)
    dataset = "" if lowest is None else lowest.chain
    passed = Passed()
    faults = verify_signed(passed.through(_Attached().ledger(links)), dataset, proof.signatures, anchors=proof.anchors)
    if faults:
        raise InputError(
            f"the ledger in the attachments is broken: {faults[0].what} at block {faults[0].height} {faults[0].why}"
        )
    slices, ends = _written_again(links)
    reached = max((proof.signatures.covered, *(anchor for anchor in proof.anchors if anchor <= passed.height)))
    if proof.signatures.given is None or proof.takes_unsigned or reached == passed.height:
        return CheckedLedger(dataset, passed.height, passed.digest, slices, len(links))
    stored = next(islice(_Attached().ledger(links), reached, None))
    digest = hashlib.sha3_256(stored.text).hexdigest()
    return CheckedLedger(dataset, reached, digest, slices, ends[reached], passed.height - reached)


@dataclass(slots=True)
class _Attached:
    """The ledger of a dataset, and the plan beside the block that was read last."""

    plan: bytes | None = None
    known: dict[str, Fields] = field(default_factory=dict)
    """Columns of slices, by the digests of their plans."""

    def ledger(self, links: Iterable[Link]) -> Iterator[SignedText]:
        """The blocks of the ledger, the lowest first."""
        return ledger_in(self._note_attachments(links))

    def plan_of(self, block: Block) -> bytes:
        if self.plan is None:
            raise InputError(f"the plan of the block {block.height} is missing")
        return self.plan

    def fields_of(self, block: Block) -> Fields:
        """The columns follow from the plan, whatever the dataset says of them."""
        from lakegate.features.odf.slices.slice_writer import plan_fields  # noqa: PLC0415 - the engine is for ledgers with slices

        if block.plan not in self.known:
            self.known[block.plan] = plan_fields(named_plan(block, self.plan_of(block)))
        return self.known[block.plan]

    def _note_attachments(self, links: Iterable[Link]) -> Iterator[SetAttachments]:
        for link in links:
            event = link.block.event
            if isinstance(event, SetAttachments):
                self.plan = plan_in(event)
                yield event


def _written_again(links: Sequence[Link]) -> tuple[dict[int, LedgerSlice], list[int]]:
    """The slices in the ledger, and how many blocks of the dataset end with each block of the ledger.

    InputError where the blocks that follow from the ledger are others than those of the dataset.
    """
    slices: dict[int, LedgerSlice] = {}
    ends: list[int] = []
    attached, at = _Attached(), 0
    try:
        written = odf_blocks(attached.ledger(links), attached.fields_of, attached.plan_of)
        for own, link in zip_longest(written, links):
            if own is None or link is None or own.name != link.name:
                raise InputError(_difference(own, link))  # noqa: TRY301 - one of the ways in which it is another
            if isinstance(block_in(own.body).event, SetAttachments):
                ends.append(at)
            if ends:
                ends[-1] = at + 1
            if own.added:
                slices[own.added.stated.offset] = own.added.stated
            at += 1
    except InputError as error:
        where = f"at block {at}" if at < len(links) else "at its end"
        raise InputError(f"{OTHER} {where}: {error}") from None
    return slices, ends


def _difference(own: OdfBlock | None, link: Link | None) -> str:
    """The difference of a block to what the ledger gives."""
    if link is None:
        return "the ledger gives more blocks"
    there = link.block
    if own is None:
        return f"the ledger ends before this block, {_kind(there.event)}"
    wanted = block_in(own.body)
    if _kind(wanted.event) != _kind(there.event):
        words = f"it is {_kind(there.event)}, where the ledger gives {_kind(wanted.event)}"
    elif wanted.event != there.event:
        words = f"its event {_kind(there.event)} states other values than the ledger gives"
    elif wanted.system_time != there.system_time:
        words = "its system time is another than the ledger gives"
    else:
        words = "it has the content that the ledger gives in other bytes"
    return f"{words}; or a later release wrote it"


def _kind(event: object) -> str:
    return quote(getattr(event, "kind", type(event).__name__))


# ---- A dataset in a folder ----


@dataclass(frozen=True, slots=True)
class FolderDataset:
    """A dataset whose chain, and the ledger in it, are without fault; its data is not read yet."""

    links: Sequence[Link]
    state: ChainState
    added: Sequence[Added]
    ledger: CheckedLedger | None

    def stated(self, slice_: Added) -> LedgerSlice | None:
        """What the ledger states of a slice."""
        return self.ledger.slices.get(slice_.data.start) if self.ledger else None


def dataset_in(folder: FolderPlace, proof: Proof) -> FolderDataset | None:
    """What `verify` verifies and `read` reads of a folder: what its `refs/head` names, whatever else lies there.

    None where there is none. InputError where the chain or its ledger has a fault.
    """
    head = head_of(folder)
    if head is None:
        return None
    links, _ = walk_chain(folder, head)
    state, added = follow_chain(links)
    return FolderDataset(links, state, added, ledger_of(links, proof))


# ---- `lakegate dataset import` ----
# 1. Blocks that are new come from the head downwards; each has the hash by which the one above names it. They have to continue
#    the chain in the folder: a fork, and an older chain, are refused.
# 2. The chain is checked, and the chain of the ledger in its attachments, if Lakegate wrote it.
# 3. Data comes next: each file is compared with its block, and read whole, before it gets its name.
# 4. The head is replaced last. Until then the folder has the dataset that it had before; a repeated command goes on.


def import_dataset(source: str, folder: Path, proof: Proof, stack: str | None) -> CommandResult[dict[str, object]]:
    """Bring what is new of a dataset into a folder. `stack`: the local one, whose S3 is asked."""
    if stack is not None:
        enter_stack(stack, local=True)
    place = locate_repository(source)
    if place.id:
        proof = proof._replace(names=proof.names | {place.id})
    with readable_errors():
        copy = bring_dataset(source_of(place.address, place.authorization), FolderPlace(folder), proof)
    words = (*in_words(copy, "new ", proof), f"Read its rows: lakegate dataset read {folder}")
    return CommandResult(as_document(copy, folder, proof), words)


def bring_dataset(source: OdfSource, folder: FolderPlace, proof: Proof) -> DatasetCopy:
    """Bring what is new into a folder. InputError, and nothing visible, where anything is not as it has to be."""
    path = folder.path
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is not a folder")
    if path.is_dir() and (extra := sorted({entry.name for entry in path.iterdir()} - set(FOLDERS))):
        raise InputError(f"{path} has {extra[0]}, which is no part of a dataset: give another folder")
    head = head_of(source)
    if head is None:
        raise InputError(
            "the source has no dataset: refs/head is missing; `lakegate dataset export DATASET DEST` writes one"
        )
    with folder.locked():
        return _import_chain(source, head, folder, proof)


def _import_chain(source: OdfSource, head: str, folder: FolderPlace, proof: Proof) -> DatasetCopy:
    before, own = folder.head(), head_of(folder)
    there = walk_chain(folder, own)[0] if own else []
    brought: list[str] = []
    try:
        new, joint = walk_chain(folder, head, names(there), source, brought.append)
        _check_continues(own, head, joint)
        links = [*there, *new]
        state, slices = follow_chain(links)
        ledger = ledger_of(links, proof)
        check_names(state, ledger, proof)
        if ledger is not None and ledger.unproven:
            links, left = links[: ledger.proven], links[ledger.proven :]
            _check_proven(links, there)
            folder.remove(f"blocks/{entry.name}" for entry in left)
            state, slices = follow_chain(links)
    except SourceError:
        raise  # what came is used when the command is repeated
    except InputError:
        folder.remove(brought)
        raise
    added = [entry for entry in slices if entry.sequence >= len(there)]
    _bring(source, folder, added, ledger, _last_time(folder, slices[: -len(added) or None]))
    if len(links) > len(there):
        folder.set_head(links[-1].name, before)
    return DatasetCopy(state, len(links) - len(there), tuple(added), ledger)


def _check_proven(links: Sequence[Link], there: Sequence[Link]) -> None:
    """Whether the folder has nothing above what is proven."""
    if len(links) < len(there):
        words = f"the folder has {plural(len(there), 'block')}, and signatures cover {len(links):,} of them"
        raise InputError(f"{words}: --unsigned takes the others, too, which anybody may have written")


def _check_continues(own: str | None, head: str, joint: str | None) -> None:
    """Whether the new blocks begin where the chain of the folder ends. `joint`: the block before them."""
    if own is None or joint == own:
        return
    if joint == head:
        raise InputError("the dataset is older than the one in the folder: nothing was changed")
    where = "is another one from its first block on" if joint is None else f"is another one above the block {joint}"
    raise InputError(f"the dataset {where}: it is no continuation of the one in the folder, nothing was changed")


def _bring(
    source: OdfSource,
    folder: FolderPlace,
    added: Sequence[Added],
    ledger: CheckedLedger | None,
    before: datetime | None,
) -> None:
    """Files of data that are new, each whole and verified. `before`: the last system time of the dataset without them."""
    size = sum(item.data.size for item in added)
    free = shutil.disk_usage(
        next(parent for parent in (folder.path.absolute(), *folder.path.absolute().parents) if parent.exists())
    ).free
    if size > free:
        raise InputError(f"the data has {plural(size, 'byte')}, and {free:,} are free")
    stated = ledger.slices if ledger else {}
    with terminal.bytes_arriving("data", size) as arrived:
        for entry in added:
            before = _bring_slice(source, folder, entry, stated.get(entry.data.start), before, arrived)


def _last_time(folder: FolderPlace, slices: Sequence[Added]) -> datetime | None:
    """The last system time of the slices that are there; None where there are none, or the last one is damaged."""
    with suppress(InputError):
        return slice_in(folder.path / f"data/{slices[-1].data.physical}").system_times[1] if slices else None
    return None


def _bring_slice(  # noqa: PLR0913, PLR0917 - a slice on its way has these parts
    source: OdfSource,
    folder: FolderPlace,
    added: Added,
    stated: LedgerSlice | None,
    before: datetime | None,
    arrived: Callable[[int], object],
) -> datetime:
    name = f"data/{added.data.physical}"
    if folder.size(name) == added.data.size:  # of an interrupted run; fetched again if it was damaged since
        with suppress(InputError):
            time = check_file(folder.path / name, added.data, added.fields, stated, before)
            arrived(added.data.size)
            return time
    try:
        with folder.new(name) as part:
            _fetch(source, name, added.data.size, part, arrived)
            return check_file(part, added.data, added.fields, stated, before)
    except NotFound:
        raise InputError(f"block {added.sequence}: {name} is missing") from None
    except InputError as error:
        raise InputError(f"block {added.sequence}: {name} is not as stated: {error}") from None


def _fetch(source: OdfSource, name: str, size: int, target: Path, arrived: Callable[[int], object]) -> None:
    with target.open("wb") as file:
        for piece in source.pieces(name):
            file.write(piece)
            arrived(len(piece))
            if file.tell() > size:
                raise InputError(f"it has more than {plural(size, 'byte')}")


# ---- `lakegate dataset verify` ----


AS_STATED, BROKEN = 0, 1


def verify_dataset(folder: Path, proof: Proof) -> CommandResult[dict[str, object]]:
    """Whether a dataset is as it states, or its faults. InputError where there is none."""
    if head_of(FolderPlace(folder)) is None:
        raise InputError(
            f"{folder} has no dataset: refs/head is missing; `lakegate dataset import SOURCE {folder}` brings one"
        )
    copy, faults = _verify_folder(FolderPlace(folder), proof)
    document = {"faults": faults, **(as_document(copy, folder, proof) if copy else {})}
    words = in_words(copy, "", proof) if copy and not faults else _faults_in_words(folder, faults)
    return CommandResult(document, words, BROKEN if faults else AS_STATED)


def _verify_folder(folder: FolderPlace, proof: Proof) -> tuple[DatasetCopy | None, list[str]]:
    """The dataset, if its chain is intact, and what is wrong."""
    try:
        there = dataset_in(folder, proof)
        assert there is not None
        check_names(there.state, there.ledger, proof)
    except InputError as error:
        return None, [str(error)]
    ledger, before = there.ledger, None
    faults = []
    if ledger is not None and ledger.unproven:
        words = f"signatures cover {ledger.proven:,} of its {plural(len(there.links), 'block')}"
        faults.append(f"{words}: anybody may have written the others; --unsigned accepts them")
    parts = {
        HEAD,
        *(f"blocks/{link.name}" for link in there.links),
        *(f"data/{entry.data.physical}" for entry in there.added),
    }
    foreign = foreign_entries(folder.path, parts)
    faults += [
        f"{printable(entry)} {IS_LINK if (folder.path / entry).is_symlink() else IS_FOREIGN}" for entry in foreign
    ]
    with terminal.working("comparing slices") as progress:
        for number, item in enumerate(there.added, 1):
            progress(f"comparing slices: {number:,} of {len(there.added):,}")
            name = f"data/{item.data.physical}"
            try:
                if folder.size(name) is None:
                    raise InputError("it is missing")  # noqa: TRY301 - one of the ways in which a file differs
                before = check_file(folder.path / name, item.data, item.fields, there.stated(item), before)
            except InputError as error:
                faults.append(f"block {item.sequence}: {name} is not as stated: {error}")
    return DatasetCopy(there.state, len(there.links), tuple(there.added), ledger), faults


IS_LINK: Final = "is a link: what it leads to may change while the folder does not; put a copy in its place"
IS_FOREIGN: Final = "is no part of the dataset: delete it, or repeat an import that was interrupted"


def _faults_in_words(folder: Path, faults: list[str]) -> Iterator[str]:
    yield f"{folder} is not as stated:"
    yield from faults[:MAX_SHOWN]
    yield from terminal.more(len(faults), MAX_SHOWN)
