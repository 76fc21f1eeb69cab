"""Routes: which landing keys belong to which dataset line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.routes import MAX_DEPTH, Route, covering
from lakegate.functions.usecases.publish_contract import leading, routed, settle, write

if TYPE_CHECKING:
    from lakegate.functions.ports.registry import Publication, RegistrySnapshot
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps

LONGEST_PREFIX = 1_000
"""Bytes: a key has 1,024, and a file needs a name, too."""


@dataclass(frozen=True, slots=True)
class PlannedRoute:
    """A route that could be added, as the registry is now."""

    wanted: Route
    publication: Publication
    """The current version of its line."""
    there: Route | None
    """The existing route of this prefix; of the same line."""
    around: Route | None
    """The route that covers the prefix now: the longest above it."""


def planned_route(dependencies: Dependencies, prefix: str, contract: str, dataset: str, line: int) -> PlannedRoute:
    """Read only.

    Raises InputError where the line has no version or no such dataset, and where the prefix is taken by another line.
    """
    usable(prefix)
    snapshot = dependencies.registry.snapshot()
    publication = leading(snapshot, contract, line)
    if publication is None:
        raise InputError(f"no version {line}.x of the contract {contract} is published")
    wanted = routed(Route(dependencies.places.landing, prefix, contract, dataset, line, "", "", ""), publication)
    there = _at(dependencies, snapshot, prefix)
    if there is not None and there.line != wanted.line:
        raise InputError(f"{prefix} delivers to {there.line}: remove that route first")
    of_landing = tuple(each for each in snapshot.routes if each.bucket == dependencies.places.landing)
    return PlannedRoute(wanted, publication, there, covering(prefix.removesuffix("/"), of_landing))


def add_route(dependencies: Dependencies, prefix: str, contract: str, dataset: str, line: int) -> Steps[Route]:
    """Deliver what lands below a prefix to a dataset line, under its current version. Raises as `planned_route`."""
    plan = planned_route(dependencies, prefix, contract, dataset, line)
    yield from write(dependencies, replace(plan.publication, routes=(plan.wanted,)))
    yield from settle(dependencies, contract)
    return next(iter(dependencies.registry.routes(dependencies.places.landing, (prefix,))), plan.wanted)


def remove_route(dependencies: Dependencies, prefix: str) -> Steps[Route]:
    """Let nothing below a prefix be delivered any more. Returns the removed route; InputError for none."""
    snapshot = dependencies.registry.snapshot()
    there = _at(dependencies, snapshot, prefix)
    if there is None:
        raise InputError(f"{prefix} has no route")
    yield from write(dependencies, replace(_of(snapshot, there), retired=(prefix,)))
    return there


def usable(prefix: str) -> None:
    """Raise InputError for a text that cannot be the prefix of a route."""
    if not prefix.endswith("/") or prefix.startswith("/"):
        raise InputError(
            f"a prefix is folders, each with a slash behind it and none before the first: {prefix!r} is not"
        )
    if prefix.count("/") > MAX_DEPTH or len(prefix.encode(errors="surrogatepass")) > LONGEST_PREFIX:
        raise InputError(f"a prefix has at most {MAX_DEPTH} folders and {LONGEST_PREFIX:,} bytes")


def _at(dependencies: Dependencies, snapshot: RegistrySnapshot, prefix: str) -> Route | None:
    landing = dependencies.places.landing
    return next((each for each in snapshot.routes if (each.bucket, each.prefix) == (landing, prefix)), None)


def _of(snapshot: RegistrySnapshot, route: Route) -> Publication:
    """The version a route carries; a version is never taken away."""
    return next(each for each in snapshot.versions if (each.contract, each.version) == (route.contract, route.version))
