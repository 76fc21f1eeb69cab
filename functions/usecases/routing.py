"""Routes: which landing keys belong to which dataset line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.routes import MAX_DEPTH, Route, candidates, covering
from lakegate.functions.usecases.leading import leading, routed
from lakegate.functions.usecases.publish_contract import write

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


def planned_route(  # noqa: PLR0913 - a route has these parts
    dependencies: Dependencies,
    prefix: str,
    contract: str,
    dataset: str,
    line: int,
    *,
    seen: RegistrySnapshot | None = None,
) -> PlannedRoute:
    """Read only; `seen` is the contract in the registry, if it was read already.

    Raises InputError where the line has no version or no such dataset, and where the prefix is taken by another line.
    """
    usable(prefix)
    seen = seen or dependencies.registry.contract(contract)
    landing, folder = dependencies.places.landing, prefix.removesuffix("/")
    publication = leading(seen, contract, line)
    if publication is None:
        raise InputError(f"no version {line}.x of the contract {contract} is published")
    lost = {each.version for each in seen.routes if each.major == line} - {each.version for each in seen.versions}
    if lost:
        raise InputError(_lost(contract, min(lost)))
    wanted = routed(Route(landing, prefix, contract, dataset, line, "", "", ""), publication)
    there = _at(dependencies, prefix)
    if there is not None and there.line != wanted.line:
        raise InputError(f"{prefix} delivers to {there.line}: remove that route first")
    around = covering(folder, dependencies.registry.routes(landing, candidates(folder)))
    return PlannedRoute(wanted, publication, there, around)


def add_route(dependencies: Dependencies, prefix: str, contract: str, dataset: str, line: int) -> Steps[Route]:
    """Deliver what lands below a prefix to a dataset line, under its current version. Raises as `planned_route`."""
    usable(prefix)

    def decide(seen: RegistrySnapshot) -> Publication:
        plan = planned_route(dependencies, prefix, contract, dataset, line, seen=seen)
        return replace(plan.publication, routes=(plan.wanted,))

    return (yield from write(dependencies, contract, decide)).routes[0]


def remove_route(dependencies: Dependencies, prefix: str) -> Steps[Route]:
    """Let nothing below a prefix be delivered any more. Returns the removed route; InputError for none."""
    there = _at(dependencies, prefix) or _listed(dependencies, prefix)
    if there is None:
        raise InputError(f"{prefix} has no route")

    def decide(seen: RegistrySnapshot) -> Publication:
        publication = next((each for each in seen.versions if each.version == there.version), None)
        if publication is None:
            raise InputError(_lost(there.contract, there.version))
        return replace(publication, retired=(prefix,))

    yield from write(dependencies, there.contract, decide)
    return there


def usable(prefix: str) -> None:
    """Raise InputError for a text that cannot be the prefix of a route."""
    if not prefix.endswith("/") or prefix.startswith("/"):
        raise InputError(
            f"a prefix is folders, each with a slash behind it and none before the first: {prefix!r} is not"
        )
    if prefix.count("/") > MAX_DEPTH or len(prefix.encode(errors="surrogatepass")) > LONGEST_PREFIX:
        raise InputError(f"a prefix has at most {MAX_DEPTH} folders and {LONGEST_PREFIX:,} bytes")


def _at(dependencies: Dependencies, prefix: str) -> Route | None:
    return next(iter(dependencies.registry.routes(dependencies.places.landing, (prefix,))), None)


def _listed(dependencies: Dependencies, prefix: str) -> Route | None:
    """The route of a prefix whose own item is lost, as the list of its contract has it."""
    after: str | None = ""
    while after is not None:
        page = dependencies.registry.page(after)
        for each in (route for contract in page.contracts for route in contract.routes):
            if each.prefix == prefix:
                return each
        after = page.after or None
    return None


def _lost(contract: str, version: str) -> str:
    return f"the registry has lost {contract} {version}, which routes have: publish that document again"
