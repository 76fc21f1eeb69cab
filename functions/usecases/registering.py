"""Registers validators, with a record of each act, and finds which rules of a contract they answer when that is published."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from lakegate.contracts.compile.external import AnsweredTechnology
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.lifecycle import LineStatus
from lakegate.contracts.lake.validators import MAX_TECHNOLOGIES, folded
from lakegate.contracts.plan.plan import Plan
from lakegate.functions.ports.registry import Publication
from lakegate.functions.usecases.contract_files import store_document
from lakegate.functions.usecases.parents import document_key
from lakegate.functions.usecases.publish_contract import write
from lakegate.functions.usecases.recording import published_by
from lakegate.functions.usecases.validators import PREFIX, newest, validators

if TYPE_CHECKING:
    from lakegate.contracts.lake.validators import ValidatorService
    from lakegate.functions.ports.registry import RegistrySnapshot
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps

Validators: TypeAlias = Callable[[str], Mapping[str, AnsweredTechnology]]
"""By the name of a dataset, the technologies that are answered for it, by their folded names."""


def add_validator(dependencies: Dependencies, service: ValidatorService) -> Steps[Publication]:
    """Register a validator, or give one another address, secret or other technologies. The same again changes nothing.

    Raises InputError where another validator answers one of the technologies, or the stack would have too many. One that another
    person registers at the same time is seen after the write, by at least one of both; until one is removed, nothing is bound.
    """
    taken = _taken(dependencies, service)
    if len(taken) + len(service.technologies) > MAX_TECHNOLOGIES:
        raise InputError(f"the validators of a stack answer at most {MAX_TECHNOLOGIES} technologies")
    document = service.document

    def decide(seen: RegistrySnapshot) -> Publication:
        return _next(seen, service.name, LineStatus.ACTIVE, document_key(document))

    yield from store_document(dependencies, document)
    publication = yield from write(dependencies, f"{PREFIX}{service.name}", decide, published_by())
    _taken(dependencies, service)
    return publication


def remove_validator(dependencies: Dependencies, name: str) -> Steps[Publication]:
    """Remove a validator: it gets no data any more, and attempts that need it are lost. Raises InputError for an unknown one."""

    def decide(seen: RegistrySnapshot) -> Publication:
        last = newest(seen.versions)
        if last is None:
            raise InputError(f"no validator {name} is registered (lakegate validator list)")
        return _next(seen, name, LineStatus.RETIRED, last.document)

    return (yield from write(dependencies, f"{PREFIX}{name}", decide, published_by()))


def validators_of(dependencies: Dependencies, before: Publication | None) -> Validators:
    """Who answers the rules of a document to publish: who is registered, or, if it was published `before`, whom it had then.

    What is returned raises InputError while a technology has two validators.
    """
    if before is None:
        return _registered(dependencies)
    plans = dict(before.plans)

    def kept(dataset: str) -> Mapping[str, AnsweredTechnology]:
        external = Plan.from_validated(dependencies.plan_at(plans[dataset], "")).external if dataset in plans else ()
        return {folded(each.technology): AnsweredTechnology(each.technology, each.validator) for each in external}

    return kept


def _taken(dependencies: Dependencies, service: ValidatorService) -> Mapping[str, str]:
    """The names of other validators, by folded technology. Raises InputError where one answers a technology of the service."""
    others = [each for each in validators(dependencies) if each.name != service.name]
    taken = {folded(technology): each.name for each in others for technology in each.technologies}
    for technology in service.technologies:
        if folded(technology) in taken:
            raise InputError(
                f"{taken[folded(technology)]} answers {technology} already: remove it first (lakegate validator remove)"
            )
    return taken


def _registered(dependencies: Dependencies) -> Validators:
    found: dict[str, AnsweredTechnology] = {}
    twice: list[str] = []
    for each in validators(dependencies):
        for technology in each.technologies:
            first = found.setdefault(folded(technology), AnsweredTechnology(technology, each.name)).validator
            if first != each.name:
                twice.append(f"{first} and {each.name} both answer {technology}")

    def answered(_dataset: str) -> Mapping[str, AnsweredTechnology]:
        if twice:
            raise InputError(f"{'; '.join(twice)}: remove one of them (lakegate validator remove)")
        return found

    return answered


def _next(seen: RegistrySnapshot, name: str, status: LineStatus, document: str) -> Publication:
    """The next version of a validator, or the newest one where that is so already."""
    last = newest(seen.versions)
    if last is not None and (last.status, last.document) == (status.value, document):
        return last
    number = 1 + (int(last.version.partition(".")[0]) if last else 0)
    return Publication(f"{PREFIX}{name}", f"{number}.0.0", status.value, document, ())
