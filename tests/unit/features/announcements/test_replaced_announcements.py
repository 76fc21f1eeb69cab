"""What is announced under a name takes the place of what was accepted under it, whatever the folders of the announcements."""

from __future__ import annotations

from dataclasses import replace

from lakegate.contract.delivery_policy import Replaces
from lakegate.features.announcements.announced_delivery import chosen_name
from lakegate.gate.ledger.blocks import deliveries
from tests.simulation.contract import PLAN
from tests.simulation.environment import LINE, PREFIX
from tests.simulation.stage import Fault, Stage, settle
from tests.unit.features.announcements.test_announcements_api import announced
from tests.unit.features.http_api.conftest import Api


def delivered(served: Api, *announcements: tuple[str, bytes]) -> list[tuple[int, ...]]:
    """What each delivery superseded, once these are announced and sent; of an empty name, as DCM's own call has it."""
    served.env.publish("1.0.0", "active", replace(PLAN, policy=replace(PLAN.policy, replaces=Replaces.DELIVERY)))
    stage = Stage(served.env, lambda _: Fault.NONE)
    for name, body in announcements:
        made = announced(served, **({"name": name} if name else {})).body["upload"]
        served.env.upload(made["key"], body)
        settle(stage)
    return [block.supersedes for block in deliveries(served.env.dependencies.ledger.blocks(LINE))]


def test_the_name_that_was_announced_is_that_of_the_delivery(served: Api) -> None:
    """Whichever announcement it came by; another name is another delivery."""
    sent = (("day.csv", b"good:1"), ("other.csv", b"good:2"), ("day.csv", b"good:3"))

    assert delivered(served, *sent) == [(), (), (0,)]


def test_what_has_no_name_of_its_producer_replaces_nothing(served: Api) -> None:
    """Else the second delivery that is announced by the contract's id alone would take the place of the first one."""
    assert delivered(served, ("", b"good:1"), ("", b"good:2")) == [(), ()]


def test_a_folder_that_looks_like_an_announcement_is_part_of_the_name(served: Api) -> None:
    """Only the folders of announcements are left out."""
    made = announced(served, name="day.csv").body["upload"]["key"]
    own = f"{PREFIX}{'0' * 64}/day.csv"

    assert chosen_name(served.env.dependencies, made) == f"{PREFIX}day.csv"
    assert chosen_name(served.env.dependencies, own) is None
    assert chosen_name(served.env.dependencies, f"{made}.csv") is None
    assert chosen_name(served.env.dependencies, "day.csv") is None
