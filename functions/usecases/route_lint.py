"""Faults of the routes of a registry: overlaps, routes that no delivery reaches, and routes to what is retired."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from lakegate.contracts.door.ignored import is_ignored
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.routes import candidates
from lakegate.functions.usecases.publish_contract import RETIRED
from lakegate.functions.usecases.routing import usable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lakegate.contracts.lake.routes import Route
    from lakegate.functions.usecases.dependencies import Places


class RouteFault(StrEnum):
    """What is wrong with a route."""

    OVERLAP = "overlap"
    """It takes keys out of the prefix of another line."""
    REDUNDANT = "redundant"
    """It is inside a prefix of the same line, and changes nothing."""
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
    """All faults, by prefix; the status of a route is the one by which deliveries are judged now, its line's included.

    The time grows with the number of routes and their depth, not with the pairs of routes.
    """
    ordered = sorted(routes, key=lambda each: (each.bucket, each.prefix))
    found = (*_alone(ordered, places), *_nested(ordered), *_similar(ordered))
    return tuple(sorted(found, key=lambda each: (each.route.prefix, each.fault, each.message)))


def _alone(routes: list[Route], places: Places) -> Iterator[RouteFinding]:
    for each in routes:
        reason = _unreachable(each, places)
        if reason:
            yield RouteFinding(RouteFault.UNREACHABLE, each, f"{reason}: remove the route")
        if each.status == RETIRED:
            message = f"{each.line} {each.version} is retired, so that every delivery is refused: remove the route"
            yield RouteFinding(RouteFault.RETIRED, each, message)


def _unreachable(route: Route, places: Places) -> str:
    if route.bucket != places.landing:
        return f"the bucket {route.bucket} is not the landing bucket of the stack"
    try:
        usable(route.prefix)
    except InputError as error:
        return str(error)
    if is_ignored(f"{route.prefix}x", 1, places.ignored):
        return "keys with this name of a folder are ignored"
    return ""


def _nested(routes: list[Route]) -> Iterator[RouteFinding]:
    """Routes inside another one: the nearest around each counts."""
    at = {(each.bucket, each.prefix): each for each in routes}
    for each in routes:
        above = (at.get((each.bucket, prefix)) for prefix in candidates(each.prefix.removesuffix("/")))
        around = next((other for other in above if other is not None), None)
        if around is None:
            continue
        if around.line == each.line:
            message = f"{around.prefix} delivers to {each.line} already: remove one of the two"
            yield RouteFinding(RouteFault.REDUNDANT, each, message, around)
        else:
            message = f"it takes its keys out of {around.prefix}, which delivers to {around.line}"
            yield RouteFinding(RouteFault.OVERLAP, each, message, around)


def _similar(routes: list[Route]) -> Iterator[RouteFinding]:
    groups: dict[tuple[str, str], list[Route]] = defaultdict(list)
    for each in routes:
        groups[each.bucket, unicodedata.normalize("NFKC", each.prefix).casefold()].append(each)
    for first, *others in groups.values():
        for each in others:
            message = f"it differs from {first.prefix} only in case or in the encoding of letters; keys are compared byte by byte"
            yield RouteFinding(RouteFault.SIMILAR, each, message, first)
