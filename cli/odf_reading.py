"""A folder that `lakegate dataset import` filled, for `lakegate dataset read`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lakegate.cli.odf_dataset import followed, head_of, walked
from lakegate.cli.odf_places import FolderPlace
from lakegate.contracts.convert.chain_odf import ledger_in
from lakegate.contracts.lake.block import deliveries, stored_block
from lakegate.contracts.odf.metadata import SetAttachments

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from lakegate.cli.odf_dataset import Link
    from lakegate.contracts.lake.block import AnyBlock

ANY: Final = "0001-01-01T00:00:00+00:00"
"""The earliest event of a slice of which it is not known."""


def dataset_in(folder: Path) -> dict[str, Any] | None:
    """The slices of a dataset, in the form of the readers' manifest; None where the folder has none.

    Each is a delivery of its own, at the height of its block. Keys are places below the folder.
    """
    place = FolderPlace(folder)
    head = head_of(place)
    if head is None:
        return None
    links, _ = walked(place, head)
    state, added = followed(links)
    line = str(state.id)
    earliest: dict[int, str] = {}
    for block in _ledger(links):
        line = block.chain
        earliest.update((one.offset, one.event_time[0]) for each in deliveries([block]) for one in each.slices or ())
    return {
        "line": line,
        "height": state.sequence,
        "deliveries": [
            {
                "height": each.sequence,
                "published_at": each.published_at,
                "slices": [
                    {
                        "key": f"data/{each.data.physical}",
                        "offset": each.data.start,
                        "event_time": [earliest.get(each.data.start, ANY)],
                    }
                ],
                "objects": [{"key": f"data/{each.data.physical}", "size": each.data.size}],
            }
            for each in added
        ],
    }


def _ledger(links: Iterable[Link]) -> Iterator[AnyBlock]:
    events = (each.block.event for each in links)
    stored = ledger_in(each for each in events if isinstance(each, SetAttachments))
    return (block for each in stored if (block := stored_block(each.text)) is not None)
