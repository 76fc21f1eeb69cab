"""Pulls over HTTP: the owner of a contract has its lines pulled now; the function writes their rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from lakegate.base.timestamps import moment
from lakegate.features.http_api.api_routes import ROUTES
from lakegate.features.pull import pulls_api
from tests.simulation.environment import Environment
from tests.unit.features.http_api.conftest import CONTRACTS, Api, Response
from tests.unit.features.http_api.test_access import limited, token
from tests.unit.features.pull.pull_stage import LINE, PullStage, scheduled
from tests.unit.features.pull.test_named_objects import KEY, Stage

ROUTE = f"POST {CONTRACTS}/{{id}}/pull"
ENDED = b"id\n1"


def ended() -> PullStage:
    """A stage whose contract was pulled once, and is due in an hour."""
    stage = scheduled(ENDED)
    stage.until_end()
    return stage


def test_a_contract_is_pulled_at_the_next_tick(serve: Callable[[Environment], Api]) -> None:
    """The answer has each line with its latest end, and no source; a repetition changes nothing."""
    stage = ended()
    api = serve(stage.env)
    first = api.call(ROUTE, path="partner")
    asked = stage.row
    again = api.call(ROUTE, path="partner")
    now = moment(stage.env.memory.clock.now())
    (end,) = asked.ends

    assert (first.status, first.body) == (
        200,
        {
            "pulls": [
                {
                    "line": LINE,
                    "contractVersion": "1.0.0",
                    "status": "Due",
                    "latest": {"outcome": "FETCHED", "at": end.at, "key": end.key, "size": len(ENDED), "reason": None},
                }
            ]
        },
    )
    assert asked.next == now
    assert (again.body, stage.row) == (first.body, asked)
    stage.tick()
    assert [each.outcome.value for each in stage.row.ends] == ["UNCHANGED", "FETCHED"]


def test_what_is_being_fetched_stays_as_it_is(serve: Callable[[Environment], Api]) -> None:
    """A tick has its row; the request neither waits nor writes."""
    stage = scheduled(ENDED)
    stage.env.memory.pulls.write(replace(stage.row, leased="9999-01-01T00:00:00.000000Z"))
    before = stage.row
    response = serve(stage.env).call(ROUTE, path="partner")

    assert [(each["status"], each["latest"]) for each in response.body["pulls"]] == [("Fetching", None)]
    assert stage.row == before


def test_a_contract_that_no_tick_has_seen_is_unscheduled(serve: Callable[[Environment], Api]) -> None:
    """Published within five minutes, or on a stack that does not pull: no row is made."""
    stage = PullStage()
    stage.publish()
    response = serve(stage.env).call(ROUTE, path="partner")

    assert response.body == {
        "pulls": [{"line": LINE, "contractVersion": None, "status": "Unscheduled", "latest": None}]
    }
    assert stage.row.plan == ""


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (LINE, 200),
        ("rows_v1", 200),
        ("rows", 200),
        ("partner/rows", 200),
        ("rows_v2", 404),
        ("", 404),
        ("a\n\x00", 404),
    ],
)
def test_a_line_is_named_in_the_forms_of_the_command(
    serve: Callable[[Environment], Api], line: str, status: int
) -> None:
    """Another one is 404, and nothing is pulled."""
    stage = ended()
    before = stage.row
    response = serve(stage.env).call(ROUTE, path="partner", query={"line": line})

    assert response.status == status
    assert (stage.row != before) is (status == 200)


def test_only_the_contracts_of_the_caller_are_pulled(serve: Callable[[Environment], Api]) -> None:
    """Of another contract, one that is not pulled and one that does not exist, the answer is the same."""
    stage = ended()
    api = serve(stage.env)
    before = stage.row
    refused = [
        api.call(ROUTE, path=name, authorizer=claim)
        for name, claim in (
            ("partner", limited("orders")),
            ("orders", token()),
            ("nothing", token()),
            ("_workflow:once", token()),
            ("x" * 2_000, token()),
        )
    ]
    after = stage.row
    allowed = api.call(ROUTE, path="partner", authorizer=limited("partner"))

    assert [each.status for each in refused] == [404] * 5
    assert len({each.text for each in refused}) == 1
    assert after == before
    assert allowed.status == 200
    assert ROUTES[ROUTE].scope == "lakegate/deliver"


def test_a_line_whose_objects_are_named_is_not_pulled(serve: Callable[[Environment], Api]) -> None:
    """Without `object` the answer has how the latest one ended, and changes nothing."""
    stage = Stage()
    stage.has(b"id\n1")
    stage.name()
    stage.tick()
    before = stage.row
    (found,) = serve(stage.env).call(ROUTE, path="partner").body["pulls"]

    assert (found["line"], found["status"], found["latest"]["outcome"]) == (LINE, "Unscheduled", "FETCHED")
    assert stage.row == before


def test_a_request_has_so_many_lines(serve: Callable[[Environment], Api], monkeypatch: pytest.MonkeyPatch) -> None:
    """Further ones are pulled one by one; nothing is done before."""
    stage = ended()
    before = stage.row
    monkeypatch.setattr(pulls_api, "MOST_LINES", 0)
    response = serve(stage.env).call(ROUTE, path="partner")

    assert (response.status, response.body["type"]) == (400, "urn:lakegate:problem:refused")
    assert "name one by `line`" in response.body["detail"]
    assert stage.row == before


def test_an_object_is_named_once(serve: Callable[[Environment], Api]) -> None:
    """By the owner of the contract, whose folder it has to be in; the answer says how its delivery ended."""
    stage = Stage()
    stage.has(b"id\n1")
    api = serve(stage.env)

    def named(source: str = KEY, contract: str = "partner", **query: str) -> Response:
        return api.call(ROUTE, path=contract, query={"object": source, "version": "v1", **query})

    first = named()
    stage.tick()
    stage.gate()
    again = named(line=LINE)
    (end,) = [each["latest"] for each in again.body["pulls"]]

    assert (first.status, first.body["pulls"][0]["status"], first.body["pulls"][0]["latest"]) == (200, "Due", None)
    assert (again.body["pulls"][0]["status"], end["outcome"], end["size"]) == ("Done", "FETCHED", 4)
    assert stage.taken.total() == 1
    for refused in (named("s3://partner-exports/other.csv"), named(contract="other"), named(line="partner/other_v1")):
        assert (refused.status, refused.body["detail"]) == (
            404,
            "No contract with this id has a folder with such an object.",
        )
    assert named(version="x" * 2000).status == 400
