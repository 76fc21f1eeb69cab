"""Faults of routes are found: overlaps, routes that nothing reaches, and routes to retired versions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import InputError
from lakegate.gate.registry.registry_rows import Route
from lakegate.gate.registry.routes import RouteFault, candidates, covering, lint_routes, plan_route
from tests.simulation.environment import LANDING, Environment

PLACES = Environment().dependencies.places
ROUTE = Route(LANDING, "a/", "shop", "orders", 1, "1.0.0", "active", "d" * 64)
LINES = replace(ROUTE, dataset="lines")


def found(*routes: Route) -> list[tuple[str, str, str]]:
    """Each fault with its prefix, and the prefix of the other route."""
    return [
        (each.fault.value, each.route.prefix, each.other.prefix if each.other else "")
        for each in lint_routes(routes, PLACES)
    ]


def test_routes_beside_each_other_have_no_fault() -> None:
    """Neither do prefixes that begin with the same letters."""
    assert found(ROUTE, replace(LINES, prefix="ab/"), replace(LINES, prefix="b/a/")) == []


def test_the_nearest_route_around_another_counts() -> None:
    """Inside a prefix of another line it overlaps; inside one of its own line it is redundant."""
    inner, innermost = replace(LINES, prefix="a/b/"), replace(LINES, prefix="a/b/c/d/")

    assert found(innermost, inner, ROUTE) == [("overlap", "a/b/", "a/"), ("redundant", "a/b/c/d/", "a/b/")]


@pytest.mark.parametrize(
    "unreachable",
    [
        replace(ROUTE, bucket="another"),
        replace(ROUTE, prefix="/a/"),
        replace(ROUTE, prefix="a"),
        replace(ROUTE, prefix="a/" * 33),
        replace(ROUTE, prefix="a/_temporary/b/"),
    ],
    ids=["bucket", "slash before", "no slash behind", "too deep", "ignored folder"],
)
def test_a_route_that_no_key_can_match_is_unreachable(unreachable: Route) -> None:
    """The reason is in the message."""
    (finding,) = lint_routes([unreachable], PLACES)

    assert finding.fault is RouteFault.UNREACHABLE
    assert finding.message.endswith(": remove the route")


def test_a_route_outside_the_prefix_of_the_stack_is_unreachable_and_refused() -> None:
    """The stack reads nothing there: a landing bucket may belong to others, too."""
    env = Environment()
    below = replace(env.dependencies, places=replace(PLACES, landing_prefix="in/"))
    (finding,) = lint_routes([ROUTE, replace(ROUTE, prefix="in/a/")], below.places)

    assert (finding.fault, finding.route) == (RouteFault.UNREACHABLE, ROUTE)
    with pytest.raises(InputError, match="`a/` is not below in/"):
        plan_route(below, "a/", "shop", "orders", 1)


def test_a_route_to_a_retired_version_is_found() -> None:
    """Every delivery below it would be refused."""
    assert found(replace(ROUTE, status="retired")) == [("retired", "a/", "")]


def test_prefixes_that_look_alike_are_found() -> None:
    """Upper and lower case, and two encodings of one letter, are different keys."""
    composed, decomposed = replace(ROUTE, prefix="\u00e9/"), replace(LINES, prefix="e\u0301/")

    assert found(ROUTE, replace(LINES, prefix="A/")) == [("similar", "a/", "A/")]
    assert found(composed, decomposed) == [("similar", "\u00e9/", "e\u0301/")]


@given(st.lists(st.lists(st.sampled_from("ab"), min_size=1, max_size=4), min_size=1, max_size=8))
def test_without_an_overlap_at_most_one_route_covers_a_key(folders: list[list[str]]) -> None:
    """Removing what is reported leaves routes of which no key has two; with all of them the longest covers the key."""
    routes = {each.prefix: each for each in (replace(ROUTE, prefix="/".join(path) + "/") for path in folders)}
    nested = {each.route.prefix for each in lint_routes(routes.values(), PLACES)}
    for prefix in routes:
        key = f"{prefix}x"
        covers = [each for each in candidates(key) if each in routes]
        assert len([each for each in covers if each not in nested]) == 1
        assert covering(key, tuple(routes.values())) == routes[covers[0]]
