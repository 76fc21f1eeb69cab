"""Validators of a stack: address, technologies, secret."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from lakegate.base.errors import InputError
from lakegate.base.json_codec import canonical
from lakegate.contract.semantic_versions import precedence
from lakegate.gate.datasets.dataset_states import DatasetStatus
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Steps
from lakegate.gate.registry.contract_versions import document_key, published_by, store_document, write
from lakegate.gate.registry.registry_rows import Publication, RegistrySnapshot
from lakegate.plan.external_rule import AnsweredTechnology
from lakegate.plan.plan import Plan

# ---- Validators of the stack (DCM 3.3.3) ----


NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,39}", re.ASCII)
TECHNOLOGY: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9 _.-]{0,38}[A-Za-z0-9])?", re.ASCII)
SECRET: Final = re.compile(r"[\w-]{1,64}", re.ASCII)
MAX_TECHNOLOGIES: Final = 10
"""Of a stack. Each is a validation of its own for a delivery, and a name in its result."""
LONGEST_URL: Final = 500
ADDRESS: Final = re.compile(
    r"https://[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(:[1-9][0-9]{0,4})?(/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class ValidatorService:
    """A registered validator."""

    name: str
    url: str
    """Its base address; `/v1/validation/start` follows."""
    technologies: tuple[str, ...]
    """Whose rules it measures."""
    secret: str = ""
    """The name of the secret with its credentials, behind the prefix of the stack; empty: requests are signed by IAM (SigV4)."""

    @property
    def document(self) -> bytes:
        """As it is kept."""
        return canonical(self)


def service_of(name: str, url: str, technologies: Sequence[str], secret: str = "") -> ValidatorService:
    """A validator to register. Raises InputError for what cannot be one."""
    if not NAME.fullmatch(name):
        raise InputError(
            "the name of a validator has small letters, digits and hyphens, at most 40, and begins with a letter"
        )
    if len(url) > LONGEST_URL or not ADDRESS.fullmatch(url):
        raise InputError("the address of a validator is https://HOST[:PORT][/PATH], without user, query and fragment")
    if not technologies or not all(map(TECHNOLOGY.fullmatch, technologies)):
        raise InputError(
            "name each technology as contracts do: at most 40 letters, digits, spaces and _.- (--technology GreatExpectations)"
        )
    if len({fold_technology(technology) for technology in technologies}) != len(technologies):
        raise InputError("a technology is named twice")
    if secret and not SECRET.fullmatch(secret):
        raise InputError("the name of a secret has letters, digits, _ and -, at most 64")
    return ValidatorService(name, url.rstrip("/"), tuple(technologies), secret)


def refuse_host(service: ValidatorService, hosts: str) -> None:
    """Raise InputError for a host that the stack does not ask; `hosts`: its parameter ValidatorHosts."""
    host = urlsplit(service.url).hostname or ""
    if host not in hosts.lower().split(","):
        known = f"it has {hosts}" if hosts else "it is empty"
        raise InputError(
            f"the stack does not ask {host}: deploy it with this host in its parameter ValidatorHosts ({known}), then register"
            " the validator"
        )


def read_service(body: bytes) -> ValidatorService:
    """A validator as it was kept."""
    document = json.loads(body)
    return ValidatorService(document["name"], document["url"], tuple(document["technologies"]), document["secret"])


def fold_technology(technology: str) -> str:
    """A technology without the differences of spelling that contracts have: `great-expectations` is `GreatExpectations`."""
    return "".join(filter(str.isalnum, technology.lower()))


# ---- Documents in the registry ----
# A rule is bound to a validator by its name, in the plan that is pinned. Address and secret are those of the stack when an
# attempt begins: a service that moves needs no new contract version, and one that is removed gets no data any more.


PREFIX: Final = "_validator:"
"""Of the ids of validators in the registry."""


def validators(dependencies: Dependencies) -> tuple[ValidatorService, ...]:
    """The registered validators, by name."""
    versions: dict[str, list[Publication]] = {}
    for version in dependencies.registry.snapshot(PREFIX).versions:
        versions.setdefault(version.contract, []).append(version)
    services = (_active(dependencies, versions[name]) for name in sorted(versions))
    return tuple(entry for entry in services if entry is not None)


def validator_named(dependencies: Dependencies, name: str) -> ValidatorService | None:
    """A registered validator as it is now; None if none has this name."""
    return _active(dependencies, dependencies.registry.contract(f"{PREFIX}{name}").versions)


def newest(versions: Iterable[Publication]) -> Publication | None:
    """The latest version of a validator; None of one that was never registered."""
    return max(versions, key=lambda version: precedence(version.version), default=None)


def _active(dependencies: Dependencies, versions: Iterable[Publication]) -> ValidatorService | None:
    publication = newest(versions)
    if publication is None or publication.status != DatasetStatus.ACTIVE.value:
        return None
    return read_service(dependencies.read_lake(publication.document))


# ---- Registration, with a record of each act ----


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
        return _next(seen, service.name, DatasetStatus.ACTIVE, document_key(document))

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
        return _next(seen, name, DatasetStatus.RETIRED, last.document)

    return (yield from write(dependencies, f"{PREFIX}{name}", decide, published_by()))


Validators: TypeAlias = Callable[[str], Mapping[str, AnsweredTechnology]]
"""By the name of a dataset, the technologies that are answered for it, by their folded names."""


def validators_of(dependencies: Dependencies, before: Publication | None, _own: tuple[str, ...] = ()) -> Validators:
    """The validators for a document to publish: those registered, or, if it was published `before`, those that it had then.

    What is returned raises InputError while a technology has two validators.
    """
    if before is None:
        technologies: dict[str, AnsweredTechnology] = {}
        twice: list[str] = []
        for described in validators(dependencies):
            for technology in described.technologies:
                first = technologies.setdefault(
                    fold_technology(technology), AnsweredTechnology(technology, described.name)
                ).validator
                if first != described.name:
                    twice.append(f"{first} and {described.name} both answer {technology}")

        def answered(_dataset: str) -> Mapping[str, AnsweredTechnology]:
            if twice:
                raise InputError(f"{'; '.join(twice)}: remove one of them (lakegate validator remove)")
            return technologies

        return answered
    plans = dict(before.plans)

    def kept(dataset: str) -> Mapping[str, AnsweredTechnology]:
        external = Plan.from_bytes(dependencies.plan_at(plans[dataset], "")).external if dataset in plans else ()
        return {
            fold_technology(entry.technology): AnsweredTechnology(entry.technology, entry.validator)
            for entry in external
        }

    return kept


def _taken(dependencies: Dependencies, service: ValidatorService) -> Mapping[str, str]:
    """The names of other validators, by folded technology. Raises InputError where one answers a technology of the service."""
    others = [validator for validator in validators(dependencies) if validator.name != service.name]
    taken = {fold_technology(technology): other.name for other in others for technology in other.technologies}
    for technology in service.technologies:
        if fold_technology(technology) in taken:
            raise InputError(
                f"{taken[fold_technology(technology)]} answers {technology} already: remove it first (lakegate validator remove)"
            )
    return taken


def _next(seen: RegistrySnapshot, name: str, status: DatasetStatus, document: str) -> Publication:
    """The next version of a validator, or the newest one where that is so already."""
    last = newest(seen.versions)
    if last is not None and (last.status, last.document) == (status.value, document):
        return last
    number = 1 + (int(last.version.partition(".")[0]) if last else 0)
    return Publication(f"{PREFIX}{name}", f"{number}.0.0", status.value, document, ())
