"""Rules with a schedule over HTTP."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.environment import LINE, Environment
from tests.unit.features.http_api.conftest import Api
from tests.unit.features.http_api.test_contract_owners import token
from tests.unit.features.revalidation.revalidation_stage import measured_hourly

ROUTE = "GET /api/v1/data-contract/{id}/revalidation"


def test_schedules_and_what_came_of_them_are_read(serve: Callable[[Environment], Api]) -> None:
    """When a rule is measured next, that it is being measured, and how it ended, by the address of its contract."""
    stage = measured_hourly(b"good")
    api = serve(stage.env)
    (planned,) = api.call(ROUTE, path="orders").body["revalidations"]
    stage.sweep(60)
    (running,) = api.call(ROUTE, path="orders").body["revalidations"]
    for run_ in stage.runs:
        stage.answer(run_)
    stage.sweep(60)
    (ended,) = api.call(ROUTE, path="orders").body["revalidations"]

    assert (planned["line"], planned["measuring"], planned["ends"]) == (LINE, None, [])
    assert planned["schedules"][0]["next"] > "2026"
    assert running["measuring"]["attempt"] == 1
    assert [each["outcome"] for each in ended["ends"]] == ["HELD"]


def test_those_of_another_owner_do_not_exist(serve: Callable[[Environment], Api]) -> None:
    """As the contract itself."""
    api = serve(measured_hourly(b"good").env)

    assert api.call(ROUTE, path="orders", authorizer=token("other")).status == 404
    assert api.call(ROUTE, path="unknown").status == 404
