"""Routes as commands print them and the HTTP API has them: listed, added, removed by the owner of their contract."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias
from urllib.parse import urlsplit

from lakegate.admission.ignored_keys import is_ignored
from lakegate.base.errors import InputError
from lakegate.base.json_codec import select_fields
from lakegate.base.text import join_words
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.gate.dependencies import Dependencies, Places
from lakegate.gate.registry.named_contract import chosen
from lakegate.gate.registry.registry_rows import Publication, RegistrySnapshot, Route
from lakegate.gate.registry.routes import (
    ANYBODY,
    RouteOwner,
    add_route,
    effects,
    leading,
    plan_route,
    refuse_foreign,
    remove_route,
    usable,
)

Agree: TypeAlias = Callable[[Iterable[str]], None]
"""Confirm effects: raises what it likes where a person does not agree."""


@dataclass(frozen=True, slots=True)
class DescribedRoute:
    """A route: objects below a prefix belong to a dataset."""

    bucket: str
    prefix: str
    contract: str
    dataset: str
    full_name: str = field(metadata=DATASET_KEY)
    version: str
    status: str
    plan: str


@dataclass(frozen=True, slots=True)
class Routes:
    """All routes, by prefix."""

    routes: tuple[DescribedRoute, ...]


@dataclass(frozen=True, slots=True)
class WantedRoute:
    """A route that somebody wants."""

    prefix: str
    """The last slash may be left out."""
    contract: str
    """Its id, or the beginning of it."""
    dataset: str | None = None
    """None: the only one."""
    major: int | None = None
    """Its major version; None: the newest."""


def described_route(route: Route) -> DescribedRoute:
    """A route as it is printed."""
    return select_fields(DescribedRoute, route)


def described_routes(routes: Iterable[Route]) -> Routes:
    """Routes as they are printed."""
    return Routes(tuple(map(described_route, sorted(routes, key=lambda route: route.prefix))))


def publish_route(
    dependencies: Dependencies, seen: RegistrySnapshot, wanted: WantedRoute, agree: Agree, owner: RouteOwner = ANYBODY
) -> DescribedRoute:
    """Add a route to a contract of the registry as it was `seen`, once its effects are confirmed; twice is once.

    Raises InputError for what cannot be added, and for a prefix that is not the owner's, before anything is told of it.
    """
    newest = chosen(seen, wanted.contract)
    number = newest.major if wanted.major is None else wanted.major
    first = leading(seen, newest.contract, number) or newest
    prefix = folders(wanted.prefix)
    refuse_foreign(dependencies, prefix, newest.contract, owner)
    place = (prefix, newest.contract, _dataset(first, wanted.dataset), number)
    written = newest.contract if wanted.contract == newest.id else wanted.contract
    agree(effects(dependencies, plan_route(dependencies, *place), written))
    return described_route(dependencies.run(add_route(dependencies, *place)))


def withdraw_route(dependencies: Dependencies, prefix: str, contract: str | None = None) -> DescribedRoute:
    """Remove a route, of this contract if one is given. Raises InputError where there is none."""
    return described_route(dependencies.run(remove_route(dependencies, folders(prefix), contract)))


# ---- Routes that documents propose ----
# A document of DCM says where its data lands (`access.location`). That is a wish of its owner: the command only shows it; over
# HTTP, where nobody else would add a route, it is added with the first version, if the prefix is the publisher's and is free.


def proposed_prefix(document: bytes, contract: str, places: Places) -> str:
    """The prefix that a document of DCM proposes by `access.location`; empty for other documents, and where data is not pushed.

    The folders of its path; where it has none that can be a prefix, or names another bucket, a folder with the contract's id.
    """
    from lakegate.contract.documents.read_document import document_of  # noqa: PLC0415 - yaml, for documents that are published

    access = document_of(document).top["access"]
    location, event_type = access["location"].text, access["eventType"].text
    if not location or str(event_type).casefold() != "push":
        return ""
    own = f"{places.landing_prefix}{contract}/"
    try:
        parts = urlsplit(location)
        path = folders(parts.path.strip("/"))
        found = path if path.startswith(places.landing_prefix) else f"{places.landing_prefix}{path}"
        usable(found)
    except (ValueError, InputError):
        return own
    is_elsewhere = parts.scheme == "s3" and parts.netloc != places.landing
    odd = {"", ".", ".."}.intersection(found.split("/")[:-1]) or not found.isprintable()
    return own if is_elsewhere or odd or is_ignored(f"{found}x", 1, places.ignored) else found


def add_proposed(dependencies: Dependencies, prefix: str, contract: str, owner: RouteOwner) -> None:
    """Add the proposed route of a contract that has one version and no route. Raises InputError where that may not be."""
    seen = dependencies.registry.contract(contract)
    if len(seen.versions) > 1:
        raise InputError("only the first version of a contract adds the route that it proposes")
    if dependencies.places.needs_approval:
        raise InputError("on this stack routes are added with rights in the account (lakegate route add)")
    publish_route(
        dependencies, seen, WantedRoute(prefix, contract), _refuse_effects, RouteOwner((contract,), owner.prefixes)
    )


def _refuse_effects(effects: Iterable[str]) -> None:
    if found := tuple(effects):
        raise InputError("; ".join(found))


def folders(prefix: str) -> str:
    """A prefix with its last slash."""
    return prefix if prefix.endswith("/") else f"{prefix}/"


def _dataset(version: Publication, name: str | None) -> str:
    names = [dataset for dataset, _plan in version.plans]
    if name is None and len(names) == 1:
        return names[0]
    if name not in names:
        raise InputError(
            f"choose a dataset of {version.contract} {version.version} with --dataset: {join_words(names)}"
        )
    return name
