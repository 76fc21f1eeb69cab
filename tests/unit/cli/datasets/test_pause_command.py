"""`lakegate pause` and `resume`: the deliveries of a line wait in landing, and are judged in order of arrival."""

from __future__ import annotations

import pytest

from lakegate.gate.effects import run
from lakegate.gate.sweep import sweep
from tests.unit.cli.conftest import Lakegate

LINE = "shop/orders_v1"


@pytest.fixture
def paused(lakegate: Lakegate) -> Lakegate:
    """A paused line with two deliveries that wait."""
    lakegate.routed()
    lakegate.ok("pause", "orders", "--reason", "a [red]reason")
    for name in ("b.csv", "a.csv"):
        lakegate.upload(name=name, body=f"id,amount\n{name},1\n".encode())
        lakegate.intake(f"orders/{name}")
    return lakegate


def test_a_paused_line_keeps_its_deliveries_in_landing(paused: Lakegate) -> None:
    """`status` shows HELD and where the data is; no job was started, and nothing was decided."""
    listed = paused.json("status")["deliveries"]

    assert {(each["state"], each["verdict"], each["run"]) for each in listed} == {("HELD", None, None)}
    assert {each["where"][0] for each in listed} == {f"s3://lakegate-landing/orders/{name}.csv" for name in "ab"}
    assert "held: its dataset is paused" in paused.ok("status", "orders/a.csv")


def test_what_was_held_is_judged_in_order_of_arrival(paused: Lakegate) -> None:
    """`resume` lets the next sweep begin; the pause ends with the last delivery."""
    resumed = paused.json("resume", "orders")
    run(sweep(paused.dependencies), paused.dependencies.clock)
    run(sweep(paused.dependencies), paused.dependencies.clock)
    states = {each["key"]: each["state"] for each in paused.json("status")["deliveries"]}

    assert (resumed["paused"], resumed["held"]) == (False, 2)
    assert states == {"orders/a.csv": "VALIDATING", "orders/b.csv": "VALIDATING"}
    assert paused.ok("resume", "orders") == f"{LINE} is not paused.\n"
    assert paused.json("resume", "orders")["since"] is None


def test_pausing_twice_changes_nothing(paused: Lakegate) -> None:
    """The first reason stays; after a resume the line can be paused again."""
    first = paused.json("pause", "orders")
    again = paused.json("pause", "orders", "--reason", "another")
    paused.ok("resume", "orders")
    later = paused.json("pause", "orders", "--reason", "another")

    assert (first["reason"], first["held"], first["paused"]) == ("a [red]reason", 2, True)
    assert again == first
    assert (later["reason"], later["held"], later["paused"]) == ("another", 2, True)
    assert later["by"].startswith("arn:aws:")


def test_the_answer_names_what_is_held(paused: Lakegate) -> None:
    """For people in one line; a reason is text of somebody else's and is not markup."""
    assert paused.ok("pause", "orders").endswith("; 2 deliveries are held. lakegate resume shop/orders_v1\n")
    assert paused.ok("resume", "orders") == (
        f"{LINE} is resumed; 2 deliveries are held. The next sweep judges them in order of arrival.\n"
    )


def test_a_single_delivery_is_one(lakegate: Lakegate) -> None:
    """Grammar."""
    lakegate.routed()
    lakegate.ok("pause", "orders")
    lakegate.upload()
    lakegate.intake()

    assert "; 1 delivery is held." in lakegate.ok("pause", "orders")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["pause", "nobody"], "nobody is not a dataset"),
        (["pause", "orders", "--reason", "x" * 501], "the reason of a pause is one line of at most 500 characters"),
        (["pause", "orders", "--reason", "a\nb"], "the reason of a pause is one line of at most 500 characters"),
    ],
)
def test_what_cannot_be_paused_is_refused(paused: Lakegate, words: list[str], expected: str) -> None:
    """In one sentence."""
    assert str(paused(*words).exception).startswith(expected)
