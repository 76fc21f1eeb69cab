"""Which dataset line a person means."""

from __future__ import annotations

import pytest

from contracts.errors import InputError
from functions.ports import Publication
from functions.usecases.lines import line_named
from tests.simulation.meaning import DIGESTS
from tests.simulation.world import World

PUBLISHED = (
    ("shop", "1.0.0", ("orders", "lines")),
    ("shop", "2.0.0", ("orders",)),
    ("store", "1.0.0", ("lines", "stock")),
    ("orders", "1.0.0", ("single",)),
)


def world() -> World:
    one = World()
    for contract, version, datasets in PUBLISHED:
        plans = tuple((dataset, DIGESTS["1.0.0"]) for dataset in datasets)
        document = f"contracts/{version}"
        one.memory.registry.publish(Publication(contract, version, "active", document, (), plans=plans))
    return one


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("shop/orders_v1", "shop/orders_v1"),
        ("orders_v2", "shop/orders_v2"),
        ("store/lines", "store/lines_v1"),
        ("stock", "store/stock_v1"),
        ("single", "orders/single_v1"),
        ("_unrouted/2026-01-05", "_unrouted/2026-01-05"),
        ("2026-01-05", "_unrouted/2026-01-05"),
    ],
)
def test_a_line_is_found_by_its_name_or_a_part_that_it_alone_has(name: str, expected: str) -> None:
    """With or without contract, with or without the number of the line; a contract of one line by its id."""
    assert line_named(world().gate, name) == expected


def test_a_contract_of_one_line_stands_for_it() -> None:
    """What is a dataset's name is that dataset's line first."""
    one = World()
    plans = (("day", DIGESTS["1.0.0"]),)
    one.memory.registry.publish(Publication("weather", "1.0.0", "active", "contracts/1.0.0", (), plans=plans))

    assert line_named(one.gate, "weather") == "weather/day_v1"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("orders", "orders is more than one line: `shop/orders_v1`, `shop/orders_v2`; give one of them"),
        ("lines_v1", "lines_v1 is more than one line: `shop/lines_v1`, `store/lines_v1`; give one of them"),
        ("_unrouted", "_unrouted is more than one line: "),
        ("stocks", "stocks is no line; known are `orders/single_v1`, "),
        ("shop/orders_v3", "shop/orders_v3 is no line; known are "),
        ("", " is no line; "),
        ("\udcff", "\udcff is no line; "),
        ("x" * 3_000, "xxx"),
    ],
)
def test_a_name_of_several_lines_or_none_is_not_guessed(name: str, expected: str) -> None:
    """Those it could mean are listed, or those there are."""
    with pytest.raises(InputError) as refused:
        line_named(world().gate, name)

    assert str(refused.value).startswith(expected)


def test_a_name_that_is_close_to_a_line_is_answered_with_that_line() -> None:
    """A slip of the keyboard costs one look."""
    with pytest.raises(InputError, match="Did you mean `stock`\\?"):
        line_named(world().gate, "stcok")
