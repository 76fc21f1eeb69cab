"""The current version of a line, and the routes that carry it: pure functions of what the registry has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.versions import major, precedence

if TYPE_CHECKING:
    from lakegate.contracts.lake.routes import Route
    from lakegate.functions.ports.registry import Publication, RegistrySnapshot


def leading(snapshot: RegistrySnapshot, contract: str, line: int) -> Publication | None:
    """The current version of a line: of those published, and not withdrawn, the one with the highest number."""
    of_the_line = (each for each in snapshot.standing if (each.contract, major(each.version)) == (contract, line))
    return max(of_the_line, key=lambda each: precedence(each.version), default=None)


def routed(route: Route, publication: Publication) -> Route:
    """The route as a publication wants it. Raises InputError where the dataset is not the publication's."""
    plan = dict(publication.plans).get(route.dataset)
    if plan is None:
        raise InputError(
            f"version {publication.version} has no dataset {route.dataset}, to which {route.prefix} delivers"
        )
    return replace(route, version=publication.version, status=publication.status, plan=plan)


def leading_its_routes(snapshot: RegistrySnapshot, publication: Publication) -> Publication:
    """The publication with all routes of its line; with none where another version is current, or was before it was lost.

    From when a version is inherited is decided once: raises InputError where it is published with another time.
    """
    publication = _as_scheduled(snapshot, publication)
    line = (publication.contract, major(publication.version))
    first = leading(snapshot, *line)
    routes = [each for each in snapshot.routes if (each.contract, each.major) == line]
    known = {each.version for each in snapshot.versions}
    current = [*([first.version] if first else []), *(each.version for each in routes if each.version not in known)]
    if any(precedence(each) > precedence(publication.version) for each in current):
        return publication
    return replace(publication, routes=tuple(routed(each, publication) for each in routes))


def _as_scheduled(snapshot: RegistrySnapshot, publication: Publication) -> Publication:
    before = next((each for each in snapshot.versions if each.version == publication.version), None)
    if before is None or before.inherited_from == publication.inherited_from:
        return publication
    if publication.inherited_from:
        since = f"from {before.inherited_from[:10]} on" if before.inherited_from else "since then"
        raise InputError(f"{publication.version} is published already, and is inherited {since}: that cannot be moved")
    return replace(publication, inherited_from=before.inherited_from)
