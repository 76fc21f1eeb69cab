"""Publishing by two people: every order of their reads and writes, with a fault of each of them at each write."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import permutations, product
from typing import Any

import pytest

from lakegate.base.errors import InputError, Unanswered
from lakegate.features.proposals.proposal import approve, decline, propose
from lakegate.gate.effects import Call, Effect, Steps, run
from lakegate.gate.ledger.blocks import Record
from lakegate.gate.registry import publish_contract
from lakegate.gate.registry.contract_versions import CompiledContract
from lakegate.gate.registry.registry_rows import Proposal, RegistrySnapshot
from lakegate.gate.registry.routes import add_route
from tests.fakes.identity import ALICE, BOB, MemoryIdentity
from tests.reference.sampling import FULL
from tests.simulation.environment import Environment
from tests.simulation.stage import Fault
from tests.unit.diff.builder import COLUMN, document

CAROL, DAVE, EVE = (f"arn:aws:iam::123456789012:user/{name}" for name in ("carol", "dave", "eve"))
WRITES = {Effect.PROPOSE, Effect.PUBLISH, Effect.DECLINE_PROPOSAL}
"""The effects that others see; documents and plans are read by nobody before."""
FAULTS = (Fault.NONE, Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.UNANSWERED, Fault.TWICE)
CASTS = ((ALICE, CAROL, BOB), (ALICE, DAVE, BOB), (ALICE, EVE, BOB))
"""Two publishers and an approver; a publisher, somebody who adds a route, or who declines, and an approver."""


def compiled(*names: str) -> CompiledContract:
    columns = [COLUMN, *({"name": name, "logicalType": "string"} for name in names)]
    text = document({"objects": [{"name": "orders", "properties": columns}]}, "1.1.0")
    return CompiledContract("shop", "1.1.0", "active", text, {"orders": text})


BASE = replace(
    compiled(), version="1.0.0", document=document({"objects": [{"name": "orders", "properties": [COLUMN]}]}, "1.0.0")
)
DOCUMENTS = {ALICE: compiled("note"), CAROL: compiled("note", "more")}
BY_ADDRESS = {f"contracts/{hashlib.sha256(each.document).hexdigest()}": each for each in DOCUMENTS.values()}


class Office:
    """The people of a schedule, and what they have read."""

    def __init__(self) -> None:
        self.env = Environment()
        self.read: list[Proposal] = []
        self.declined: list[Proposal] = []
        as_founder = replace(self.env.dependencies, identity=MemoryIdentity(DAVE))
        proposal = run(propose(as_founder, BASE), self.env.dependencies.clock)
        run(approve(self.by(BOB), BASE, proposal), self.env.dependencies.clock)

    def by(self, person: str) -> Any:
        return replace(self.env.dependencies, identity=MemoryIdentity(person))

    def command(self, person: str) -> Steps[Any] | None:
        """What a person does; None for the approver while nothing waits. No two people begin at the same time."""
        self.env.dependencies.clock.sleep(1)
        if person in DOCUMENTS:
            return propose(self.by(person), DOCUMENTS[person])
        if person == DAVE:
            return add_route(self.by(person), "a/", "shop", "orders", 1)
        found = self.env.dependencies.registry.proposal("shop", "1.1.0")
        if found is None:
            return None
        if person == EVE:
            self.declined.append(found)
            return decline(self.by(person), found, "no owner")
        self.read.append(found)
        return approve(self.by(person), BY_ADDRESS[found.publication.document], found)

    def hold(self) -> None:
        """Whatever is valid was proposed by one person, read and approved by another, and is recorded once with both.

        What was declined was read by who declined it, is recorded once, and neither waits nor is valid.
        """
        blocks = self.env.dependencies.ledger.blocks("_contracts/shop")
        of_version = [each for each in blocks if isinstance(each, Record) and each.content["version"] == "1.1.0"]
        records = [each for each in of_version if each.kind == "publication"]
        declined = [each for each in of_version if each.kind == "decline-version"]
        valid = [each for each in self.env.dependencies.registry.contract("shop").versions if each.version == "1.1.0"]
        approved = {(BOB, each.proposer, each.publication.document) for each in self.read}

        assert [each.content["document"] for each in records] == [each.document for each in valid]
        for each in records:
            assert (each.actor, each.content["proposed_by"], each.content["document"]) in approved
            assert each.actor != each.content["proposed_by"]
        assert [(each.actor, each.content["document"]) for each in declined] in (
            [],
            [(EVE, each.publication.document) for each in self.declined],
        )
        if declined and not valid:
            waits = self.env.dependencies.registry.proposal("shop", "1.1.0")
            assert waits is None or waits.digest not in {each.digest for each in self.declined}


class Person:
    """One command of one person, up to its write, then its write with a fault."""

    def __init__(self, office: Office, name: str, fault: Fault) -> None:
        self.office, self.name, self.fault = office, name, fault
        self.steps: Steps[Any] | None = None
        self.call: Call | None = None
        self.is_over = False

    def turn(self) -> None:
        """First what is read and written before others can see it; then the write, and the rest of the command."""
        if self.call is None and not self.is_over:
            self.steps = self.office.command(self.name)
            self.is_over = self.steps is None
            if self.steps is not None:
                self._go(lambda: next(self.steps))  # type: ignore[arg-type] # just set
            return
        if not self.is_over:
            self._write()

    def _write(self) -> None:
        call = self.call
        assert call is not None
        assert self.steps is not None
        if self.fault is Fault.CRASH_BEFORE:
            self.is_over = True
            return
        steps = self.steps
        try:
            answer = call.do()
            if self.fault is Fault.TWICE:
                answer = call.do()
        except Exception as refused:  # noqa: BLE001 - what a port raises is given to the use case
            error = refused
            self._go(lambda: steps.throw(error))
        else:
            if self.fault is Fault.CRASH_AFTER:
                self.is_over = True
            elif self.fault is Fault.UNANSWERED:
                self._go(lambda: steps.throw(Unanswered()))
            else:
                self._go(lambda: steps.send(answer))
        self.fault = Fault.NONE
        if not self.is_over:
            self._write()

    def _go(self, proceed: Callable[[], Call]) -> None:
        steps = self.steps
        assert steps is not None
        try:
            call = proceed()
            while call.effect not in WRITES:
                try:
                    answer = call.do()
                except Exception as refused:  # noqa: BLE001 - likewise
                    call = steps.throw(refused)
                else:
                    call = steps.send(answer)
            self.call = call
        except (StopIteration, InputError, Unanswered):
            self.is_over = True


def orders() -> Iterator[tuple[int, ...]]:
    """Every order of two turns of three people."""
    yield from sorted(set(permutations((0, 0, 1, 1, 2, 2))))


def play(cast: tuple[str, ...], order: tuple[int, ...], faults: tuple[Fault, ...]) -> Office:
    office = Office()
    people = [Person(office, name, fault) for name, fault in zip(cast, faults, strict=True)]
    for each in order:
        people[each].turn()
        office.hold()
    return office


def schedules() -> Iterator[tuple[tuple[int, ...], tuple[Fault, ...]]]:
    """A fault of at most one person; of two in the nightly run."""
    for order, faults in product(orders(), product(FAULTS, repeat=3)):
        if faults.count(Fault.NONE) >= (1 if FULL else 2):
            yield order, faults


@pytest.fixture
def _compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Schedules compare the same few documents: each pair is compared once."""
    known: dict[tuple[object, ...], Any] = {}
    compared = publish_contract.compare_with_followed

    def remembered(dependencies: Any, seen: RegistrySnapshot, version: str, document: bytes, parents: Any) -> Any:
        pair = (publish_contract.find_followed(seen, version), version, document)
        if pair not in known:
            known[pair] = compared(dependencies, seen, version, document, parents)
        return known[pair]

    monkeypatch.setattr(publish_contract, "compare_with_followed", remembered)


@pytest.mark.usefixtures("_compared_once")
@pytest.mark.parametrize("cast", CASTS)
def test_nothing_becomes_valid_without_two_people(cast: tuple[str, ...]) -> None:
    """In every order and with every fault: what is valid was read by its approver, who is not its proposer; it is recorded once.

    Anyone who repeats their command afterwards completes it: a proposal waits, and is approved.
    """
    ends = set()
    for order, faults in schedules():
        office = play(cast, order, faults)
        for name in (ALICE, BOB):  # both repeat their command
            person = Person(office, name, Fault.NONE)
            person.turn()
            person.turn()
            office.hold()
        versions = [each.version for each in office.env.dependencies.registry.contract("shop").versions]
        ends.add((tuple(versions), len(office.env.dependencies.registry.proposals())))

    assert ends == {(("1.0.0", "1.1.0"), 0)}
