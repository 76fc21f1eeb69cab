"""The registry: routes and published versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.lake.routes import Route
from lakegate.functions.adapters.dynamodb import DynamoTable, transact
from lakegate.functions.adapters.errors import port_errors
from lakegate.functions.adapters.tables import number, text
from lakegate.functions.ports.errors import Throttled
from lakegate.functions.ports.registry import Publication, RegistrySnapshot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROUNDS: Final = 3
"""How often the unprocessed part of a batch is requested before the batch counts as throttled."""
_OF_A_VERSION: Final = ("contract", "version", "status", "document")
_TEXTS: Final = ("bucket", "prefix", "contract", "dataset", "version", "status", "plan")


@dataclass(frozen=True, slots=True)
class DynamoRegistry:
    """Registry."""

    table: DynamoTable
    landing: str
    """The bucket whose prefixes are routed."""

    def routes(self, bucket: str, prefixes: tuple[str, ...]) -> tuple[Route, ...]:
        """One BatchGetItem, strongly consistent; unprocessed keys are requested again."""
        items: list[Mapping[str, Any]] = []
        keys: Sequence[Mapping[str, Any]] = [_route_key(bucket, prefix) for prefix in prefixes]
        for _ in range(ROUNDS):
            if not keys:
                break
            with port_errors():
                answer = self.table.client.batch_get_item(
                    RequestItems={self.table.name: {"Keys": keys, "ConsistentRead": True}}
                )
            items += answer["Responses"].get(self.table.name, [])
            keys = answer["UnprocessedKeys"].get(self.table.name, {"Keys": []})["Keys"]
        if keys:
            raise Throttled("BatchGetItem")
        return tuple(map(_route, items))

    def publish(self, publication: Publication) -> None:
        """One transaction: version item, routes, routes taken away."""
        writes = [
            {"Put": _version(publication)},
            *({"Put": _claimed(route)} for route in publication.routes),
            *({"Delete": self._retired(publication, prefix)} for prefix in publication.retired),
        ]
        named = [{name: {"TableName": self.table.name, **write}} for each in writes for name, write in each.items()]
        transact(self.table.client, named, ("version", *["prefix"] * (len(writes) - 1)))

    def snapshot(self) -> RegistrySnapshot:
        """A consistent scan: a registry holds as many items as people have written."""
        scan = self.table.client.get_paginator("scan").paginate(TableName=self.table.name, ConsistentRead=True)
        with port_errors():
            items = [item for page in scan for item in page["Items"]]
        return RegistrySnapshot(
            versions=tuple(_publication(item) for item in items if item["id"]["S"].startswith("version#")),
            routes=tuple(_route(item) for item in items if item["id"]["S"].startswith("route#")),
        )

    def _retired(self, publication: Publication, prefix: str) -> dict[str, Any]:
        return {
            "Key": _route_key(self.landing, prefix),
            "ConditionExpression": "attribute_not_exists(id) OR contract = :contract",
            "ExpressionAttributeValues": {":contract": text(publication.contract)},
        }


def _route_key(bucket: str, prefix: str) -> dict[str, dict[str, str]]:
    return {"id": text(f"route#{bucket}/{prefix}")}


def _route(item: Mapping[str, Any]) -> Route:
    return Route(major=int(item["major"]["N"]), **{name: item[name]["S"] for name in _TEXTS})


def _publication(item: Mapping[str, Any]) -> Publication:
    plans = tuple(sorted((dataset, plan["S"]) for dataset, plan in item["plans"]["M"].items()))
    unmeasured = int(item.get("unmeasured_rules", number(0))["N"])
    return Publication(
        routes=(), plans=plans, unmeasured_rules=unmeasured, **{name: item[name]["S"] for name in _OF_A_VERSION}
    )


def _version(publication: Publication) -> dict[str, Any]:
    return {
        "Item": {
            "id": text(f"version#{publication.contract}#{publication.version}"),
            **{name: text(getattr(publication, name)) for name in _OF_A_VERSION},
            "plans": {"M": {dataset: text(plan) for dataset, plan in publication.plans}},
            "unmeasured_rules": number(publication.unmeasured_rules),
        },
        "ConditionExpression": "attribute_not_exists(id) OR document = :document",
        "ExpressionAttributeValues": {":document": text(publication.document)},
    }


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
