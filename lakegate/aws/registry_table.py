"""Contracts, versions and routes in DynamoDB."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from lakegate.aws.clients import port_errors
from lakegate.aws.dynamodb_table import BATCH, DynamoTable, decoded, number, text, transact
from lakegate.aws.ledger_table import RECORD_REASONS, head_key, record_puts, record_reasons
from lakegate.errors import AccessDenied, ConditionFailed, InputError, UnreadableItem
from lakegate.gate.ledger.blocks import contract_chain
from lakegate.gate.registry.contract_owners import EVERY_CONTRACT
from lakegate.gate.registry.registry_rows import (
    Proposal,
    Publication,
    RegistryPage,
    RegistrySnapshot,
    Route,
    SeenParent,
    is_among,
)
from lakegate.json_codec import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lakegate.gate.ledger.blocks import Record

# ---- The item of a contract ----


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
    """The separation of a version from contracts of other owners, as JSON; in items of older releases there is nothing."""
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


# ---- Proposals ----


_PROPOSAL: Final = "proposal#"


def _proposal_key(contract: str, version: str) -> dict[str, dict[str, str]]:
    """The key of the proposal of a version."""
    return {"id": text(f"{_PROPOSAL}{contract}#{version}")}


def _proposal_item(proposal: Proposal) -> dict[str, Any]:
    """The item; conditions use its digest."""
    key = _proposal_key(proposal.publication.contract, proposal.publication.version)
    return {**key, "digest": text(proposal.digest), "proposal": text(canonical(proposal).decode())}


def _proposal(item: Mapping[str, Any]) -> Proposal:
    """The proposal of an item."""
    document = json.loads(item["proposal"]["S"])
    content: dict[str, Any] = document.pop("publication") | {"routes": (), "retired": ()}
    pairs = {name: tuple(map(tuple, content[name])) for name in ("plans", "labels", "needs")}
    kept_apart = apart(content.get("shared_with", ()), content.get("own", EVERY_CONTRACT))
    return Proposal(Publication(**content | pairs | kept_apart), **document)


def _if_unchanged(seen: Proposal | None) -> dict[str, Any]:
    """The condition that the item is the one that was seen."""
    if seen is None:
        return {"ConditionExpression": "attribute_not_exists(id)"}
    return {"ConditionExpression": "digest = :seen", "ExpressionAttributeValues": {":seen": text(seen.digest)}}


# ---- Routes and published versions ----


PAGE_ITEMS: Final = 500
"""Items of a page; DynamoDB reads at most one MB of them."""
_OF_A_VERSION: Final = ("contract", "version", "status", "document")
_TEXTS: Final = ("contract", *OF_A_ROUTE)


@dataclass(frozen=True, slots=True)
class DynamoRegistry:
    """Registry."""

    table: DynamoTable
    landing: str
    """The bucket whose prefixes are routed."""
    ledger: DynamoTable

    def routes(self, bucket: str, prefixes: tuple[str, ...]) -> tuple[Route, ...]:
        """One BatchGetItem, strongly consistent; unprocessed keys are requested again."""
        items = self.table.batch([_route_key(bucket, prefix) for prefix in prefixes])
        by_length = sorted(items, key=lambda item: len(item["id"]["S"]), reverse=True)
        found: list[Route] = []
        for item in by_length:
            try:
                found.append(decoded(item, _route))
            except UnreadableItem:
                if not found:  # it is the most specific one: any other may be another line's
                    raise
        return tuple(found)

    def contract(self, contract: str) -> RegistrySnapshot:
        """One item with everything of the contract. Where that is lost, and in a registry of an older release, all are scanned.

        The records of the ledger tell a lost item from a contract that was never published.
        """
        item = self.table.get(contract_key(contract))
        if item is not None:
            return decoded(item, partial(contract_of, contract))
        if self._is_listed() and not self._was_published(contract):
            return RegistrySnapshot()
        return self._found().get(contract, RegistrySnapshot())

    def missing(self, seen: RegistrySnapshot) -> RegistrySnapshot:
        """A batch for each 100 items."""
        wanted = _own_items(seen)
        names = tuple(wanted)
        there: dict[str, Any] = {}
        for start in range(0, len(names), BATCH):
            keys = [{"id": text(name)} for name in names[start : start + BATCH]]
            there |= {item["id"]["S"]: item for item in self.table.batch(keys)}
        return RegistrySnapshot(
            tuple(each for each in seen.versions if _is_other(there, _version_id(each), wanted)),
            tuple(each for each in seen.routes if _is_other(there, _route_id(each.bucket, each.prefix), wanted)),
        )

    def damaged(self) -> Mapping[str, tuple[str, ...]]:
        """One scan, as `snapshot`. An item that cannot be read is left out: it is no other one."""
        items = {item["id"]["S"]: item for item in self._items()}
        lists = {name: item for name, item in items.items() if name.startswith("contract#")}
        wanted = {name: _own_items(snapshot) for name, snapshot in self.table.readable(lists.values(), _named_contract)}
        found: dict[str, set[str]] = {}
        for name, of_it in wanted.items():
            lost = {each for each in of_it if _is_other(items, each, of_it) and _is_readable(items.get(each))}
            found.setdefault(name.partition("#")[2], set()).update(lost)
        for name, item in items.items():
            if name.startswith(("version#", "route#")) and "contract" in item:
                list_name = f"contract#{item['contract']['S']}"
                is_unreadable = list_name in lists and list_name not in wanted
                if not is_unreadable and name not in wanted.get(list_name, {}):
                    found.setdefault(item["contract"]["S"], set()).add(list_name)
        return {name: tuple(sorted(lost)) for name, lost in sorted(found.items()) if lost}

    def publish(
        self,
        publication: Publication,
        seen: RegistrySnapshot | None = None,
        record: Record | None = None,
        parent: SeenParent | None = None,
        proposal: Proposal | None = None,
    ) -> None:
        """One transaction: version, routes, routes taken away, the items of contract and parent, the proposal, and the record."""
        before = self.contract(publication.contract) if seen is None else seen
        if before.revision == 0 and not self._is_listed():
            self._list_contracts()
            before = self.contract(publication.contract) if seen is None else seen
        parents = () if parent is None else (parent,)
        writes = [
            {"Put": _version(publication)},
            *({"Put": _claimed(route)} for route in publication.routes),
            *({"Delete": self._retired(publication, prefix)} for prefix in publication.retired),
            {"Put": listed(publication.contract, before.after(publication))},
            *({"Put": listed(each.contract, each.seen.with_child(publication.contract))} for each in parents),
        ]
        prefixes = len(publication.routes) + len(publication.retired)
        reasons = ["version", *["prefix"] * prefixes, "contract", *["parent" for _ in parents]]
        if proposal is not None:
            key = _proposal_key(publication.contract, publication.version)
            writes.append({"Delete": {"Key": key, **_if_unchanged(proposal)}})
            reasons.append("proposal")
        named = [{name: {"TableName": self.table.name, **write}} for each in writes for name, write in each.items()]
        if record is None:
            transact(self.table.client, named, reasons)
            return
        recorded = record_puts(self.ledger.name, record)
        try:
            transact(self.table.client, [*named, *recorded], [*reasons, *RECORD_REASONS])
        except ConditionFailed as failed:
            own, of_record = failed.reasons[: -len(recorded)], failed.reasons[-len(recorded) :]
            raise ConditionFailed(*own, *record_reasons(of_record)) from None

    def _was_published(self, contract: str) -> bool:
        """Whether the ledger has records of a contract; not, for who may not read it: publishers may."""
        try:
            return self.ledger.get(head_key(contract_chain(contract))) is not None
        except AccessDenied:
            return False

    def _is_listed(self) -> bool:
        """Whether every contract that is published has an item."""
        return self.table.get(contract_key("")) is not None

    def _list_contracts(self) -> None:
        """Write the item of each contract that an older release published, then the mark that all have one."""
        for name, snapshot in (*self._found().items(), ("", RegistrySnapshot())):
            written = listed(name, replace(snapshot, revision=1))
            with suppress(ConditionFailed):
                self.table.put(written.pop("Item"), "contract", **written)

    def _found(self) -> Mapping[str, RegistrySnapshot]:
        """All contracts, by the items of their versions and routes. Raises UnreadableItem: lists are written of this."""
        versions: dict[str, list[Publication]] = {}
        routes: dict[str, list[Route]] = {}
        children: dict[str, set[str]] = {}
        everything = self._items()
        for item in _of_kind(everything, "version"):
            version = decoded(item, _publication)
            versions.setdefault(version.contract, []).append(version)
            children.setdefault(version.parent, set()).add(version.contract)
        for item in _of_kind(everything, "route"):
            route = decoded(item, _route)
            routes.setdefault(route.contract, []).append(route)
        return {
            name: RegistrySnapshot(
                tuple(versions.get(name, ())),
                tuple(routes.get(name, ())),
                children=tuple(sorted(children.get(name, ()))),
            )
            for name in {**versions, **routes}
        }

    def snapshot(self, prefix: str = "") -> RegistrySnapshot:
        """A consistent scan: a registry holds as many items as people have written."""
        everything = self._items()
        read = self.table.readable(_of_kind(everything, "version"), _publication)
        versions = {_version_id(each): each for each in read}
        for _name, contract in self.table.readable(_of_kind(everything, "contract"), _named_contract):
            for each in contract.versions:
                versions.setdefault(_version_id(each), each)
        return RegistrySnapshot(
            tuple(each for each in versions.values() if is_among(each.contract, prefix)),
            tuple(self.table.readable(_of_kind(everything, "route"), _route)),
        )

    def page(self, after: str, prefix: str = "") -> RegistryPage:
        """One Scan of at most `PAGE_ITEMS` items of any kind; a registry of an older release is one page."""
        if not after and not self._is_listed():
            return RegistryPage(tuple(each for name, each in self._found().items() if is_among(name, prefix)), "")
        start: Any = {"ExclusiveStartKey": {"id": text(after)}} if after else {}
        with port_errors():
            answer = self.table.client.scan(
                TableName=self.table.name,
                ConsistentRead=True,
                Limit=PAGE_ITEMS,
                FilterExpression="begins_with(id, :kind)",
                ExpressionAttributeValues={":kind": contract_key("")["id"]},
                **start,
            )
        items = (each for each in answer["Items"] if is_among(_contract_id(each), prefix))
        found = self.table.readable(items, lambda item: contract_of(_contract_id(item), item))
        return RegistryPage(tuple(found), answer.get("LastEvaluatedKey", {}).get("id", {}).get("S", ""))

    def propose(self, proposal: Proposal, seen: Proposal | None) -> None:
        """A put, and the revision of the contract, in one transaction."""
        put = {"TableName": self.table.name, "Item": _proposal_item(proposal), **_if_unchanged(seen)}
        key = contract_key(proposal.publication.contract)
        base = {"TableName": self.table.name, "Key": key, **at_revision(proposal.base)}
        transact(self.table.client, [{"Put": put}, {"ConditionCheck": base}], ("proposal", "contract"))

    def proposal(self, contract: str, version: str) -> Proposal | None:
        """A strongly consistent read."""
        item = self.table.get(_proposal_key(contract, version))
        return decoded(item, _proposal) if item else None

    def proposals(self) -> tuple[Proposal, ...]:
        """A consistent scan."""
        items = (item for item in self._items() if item["id"]["S"].startswith(_PROPOSAL))
        return tuple(self.table.readable(items, _proposal))

    def _items(self) -> list[Mapping[str, Any]]:
        scan = self.table.client.get_paginator("scan").paginate(TableName=self.table.name, ConsistentRead=True)
        with port_errors():
            return [item for page in scan for item in page["Items"]]

    def _retired(self, publication: Publication, prefix: str) -> dict[str, Any]:
        return {
            "Key": _route_key(self.landing, prefix),
            "ConditionExpression": "attribute_not_exists(id) OR contract = :contract",
            "ExpressionAttributeValues": {":contract": text(publication.contract)},
        }


def _route_id(bucket: str, prefix: str) -> str:
    return f"route#{bucket}/{prefix}"


def _route_key(bucket: str, prefix: str) -> dict[str, dict[str, str]]:
    return {"id": text(_route_id(bucket, prefix))}


def _version_id(publication: Publication) -> str:
    return f"version#{publication.contract}#{publication.version}"


def _contract_id(item: Mapping[str, Any]) -> str:
    return str(item["id"]["S"].partition("#")[2])


def _named_contract(item: Mapping[str, Any]) -> tuple[str, RegistrySnapshot]:
    """The key of the item of a contract, and the contract."""
    return item["id"]["S"], contract_of(_contract_id(item), item)


def _of_kind(items: Iterable[Mapping[str, Any]], kind: str) -> Iterator[Mapping[str, Any]]:
    return (item for item in items if item["id"]["S"].startswith(f"{kind}#"))


def _route(item: Mapping[str, Any]) -> Route:
    return Route(major=int(item["major"]["N"]), **{name: item[name]["S"] for name in _TEXTS})


def _publication(item: Mapping[str, Any]) -> Publication:
    shared_with, own = apart(*json.loads(item["apart"]["S"]) if "apart" in item else ()).values()
    plans = tuple(sorted((dataset, plan["S"]) for dataset, plan in item["plans"]["M"].items()))
    unmeasured = int(item.get("unmeasured_rules", number(0))["N"])
    return Publication(
        routes=(),
        plans=plans,
        unmeasured_rules=unmeasured,
        labels=pairs(json.loads(item["labels"]["S"])) if "labels" in item else (),
        needs=pairs(json.loads(item["needs"]["S"])) if "needs" in item else (),
        inherited_from=item["inherited_from"]["S"] if "inherited_from" in item else "",
        shared_with=shared_with,
        own=own,
        **{name: item[name]["S"] for name in _OF_A_VERSION},
    )


def _version(publication: Publication) -> dict[str, Any]:
    return {
        "Item": {
            "id": text(_version_id(publication)),
            **{name: text(getattr(publication, name)) for name in _OF_A_VERSION},
            "plans": {"M": {dataset: text(plan) for dataset, plan in publication.plans}},
            "unmeasured_rules": number(publication.unmeasured_rules),
            "labels": text(json.dumps(publication.labels)),
            "needs": text(json.dumps(publication.needs)),
            **({"inherited_from": text(publication.inherited_from)} if publication.inherited_from else {}),
            "apart": text(json.dumps([publication.shared_with, publication.own])),
        },
        "ConditionExpression": "attribute_not_exists(id) OR document = :document",
        "ExpressionAttributeValues": {":document": text(publication.document)},
    }


def _own_items(seen: RegistrySnapshot) -> dict[str, Any]:
    """The item of each version and route of a contract, by its id."""
    versions = {_version_id(each): _version(each)["Item"] for each in seen.versions}
    return versions | {_route_id(each.bucket, each.prefix): _claimed(each)["Item"] for each in seen.routes}


def _is_readable(item: Mapping[str, Any] | None) -> bool:
    try:
        if item is not None:
            decoded(item, _publication if item["id"]["S"].startswith("version#") else _route)
    except UnreadableItem:
        return False
    return True


def _is_other(there: Mapping[str, Any], name: str, wanted: Mapping[str, Any]) -> bool:
    """Whether an item is lost, or is not as it should be; a newer release may have written more attributes."""
    found = there.get(name, {})
    return any(found.get(attribute) != value for attribute, value in wanted[name].items())


def _claimed(route: Route) -> dict[str, Any]:
    return {
        "Item": {
            **_route_key(route.bucket, route.prefix),
            **{name: text(getattr(route, name)) for name in _TEXTS},
            "major": number(route.major),
        },
        "ConditionExpression": "attribute_not_exists(id) OR (contract = :contract AND dataset = :dataset)",
        "ExpressionAttributeValues": {":contract": text(route.contract), ":dataset": text(route.dataset)},
    }
