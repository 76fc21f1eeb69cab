"""The data that a validation reads: versions of objects that landed under a route, wherever they are now."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lakegate.contracts.door.ignored import is_ignored
from lakegate.contracts.errors import InputError, LakegateError
from lakegate.contracts.lake.routes import candidates, covering
from lakegate.contracts.plan.request import StagedPart
from lakegate.functions.usecases import layout, parts
from lakegate.functions.usecases.delivery import IDENTIFIER, row_of
from lakegate.functions.usecases.source import described
from lakegate.functions.workload import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.workload import SourceObject, Workload

SHARES: Final = {State.PUBLISHED: "accepted", State.QUARANTINED: "quarantine"}
READABLE: Final = re.compile(r"[^\x00-\x20\x7f#?]+")
"""Keys that are part of an address."""


class NoSuchData(LakegateError):  # noqa: N818 - the name is what happened
    """The path names no data that the caller may have validated; the error does not disclose whether there is any."""


@dataclass(frozen=True, slots=True)
class ValidatedData:
    """Object versions of one line, and the plan that says how to read them."""

    contract: str
    plan: str
    """Digest."""
    parts: tuple[StagedPart, ...]

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(each.size for each in self.parts)


def data_at(dependencies: Dependencies, path: str, allows: Callable[[str], bool]) -> ValidatedData:
    """The data of a path: the id of a workload or of an announcement, a landing key, or a folder of landing with its objects.

    `allows`: whether the caller may use a contract. Raises NoSuchData, and InputError for data that cannot be addressed.
    """
    if not path.isprintable():
        raise NoSuchData
    found = _of_workload if IDENTIFIER.fullmatch(path) else _of_key
    contract, plan, objects = found(dependencies, path, allows)
    if not objects:
        raise NoSuchData
    if not all(READABLE.fullmatch(each.key) for each in objects):
        raise InputError(
            "the key of an object has a space, a control character, `#` or `?`: such data is not validated"
        )
    staged = (StagedPart(f"s3://{each.bucket}/{each.key}", each.size, version=each.version) for each in objects)
    return ValidatedData(contract, plan, tuple(staged))


def _of_workload(
    dependencies: Dependencies, workload: str, allows: Callable[[str], bool]
) -> tuple[str, str, tuple[SourceObject, ...]]:
    row = row_of(dependencies, workload)
    if row is not None and row.joined:
        row = row_of(dependencies, row.joined)
    if row is None or row.pin is None or not row.pin.plan or not allows(row.pin.contract):
        raise NoSuchData
    return row.pin.contract, row.pin.plan, _of_row(dependencies, row)


def _of_row(dependencies: Dependencies, row: Workload) -> tuple[SourceObject, ...]:
    """What a delivery consists of: its objects in the lake once it is finished, before that what landed; no slices."""
    share = SHARES.get(row.state)
    if share is None:
        return parts.landed(dependencies, row).parts
    assert row.pin is not None
    beside = layout.ORIGINALS if row.state is State.PUBLISHED and dependencies.terms(row).as_slices else ""
    return _listed(dependencies, dependencies.places.lake, layout.destination_key(share, row.pin, row.id, beside))


def _of_key(
    dependencies: Dependencies, key: str, allows: Callable[[str], bool]
) -> tuple[str, str, tuple[SourceObject, ...]]:
    landing = dependencies.places.landing
    route = covering(key, dependencies.registry.routes(landing, candidates(key)))
    if route is None or not allows(route.contract):
        raise NoSuchData
    listed = _listed(dependencies, landing, key)
    is_folder, ignored = key.endswith("/"), dependencies.places.ignored
    own = (each for each in listed if each.key == key or is_folder)
    return route.contract, route.plan, tuple(each for each in own if not is_ignored(each.key, each.size, ignored))


def _listed(dependencies: Dependencies, bucket: str, prefix: str) -> tuple[SourceObject, ...]:
    """The current versions below a prefix, of one page: more are not validated at once."""
    page = dependencies.objects.versions(bucket, prefix)
    if page.after is not None:
        raise InputError("there are too many objects: name one of them")
    return tuple(described(each) for each in page.versions if each.current)
