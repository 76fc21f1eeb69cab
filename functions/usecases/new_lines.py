"""How a line begins: as a draft, after a notice period, or at once; and how a draft is put in force."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.lifecycle import LineStatus, Notice, moment
from lakegate.contracts.lake.routes import line_of, parts_of
from lakegate.contracts.lake.transitions import activated, announced, drafted, noticed, reactivate
from lakegate.contracts.lake.versions import major, precedence
from lakegate.contracts.model.contract import NOTICE_DAYS
from lakegate.functions.usecases.lifecycle import change
from lakegate.functions.usecases.succession import read_published

if TYPE_CHECKING:
    from lakegate.contracts.lake.lifecycle import Line
    from lakegate.functions.ports.registry import Publication, RegistrySnapshot
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.publish_contract import CompiledContract
    from lakegate.functions.usecases.steps import Steps


def begin_lines(dependencies: Dependencies, seen: RegistrySnapshot, compiled: CompiledContract) -> Steps[None]:
    """Before the first version of a line is published: it is a draft, or waits for the subscribers of the line before.

    Nothing can be delivered to a line without a version, so that nobody finds it active before.
    """
    number = major(compiled.version)
    for dataset in compiled.plans:
        if not versions_of(seen, dataset, number):
            name = line_of(compiled.contract, dataset, number)
            if compiled.draft:
                yield from change(dependencies, name, "draft", drafted)
            else:
                yield from put_in_force(dependencies, seen, name, compiled.version)
    yield from _announce_end(dependencies, seen, compiled)


def _announce_end(dependencies: Dependencies, seen: RegistrySnapshot, compiled: CompiledContract) -> Steps[None]:
    """Deprecate the lines that a deprecated version leads, once: not when it is published again."""
    is_known = any((each.version, each.status) == (compiled.version, compiled.status) for each in seen.versions)
    if compiled.end is None or is_known:
        return
    ending, sunset_day = compiled.end
    for dataset in compiled.plans:
        known = versions_of(seen, dataset, major(compiled.version))
        if not known or precedence(known[-1].version) <= precedence(compiled.version):
            name = line_of(compiled.contract, dataset, major(compiled.version))
            decide = partial(announced, ending=ending, sunset_day=sunset_day)
            yield from change(dependencies, name, "deprecate", decide)


def end_drafts(dependencies: Dependencies, seen: RegistrySnapshot, compiled: CompiledContract) -> Steps[None]:
    """After a version was published that is no draft: drafts of its lines are put in force."""
    now = moment(dependencies.clock.now())
    for dataset in () if compiled.draft else compiled.plans:
        line = dependencies.lines.get(line_of(compiled.contract, dataset, major(compiled.version)))
        if line.notice is None and line.status_at(now) is LineStatus.DRAFT:
            yield from put_in_force(dependencies, seen, line.name, compiled.version)


def are_drafts(dependencies: Dependencies, seen: RegistrySnapshot, compiled: CompiledContract) -> bool:
    """Whether all lines of a draft are new, or drafts themselves."""
    number, now = major(compiled.version), moment(dependencies.clock.now())
    begun = (each for each in compiled.plans if versions_of(seen, each, number))
    lines = (dependencies.lines.get(line_of(compiled.contract, each, number)) for each in begun)
    return all(line.status_at(now) is LineStatus.DRAFT for line in lines)


def drafts_of(dependencies: Dependencies, published: Publication) -> list[Line]:
    """The lines of a version that are drafts now."""
    now = moment(dependencies.clock.now())
    names = (line_of(published.contract, dataset, major(published.version)) for dataset, _plan in published.plans)
    return [line for line in map(dependencies.lines.get, names) if line.status_at(now) is LineStatus.DRAFT]


def reactivate_line(dependencies: Dependencies, name: str) -> Steps[Line]:
    """The command `reactivate`: of a draft, the subscribers of the line before have their notice period."""
    now = moment(dependencies.clock.now())
    line = dependencies.lines.get(name)
    if line.notice is not None or line.status_at(now) is not LineStatus.DRAFT:
        return (yield from change(dependencies, name, "reactivate", reactivate))
    contract, dataset, number = parts_of(name)
    seen = dependencies.registry.contract(contract)
    versions = versions_of(seen, dataset, number)
    if not versions:
        raise InputError(f"{name} has no published version")
    return (yield from put_in_force(dependencies, seen, name, versions[-1].version))


def put_in_force(dependencies: Dependencies, seen: RegistrySnapshot, name: str, version: str) -> Steps[Line]:
    """Make a new line or a draft active: at once, or after the notice period of the line before if it has subscribers."""
    before = _line_before(dependencies, seen, name)
    if before is None:
        return (yield from change(dependencies, name, "reactivate", activated))
    notice = Notice(version, before.name, before.consumers)
    period = _notice_period(dependencies, seen, before.name)
    return (yield from change(dependencies, name, "notice", partial(noticed, notice=notice, period=period)))


def versions_of(seen: RegistrySnapshot, dataset: str, number: int) -> list[Publication]:
    """The published versions of a line, by number."""
    found = (each for each in seen.standing if major(each.version) == number and dataset in dict(each.plans))
    return sorted(found, key=lambda each: precedence(each.version))


def _line_before(dependencies: Dependencies, seen: RegistrySnapshot, name: str) -> Line | None:
    """The line of the highest lower major number that has subscribers and is not retired."""
    now = moment(dependencies.clock.now())
    contract, dataset, number = parts_of(name)
    lower = {
        major(each.version) for each in seen.versions if major(each.version) < number and dataset in dict(each.plans)
    }
    lines = (dependencies.lines.get(line_of(contract, dataset, each)) for each in sorted(lower, reverse=True))
    return next((each for each in lines if each.consumers and each.status_at(now) is not LineStatus.RETIRED), None)


def _notice_period(dependencies: Dependencies, seen: RegistrySnapshot, before: str) -> timedelta:
    """What the current version of the line before promises its consumers, itself or by its parents."""
    _, dataset, number = parts_of(before)
    found = read_published(dependencies, versions_of(seen, dataset, number)[-1]).contract.dataset(dataset)
    return timedelta(days=found.notice_days if found else NOTICE_DAYS)
