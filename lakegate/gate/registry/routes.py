"""Landing prefix to dataset: add, remove, lint, find."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from lakegate.admission.ignored_keys import is_ignored
from lakegate.base.errors import InputError
from lakegate.base.text import quote
from lakegate.contract.semantic_versions import precedence
from lakegate.gate.datasets.dataset_states import DatasetState, strictest
from lakegate.gate.dependencies import Dependencies, Places
from lakegate.gate.effects import Steps
from lakegate.gate.registry.contract_owners import EVERY_CONTRACT, are_named
from lakegate.gate.registry.contract_versions import write
from lakegate.gate.registry.registry_rows import RETIRED, WITHDRAWN, Publication, RegistrySnapshot, Route

# ---- Statuses of versions ----


READERS: Final = 10
"""Datasets that are read at once: boto3 keeps as many connections."""


def states_of(dependencies: Dependencies, versions: Iterable[Publication]) -> dict[str, DatasetState]:
    """The datasets of some versions, by their names."""
    return _read(dependencies, {version.full_name(dataset) for version in versions for dataset in version.datasets})


def as_judged(dependencies: Dependencies, routes: Iterable[Route]) -> list[Route]:
    """Routes with the status by which what lands below them is judged now, that of their dataset included."""
    known, now = list(routes), dependencies.moment
    states = _read(dependencies, {each.full_name for each in known})
    return [replace(each, status=strictest(each.status, states[each.full_name].status_at(now))) for each in known]


def _read(dependencies: Dependencies, datasets: set[str]) -> dict[str, DatasetState]:
    with ThreadPoolExecutor(READERS) as readers:
        return {dataset.name: dataset for dataset in readers.map(dependencies.datasets.get, sorted(datasets))}


def status_of(dataset: DatasetState, version: Publication, now: str) -> str:
    """The status by which deliveries to a dataset of a version are judged; of a withdrawn one that it is."""
    return WITHDRAWN if version.status == WITHDRAWN else strictest(version.status, dataset.status_at(now))


# ---- Effects of a new route ----


def effects(dependencies: Dependencies, plan: PlannedRoute, written: str) -> Iterator[str]:
    """Effects that the person who adds the route may not expect; `written` is the contract as they named it."""
    if plan.there is not None:
        return
    (route,), around = as_judged(dependencies, [plan.wanted]), plan.around
    if written != route.contract:
        text = f"{quote(written)} is the beginning of one contract id"
        yield f"{text}: {route.prefix} would deliver to {route.full_name} {route.version}"
    if around is not None and around.full_name != route.full_name:
        now = f"what lands below {route.prefix} is delivered to {around.full_name} by the route {around.prefix} now"
        yield f"{now}: it would go to {route.full_name} {route.version}"
    if route.status == RETIRED:
        retired = f"{route.full_name} {route.version} is retired"
        yield f"{retired}: every delivery below {quote(route.prefix)} would be refused"


# ---- From a landing key to contract and dataset ----


MAX_DEPTH = 32
"""The most segments of a prefix: all candidates of a key fit into one batch read of 100."""


def candidates(key: str) -> tuple[str, ...]:
    """All prefixes that may cover the key, longest first; compared as bytes, without normalization."""
    folders = key.split("/")[:-1][:MAX_DEPTH]
    return tuple("/".join(folders[:depth]) + "/" for depth in range(len(folders), 0, -1))


def covering(key: str, routes: tuple[Route, ...]) -> Route | None:
    """The route with the longest prefix that covers the key; None if the key is unrouted."""
    at = {route.prefix: route for route in routes}
    return next((at[prefix] for prefix in candidates(key) if prefix in at), None)


# ---- The current version and its routes ----


def leading(snapshot: RegistrySnapshot, contract: str, number: int) -> Publication | None:
    """The current version of a major number: of those published, and not withdrawn, the one with the highest number."""
    of_the_major = (each for each in snapshot.standing if (each.contract, each.major) == (contract, number))
    return max(of_the_major, key=lambda each: each.precedence, default=None)


def bind_route(route: Route, publication: Publication) -> Route:
    """The route as a publication wants it. Raises InputError where the dataset is not the publication's."""
    plan = dict(publication.plans).get(route.dataset)
    if plan is None:
        raise InputError(
            f"version {publication.version} has no dataset {route.dataset}, to which {route.prefix} delivers"
        )
    return replace(route, version=publication.version, status=publication.status, plan=plan)


def leading_its_routes(snapshot: RegistrySnapshot, publication: Publication) -> Publication:
    """The publication with all routes of its dataset; with none where another version is current, or was before it was lost.

    From when a version is inherited is decided once: raises InputError where it is published with another time.
    """
    publication = _as_scheduled(snapshot, publication)
    of_major = (publication.contract, publication.major)
    first = leading(snapshot, *of_major)
    routes = [route for route in snapshot.routes if (route.contract, route.major) == of_major]
    known = snapshot.by_number
    current = [*([first.version] if first else []), *(route.version for route in routes if route.version not in known)]
    if any(precedence(each) > publication.precedence for each in current):
        return publication
    return replace(publication, routes=tuple(bind_route(route, publication) for route in routes))


def _as_scheduled(snapshot: RegistrySnapshot, publication: Publication) -> Publication:
    before = snapshot.by_number.get(publication.version)
    if before is None or before.inherited_from == publication.inherited_from:
        return publication
    if publication.inherited_from:
        since = f"from {before.inherited_from[:10]} on" if before.inherited_from else "since then"
        raise InputError(f"{publication.version} is published already, and is inherited {since}: that cannot be moved")
    return replace(publication, inherited_from=before.inherited_from)


# ---- Routes ----


LONGEST_PREFIX = 1_000
"""Bytes: a key has 1,024, and a file needs a name, too."""


@dataclass(frozen=True, slots=True)
class PlannedRoute:
    """A route that could be added, as the registry is now."""

    wanted: Route
    publication: Publication
    """The current version of its dataset."""
    there: Route | None
    """The existing route of this prefix; of the same dataset."""
    around: Route | None
    """The route that covers the prefix now: the longest above it."""


def plan_route(  # noqa: PLR0913 - a route has these parts
    dependencies: Dependencies,
    prefix: str,
    contract: str,
    dataset: str,
    number: int,
    *,
    seen: RegistrySnapshot | None = None,
) -> PlannedRoute:
    """Read only; `seen` is the contract in the registry, if it was read already.

    Raises InputError where the contract has no version or no such schema object, or another dataset has the prefix.
    """
    usable(prefix)
    if not prefix.startswith(dependencies.places.landing_prefix):
        raise InputError(_outside(prefix, dependencies.places))
    seen = seen or dependencies.registry.contract(contract)
    landing, folder = dependencies.places.landing, prefix.removesuffix("/")
    publication = leading(seen, contract, number)
    if publication is None:
        raise InputError(f"no version {number}.x of the contract {contract} is published")
    lost = {route.version for route in seen.routes if route.major == number} - seen.by_number.keys()
    if lost:
        raise InputError(_lost(contract, min(lost)))
    wanted = bind_route(Route(landing, prefix, contract, dataset, number, "", "", ""), publication)
    there = _at(dependencies, prefix)
    if there is not None and there.full_name != wanted.full_name:
        raise InputError(f"{prefix} delivers to {there.full_name}: remove that route first")
    around = covering(folder, dependencies.registry.routes(landing, candidates(folder)))
    return PlannedRoute(wanted, publication, there, around)


def add_route(dependencies: Dependencies, prefix: str, contract: str, dataset: str, number: int) -> Steps[Route]:
    """Deliver what lands below a prefix to a dataset, under its current version. Raises as `planned_route`."""
    usable(prefix)

    def decide(seen: RegistrySnapshot) -> Publication:
        plan = plan_route(dependencies, prefix, contract, dataset, number, seen=seen)
        return replace(plan.publication, routes=(plan.wanted,))

    return (yield from write(dependencies, contract, decide)).routes[0]


def remove_route(dependencies: Dependencies, prefix: str, contract: str | None = None) -> Steps[Route]:
    """Let nothing below a prefix be delivered any more, if it is delivered to this contract; None: to any.

    Returns the removed route; InputError for none.
    """
    there = _at(dependencies, prefix) or _listed(dependencies, prefix)
    if there is None or contract not in {None, there.contract}:
        raise InputError(f"{prefix} has no route")

    def decide(seen: RegistrySnapshot) -> Publication:
        publication = seen.by_number.get(there.version)
        if publication is None:
            raise InputError(_lost(there.contract, there.version))
        return replace(publication, retired=(prefix,))

    yield from write(dependencies, there.contract, decide)
    return there


@dataclass(frozen=True, slots=True)
class RouteOwner:
    """The person who wants a route, by what is theirs."""

    contracts: tuple[str, ...]
    """Ids of contracts, or the beginning of ids and a star."""
    prefixes: tuple[str, ...]
    """Prefixes of the landing bucket below which they may add routes."""


ANYBODY: Final = RouteOwner(EVERY_CONTRACT, ("",))
"""The owner with rights in the account: by the command, a person decides about every prefix."""


def refuse_foreign(dependencies: Dependencies, prefix: str, contract: str, owner: RouteOwner) -> None:
    """Raise InputError for a prefix that is not the owner's, whether there is a route or not.

    It is theirs below a folder with the name of the contract, below a route of a contract of theirs, and below their prefixes.
    Above and below it there is no route of a contract that is another's: nothing tells whose it is.
    """
    if owner == ANYBODY:
        return
    landing, own_folder = dependencies.places.landing, f"{dependencies.places.landing_prefix}{contract}/"
    routes = [route for route in dependencies.registry.snapshot().routes if route.bucket == landing]
    around = [route for route in routes if prefix.startswith(route.prefix)]
    nested = [route for route in routes if route.prefix.startswith(prefix)]
    is_below = any(map(prefix.startswith, (own_folder, *owner.prefixes)))
    if not is_below and not any(are_named(owner.contracts, each.contract) for each in around):
        raise InputError(
            f"{prefix!r} is not among your prefixes: take one below {quote(own_folder)}, or ask for the claim of a token"
        )
    if not all(are_named(owner.contracts, each.contract) for each in (*around, *nested)):
        raise InputError(f"{prefix!r} is not free: it overlaps the prefix of another owner")


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
    contracts = (contract for page in dependencies.registry.pages() for contract in page.contracts)
    return next((route for each in contracts for route in each.routes if route.prefix == prefix), None)


def _lost(contract: str, version: str) -> str:
    return f"the registry has lost {contract} {version}, which routes have: publish that document again"


# ---- Faults of routes ----


class RouteFault(StrEnum):
    """A fault of a route."""

    OVERLAP = "overlap"
    """It takes keys out of the prefix of another dataset."""
    REDUNDANT = "redundant"
    """It is inside a prefix of the same dataset, and changes nothing."""
    SIMILAR = "similar"
    """Another prefix differs only in upper and lower case, or in the encoding of a letter."""
    UNREACHABLE = "unreachable"
    """No key of the landing bucket can match it."""
    RETIRED = "retired"
    """Every delivery below it is refused."""


@dataclass(frozen=True, slots=True)
class RouteFinding:
    """One fault of one route."""

    fault: RouteFault
    route: Route
    message: str
    other: Route | None = None
    """The route that it conflicts with."""


def lint_routes(routes: Iterable[Route], places: Places) -> tuple[RouteFinding, ...]:
    """All faults, by prefix; the status of a route is the one by which deliveries are judged now, its dataset's included.

    The time grows with the number of routes and their depth, not with the pairs of routes.
    """
    ordered = sorted(routes, key=lambda each: (each.bucket, each.prefix))
    found = (*_alone(ordered, places), *_nested(ordered), *_similar(ordered))
    return tuple(sorted(found, key=lambda each: (each.route.prefix, each.fault, each.message)))


def _alone(routes: list[Route], places: Places) -> Iterator[RouteFinding]:
    for route in routes:
        reason = _unreachable(route, places)
        if reason:
            yield RouteFinding(RouteFault.UNREACHABLE, route, f"{reason}: remove the route")
        if route.status == RETIRED:
            message = (
                f"{route.full_name} {route.version} is retired, so that every delivery is refused: remove the route"
            )
            yield RouteFinding(RouteFault.RETIRED, route, message)


def _unreachable(route: Route, places: Places) -> str:
    if route.bucket != places.landing:
        return f"the bucket {route.bucket} is not the landing bucket of the stack"
    try:
        usable(route.prefix)
    except InputError as error:
        return str(error)
    if not route.prefix.startswith(places.landing_prefix):
        return _outside(route.prefix, places)
    if is_ignored(f"{route.prefix}x", 1, places.ignored):
        return "keys with this name of a folder are ignored"
    return ""


def _outside(prefix: str, places: Places) -> str:
    return f"{quote(prefix)} is not below {places.landing_prefix}, the only prefix of the landing bucket that the stack reads"


def _nested(routes: list[Route]) -> Iterator[RouteFinding]:
    """Routes inside another one: the nearest around each counts."""
    at = {(route.bucket, route.prefix): route for route in routes}
    for route in routes:
        above = (at.get((route.bucket, prefix)) for prefix in candidates(route.prefix.removesuffix("/")))
        around = next((other for other in above if other is not None), None)
        if around is None:
            continue
        if around.full_name == route.full_name:
            message = f"{around.prefix} delivers to {route.full_name} already: remove one of the two"
            yield RouteFinding(RouteFault.REDUNDANT, route, message, around)
        else:
            message = f"it takes its keys out of {around.prefix}, which delivers to {around.full_name}"
            yield RouteFinding(RouteFault.OVERLAP, route, message, around)


def _similar(routes: list[Route]) -> Iterator[RouteFinding]:
    groups: dict[tuple[str, str], list[Route]] = defaultdict(list)
    for route in routes:
        groups[route.bucket, unicodedata.normalize("NFKC", route.prefix).casefold()].append(route)
    for first, *others in groups.values():
        for other in others:
            message = f"it differs from {first.prefix} only in case or in the encoding of letters; keys are compared byte by byte"
            yield RouteFinding(RouteFault.SIMILAR, other, message, first)
