"""The ledger: one chain of blocks for each dataset line; each block contains the digest of the previous one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from lakegate.base.errors import InputError
from lakegate.base.text import quote
from lakegate.gate.ledger.blocks import (
    FORMAT,
    GENESIS,
    AnyBlock,
    Block,
    Record,
    canonical_json,
    from_json,
)
from lakegate.gate.ledger.signatures import SHORT, Signature, Signatures, SignedText
from lakegate.gate.ledger.watermarks import NONE, watermark_fault


class Wrong(StrEnum):
    """The fault of a chain."""

    UNREADABLE = "unreadable"
    """The stored text is not JSON in its canonical form."""
    SCHEMA = "schema"
    """The stored text is canonical JSON, and the schema of its kind refuses it."""
    HEIGHT = "height"
    """A block is missing, duplicated or out of order."""
    ALTERED = "altered"
    """The block's digest differs from the one in the next block or the anchor."""
    CHAIN = "chain"
    """The block belongs to another chain than the one that is verified."""
    ANCHOR = "anchor"
    """The chain does not reach the anchored height."""
    OFFSETS = "offsets"
    """The slices of the block do not begin where those before it end."""
    WATERMARK = "watermark"
    """The watermark of the block is before one below it, or after every event of its slices."""
    SYSTEM_TIME = "system-time"
    """The system time of a slice is not after that of the deliveries below."""
    REPEATED = "repeated"
    """The delivery has a block below: its data is counted twice."""
    HEAD = "head"
    """There are blocks, and the head is lost, or was set back to one below."""
    UNSIGNED = "unsigned"
    """The block should be signed, and is not."""
    SIGNATURE = "signature"
    """The signature is not that of the block by its key."""
    UNKNOWN_KEY = "unknown-key"
    """Signed by a key that does not sign the chain at this height, or not by the given one."""


@dataclass(frozen=True, slots=True)
class ChainFault:
    """One fault. `height` is the lowest block that may have been changed: no block from there on can be trusted.

    A broken link shows that one of its two blocks has changed, but not which one: the lower one is reported.
    """

    height: int
    what: Wrong
    why: str = ""
    """Of a text that is no block: what is wrong with it, and where. Of a signature: whose."""


def verify_signed(
    stored: Iterable[SignedText],
    chain: str,
    signatures: Signatures,
    head: str | None = None,
    anchors: Mapping[int, str] | None = None,
) -> tuple[ChainFault, ...]:
    """Verify the chain of a name from height 0. Returns all faults, lowest block first; empty if the chain is intact.

    A chain proves its own order. That its end is not truncated or rewritten needs an external proof: `head` is the digest of the
    last block, `anchors` are digests published elsewhere, by height. `signatures` then have what is signed by whom: a chain
    proves that its keys are its own; whose they are, `Signatures.given` proves. A text that is no block is a fault.
    """
    digested = ((*_read(text), signature) for text, signature in stored)
    faults = _faults(digested, chain, signatures, head, anchors or {})
    if signatures.given is None or signatures.is_by_given:
        return faults
    why = f"no block is signed by the given key {signatures.given[:SHORT]}"
    return (ChainFault(0, Wrong.UNKNOWN_KEY, why), *faults)


@dataclass(frozen=True, slots=True)
class _Refused:
    """A stored text that is no block."""

    what: Wrong
    why: str


def _read(text: bytes) -> tuple[AnyBlock | _Refused, str]:
    try:
        return from_json(text.decode()), hashlib.sha3_256(text).hexdigest()
    except (InputError, UnicodeDecodeError) as error:
        return _refused(text, str(error)), ""


def _refused(text: bytes, reason: str) -> _Refused:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return _Refused(Wrong.UNREADABLE, "it is not JSON in UTF-8")
    try:
        if canonical_json(document) != text:
            return _Refused(Wrong.UNREADABLE, "it is JSON, but not in the canonical form of RFC 8785")
    except (InputError, RecursionError) as error:
        return _Refused(Wrong.UNREADABLE, str(error))
    form = str(document.get("format") if isinstance(document, dict) else None)
    if form != FORMAT:
        return _Refused(Wrong.SCHEMA, f"the format {quote(form)} is not known; a later release may know it")
    return _Refused(Wrong.SCHEMA, reason)


class _Following(NamedTuple):
    """The offset, watermark and system time that the slices of a chain leave to those that follow them."""

    offset: int = 0
    watermark: str = NONE
    system_time: str = ""

    def after(self, block: Block) -> _Following:
        assert block.slices
        last = block.slices[-1]
        return _Following(last.end, block.watermark or NONE, last.system_time or self.system_time)

    def faults(self, block: Block) -> Iterator[tuple[Wrong, str]]:
        assert block.slices
        if block.slices[0].offset != self.offset:
            yield Wrong.OFFSETS, f"not from {self.offset} on"
        latest = max(piece.event_time[1] for piece in block.slices)
        why = watermark_fault(self.watermark, block.watermark or NONE, latest)
        if why:
            yield Wrong.WATERMARK, why
        stated = {piece.system_time for piece in block.slices}
        if len(stated) > 1 or any(each is not None and each <= self.system_time for each in stated):
            yield Wrong.SYSTEM_TIME, f"not one time after {self.system_time or 'none'}"


def _faults(
    digested: Iterable[tuple[AnyBlock | _Refused, str, Signature | None]],
    chain: str,
    signatures: Signatures,
    head: str | None,
    anchors: Mapping[int, str],
) -> tuple[ChainFault, ...]:
    faults: list[ChainFault] = []
    top, last, following = GENESIS, -1, _Following()
    delivered: dict[bytes, int] = {}
    """The height of each delivery, by a part of its digest."""
    for height, (block, own, signature) in enumerate(digested):
        if isinstance(block, _Refused):
            faults.append(ChainFault(height, block.what, block.why))
        else:
            faults.extend(_against(chain, top, block, height))
            wrong = signatures.faults(height, block, own, signature)
            faults.extend(ChainFault(height, Wrong(what), why) for what, why in wrong)
            if isinstance(block, Record) and block.kind == "watermark":
                why = watermark_fault(following.watermark, block.content["watermark"], block.content["watermark"])
                faults.extend([ChainFault(height, Wrong.WATERMARK, why)] if why else ())
                following = following._replace(watermark=block.content["watermark"])
            if isinstance(block, Block):
                mark = hashlib.blake2b(block.workload.encode(), digest_size=16).digest()
                below = delivered.setdefault(mark, height)
                if below != height:
                    faults.append(ChainFault(height, Wrong.REPEATED, f"its delivery is that of block {below}"))
            if isinstance(block, Block) and block.slices:
                faults.extend(ChainFault(height, what, why) for what, why in following.faults(block))
                following = following.after(block)
        if anchors.get(height, own) != own:
            faults.append(ChainFault(height, Wrong.ALTERED))
        top, last = own, height
    if head is not None and head != top:
        faults.append(ChainFault(max(last, 0), Wrong.ALTERED))
    faults.extend(ChainFault(last + 1, Wrong.ANCHOR) for height in anchors if height > last)
    return tuple(sorted(set(faults), key=lambda fault: (fault.height, fault.what)))


def _against(chain: str, top: str, block: AnyBlock, height: int) -> Iterator[ChainFault]:
    if block.height != height:
        yield ChainFault(height, Wrong.HEIGHT)
    if block.previous != top:
        yield ChainFault(max(height - 1, 0), Wrong.ALTERED)
    if block.chain != chain:
        yield ChainFault(height, Wrong.CHAIN)
