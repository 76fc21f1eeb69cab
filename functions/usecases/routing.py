"""Which landing keys belong to which dataset line, said by a person."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from contracts.errors import InputError
from contracts.routes import MAX_DEPTH, Route, covering
from functions.usecases.publish import leading, routed, settle, write

if TYPE_CHECKING:
    from functions.ports import Publication, Shelf
    from functions.usecases.gate import Gate
    from functions.usecases.steps import Steps

LONGEST_PREFIX = 1_000
"""Bytes: a key has 1,024, and a file needs a name, too."""


@dataclass(frozen=True, slots=True)
class PlannedRoute:
    """A route that could be added, as the registry is now."""

    wanted: Route
    publication: Publication
    """The version that leads its line."""
    there: Route | None
    """The route that stands at this prefix already; of the same line."""
    around: Route | None
    """The route that covers the prefix now: the longest above it."""


def planned_route(gate: Gate, prefix: str, contract: str, dataset: str, line: int) -> PlannedRoute:
    """Look, and write nothing.

    Raises InputError where the line has no version or no such dataset, and where the prefix is taken by another line.
    """
    usable(prefix)
    shelf = gate.registry.shelf()
    publication = leading(shelf, contract, line)
    if publication is None:
        raise InputError(f"no version {line}.x of the contract {contract} is published")
    wanted = routed(Route(gate.places.landing, prefix, contract, dataset, line, "", "", ""), publication)
    there = _at(gate, shelf, prefix)
    if there is not None and there.line != wanted.line:
        raise InputError(f"{prefix} delivers to {there.line}: remove that route first")
    of_landing = tuple(each for each in shelf.routes if each.bucket == gate.places.landing)
    return PlannedRoute(wanted, publication, there, covering(prefix.removesuffix("/"), of_landing))


def add_route(gate: Gate, prefix: str, contract: str, dataset: str, line: int) -> Steps[Route]:
    """Deliver what lands below a prefix to a dataset line, under the version that leads it. Raises as `planned_route`."""
    plan = planned_route(gate, prefix, contract, dataset, line)
    yield from write(gate, replace(plan.publication, routes=(plan.wanted,)))
    yield from settle(gate, contract)
    return next(iter(gate.registry.routes(gate.places.landing, (prefix,))), plan.wanted)


def remove_route(gate: Gate, prefix: str) -> Steps[Route]:
    """Let nothing below a prefix be delivered any more. Returns the route that stood there; InputError for none."""
    shelf = gate.registry.shelf()
    there = _at(gate, shelf, prefix)
    if there is None:
        raise InputError(f"no route stands at {prefix}")
    yield from write(gate, replace(_of(shelf, there), retired=(prefix,)))
    return there


def usable(prefix: str) -> None:
    """Raise InputError for what can be no prefix of a route, in the words of the person who wrote it."""
    if not prefix.endswith("/") or prefix.startswith("/"):
        raise InputError(
            f"a prefix is folders, each with a slash behind it and none before the first: {prefix!r} is not"
        )
    if prefix.count("/") > MAX_DEPTH or len(prefix.encode(errors="surrogatepass")) > LONGEST_PREFIX:
        raise InputError(f"a prefix has at most {MAX_DEPTH} folders and {LONGEST_PREFIX:,} bytes")


def _at(gate: Gate, shelf: Shelf, prefix: str) -> Route | None:
    landing = gate.places.landing
    return next((each for each in shelf.routes if (each.bucket, each.prefix) == (landing, prefix)), None)


def _of(shelf: Shelf, route: Route) -> Publication:
    """The version a route carries; a version is never taken away."""
    return next(each for each in shelf.versions if (each.contract, each.version) == (route.contract, route.version))
