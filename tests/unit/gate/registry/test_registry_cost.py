"""What the registry reads does not grow with its size."""

from __future__ import annotations

from tests.bench.registry import around, filled, keys, lookup, measured, publishing


def test_the_route_of_a_key_is_found_in_one_request() -> None:
    """One request reads the routes around the key and nothing else, whatever else there is."""
    small, large = filled(5, 5), filled(200, 600)
    (key,) = keys(5, 1)
    costs = [measured(twin, lambda registry=registry: lookup(registry, key)) for twin, registry in (small, large)]  # type: ignore[misc]

    assert lookup(large[1], key) == lookup(small[1], key) is not None
    assert [(each.requests, each.items) for each in costs] == [(1, 1)] * 2
    assert costs[0].sent == costs[1].sent


def test_publishing_reads_as_much_of_a_large_registry_as_of_a_small_one() -> None:
    """The items of its own contract, which are compared with its list; a scan would read every item."""
    costs = []
    for twin, _ in (filled(5, 5), filled(200, 600)):
        dependencies = around(twin)
        measured(twin, publishing(dependencies, "1.0.0"))
        costs.append(measured(twin, publishing(dependencies, "1.0.1")))

    assert [(each.requests, each.items, each.received) for each in costs] == [(7, 6, costs[0].received)] * 2


def test_reading_everything_would_be_noticed() -> None:
    """The twin counts the items of a scan."""
    twin, registry = filled(200, 600)

    assert measured(twin, registry.snapshot).items == len(twin.items)
