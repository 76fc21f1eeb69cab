"""Anchors of some days over growing chains, for the tests of anchors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lakegate.cli.datasets.chain_proofs import verifies
from lakegate.features.anchors.anchors import (
    Anchor,
    AnchoredHead,
    Anchors,
    AnchorSignature,
    Previous,
    sha256,
    to_json,
    with_signature,
)
from tests.fakes.signing import MemoryKey
from tests.unit.gate.ledger.signing import ONE

Documents = list[tuple[str, bytes]]
"""Key and text of each."""


def digest_of(chain: str, height: int) -> str:
    """Of an invented block."""
    return sha256(f"{chain}={height}".encode())


def signed(anchor: Anchor, keys: Iterable[MemoryKey]) -> Anchor:
    return with_signature(
        anchor, [AnchorSignature.by(each.public_key(), each.sign(anchor.signed_text)) for each in keys]
    )


def documents_of(
    days: Sequence[Mapping[str, int]], keys: Sequence[Sequence[MemoryKey]] | None = None, most: int = 2
) -> Documents:
    """One anchor a day, of the heights of its chains, in parts of so many heads; `keys`: who signs on each day."""
    made: Documents = []
    for number, heights in enumerate(days):
        heads = [AnchoredHead(chain, height, digest_of(chain, height)) for chain, height in sorted(heights.items())]
        parts = [heads[place : place + most] for place in range(0, max(len(heads), 1), most)]
        for part, each in enumerate(parts):
            before = Previous(made[-1][0], sha256(made[-1][1])) if made else None
            anchor = Anchor(day(number), part, part == len(parts) - 1, 30, before, tuple(each), ())
            anchor = signed(anchor, keys[number] if keys else [ONE])
            made.append((anchor.key, to_json(anchor)))
    return made


def day(number: int) -> str:
    return f"2026-11-{number + 1:02}"


def verified(documents: Iterable[tuple[str, bytes]], given: str | None = None, only: str | None = None) -> Anchors:
    anchors = Anchors(verifies, given, only)
    anchors.read(sorted(documents))
    return anchors


def found(anchors: Anchors) -> list[tuple[str, str]]:
    """What is wrong, and where."""
    return [(each.what.value, each.where) for each in anchors.faults]
