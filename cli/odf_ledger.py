"""The chain of the ledger in the attachments of a dataset that `lakegate dataset export` wrote."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lakegate.cli.chain_file import Passed
from lakegate.contracts.convert.chain_odf import ledger_in, odf_blocks, plan_in
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.block import stored_block
from lakegate.contracts.lake.ledger import verify_signed
from lakegate.contracts.odf.metadata import SetAttachments

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lakegate.cli.odf_dataset import Added, Link
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


class Proof(NamedTuple):
    """What is known of a ledger from elsewhere."""

    signatures: Signatures
    anchors: Mapping[int, str] = MappingProxyType({})
    """Digests by height."""


def ledger_of(links: Sequence[Link], added: Sequence[Added], proof: Proof) -> CheckedLedger | None:
    """The ledger of a dataset; None where it has none. InputError where its chain is broken, or gives another dataset.

    The blocks of a dataset follow from its ledger and from the columns of its data: they are written again, and compared.
    The signatures of `proof` then have what is signed by whom.
    """
    first = next(_Attached().ledger(links), None)
    if first is None:
        if proof.signatures.given is not None or proof.anchors:
            raise InputError(
                "the dataset has no blocks of Lakegate, so nothing is signed: leave out --key and --anchor"
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
    return CheckedLedger(line, passed.height, passed.digest, _event_times(links, added))


@dataclass(slots=True)
class _Attached:
    """The ledger of a dataset, and the plan beside the block that was read last."""

    plan: bytes | None = None

    def ledger(self, links: Iterable[Link]) -> Iterator[SignedText]:
        """The blocks of the ledger, the lowest first."""
        return ledger_in(self._noted(links))

    def plan_of(self, block: Block) -> bytes:
        """See `odf_blocks`."""
        if self.plan is None:
            raise InputError(f"the plan of the block {block.height} is missing")
        return self.plan

    def _noted(self, links: Iterable[Link]) -> Iterator[SetAttachments]:
        for each in links:
            event = each.block.event
            if isinstance(event, SetAttachments):
                self.plan = plan_in(event)
                yield event


def _event_times(links: Sequence[Link], added: Sequence[Added]) -> dict[int, tuple[str, str]]:
    """The event times of slices in the ledger, whose blocks are written again and compared. InputError where they differ."""
    slices = {each.data.start: each for each in added}

    def fields_of(block: Block) -> tuple[dict[str, Any], ...]:
        found = slices.get((block.slices or ())[0].offset)
        return () if found is None else tuple(map(dict, found.fields))

    times = {}
    attached = _Attached()
    try:
        for written, link in zip_longest(odf_blocks(attached.ledger(links), fields_of, attached.plan_of), links):
            if written is None or link is None or written.name != link.name:
                raise InputError("a later release may have written it")  # noqa: TRY301 - one of the ways in which it is another
            if written.added:
                times[written.added.stated.offset] = written.added.stated.event_time
    except InputError as error:
        raise InputError(f"{OTHER}: {error}") from None
    return times
