"""What `lakegate dataset import` and `verify` print of a dataset in a folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lakegate.cli import signing
from lakegate.contracts.errors import InputError
from lakegate.contracts.words import counted, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lakegate.cli.odf_dataset import Added
    from lakegate.cli.odf_ledger import CheckedLedger, Proof
    from lakegate.contracts.odf.chain import ChainState

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
        """The line, or the identity of the dataset."""
        return self.ledger.line if self.ledger else str(self.state.id)


def check_names(state: ChainState, ledger: CheckedLedger | None, proof: Proof) -> None:
    """InputError where the dataset has another line or identity than it must have."""
    own = {str(state.id), ledger.line if ledger else ""}
    if not proof.names <= own:
        wanted = " and ".join(sorted(proof.names))
        line = f"the line {shown(ledger.line)}" if ledger else "no line of Lakegate"
        raise InputError(f"this is the dataset {state.id} of {line}, not {wanted}")


def as_document(found: DatasetCopy, folder: Path, proof: Proof) -> dict[str, object]:
    """For machines."""
    ledger = found.ledger
    return {
        "dataset": found.name,
        "id": str(found.state.id),
        "folder": str(folder),
        "head": found.state.head,
        "license": found.state.license and {name: found.state.license.get(name) for name in LICENSE},
        "blocks": found.blocks,
        "slices": len(found.added),
        "rows": sum(each.data.rows for each in found.added),
        "bytes": sum(each.data.size for each in found.added),
        "ledger": ledger and {"line": ledger.line, "height": ledger.height, "digest": ledger.digest},
        "left_out": ledger.unproven if ledger else 0,
        "signatures": ledger and signing.as_document(proof.signatures, proof.anchors),
    }


def in_words(found: DatasetCopy, new: str, proof: Proof) -> Iterator[str]:
    """For people. `new`: a word before what is counted."""
    rows, size = (sum(getattr(each.data, name) for each in found.added) for name in ("rows", "size"))
    slices = counted(len(found.added), "slice")
    yield f"{found.name}: {counted(found.blocks, f'{new}block')}"
    yield f"  {slices}, each as its block states: {counted(rows, 'row')}, {counted(size, 'byte')}"
    yield f"  identity  {found.state.id}"
    yield f"  head      {found.state.head}"
    if found.state.license:
        terms = (found.state.license.get(name) for name in ("name", "website_url"))
        yield f"  licence   {' '.join(shown(each) for each in terms if each)}"
    if found.ledger is None:
        yield "Another tool wrote this dataset: it has no verdicts of Lakegate."
    else:
        yield "The ledger in its attachments is intact, and gives this dataset."
        yield f"  height and digest  {found.ledger.height}={found.ledger.digest}"
        if found.ledger.unproven:
            blocks = counted(found.ledger.unproven, "block")
            yield f"Left out: {blocks} of the ledger above, which no signature covers yet; --unsigned takes them."
        yield from signing.in_words(proof.signatures, found.ledger.height, proof.anchors)
