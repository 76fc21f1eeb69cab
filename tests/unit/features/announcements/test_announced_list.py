"""Announcements in the list of a contract's workloads: until data lands, by page, and never beside what became of them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import timedelta
from itertools import chain
from typing import Any
from unittest.mock import Mock

import pytest

from lakegate.base.errors import AccessDenied, InputError
from lakegate.features.announcements.announced_delivery import Announcements
from lakegate.features.http_api import workloads_api
from lakegate.gate.delivery import find_deliveries
from lakegate.gate.delivery.intake import intake
from lakegate.gate.effects import run
from lakegate.gate.table import RowKey, TableName
from tests.simulation.environment import LANDING, PREFIX
from tests.simulation.stage import Fault, Stage, settle
from tests.unit.features.announcements.test_announcements_api import SHA, announced, judged_by_file
from tests.unit.features.http_api.conftest import Api

LIST = "GET /api/v1/data-contract/{id}/workload"


def made(api: Api, **members: Any) -> dict[str, Any]:
    """An announcement, which the index has."""
    body: dict[str, Any] = announced(api, **members).body
    api.env.memory.clock.sleep(31)
    return body


def page(api: Api, cursor: str | None = None, **query: str) -> dict[str, Any]:
    given = {"cursor": cursor} if cursor else {}
    body: dict[str, Any] = api.call(LIST, path="orders", query={**given, **query}).body
    return body


def pages(api: Api, **query: str) -> list[list[dict[str, Any]]]:
    """All pages, to the last one."""
    found = [page(api, **query)]
    while found[-1]["cursor"]:
        found.append(page(api, found[-1]["cursor"], **query))
    return [each["workloads"] for each in found]


def listed(api: Api) -> list[tuple[str, str]]:
    return [(each["workloadId"], each["status"]) for each in chain.from_iterable(pages(api))]


def test_an_announcement_is_listed_until_its_result_under_one_id(served: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, also where the index still has it; each entry is what its own address has, without the result."""
    stage = Stage(served.env, lambda _: Fault.NONE)
    body = made(served)
    waits, own = page(served)["workloads"], served.workload(body["workloadId"]).body
    served.env.upload(body["upload"]["key"], b"good:1")
    landed = listed(served)
    settle(stage)

    assert waits == [own]
    assert (own["status"], own["result"]) == ("Created", {"result": "OK", "info": None})
    assert landed == [(body["workloadId"], "Created")]
    assert listed(served) == [(body["workloadId"], "Accepted")]
    late = served.env.memory.announcements[body["workloadId"]]
    monkeypatch.setattr(Announcements, "latest", lambda *_: ((late,), ""))
    assert listed(served) == [(body["workloadId"], "Accepted")]


def test_an_announcement_whose_data_is_being_judged_is_listed_once(served: Api) -> None:
    """Also while the index still has it."""
    body = made(served)
    upload = served.env.upload(body["upload"]["key"], b"good:1")
    run(intake(served.env.dependencies, LANDING, upload.version.key), served.env.memory.clock)
    at_once = listed(served)
    served.env.memory.clock.sleep(31)

    assert at_once == listed(served) == [(body["workloadId"], "RuntimeValidationInProgress")]


@pytest.mark.parametrize("after", ["_announced", "_open"])
def test_what_lands_while_a_page_is_read_is_listed_once(
    served: Api, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    """The announcement was read before, and its delivery is found after; or the row of the delivery was there."""
    body = made(served)
    before = getattr(find_deliveries, after)

    def landing(*given: Any) -> Any:
        upload = served.env.upload(body["upload"]["key"], b"good:1")
        run(intake(served.env.dependencies, LANDING, upload.version.key), served.env.memory.clock)
        return before(*given)

    monkeypatch.setattr(find_deliveries, after, landing)
    ids = [each["workloadId"] for each in page(served)["workloads"]]

    assert ids == [body["workloadId"]]


def test_a_refused_and_an_expired_announcement_are_listed_as_such(served: Api) -> None:
    """For a week, without the reasons, which their own addresses have; then those have them alone."""
    judged_by_file(served, max_bytes=5)
    refused = made(served, size=6, checksum=SHA)["workloadId"]
    waits = made(served, size=5, checksum=SHA)["workloadId"]
    first = page(served)["workloads"]
    served.env.memory.clock.sleep(timedelta(days=2).total_seconds())
    later = listed(served)
    served.env.memory.clock.sleep(timedelta(days=5).total_seconds())

    assert [(each["workloadId"], each["status"], each["result"]) for each in first] == [
        (waits, "Created", {"result": "OK", "info": None}),
        (refused, "Rejected", {"result": "NOK", "info": None}),
    ]
    assert later == [(waits, "Expired"), (refused, "Rejected")]
    assert (listed(served), served.workload(waits).body["status"]) == ([], "Expired")


@pytest.mark.parametrize("details", ["false", "true"])
def test_announcements_are_paged_with_deliveries(served: Api, monkeypatch: pytest.MonkeyPatch, details: str) -> None:
    """Those that are not finished first, then announcements, the newest first, then what is finished: each once."""
    for name in ("PAGE", "DETAILED_PAGE"):
        monkeypatch.setattr(workloads_api, name, 3)
    stage, done = Stage(served.env, lambda _: Fault.NONE), []
    for at in range(2):
        done.append(served.env.upload(f"{PREFIX}{at}.csv", b"good:%d" % at).workload)
        settle(stage)
    names = [made(served)["workloadId"] for _ in range(7)]
    now = served.env.upload(f"{PREFIX}now.csv", b"good:9")
    run(intake(served.env.dependencies, LANDING, now.version.key), served.env.memory.clock)
    found = pages(served, details=details)

    assert [each["workloadId"] for each in chain.from_iterable(found)] == [
        now.workload,
        *reversed(names),
        *reversed(done),
    ]
    assert [len(each) for each in found] == [3, 3, 3, 1]


def test_what_features_say_about_datasets_is_on_the_first_page(served: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other pages do not compute it again."""
    monkeypatch.setattr(workloads_api, "DETAILED_PAGE", 1)
    for _ in range(2):
        made(served)
    first = page(served, details="true")
    second = page(served, first["cursor"], details="true")

    assert ("details" in first, "details" in second, len(second["workloads"])) == (True, False, 1)


def test_a_page_reads_no_more_where_there_are_more(served: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by announcements that wait, nor by those whose data has landed."""
    reads: list[int] = []
    for count in (90, 140):
        for _ in range(count - 30):
            announced(served)
        for each in [announced(served).body for _ in range(40)]:
            upload = served.env.upload(each["upload"]["key"], b"good:1")
            run(intake(served.env.dependencies, LANDING, upload.version.key), served.env.memory.clock)
        served.env.memory.clock.sleep(31)
        first = page(served)
        assert first["cursor"]
        with monkeypatch.context() as patched:
            patched.setattr(served.env.memory.table, "get", _counting(served.env.memory.table.get, reads))
            reads.append(0)
            page(served, first["cursor"])

    assert max(reads) < 170, reads


def _counting(get: Callable[[RowKey], Any], reads: list[int]) -> Callable[[RowKey], Any]:
    def counted(key: RowKey) -> Any:
        reads[-1] += key.table is TableName.WORKLOADS
        return get(key)

    return counted


def test_announcements_of_other_contracts_and_datasets_are_not_listed(served: Api) -> None:
    """A cursor says where, never whose."""
    made(served)
    other = base64.urlsafe_b64encode(f"\n2026-01-05T11:59:59.000000Z#{'f' * 64}".encode()).decode().rstrip("=")
    strange = [
        base64.urlsafe_b64encode(each.encode()).decode().rstrip("=") for each in ("\n9999", "\n#\n1", "\nannounced#x")
    ]

    assert [each["status"] for each in page(served)["workloads"]] == ["Created"]
    assert page(served, other)["workloads"] == []
    assert [served.call(LIST, path="orders", query={"cursor": each}).status for each in strange] == [400] * 3
    assert page(served, line="orders/lines_v1")["workloads"] == page(served)["workloads"]
    assert served.call(LIST, path="other").status == 404


def test_an_announcement_is_found_by_its_id_by_who_may_read_it(served: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """An owner of contracts may not: it is as if there were none."""
    body = made(served)
    found = find_deliveries.find_delivery(served.env.dependencies, body["workloadId"], 0)
    monkeypatch.setattr(Announcements, "get", Mock(side_effect=AccessDenied("GetItem")))

    assert found.announced is not None
    with pytest.raises(InputError, match="no workload has this id"):
        find_deliveries.find_delivery(served.env.dependencies, body["workloadId"], 0)


def test_an_announcement_that_cannot_be_read_hides_no_other(served: Api) -> None:
    """It is reported, as every row that is left out."""
    good, bad = made(served), made(served)
    rows = served.env.memory.table.rows[TableName.WORKLOADS, "announcement"]
    row = rows[bad["workloadId"]]
    rows[bad["workloadId"]] = row._replace(values={**row.values, "announcement": "{"})

    assert [each["workloadId"] for each in page(served)["workloads"]] == [good["workloadId"]]
