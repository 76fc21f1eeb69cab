"""What every block of an ODF dataset must be after the ones before it: links, numbers, times, offsets, watermarks, schema.

The rules are those of the specification and of the reference implementation's validators.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lakegate.contracts.errors import InputError
from lakegate.contracts.odf.metadata import AddData, OtherEvent, Seed, SetDataSchema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.contracts.odf.metadata import DataSlice, MetadataBlock, Moment
    from lakegate.contracts.odf.names import DatasetId


@dataclass(frozen=True, slots=True)
class ChainState:
    """What is known of a dataset after a block."""

    id: DatasetId
    head: str
    """The hash of the block."""
    sequence: int
    system_time: Moment
    schema: tuple[Mapping[str, Any], ...] = ()
    last_offset: int | None = None
    watermark: Moment | None = None
    license: Mapping[str, str] | None = None
    """As the last `SetLicense` states it."""


def follow(state: ChainState | None, name: str, block: MetadataBlock) -> ChainState:
    """The state after a block whose hash is `name`. InputError where it does not follow from the state before."""
    block.system_time.time  # noqa: B018 - refuses a time that is none
    if state is None:
        if not isinstance(block.event, Seed) or block.sequence or block.previous is not None:
            raise InputError("the first block of a dataset is its seed, with the number 0")
        return ChainState(block.event.id, name, 0, block.system_time)
    if isinstance(block.event, Seed):
        raise InputError("a dataset has one seed, its first block")
    if block.previous != state.head:
        raise InputError("the block does not name the block before it")
    if block.sequence != state.sequence + 1:
        raise InputError(f"the block has the number {block.sequence}, not {state.sequence + 1}")
    if block.system_time < state.system_time:
        raise InputError("the block is older than the block before it")
    state = replace(state, head=name, sequence=block.sequence, system_time=block.system_time)
    match block.event:
        case SetDataSchema(fields):
            return replace(state, schema=fields)
        case AddData():
            return _added(state, block.event)
        case OtherEvent("SetLicense", value):
            return replace(state, license=value)
        case _:
            return state


def _added(state: ChainState, event: AddData) -> ChainState:
    if event.prev_offset != state.last_offset:
        raise InputError(
            f"the data follows the offset {event.prev_offset}, the data before it ends at {state.last_offset}"
        )
    if state.watermark is not None and (event.watermark is None or event.watermark < state.watermark):
        raise InputError("the watermark moves back")
    if event.watermark is not None:
        event.watermark.time  # noqa: B018 - likewise
        state = replace(state, watermark=event.watermark)
    if event.data is None:
        return state
    _check_data(state, event.data)
    return replace(state, last_offset=event.data.end)


def _check_data(state: ChainState, data: DataSlice) -> None:
    first = 0 if state.last_offset is None else state.last_offset + 1
    if data.start != first or data.end < first:
        raise InputError(f"the offsets {data.start} to {data.end} do not begin at {first}")
    if not state.schema:
        raise InputError("there is data before the schema")
