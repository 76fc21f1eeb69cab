"""What a correct job writes of a delivery of slices: each byte is a row, and its own key."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

from lakegate.base.errors import ConditionFailed
from lakegate.gate.ports import Address, ObjectVersion
from lakegate.plan.slice_order import Merged, MergedSnapshot, StateRun, WrittenRun, WrittenSlice
from tests.fakes.objects import MemoryObjects

GONE = 0x80
"""Marks a row that is taken back."""
DELAY = timedelta(days=1)
"""Of the watermark behind the latest event."""
NO_DIGEST = "d" * 64
"""Of a file of the merge state: the simulated job verifies none."""


def time_of(body: bytes) -> str:
    """The time of all events of a file: the day behind its `@`, else the first one."""
    return f"2024-05-{int(body.partition(b'@')[2] or 1):02}T00:00:00.000000Z"


def slices_of(objects: MemoryObjects, asked: Mapping[str, Any], accepted: bytes, at: str) -> dict[str, Any]:
    """Members of the result: the slices of the accepted rows, with their state, as a request orders them."""
    order, folder = asked["slices"], f"{asked['output_uri']}/slices"
    offset, watermark = order["offset"], order["watermark"]
    new, merge = accepted, None
    if order["merge"]:
        merges = _snapshot if order["merge"]["snapshot"] else _merged
        merge, new = merges(objects, order, accepted, f"{folder}/state.bin")
    uri, late = f"{folder}/part-00000.parquet", len(new) * (at < watermark)
    written = keep_once(objects, uri, f"{offset}:".encode() + new) if new else None
    logical, physical = f"f9680c00120{len(accepted):064x}", f"f1620{len(accepted):064x}"
    found = written and WrittenSlice(
        uri, written.size, written.etag, len(new), offset, (at, at), logical, physical, late
    )
    time = order["system_time"] if found else ""
    return {"slices": (found,) if found else (), "merge": merge, "watermark": watermark, "system_time": time}


def _merged(objects: MemoryObjects, order: Mapping[str, Any], accepted: bytes, uri: str) -> tuple[Merged, bytes]:
    """What became of the rows, and the new ones."""
    runs = tuple(StateRun(**each) for each in order["merge"]["runs"])
    known = b"".join(objects.read(_address(each.uri)) for each in runs)
    new = bytes(dict.fromkeys(each for each in accepted if each not in known))
    written = keep_once(objects, uri, new) if new else None
    run = written and WrittenRun(uri, written.size, written.etag, len(new), NO_DIGEST)
    vanished = len(set(known) - set(accepted))
    return Merged(order["offset"], len(accepted) - len(new), 0, vanished, 0, runs, runs, run), new


def _snapshot(objects: MemoryObjects, order: Mapping[str, Any], accepted: bytes, uri: str) -> tuple[Merged, bytes]:
    """What differs from the state of the line; a key that is there several times is one.

    Of an upsert a letter is a key, whose value is its case; rows with other keys stay.
    """
    merge = order["merge"]
    assert sum(each["rows"] for each in merge["snapshot"]["slices"]) == order["offset"]
    runs = tuple(StateRun(**each) for each in merge["runs"])
    known = b"".join(objects.read(_address(each.uri)) for each in runs)
    keeps, newest = merge["snapshot"].get("keeps", False), max((each.as_of for each in runs), default="")
    time = max(order["system_time"], newest) if keeps else merge["snapshot"]["time"]
    found = MergedSnapshot(time, newest)
    if not found.is_merged:
        return Merged(order["offset"], len(accepted), 0, 0, 0, runs, runs, snapshot=found), b""
    now = bytes(dict.fromkeys(accepted))
    if keeps:
        own = now.lower()
        now += bytes(each for each in known if bytes([each]).lower() not in own)
    gone, new = (bytes(each for each in one if each not in other) for one, other in ((known, now), (now, known)))
    corrected = len(gone) if keeps else 0
    found = replace(found, appended=len(new) - corrected, retracted=len(gone) - corrected, corrected=corrected)
    same = len(accepted) - len(new)
    if runs and not found.events:
        kept = tuple(replace(each, as_of=found.time) for each in runs)
        return Merged(order["offset"], same, 0, 0, 0, runs, kept, snapshot=found), b""
    written = keep_once(objects, uri, now)
    run = WrittenRun(uri, written.size, written.etag, len(now), NO_DIGEST)
    return Merged(order["offset"], same, 0, 0, 0, runs, (), run, found), bytes(each | GONE for each in gone) + new


def keep_once(objects: MemoryObjects, uri: str, body: bytes) -> ObjectVersion:
    """The object of a task, which may be repeated: then the first one stays."""
    with suppress(ConditionFailed):
        return objects.put(_address(uri), body, absent=True)
    return objects.head(_address(uri))


def _address(uri: str) -> Address:
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return Address(bucket, key)
