"""Which dataset line a person means."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lakegate.base.errors import AccessDenied, InputError
from lakegate.base.timestamps import moment
from lakegate.gate.datasets.dataset_names import dataset_named, datasets_fitting
from lakegate.gate.datasets.dataset_states import AT_ONCE, DatasetRowStore, DatasetState, DatasetStatus, StatusChange
from lakegate.gate.registry.registry_rows import Publication
from tests.simulation.contract import DIGESTS
from tests.simulation.environment import Environment
from tests.simulation.stage import Fault, Stage, settle

PUBLISHED = (
    ("shop", "1.0.0", ("orders", "lines")),
    ("shop", "2.0.0", ("orders",)),
    ("store", "1.0.0", ("lines", "stock")),
    ("orders", "1.0.0", ("single",)),
    ("longer-name", "1.0.0", ("heads",)),
    ("wide-office", "1.0.0", ("a", "b")),
)


def env() -> Environment:
    one = Environment()
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
        ("orders/lines_v1", "orders/lines_v1"),
        ("longer", "longer-name/heads_v1"),
        ("longer-n/heads_v1", "longer-name/heads_v1"),
        ("longer-n/heads", "longer-name/heads_v1"),
        ("_unrouted/2026-01-05", "_unrouted/2026-01-05"),
        ("2026-01-05", "_unrouted/2026-01-05"),
    ],
)
def test_a_line_is_found_by_its_name_or_a_part_that_it_alone_has(name: str, expected: str) -> None:
    """With or without contract, with or without the number of the line; a contract of one line by its id."""
    assert dataset_named(env().dependencies, name) == expected


def test_a_contract_of_one_line_selects_it() -> None:
    """What is a dataset's name is that dataset's line first."""
    one = Environment()
    plans = (("day", DIGESTS["1.0.0"]),)
    one.memory.registry.publish(Publication("weather", "1.0.0", "active", "contracts/1.0.0", (), plans=plans))

    assert dataset_named(one.dependencies, "weather") == "weather/day_v1"


def test_a_line_that_is_on_no_list_any_more_is_found_by_its_whole_name() -> None:
    """A day without a route, long ago: its chain is there as long as anybody asks for it."""
    one = Environment()
    one.upload("elsewhere/x.csv", b"good:1")
    settle(Stage(one, lambda _: Fault.NONE))
    one.memory.clock.sleep(30 * 24 * 3600)

    assert dataset_named(one.dependencies, "_unrouted/2026-01-05") == "_unrouted/2026-01-05"
    assert datasets_fitting(one.dependencies, "_unrouted/2026-01-05") == {"_unrouted/2026-01-05"}


def test_every_line_that_a_name_fits_is_found_where_several_may_be_meant() -> None:
    """A contract's lines, one of which has a route alone, and those of a dataset of the same name."""
    dependencies = env().dependencies

    assert datasets_fitting(dependencies, "orders") == {
        *("shop/orders_v1", "shop/orders_v2"),
        *("orders/lines_v1", "orders/single_v1"),
    }
    assert datasets_fitting(dependencies, "wide-of") == {"wide-office/a_v1", "wide-office/b_v1"}
    assert datasets_fitting(dependencies, "shop") == {"shop/orders_v1", "shop/lines_v1", "shop/orders_v2"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("orders", "orders is more than one dataset: `shop/orders_v1`, `shop/orders_v2`; give one of them"),
        (
            "lines_v1",
            "lines_v1 is more than one dataset: `orders/lines_v1`, `shop/lines_v1`, `store/lines_v1`; give one of them",
        ),
        ("_unrouted", "_unrouted is more than one dataset: "),
        ("stocks", "stocks is not a dataset; similar are `store/stock_v1`. Did you mean `stock`?"),
        ("shop/orders_v3", "shop/orders_v3 is not a dataset; similar are `shop/orders_v1`, `shop/orders_v2`"),
        (
            "wide-of",
            "wide-of is the beginning of more than one dataset: `wide-office/a_v1`, `wide-office/b_v1`; give one",
        ),
        ("wide-of/c", "wide-of/c is not a dataset; similar are `wide-office/"),
        ("wide", "wide is not a dataset; "),
        ("", " is not a dataset; known are `longer-name/heads_v1`, "),
        ("\udcff", "\udcff is not a dataset; "),
        ("x" * 3_000, "xxx"),
    ],
)
def test_a_name_of_several_lines_or_none_is_not_guessed(name: str, expected: str) -> None:
    """Those it could mean are listed, or those there are."""
    with pytest.raises(InputError) as refused:
        dataset_named(env().dependencies, name)

    assert str(refused.value).startswith(expected)


@pytest.mark.parametrize("is_document", [True, False])
@pytest.mark.parametrize("name", ["day", "weather/day", "weather", "weathe", "weathe/day"])
def test_who_reads_a_dataset_means_the_version_in_force_while_the_next_one_is_a_draft(
    name: str,
    is_document: bool,  # noqa: FBT001 - a parameter
) -> None:
    """By its document, or in its notice period. Who changes a dataset names it; once both are in force, who reads it, too."""
    one = Environment()
    plans = (("day", DIGESTS["1.0.0"]),)
    for version, status in (("1.0.0", "active"), ("2.0.0", "draft" if is_document else "active")):
        one.memory.registry.publish(Publication("weather", version, status, f"contracts/{version}", (), plans=plans))
    if not is_document:
        begin = moment(one.memory.clock.now() + timedelta(days=30))
        changes = (StatusChange(DatasetStatus.DRAFT, AT_ONCE), StatusChange(DatasetStatus.ACTIVE, begin))
        one.dependencies.datasets.write(DatasetState("weather/day_v2", changes))

    assert dataset_named(one.dependencies, name, in_force=True) == "weather/day_v1"
    with pytest.raises(InputError, match="more than one dataset: `weather/day_v1`, `weather/day_v2`"):
        dataset_named(one.dependencies, name)
    if not is_document:
        one.memory.clock.sleep(31 * 24 * 3_600)
        with pytest.raises(InputError, match="more than one dataset"):
            dataset_named(one.dependencies, name, in_force=True)


def test_a_draft_counts_among_other_datasets_and_for_who_may_not_read_the_status(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Datasets of one name in two contracts are two datasets, whatever their statuses."""
    one = Environment()
    plans = (("day", DIGESTS["1.0.0"]),)
    for contract, version, status in (("a", "1.0.0", "active"), ("b", "1.0.0", "draft"), ("a", "2.0.0", "draft")):
        document = f"contracts/{version}"
        one.memory.registry.publish(Publication(contract, version, status, document, (), plans=plans))
    with pytest.raises(InputError, match="more than one dataset: `a/day_v1`, `b/day_v1`"):
        dataset_named(one.dependencies, "day_v1", in_force=True)
    assert dataset_named(one.dependencies, "a/day", in_force=True) == "a/day_v1"

    def denied(*_: object) -> DatasetState:
        raise AccessDenied

    monkeypatch.setattr(DatasetRowStore, "get", denied)
    with pytest.raises(InputError, match="more than one dataset: `a/day_v1`, `a/day_v2`"):
        dataset_named(one.dependencies, "a/day", in_force=True)


def test_a_name_that_is_close_to_a_line_is_answered_with_that_line() -> None:
    """A slip of the keyboard costs one look."""
    with pytest.raises(InputError, match="Did you mean `stock`\\?"):
        dataset_named(env().dependencies, "stcok")


@pytest.mark.parametrize("name", ["", "elsewhere", "2026-01-04x"])
def test_days_without_a_route_are_not_listed_as_datasets(name: str) -> None:
    """Who misspells a dataset looks for one."""
    with pytest.raises(InputError) as refused:
        dataset_named(env().dependencies, name)

    assert "_unrouted" not in str(refused.value)
