"""A contract is deleted over HTTP: that is the beginning of its end, as the lifecycle has it, and says so."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lakegate.gate.datasets.dataset_states import DatasetStatus, StatusChange
from lakegate.gate.effects import run
from lakegate.gate.registry.routes import add_route
from tests.unit.features.http_api.conftest import CONTRACTS, Api, Response, document
from tests.unit.features.http_api.test_contract_owners import token

ONE = f"{CONTRACTS}/{{id}}"
LINE = "shop/orders_v1"
BEFORE = "2026-01-01T00:00:00.000000Z"


@pytest.fixture
def published(served: Api) -> Api:
    served.publish(document())
    dependencies = served.env.dependencies
    run(add_route(dependencies, "in/", "shop", "orders", 1), dependencies.clock)
    return served


def deleted(api: Api, contract: str = "shop", authorizer: dict[str, Any] | None = None, **query: str) -> Response:
    return api.call(f"DELETE {ONE}", path=contract, authorizer=authorizer, query=query)


def acts(api: Api) -> list[str]:
    """What the ledger has of the line."""
    return [each.content["act"] for each in api.env.memory.ledger.blocks(LINE, -1) if hasattr(each, "content")]


def test_a_delete_is_the_beginning_of_a_retirement(published: Api) -> None:
    """Deprecated now, with the days of sunset and retirement; twice is once; the contract stays readable."""
    first = deleted(published, reason="one row per order", replacement="shop/orders_v2")
    again = deleted(published)
    (line,) = first.body["lines"]

    assert (first.status, first.body["id"], line["line"], line["status"]) == (200, "shop", LINE, "deprecated")
    assert [each["status"] for each in line["planned"]] == ["sunset", "retired"]
    assert (line["reason"], line["replacement"]) == ("one row per order", "shop/orders_v2")
    assert again.body == first.body
    assert acts(published) == ["deprecate"]
    assert published.contract("shop").status == 200


def test_what_refuses_deliveries_is_confirmed(published: Api) -> None:
    """By the dates: after the sunset a delete retires at once, when its days are over."""
    deleted(published)
    published.env.memory.clock.sleep(timedelta(days=31).total_seconds())
    waits = deleted(published)
    lines = published.env.dependencies.datasets
    lines.write(replace(lines.get(LINE), changes=lines.get(LINE).changes[:2]))
    published.env.memory.clock.sleep(timedelta(days=8).total_seconds())
    asked = deleted(published)
    confirmed = deleted(published, confirm="true")

    assert (waits.status, waits.body["lines"][0]["status"]) == (200, "sunset")
    assert (asked.status, asked.body["type"]) == (409, "urn:lakegate:problem:confirmation-needed")
    assert asked.body["effects"] == ["shop/orders_v1 becomes retired: every delivery below `in/` would be refused"]
    assert (confirmed.status, confirmed.body["lines"][0]["status"]) == (200, "retired")


def test_another_owners_contract_is_not_deleted(published: Api) -> None:
    """It does not exist for the caller; nor one that nobody published."""
    answers = [deleted(published, authorizer=token("other*")), deleted(published, "unknown")]

    assert [each.status for each in answers] == [404, 404]
    assert acts(published) == []


def test_a_delete_that_may_not_be_changes_nothing(published: Api) -> None:
    """A reason of two lines; a stack where two people publish; a draft, which keeps the other dataset as it is."""
    long = deleted(published, reason="a\nb")
    dependencies = published.env.dependencies
    published.env.dependencies = replace(dependencies, places=replace(dependencies.places, needs_approval=True))
    approved = deleted(published)

    published.env.dependencies = dependencies
    published.publish(document("2.0.0"), confirm="true")
    line = dependencies.datasets.get("shop/orders_v2")
    began = (StatusChange(DatasetStatus.DRAFT, BEFORE),)
    dependencies.datasets.write(replace(line, changes=began, recorded=1))
    draft = deleted(published)

    assert (long.status, approved.status, draft.status) == (400, 400, 400)
    assert "is draft and cannot be deprecated" in draft.body["detail"]
    assert "lakegate deprecate" in approved.body["detail"]
    assert acts(published) == []
