"""The client of the HTTP API that needs nothing else, against the real handler of the API."""

from __future__ import annotations

import ast
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from lakegate_airflow import get_provider_info
from lakegate_client import http_client
from lakegate_client.http_client import Client, LakegateApiError, words

from lakegate.base.extension_points import ROOT
from tests.unit.features.http_api.api_server import Server

TOKEN = "the-secret-token"
LINE = "orders/lines_v1"
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def at_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The API of the simulation has a clock of its own."""
    monkeypatch.setattr(http_client, "_is_over", lambda _: False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "day.csv"
    made.write_bytes(b"good:1")
    return made


def verdict(server: Server, file: Path, key: str = "run") -> dict[str, Any]:
    """The delivery of a file, followed to its end."""
    client = Client(server.url, TOKEN)
    return client.workload(client.deliver("orders", file, {}, key)["workloadId"], "orders")


def test_a_file_is_delivered_to_its_verdict(server: Server, file: Path) -> None:
    """Accepted, or rejected with its reasons; the token is in every request to the API, and in no text of the client."""
    accepted = verdict(server, file)
    file.write_bytes(b"bad:1")
    rejected = verdict(server, file)

    assert (accepted["status"], rejected["status"]) == ("Accepted", "Rejected")
    assert words(rejected).startswith(f"workload {rejected['deliveryId']}: Rejected\n  ")
    assert {each["authorization"] for each in server.seen} == {f"Bearer {TOKEN}"}
    assert TOKEN not in repr(Client(server.url, TOKEN))


def test_a_repeated_delivery_is_the_same_one(server: Server, file: Path) -> None:
    """A task that runs again after a lost worker sends nothing twice; another run, or another content, is another delivery."""
    client = Client(server.url, TOKEN)
    first, again, other = (client.deliver("orders", file, {}, key)["workloadId"] for key in ("a", "a", "b"))
    file.write_bytes(b"good:2")
    changed = client.deliver("orders", file, {}, "a")["workloadId"]

    assert first == again
    assert len({first, other, changed}) == 3


def test_an_upload_that_was_there_already_is_notified(
    server: Server, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S3 refuses a second upload with 412: the first try was lost after it."""
    monkeypatch.setattr(server, "put_status", 412)
    client = Client(server.url, TOKEN)
    with pytest.raises(LakegateApiError, match="status 400"):  # here nothing is there
        client.deliver("orders", file, {}, "run")
    assert len(server.seen) == 3
    monkeypatch.setattr(server, "put_status", 403)
    with pytest.raises(LakegateApiError, match="S3 refused the file with status 403"):
        Client(server.url, TOKEN).deliver("orders", file, {}, "run")


def test_an_upload_url_whose_time_is_over_is_announced_again(
    server: Server, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With another key of the request; after three of them the delivery has failed."""
    asked: list[int] = []

    def over(_moment: str) -> bool:
        asked.append(len(asked))
        return len(asked) < 2

    monkeypatch.setattr(http_client, "_is_over", over)
    assert verdict(server, file)["status"] == "Accepted"
    file.write_bytes(b"good:3")
    monkeypatch.setattr(http_client, "_is_over", lambda _: True)
    with pytest.raises(LakegateApiError, match="was announced 3 times"):
        verdict(server, file)


def test_accepted_data_is_found_by_its_time(server: Server, file: Path) -> None:
    """Only that of the dataset, accepted, and landed at the time or later."""
    client = Client(server.url, TOKEN)
    assert client.accepted("orders", LINE, LONG_AGO) is None
    found = verdict(server, file)
    file.write_bytes(b"bad:1")
    verdict(server, file)
    later = server.api.env.dependencies.now + timedelta(days=1)
    asked = len(server.seen)
    accepted = client.accepted("orders", LINE, LONG_AGO)
    assert accepted is not None
    assert (accepted["deliveryId"], "details" in accepted) == (found["deliveryId"], False)
    assert client.accepted("orders", LINE, later) is None
    assert len(server.seen) == asked + 2
    with pytest.raises(LakegateApiError, match="status 404"):
        client.accepted("orders", "orders/other_v1", LONG_AGO)


def test_a_delivery_is_waited_for(server: Server, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it has ended; where that takes too long, the state is named."""
    client = Client(server.url, TOKEN)
    workload = client.deliver("orders", file, {}, "run")["workloadId"]
    answers = iter([{"status": "Started"}, {"status": "Started"}, {"status": "Accepted", "workloadId": workload}])
    with monkeypatch.context() as patch:
        patch.setattr(Client, "workload", lambda *_: next(answers))
        with pytest.raises(LakegateApiError, match=f"no verdict in time: workload {workload} is Started"):
            client.finished(workload, "orders", 0, timedelta(seconds=-1))
        assert client.finished(workload, "orders", 0, timedelta(seconds=60))["workloadId"] == workload

    assert client.finished(workload, "orders", 0, timedelta(seconds=60))["status"] == "Accepted"


def test_the_latest_verdict_of_a_dataset_is_found(server: Server, file: Path) -> None:
    """Accepted or rejected, with its reasons; none, where none is there."""
    client = Client(server.url, TOKEN)
    found = [client.newest("orders", LINE)]
    for body in (b"good:1", b"bad:1"):
        file.write_bytes(body)
        verdict(server, file)
        found.append(client.newest("orders", LINE))

    assert [each and each["status"] for each in found] == [None, "Accepted", "Rejected"]
    assert found[2] is not None
    assert "\n  " in words(found[2])


@pytest.mark.parametrize("url", ["http://api.example", "ftp://api.example", "api.example", "http://localhost.example"])
def test_only_https_gets_a_token(url: str) -> None:
    """An address of plain HTTP is refused, but for this machine."""
    with pytest.raises(LakegateApiError, match="https://"):
        Client(url, TOKEN)


def test_a_hostile_api_gets_neither_file_nor_token(server: Server, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A redirect is not followed, and the file is not sent to an address of plain HTTP; what is no JSON is a refusal."""
    client = Client(server.url, TOKEN)
    server.answer = (302, b"", {"location": "http://127.0.0.1:9/stolen"})
    with pytest.raises(LakegateApiError, match="status 302"):
        client.workload("a", "orders")
    server.answer = (200, b"<html>", {})
    with pytest.raises(LakegateApiError, match="status 200: no reason"):
        client.workload("a", "orders")
    server.answer = None
    monkeypatch.setattr(server.api.env.memory.uploads, "url", lambda key, *_: f"http://elsewhere.example/{key}")
    with pytest.raises(LakegateApiError, match="not of HTTPS: the file was not sent"):
        client.deliver("orders", file, {}, "run")


def test_refusals_have_the_words_of_the_problem(server: Server, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Detail and errors of a problem document; a file that is too large for one upload URL is not announced."""
    client = Client(server.url, TOKEN)
    with pytest.raises(LakegateApiError, match=r"refused it with status 404: .*contract"):
        client.deliver("nothing", file, {}, "run")
    with pytest.raises(LakegateApiError, match=r"summary|rows") as refused:
        client.deliver("orders", file, {"summary": {"rows": 0, "columns": []}}, "run")
    assert refused.value.status == 422
    asked = len(server.seen)
    monkeypatch.setattr(http_client, "LARGEST_FILE", 5)
    with pytest.raises(LakegateApiError, match="more than 5 GiB"):
        client.deliver("orders", file, {}, "run")
    assert len(server.seen) == asked
    with pytest.raises(LakegateApiError, match="the API does not answer"):
        Client("http://127.0.0.1:9", TOKEN).workload("a", "orders")


def test_the_client_needs_only_the_standard_library() -> None:
    """And what Airflow and Dagster load imports nothing of the package `lakegate`: it runs where only the one of them is."""
    folder = ROOT / "integrations/client"
    found = {
        file.name: {
            name.partition(".")[0]
            for node in ast.walk(ast.parse(file.read_text()))
            for name in (
                [each.name for each in node.names]
                if isinstance(node, ast.Import)
                else [str(node.module)]
                if isinstance(node, ast.ImportFrom)
                else []
            )
        }
        - set(sys.stdlib_module_names)
        for file in folder.glob("lakegate_*/*.py")
    }

    assert found.pop("http_client.py") == {"botocore"}
    assert found.pop("lakegate_checks.py") == {"dagster", "lakegate_client"}
    assert set().union(*found.values()) == {"airflow", "asgiref", "lakegate_airflow", "lakegate_client"}
    assert get_provider_info()["package-name"] == "lakegate-client"
