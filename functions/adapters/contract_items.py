"""The item of the registry that lists all versions and routes of a contract."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.owners import EVERY_CONTRACT
from lakegate.contracts.lake.routes import Route
from lakegate.functions.adapters.tables import number, text
from lakegate.functions.ports.registry import Publication, RegistrySnapshot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

OF_A_ROUTE: Final = ("bucket", "prefix", "dataset", "version", "status", "plan")
MAX_CONTENT: Final = 390_000
"""Bytes of the versions and routes of one contract: an item of DynamoDB has at most 400 KB."""


def contract_key(contract: str) -> dict[str, dict[str, str]]:
    """The key of the item of a contract."""
    return {"id": text(f"contract#{contract}")}


def contract_of(contract: str, item: Mapping[str, Any]) -> RegistrySnapshot:
    """The contract, by its item."""
    content = json.loads(item["content"]["S"])
    versions = tuple(
        Publication(
            contract,
            version,
            status,
            document,
            (),
            plans=pairs(plans),
            unmeasured_rules=unmeasured_rules,
            labels=pairs(labels),
            needs=pairs(more[0]) if more else (),
            inherited_from=more[1] if len(more) > 1 else "",
            **apart(*more[2:]),
        )
        for version, status, document, plans, unmeasured_rules, labels, *more in content["versions"]
    )
    names = (*OF_A_ROUTE, "major")
    routes = tuple(Route(contract=contract, **{name: route[name] for name in names}) for route in content["routes"])
    known = {"versions", "routes", "children"}
    unknown = json.dumps({name: value for name, value in content.items() if name not in known})
    return RegistrySnapshot(versions, routes, int(item["revision"]["N"]), tuple(content.get("children", ())), unknown)


def apart(shared_with: Sequence[str] = (), own: Sequence[str] = EVERY_CONTRACT) -> dict[str, tuple[str, ...]]:
    """What keeps a version apart from contracts of other owners, as JSON has it; in items of older releases there is nothing."""
    return {"shared_with": tuple(shared_with), "own": tuple(own)}


def _is_apart(publication: Publication) -> bool:
    return (publication.shared_with, publication.own) != ((), EVERY_CONTRACT)


def pairs(listed: Sequence[Sequence[str]]) -> tuple[tuple[str, str], ...]:
    """Pairs of texts, as JSON has them."""
    return tuple((name, value) for name, value in listed)


def listed(contract: str, snapshot: RegistrySnapshot) -> dict[str, Any]:
    """The item of a contract, written if it is one revision older."""
    versions = [
        (
            each.version,
            each.status,
            each.document,
            each.plans,
            each.unmeasured_rules,
            each.labels,
            each.needs,
            *([each.inherited_from] if each.inherited_from or _is_apart(each) else []),
            *([each.shared_with, each.own] if _is_apart(each) else []),
        )
        for each in snapshot.versions
    ]
    routes = [{name: getattr(each, name) for name in (*OF_A_ROUTE, "major")} for each in snapshot.routes]
    children = {"children": snapshot.children} if snapshot.children else {}
    unknown: dict[str, Any] = json.loads(snapshot.unknown)
    content = json.dumps(unknown | {"versions": versions, "routes": routes, **children}, separators=(",", ":"))
    if len(content) > MAX_CONTENT:
        raise InputError(
            f"the versions, routes and children of {contract} need more than {MAX_CONTENT:,} bytes: use another id"
        )
    return {
        "Item": {**contract_key(contract), "revision": number(snapshot.revision), "content": text(content)},
        **at_revision(snapshot.revision - 1),
    }


def at_revision(revision: int) -> dict[str, Any]:
    """The condition that the item of a contract has this revision; 0: there is none."""
    if revision == 0:
        return {"ConditionExpression": "attribute_not_exists(id)"}
    return {
        "ConditionExpression": "revision = :seen",
        "ExpressionAttributeValues": {":seen": number(revision)},
    }
