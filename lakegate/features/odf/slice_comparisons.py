"""Comparisons of `lakegate verify` with the slices of a line: each is read, or built again from what arrived."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lakegate.cli.datasets.chain_proofs import ChainComparison, VerifiedChain, compared_in_words
from lakegate.gate.ledger.compare_objects import Compared

NOT_COMPARED: Final = (
    "Not looked at: versions on top of the judged ones and objects that no block names (--objects), {more}and what only "
    "the chain states, such as rows, plans and watermarks (--key, --anchor)."
)


def _read(chain: VerifiedChain) -> Compared:
    from lakegate.features.odf.recompute_slices import read_slices  # noqa: PLC0415 - other comparisons read no Parquet

    assert chain.dependencies is not None
    return read_slices(chain.dependencies, chain.blocks)


def _built_again(chain: VerifiedChain) -> Compared:
    from lakegate.features.odf.recompute_slices import replayed_slices  # noqa: PLC0415 - likewise

    assert chain.dependencies is not None
    return replayed_slices(chain.dependencies, chain.name, chain.blocks)


def _in_words(compared: Compared, done: str, kept: str, more: str) -> Iterator[str]:
    yield from compared_in_words(compared, "slice", done, kept)
    yield NOT_COMPARED.format(more=more)


INTEGRITY: Final = ChainComparison(
    "Read every slice, and compare offsets, times and hashes with the chain.",
    "the slices",
    _read,
    lambda _, compared: _in_words(
        compared,
        "read",
        "offsets, event times and both hashes of each are those of its block",
        "what arrived (--replay), ",
    ),
    about="With --integrity, slices of Open Data Fabric are read and compared with the chain; with --replay also with what "
    "arrived: the accepted originals, which lie beside them.",
)
REPLAY: Final = ChainComparison(
    "Build every slice again from what arrived, and compare its rows.",
    "also with what arrived",
    _built_again,
    lambda _, compared: _in_words(
        compared, "built again from what arrived", "the rows of each are the same, and its file is as recorded", ""
    ),
)
