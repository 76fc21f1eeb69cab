"""The chain of the ledger in the attachments of a dataset that `lakegate dataset export` wrote."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lakegate.contracts.convert.chain_odf import ledger_in, odf_blocks
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.block import deliveries, stored_block
from lakegate.contracts.lake.ledger import verify_signed
from lakegate.contracts.odf.metadata import SetAttachments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakegate.cli.odf_dataset import Added, Link
    from lakegate.contracts.lake.block import AnyBlock, Block
    from lakegate.contracts.lake.signatures import Signatures

OTHER: Final = "the ledger in the attachments gives another dataset"


@dataclass(frozen=True, slots=True)
class CheckedLedger:
    """The ledger of a dataset, which was verified."""

    line: str
    blocks: tuple[AnyBlock, ...]
    digest: str
    """Of the last block."""

    @property
    def height(self) -> int:
        """Of the last block."""
        return len(self.blocks) - 1

    @property
    def event_times(self) -> dict[int, tuple[str, str]]:
        """Of each slice, by the offset of its first row."""
        return {one.offset: one.event_time for each in deliveries(self.blocks) for one in each.slices or ()}


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
    events = (each.block.event for each in links)
    stored = ledger_in(each for each in events if isinstance(each, SetAttachments))
    if not stored:
        if proof.signatures.given is not None or proof.anchors:
            raise InputError(
                "the dataset has no blocks of Lakegate, so nothing is signed: leave out --key and --anchor"
            )
        return None
    lowest = stored_block(stored[0].text)
    line = "" if lowest is None else lowest.chain
    faults = verify_signed(stored, line, proof.signatures, anchors=proof.anchors)
    if faults:
        raise InputError(
            f"the ledger in the attachments is broken: {faults[0].what} at block {faults[0].height} {faults[0].why}"
        )
    columns = {each.data.start: tuple(map(dict, each.fields)) for each in added}

    def fields_of(block: Block) -> tuple[dict[str, Any], ...]:
        return columns.get((block.slices or ())[0].offset, ())

    try:
        written = [each.name for each in odf_blocks(stored, fields_of)]
    except InputError as error:
        raise InputError(f"{OTHER}: {error}") from None
    if written != [each.name for each in links]:
        raise InputError(f"{OTHER}, or a later release wrote it")
    blocks = tuple(block for each in stored if (block := stored_block(each.text)) is not None)
    return CheckedLedger(line, blocks, hashlib.sha3_256(stored[-1].text).hexdigest())
