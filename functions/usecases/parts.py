"""The objects of a delivery of several: found when it is complete, listed once, claimed for it, and read by every later step.

The list is an object of its own (`runs/<workload>/parts-<digest>.json`), because a row has 400 KB. A part has a row, too, in the
state JOINED: put if absent, so that a version belongs to one delivery only.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from lakegate.functions.ports.errors import ConditionFailed, NotFound
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases import layout
from lakegate.functions.usecases.source import IDENTIFYING, address
from lakegate.functions.usecases.steps import Alarm, Effect, perform
from lakegate.functions.workload import SourceObject, State, Workload, workload_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps


class PartList(NamedTuple):
    """What a delivery consists of, and why it is rejected unread, if it is."""

    parts: tuple[SourceObject, ...]
    problems: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """The stored form."""
        document = {"parts": [asdict(each) for each in self.parts], "problems": list(self.problems)}
        return json.dumps(document, sort_keys=True).encode()

    @property
    def size(self) -> int:
        """Bytes of all parts."""
        return sum(each.size for each in self.parts)

    @property
    def checksum(self) -> str:
        """What identifies the content, whatever the parts are called; empty where a part has no checksum that identifies it."""
        known = sorted(f"{each.size}:{each.checksum}" for each in self.parts)
        if not all(each.checksum.partition(":")[0] in IDENTIFYING for each in self.parts):
            return ""
        return "sha256:" + hashlib.sha256("\n".join(known).encode()).hexdigest()


def written(dependencies: Dependencies, workload: str, listed: PartList) -> Steps[SourceObject]:
    """Write a list. Its description has size and checksum of what it lists, by which `content` identifies a delivery."""
    body = listed.to_bytes()
    where = Address(dependencies.places.lake, layout.parts_key(workload, hashlib.sha256(body).hexdigest()))
    found = yield from perform(Effect.WRITE_PARTS, partial(dependencies.objects.put, where, body))
    return SourceObject(found.bucket, found.key, "", "", listed.size, listed.checksum)


def read(dependencies: Dependencies, at: SourceObject, workload: str) -> PartList:
    """The list at an address, verified by its name. Raises Alarm where it is missing or differs."""
    try:
        body = dependencies.objects.read(Address(at.bucket, at.key))
    except NotFound:
        raise Alarm("parts-missing", workload) from None
    if at.key != layout.parts_key(at.key.split("/")[1], hashlib.sha256(body).hexdigest()):
        raise Alarm("parts-differ", workload)
    document = json.loads(body)
    return PartList(tuple(SourceObject(**each) for each in document["parts"]), tuple(document["problems"]))


def landed(dependencies: Dependencies, workload: Workload) -> PartList:
    """What was delivered: the parts, or the one object."""
    if workload.parts is None:
        return PartList((workload.source,))
    return read(dependencies, workload.parts, workload.id)


def staged(dependencies: Dependencies, workload: Workload) -> tuple[SourceObject, ...]:
    """The staged copies, in the order of the parts; none before they are staged."""
    if workload.staged is None:
        return ()
    if workload.parts is None:
        return (workload.staged,)
    return read(dependencies, workload.staged, workload.id).parts


def owner(dependencies: Dependencies, part: SourceObject) -> str | None:
    """The delivery that a version of the landing bucket belongs to; None: it is free."""
    identity = workload_id(part.bucket, part.key, part.version)
    try:
        row = dependencies.workloads.get(identity)
    except NotFound:
        return None
    return row.joined or identity


def owned(dependencies: Dependencies, workload: Workload, parts: Iterable[SourceObject]) -> tuple[bool, ...]:
    """Of each part whether it belongs to the workload: copies in the lake do, and versions in landing that joined it."""
    if workload.parts is None:
        return tuple(True for _ in parts)
    lake = dependencies.places.lake
    return tuple(part.bucket == lake or owner(dependencies, part) == workload.id for part in parts)


def join(dependencies: Dependencies, workload: Workload) -> Steps[bool]:
    """Claim every part for the delivery. Returns whether all are its own now."""
    whole = True
    parts = landed(dependencies, workload).parts
    for part, is_own in zip(parts, owned(dependencies, workload, parts), strict=True):
        if is_own:
            continue
        identity = workload_id(part.bucket, part.key, part.version)
        row = Workload(identity, part, State.JOINED, None, joined=workload.id)
        try:
            yield from perform(Effect.JOIN, partial(dependencies.workloads.create, row))
        except ConditionFailed:
            whole = whole and owner(dependencies, part) == workload.id
    return whole


def completing(workload: Workload) -> SourceObject | None:
    """The object that completed a delivery of parts; None where none did."""
    is_object = workload.parts is not None and not workload.replay_of and not workload.source.key.endswith("/")
    return workload.source if is_object else None


def delete(dependencies: Dependencies, workload: Workload) -> Steps[None]:
    """Delete the judged versions by their ids: the parts, then the object that completed them."""
    listed = landed(dependencies, workload).parts
    for part, is_own in zip(listed, owned(dependencies, workload, listed), strict=True):
        if is_own:
            yield from perform(Effect.DELETE_SOURCE, partial(dependencies.objects.delete, address(part)))
    if (last := completing(workload)) is not None:
        yield from perform(Effect.DELETE_SOURCE, partial(dependencies.objects.delete, address(last)))
