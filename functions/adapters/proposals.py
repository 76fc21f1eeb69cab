"""Proposals as items of the registry: `proposal#<contract>#<version>`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lakegate.contracts.lake.owners import EVERY_CONTRACT
from lakegate.contracts.plan.serialization import canonical
from lakegate.functions.adapters.contract_items import apart
from lakegate.functions.adapters.tables import text
from lakegate.functions.ports.registry import Proposal, Publication

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "proposal#"


def proposal_key(contract: str, version: str) -> dict[str, dict[str, str]]:
    """The key of the proposal of a version."""
    return {"id": text(f"{PREFIX}{contract}#{version}")}


def proposal_item(proposal: Proposal) -> dict[str, Any]:
    """The item; conditions use its digest."""
    key = proposal_key(proposal.publication.contract, proposal.publication.version)
    return {**key, "digest": text(proposal.digest), "proposal": text(canonical(proposal).decode())}


def proposal_of(item: Mapping[str, Any]) -> Proposal:
    """The proposal of an item."""
    document = json.loads(item["proposal"]["S"])
    content: dict[str, Any] = document.pop("publication") | {"routes": (), "retired": ()}
    pairs = {name: tuple(map(tuple, content[name])) for name in ("plans", "labels", "needs")}
    kept_apart = apart(content.get("shared_with", ()), content.get("own", EVERY_CONTRACT))
    return Proposal(Publication(**content | pairs | kept_apart), **document)


def if_unchanged(seen: Proposal | None) -> dict[str, Any]:
    """The condition that the item is the one that was seen."""
    if seen is None:
        return {"ConditionExpression": "attribute_not_exists(id)"}
    return {"ConditionExpression": "digest = :seen", "ExpressionAttributeValues": {":seen": text(seen.digest)}}
