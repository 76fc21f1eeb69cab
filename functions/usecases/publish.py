"""A contract version becomes valid: document and plans first, then version and routes in one transaction.

The registry says of each line which of its versions leads: the one published with the highest number. Every route of
the line carries it. Publishing and routing both end by looking again (`settle`), so that whoever comes last, in whatever
order two people's writes arrive, leaves every route with the version that leads:

1. read the registry: which routes the version takes over, if it leads its line;
2. write what the transaction will name: content-addressed, so saying it twice writes the same bytes;
3. write version and routes in one transaction;
4. read the registry again: a route that a colleague added meanwhile, or a version that leads since, is written now.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from contracts.errors import InputError
from contracts.versions import major, precedence
from functions.ports import Address, ConditionFailed, Publication
from functions.usecases.steps import Effect, perform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from contracts.routes import Route
    from functions.ports import Shelf
    from functions.usecases.gate import Gate
    from functions.usecases.steps import Steps

MOST_ROUTES = 99
"""A transaction holds 100 items: the version, and each of its line's routes."""
RETIRED = "retired"
"""The status of a version that accepts no delivery any more."""
LONGEST_NAME = 128
"""Bytes: contract, dataset and line together stay far below what a key may have."""


@dataclass(frozen=True, slots=True)
class Edition:
    """A contract version as its compiler leaves it."""

    contract: str
    version: str
    status: str
    document: bytes
    plans: Mapping[str, bytes]
    """By dataset."""
    written_status: str = "active"
    """The status in the words of the document."""
    unmeasured_rules: int = 0
    """How many rules can never be measured."""


@dataclass(frozen=True, slots=True)
class Change:
    """What publishing an edition would change, as the registry is now."""

    is_new: bool
    """Whether this version is not published yet."""
    closed: tuple[str, ...]
    """Prefixes below which deliveries are accepted now and would all be refused."""


def planned(gate: Gate, edition: Edition) -> Change:
    """Look, and write nothing. Raises InputError where a route delivers to a dataset that the edition no longer has."""
    shelf = gate.registry.shelf()
    publication = _leading_its_routes(shelf, _publication(edition))
    open_now = {(each.bucket, each.prefix) for each in shelf.routes if each.status != RETIRED}
    closing = (each for each in publication.routes if each.status == RETIRED)
    known = {(each.contract, each.version) for each in shelf.versions}
    return Change(
        is_new=(edition.contract, edition.version) not in known,
        closed=tuple(sorted(each.prefix for each in closing if (each.bucket, each.prefix) in open_now)),
    )


def publish(gate: Gate, edition: Edition) -> Steps[Publication]:
    """Make an edition valid, and move the routes of its line to the version that leads. Saying it twice is saying it once.

    Raises InputError when the version is published with another content, when a name cannot be a folder, and when a
    route delivers to a dataset that the edition no longer has.
    """
    for name in (edition.contract, *edition.plans):
        _usable(name)
    publication = _leading_its_routes(gate.registry.shelf(), _publication(edition))
    body = Address(gate.places.lake, publication.document)
    yield from _once(Effect.WRITE_DOCUMENT, partial(gate.objects.put, body, edition.document, absent=True))
    yield from publish_contract(gate, publication, edition.plans.values())
    yield from settle(gate, edition.contract)
    return publication


def publish_contract(gate: Gate, publication: Publication, plans: Iterable[bytes]) -> Steps[None]:
    """A route never names a plan that is not there: content-addressed plans are written before the transaction.

    Raises InputError when the version is published with another content, or a prefix is another contract's.
    """
    for plan in plans:
        where = Address(gate.places.lake, f"plans/{hashlib.sha256(plan).hexdigest()}.json")
        yield from _once(Effect.WRITE_PLAN, partial(gate.objects.put, where, plan, absent=True))
    yield from write(gate, publication)


def write(gate: Gate, publication: Publication) -> Steps[None]:
    """The transaction, and in words why it was refused."""
    if len(publication.routes) > MOST_ROUTES:
        raise InputError(f"a line has at most {MOST_ROUTES} routes")
    try:
        yield from perform(Effect.PUBLISH, partial(gate.registry.publish, publication))
    except ConditionFailed as refused:
        if "version" in refused.reasons:
            raise InputError(
                "this version is published with another content: give the changed one a new number"
            ) from None
        raise InputError("the prefix belongs to another contract or dataset") from None


def settle(gate: Gate, contract: str) -> Steps[None]:
    """Bring every route of a contract to the version that leads its line; most often there is nothing to do."""
    shelf = gate.registry.shelf()
    for version in shelf.versions:
        if version.contract == contract and version == leading(shelf, contract, major(version.version)):
            moved = _leading_its_routes(shelf, version)
            if set(moved.routes) - set(shelf.routes):
                yield from write(gate, moved)


def leading(shelf: Shelf, contract: str, line: int) -> Publication | None:
    """The version that leads a line: of those published the one with the highest number."""
    of_the_line = (each for each in shelf.versions if (each.contract, major(each.version)) == (contract, line))
    return max(of_the_line, key=lambda each: precedence(each.version), default=None)


def routed(route: Route, publication: Publication) -> Route:
    """The route as a publication wants it. Raises InputError where the dataset is not the publication's."""
    plan = dict(publication.plans).get(route.dataset)
    if plan is None:
        raise InputError(
            f"version {publication.version} has no dataset {route.dataset}, to which {route.prefix} delivers"
        )
    return replace(route, version=publication.version, status=publication.status, plan=plan)


def _leading_its_routes(shelf: Shelf, publication: Publication) -> Publication:
    """The publication with all routes of its line; with none where another version leads."""
    line = (publication.contract, major(publication.version))
    first = leading(shelf, *line)
    if first is not None and precedence(first.version) > precedence(publication.version):
        return publication
    routes = (routed(each, publication) for each in shelf.routes if (each.contract, each.major) == line)
    return replace(publication, routes=tuple(routes))


def _publication(edition: Edition) -> Publication:
    return Publication(
        contract=edition.contract,
        version=edition.version,
        status=edition.status,
        document=f"contracts/{hashlib.sha256(edition.document).hexdigest()}",
        routes=(),
        plans=tuple(sorted((dataset, hashlib.sha256(plan).hexdigest()) for dataset, plan in edition.plans.items())),
        unmeasured_rules=edition.unmeasured_rules,
    )


def _once(effect: Effect, put: Callable[[], object]) -> Steps[None]:
    """Write what is addressed by its content; being there before, with the same bytes, is being written."""
    try:
        yield from perform(effect, put)
    except ConditionFailed:
        return


def _usable(name: str) -> None:
    """Names of contracts and datasets become folders of the lake, and the leading underscore is ours."""
    bad = "/" in name or not name.isprintable() or name.startswith(("_", ".")) or name != name.strip()
    if not name or bad or len(name.encode()) > LONGEST_NAME:
        raise InputError(
            f"the name {name!r} cannot be a folder of the lake: at most {LONGEST_NAME} bytes, no slash, no leading dot or _"
        )
