"""Every order in which people who publish, route and change datasets at once can move, with a crash at each step, and a sweep
that records what has begun by its date; bugs are planted and found.

Each person is a use case of the product. The orders are all interleavings of what they read and write in the registry; documents
and plans are written at the digests of their bytes, so that these writes commute, and one order of them stands for all. A
schedule is replayed from the beginning, and the next one differs in its last free choice. Who crashes repeats the command.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from typing import Any

from lakegate.base.errors import InputError, LakegateError, PortError
from lakegate.base.timestamps import instant_of, moment
from lakegate.contract.semantic_versions import major, precedence
from lakegate.diff.compared_versions import read_version
from lakegate.diff.diff_contracts import compare
from lakegate.gate.datasets.dataset_states import DatasetState
from lakegate.gate.datasets.lifecycle import TASK
from lakegate.gate.effects import Call, Effect, Steps, run
from lakegate.gate.registry.contract_versions import pinned_parents
from lakegate.gate.registry.parent_contracts import document_of, parent_in_force
from lakegate.gate.registry.publish_contract import find_followed
from lakegate.gate.registry.registry_rows import Publication
from lakegate.gate.registry.routes import leading
from lakegate.gate.scheduled_tasks import run_row
from lakegate.gate.send_messages import notify
from lakegate.inheritance.inherited_documents import Resolver
from tests.simulation.environment import LAKE, LANDING, Environment
from tests.simulation.lifecycle import Lifecycles, manifests
from tests.simulation.promises import Violation

Command = Callable[[Environment], "Steps[Any]"]
"""What a person does; evaluated when the command begins, so that it reads the registry as it is then."""


NOTICE = timedelta(days=30)
INDEXED = 60.0
"""Seconds after which the index of messages knows all of them."""
COMMUTING = frozenset({Effect.WRITE_DOCUMENT, Effect.WRITE_PLAN})


@dataclass(slots=True)
class Person:
    """Somebody at a command line."""

    name: str
    command: Command
    steps: Steps[Any] | None = None
    call: Call | None = None
    ended: bool = False

    def begin(self, env: Environment) -> None:
        """Run to the first effect."""
        self.steps = self.command(env)
        self._advance(next)
        while not self.ended and self.call is not None and self.call.effect in COMMUTING:
            self.perform()

    def perform(self) -> None:
        """Perform the next effect."""
        assert self.call is not None
        try:
            answer = self.call.do()
        except PortError as refused:
            error = refused
            self._advance(lambda steps: steps.throw(error))
        else:
            self._advance(lambda steps: steps.send(answer))

    def crash(self) -> None:
        """Nobody sees the answer of the last effect; the command begins again later."""
        self.steps, self.call, self.ended = None, None, False

    def _advance(self, move: Callable[[Steps[Any]], Call]) -> None:
        assert self.steps is not None
        try:
            self.call = move(self.steps)
        except StopIteration:
            self.ended = True
        except InputError:
            self.ended = True
        except LakegateError as failure:
            raise Violation("P4", f"{self.name} raised {failure!r}") from failure


@dataclass(slots=True)
class Choices:
    """The choices of one schedule: those that are given, then the first of each."""

    given: list[int]
    counts: list[int] = field(default_factory=list)

    def pick(self, count: int) -> int:
        """A choice out of `count`."""
        place = len(self.counts)
        if place == len(self.given):
            self.given.append(0)
        self.counts.append(count)
        return self.given[place]

    def following(self) -> list[int] | None:
        """The choices of the next schedule; None after the last one."""
        given = self.given[: len(self.counts)]
        while given and given[-1] + 1 == self.counts[len(given) - 1]:
            given.pop()
        return [*given[:-1], given[-1] + 1] if given else None


def explore(prepare: Callable[[], Environment], commands: dict[str, Command], *, crashes: int = 1) -> int:
    """Play every schedule; the number of schedules. Raises Violation with the schedule that breaks a promise."""
    given: list[int] | None = []
    played = 0
    while given is not None:
        choices = Choices(given)
        try:
            _play(prepare(), commands, choices, crashes)
        except Violation as found:
            raise Violation("P21", f"{found} in schedule {choices.given[: len(choices.counts)]}") from found
        played += 1
        given = choices.following()
    return played


def _play(env: Environment, commands: dict[str, Command], choices: Choices, crashes: int) -> None:
    people = [Person(name, command) for name, command in commands.items()]
    known: set[tuple[str, str]] = set()
    owed: set[tuple[str, str]] = set()
    lines = Lifecycles(env)
    left = crashes
    while True:
        waiting = [each for each in people if not each.ended]
        if not waiting:
            break
        person = waiting[choices.pick(len(waiting))] if len(waiting) > 1 else waiting[0]
        if person.steps is None:
            person.begin(env)
        else:
            person.perform()
            registry_holds(env, known, owed)
            lines_hold(env, lines)
        if left > 0 and choices.pick(2) == 1:
            left -= 1
            person.crash()
    for name in list(env.memory.stored_datasets):
        run(run_row(env.dependencies, TASK, name), env.memory.clock)
    env.memory.clock.sleep(INDEXED)
    run(notify(env.dependencies), env.memory.clock)
    lines_hold(env, lines)
    if broken := lines.finished(manifests(env)):
        raise Violation(broken.promise, broken.seen)
    for child, version in sorted(owed):
        _has_notice(env, child, version)


def lines_hold(env: Environment, lines: Lifecycles) -> None:
    """What `Lifecycles` promises, and that a dataset with consumers before it is never active without notice."""
    if broken := lines.look(env.memory.events):
        raise Violation(broken.promise, broken.seen)
    now = moment(env.memory.clock.now())
    for each in env.dependencies.registry.contract("shop").versions:
        old = env.dependencies.datasets.get(f"shop/orders_v{major(each.version) - 1}")
        new = env.dependencies.datasets.get(f"shop/orders_v{major(each.version)}")
        if old.consumers and new.notice is None:
            raise Violation("P21", f"{each.version} is in force, and the consumers of {old.name} had no notice")
        if new.notice is not None and new.status_at(now) == "active" and not _was_waited_for(new, now):
            raise Violation("P21", f"{new.name} is active before its notice is over")


def _was_waited_for(line: DatasetState, now: str) -> bool:
    """Whether the time of a notice is over, or everybody has acknowledged it."""
    assert line.notice is not None
    begun = [each for each in line.changes if each.at <= now]
    over = bool(begun[1:]) and instant_of(begun[1].at) - instant_of(begun[0].at) >= NOTICE
    return over or set(line.notice.teams) <= set(line.notice.acknowledged)


def registry_holds(env: Environment, known: set[tuple[str, str]], owed: set[tuple[str, str]]) -> None:
    """P21: what the registry names is there, routes carry the current version, numbers and parents are respected.

    A version is compared when it appears, with the one that it follows then (decision 28); `known` are those before. `owed`: the
    children that are there then and weaker, whose owners get notice of the version.
    """
    registry, lake = env.dependencies.registry, env.memory.objects.current(LAKE)
    contracts = sorted({each.contract for each in registry.snapshot().versions} & {"shop", "acme"})
    for contract in contracts:
        snapshot = registry.contract(contract)
        for each in snapshot.versions:
            keys = {each.document, *(f"plans/{plan}.json" for _, plan in each.plans), *(key for _, key in each.needs)}
            if not keys <= lake.keys():
                raise Violation("P21", f"{contract} {each.version} names what is not in the lake")
            before = find_followed(snapshot, each.version)
            is_new = (contract, each.version) not in known
            known.add((contract, each.version))
            if is_new and before is not None and not _is_compatible(env, before, each):
                raise Violation("P21", f"{each.version} of {contract} is not compatible with {before.version}")
            if is_new and contract == "acme":
                owed |= {
                    (child, each.version) for child in snapshot.children if _weaker(env, _newest(env, child), each)
                }
        for route in registry.routes(LANDING, tuple(each.prefix for each in snapshot.routes)):
            current = leading(snapshot, contract, route.major)
            if current is None or (route.version, route.plan) != (current.version, dict(current.plans)[route.dataset]):
                raise Violation("P21", f"{route.prefix} carries {route.version}, which is not current")
    for child in registry.contract("acme").children:
        _keeps_to_parent(env, child, owed)


@cache
def _alone(before: bytes, after: bytes) -> bool:
    """Whether a document without parents may follow another one; compared once for all schedules."""
    return compare(read_version(before, published=True), read_version(after, published=True)).ok


def _is_compatible(env: Environment, before: Any, after: Any) -> bool:
    if not before.needs and not after.needs:
        return _alone(document_of(env.dependencies, before).text, document_of(env.dependencies, after).text)
    sides = []
    for each in (before, after):
        document = document_of(env.dependencies, each)
        complete = Resolver(pinned_parents(env.dependencies, each.needs)).complete
        sides.append(read_version(document.text, published=True, complete=complete))
    return compare(*sides).ok


def _newest(env: Environment, child: str) -> Publication:
    return max(env.dependencies.registry.contract(child).versions, key=lambda each: precedence(each.version))


def _keeps_to_parent(env: Environment, child: str, owed: set[tuple[str, str]]) -> None:
    """The newest version of a child could inherit from the newest version of its parent, or was there before that."""
    newest = _newest(env, child)
    line, now = major(newest.needs[0][0].rpartition("@")[2]), moment(env.memory.clock.now())
    parent = parent_in_force(env.dependencies.registry.contract("acme"), line, now)
    assert parent is not None
    if (child, parent.version) not in owed and (weaker := _weaker(env, newest, parent)):
        raise Violation("P21", f"{child} {newest.version} is weaker than acme {parent.version}: {weaker}")


def _has_notice(env: Environment, child: str, version: str) -> None:
    """Owners of contracts that are weaker than a version of their parent have notice of it in the end."""
    newest = _newest(env, child)
    parent = next(each for each in env.dependencies.registry.contract("acme").versions if each.version == version)
    notices = env.dependencies.datasets.get(f"{child}/orders_v{major(newest.version)}").parents
    at = {each.version: each.inherited_from for each in notices}
    is_right = parent.inherited_from in {"", at.get(f"acme@{version}")}
    if (f"acme@{version}" not in at or not is_right) and _weaker(env, newest, parent):
        raise Violation("P21", f"the owner of {child} has no notice of acme {version}")


def _weaker(env: Environment, child: Publication, parent: Publication) -> str:
    """Why a version of a child could not inherit from a version of its parent; empty if it could."""
    above = document_of(env.dependencies, parent)
    try:
        read_version(document_of(env.dependencies, child).text, complete=Resolver(lambda *_: above).complete)
    except LakegateError as weaker:
        return str(weaker)
    return ""
