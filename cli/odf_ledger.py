"""The chain of the ledger in the attachments of a dataset that `lakegate dataset export` wrote."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from lakegate.cli.chain_file import Passed
from lakegate.contracts.convert.chain_odf import ledger_in, odf_blocks, plan_in
from lakegate.contracts.convert.source_odf import named_plan
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.block import stored_block
from lakegate.contracts.lake.ledger import verify_signed
from lakegate.contracts.odf.metadata import SetAttachments, block_in
from lakegate.contracts.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lakegate.cli.odf_dataset import Link
    from lakegate.contracts.convert.chain_odf import Fields, OdfBlock
    from lakegate.contracts.lake.block import Block
    from lakegate.contracts.lake.signatures import Signatures, SignedText

OTHER: Final = "the ledger in the attachments gives another dataset"


@dataclass(frozen=True, slots=True)
class CheckedLedger:
    """The ledger of a dataset, which was verified."""

    line: str
    height: int
    """Of the last block."""
    digest: str
    """Likewise."""
    event_times: Mapping[int, tuple[str, str]]
    """Of each slice, by the offset of its first row."""
    proven: int
    """Blocks of the dataset, from the first one, that a signature or an anchor covers; all of them where no key is given."""
    unproven: int = 0
    """Blocks of the ledger above these."""


class Proof(NamedTuple):
    """What is known of a ledger from elsewhere."""

    signatures: Signatures
    anchors: Mapping[int, str] = MappingProxyType({})
    """Digests by height."""
    names: frozenset[str] = frozenset()
    """The line, the identity or both that the dataset must have."""
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
    lowest = stored_block(first.text)
    line = "" if lowest is None else lowest.chain
    passed = Passed()
    faults = verify_signed(passed.through(_Attached().ledger(links)), line, proof.signatures, anchors=proof.anchors)
    if faults:
        raise InputError(
            f"the ledger in the attachments is broken: {faults[0].what} at block {faults[0].height} {faults[0].why}"
        )
    times, ends = _written_again(links)
    reached = max((proof.signatures.covered, *(each for each in proof.anchors if each <= passed.height)))
    if proof.signatures.given is None or proof.takes_unsigned or reached == passed.height:
        return CheckedLedger(line, passed.height, passed.digest, times, len(links))
    stored = next(islice(_Attached().ledger(links), reached, None))
    digest = hashlib.sha3_256(stored.text).hexdigest()
    return CheckedLedger(line, reached, digest, times, ends[reached], passed.height - reached)


@dataclass(slots=True)
class _Attached:
    """The ledger of a dataset, and the plan beside the block that was read last."""

    plan: bytes | None = None
    known: dict[str, Fields] = field(default_factory=dict)
    """Columns of slices, by the digests of their plans."""

    def ledger(self, links: Iterable[Link]) -> Iterator[SignedText]:
        """The blocks of the ledger, the lowest first."""
        return ledger_in(self._noted(links))

    def plan_of(self, block: Block) -> bytes:
        """See `odf_blocks`."""
        if self.plan is None:
            raise InputError(f"the plan of the block {block.height} is missing")
        return self.plan

    def fields_of(self, block: Block) -> Fields:
        """See `odf_blocks`: the columns follow from the plan, whatever the dataset says of them."""
        from lakegate.engine.slices.fields import plan_fields  # noqa: PLC0415 - the engine is for ledgers with slices

        if block.plan not in self.known:
            self.known[block.plan] = plan_fields(named_plan(block, self.plan_of(block)))
        return self.known[block.plan]

    def _noted(self, links: Iterable[Link]) -> Iterator[SetAttachments]:
        for each in links:
            event = each.block.event
            if isinstance(event, SetAttachments):
                self.plan = plan_in(event)
                yield event


def _written_again(links: Sequence[Link]) -> tuple[dict[int, tuple[str, str]], list[int]]:
    """The event times of slices in the ledger, and how many blocks of the dataset end with each block of the ledger.

    InputError where the blocks that follow from the ledger are others than those of the dataset.
    """
    times: dict[int, tuple[str, str]] = {}
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
                times[own.added.stated.offset] = own.added.stated.event_time
            at += 1
    except InputError as error:
        where = f"at block {at}" if at < len(links) else "at its end"
        raise InputError(f"{OTHER} {where}: {error}") from None
    return times, ends


def _difference(own: OdfBlock | None, link: Link | None) -> str:
    """What is another in a block than the ledger gives."""
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
    return shown(getattr(event, "kind", type(event).__name__))
