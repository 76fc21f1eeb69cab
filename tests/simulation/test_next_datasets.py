"""What replaces a dataset in its manifest: the sweep writes it beside a delivery, every effect of either with every fault."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lakegate.gate.datasets.compare_manifest import UNTRUE, manifest_faults
from lakegate.gate.datasets.readers_manifest import write_next
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Steps, run
from lakegate.gate.lake_layout import manifest_key
from lakegate.gate.ports import Address
from lakegate.gate.registry.registry_rows import Publication
from lakegate.gate.sweep import sweep
from tests.simulation.contract import PLAN
from tests.simulation.environment import LAKE, LANDING, LINE, PREFIX, Environment
from tests.simulation.promises import manifest_deliveries
from tests.simulation.stage import Fault, Stage, settle
from tests.simulation.test_recalls import FAULTS, play

NEXT = {"line": "orders/lines_v2", "version": "2.0.0", "status": "active", "takes_effect": None}


class Replaced:
    """A dataset with one listed delivery, one that is judged and not published, and a new major version."""

    def __init__(self) -> None:
        self.env = Environment()
        self.env.publish("1.0.0", "active", PLAN)
        self.env.upload(f"{PREFIX}0.csv", b"good:0")
        settle(Stage(self.env, lambda _: Fault.NONE))
        upload = self.env.upload(f"{PREFIX}1.csv", b"good:1")
        run(intake(self.env.dependencies, LANDING, upload.version.key), self.env.dependencies.clock)
        for _, job in self.env.new_jobs():
            run(job, self.env.dependencies.clock)
        self.last = upload.workload
        plans = (("lines", PLAN.digest),)
        self.env.memory.registry.publish(Publication("orders", "2.0.0", "active", "contracts/2.0.0", (), plans=plans))

    def publishes(self) -> Steps[Any]:
        return advance(DeliveryTurn(self.env.dependencies, self.env.dependencies.workloads.get(self.last)))

    def publish(self) -> None:
        """The delivery is decided and published."""
        run(self.publishes(), self.env.dependencies.clock)

    def names_next(self) -> None:
        """A sweep comes to the dataset."""
        run(write_next(self.env.dependencies, LINE), self.env.dependencies.clock)

    @property
    def head(self) -> dict[str, Any]:
        """The head of the manifest."""
        where = Address(LAKE, manifest_key(LINE))
        found: dict[str, Any] = json.loads(self.env.dependencies.objects.read(where))
        return found

    def holds(self) -> None:
        """At every moment the head lists what the ledger has up to its height, and names no other dataset than the next."""
        blocks = self.env.dependencies.ledger.blocks(LINE)
        assert UNTRUE not in {each.what for each in manifest_faults(self.env.dependencies, LINE, len(blocks) - 1)}
        assert self.head.get("next", NEXT) == NEXT

    def ended(self) -> None:
        """Once all is swept: both deliveries are listed, and the next dataset is named."""
        self.env.memory.clock.sleep(3600)
        run(sweep(self.env.dependencies), self.env.dependencies.clock)
        self.holds()
        assert self.env.dependencies.workloads.get(self.last).state is State.PUBLISHED
        listed = manifest_deliveries(self.env.lake, manifest_key(LINE)) or []
        assert [each["height"] for each in listed] == [0, 1]
        assert self.head["next"] == NEXT


def test_a_publication_alone_makes_it_visible() -> None:
    """With the next sweep, once: no delivery is needed, and further sweeps write nothing."""
    town = Replaced()
    before = town.head
    town.names_next()

    assert town.head == before | {"next": NEXT}
    assert play(town, write_next(town.env.dependencies, LINE)) == 0
    town.ended()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_delivery_is_published_beside_the_sweep(fault: Fault) -> None:
    """Before any effect of the sweep, which may fail there: no delivery is lost from the head, and the name comes."""
    effects = play(town := Replaced(), write_next(town.env.dependencies, LINE))
    assert effects == 1
    for at in range(effects):
        town = Replaced()
        play(town, write_next(town.env.dependencies, LINE), at, fault, town.publish)
        town.ended()


@pytest.mark.parametrize("fault", FAULTS)
def test_the_sweep_comes_beside_a_delivery(fault: Fault) -> None:
    """Before any effect of the delivery, which may fail there: the name that the sweep wrote stays."""
    effects = play(town := Replaced(), town.publishes())
    assert effects >= len(("decide", "copy", "commit", "manifest"))
    for at in range(effects):
        town = Replaced()
        play(town, town.publishes(), at, fault, town.names_next)
        assert town.head["next"] == NEXT
        town.ended()
