"""`lakegate deliver` over the real handler of the API, behind a server of this process that also takes uploads."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from deltalake import write_deltalake

from lakegate.base.errors import InputError, LakegateError
from lakegate.cli.main import app
from lakegate.features.announcements import deliver_command
from lakegate.features.http_api import api_client
from lakegate.features.pull.snapshots.name_snapshots import deliver_snapshots
from lakegate.gate.effects import run
from tests.fakes.gated_tables import MemoryGatedTable
from tests.fakes.pulls import MemoryLandingParts
from tests.simulation.gated import SOURCE, STAGED, MemorySnapshots, publish_gated
from tests.unit.cli.conftest import Lakegate
from tests.unit.features.http_api.api_server import Server


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file that is accepted."""
    made = tmp_path / "day.csv"
    made.write_bytes(b"good:1")
    return made


def deliver(server: Server, file: Path, *more: str) -> Any:
    return CliRunner().invoke(app, ["deliver", str(file), "--api", server.url, "--contract", "orders", *more])


def refusal(ended: Any) -> str:
    """What the command refuses with."""
    assert isinstance(ended.exception, LakegateError), ended.output
    return str(ended.exception)


def test_a_file_is_delivered_with_a_token_and_followed_to_its_verdict(server: Server, file: Path) -> None:
    """Announced with a key, sent, notified: accepted, without any right in the account."""
    ended = deliver(server, file, "--wait", "--json")
    answer = json.loads("".join(each for each in ended.stdout.splitlines() if '"_aws"' not in each))
    (upload,) = server.api.env.uploads

    assert (ended.exit_code, answer["status"], answer["workloadId"]) == (0, "Accepted", upload.workload)
    assert upload.body == b"good:1"
    assert {each["authorization"] for each in server.seen} == {"Bearer the-token"}
    assert len(server.seen[0]["idempotency-key"]) == 32


@pytest.mark.parametrize(("body", "code", "status"), [(b"good:1", 0, "Accepted"), (b"bad:1", 1, "Rejected")])
def test_people_see_the_verdict_with_its_reasons(
    server: Server, file: Path, body: bytes, code: int, status: str
) -> None:
    """The exit code is the verdict's."""
    file.write_bytes(body)
    ended = deliver(server, file, "--wait")

    assert (ended.exit_code, f"was sent: {status}" in ended.stdout) == (code, True)
    assert ("name: " in ended.stdout) == (status == "Rejected")


def test_without_wait_it_ends_when_the_file_is_sent(server: Server, file: Path) -> None:
    """The workload is not asked for."""
    ended = deliver(server, file)

    assert (ended.exit_code, "was sent: DataTransferInProgress" in ended.stdout) == (0, True)
    assert len(server.seen) == 2


@pytest.mark.parametrize("is_staged", [False, True])
def test_a_branch_of_a_table_is_looked_at(server: Server, *, is_staged: bool) -> None:
    """Its newest snapshot, or what is staged, is a delivery, once, whoever asks how often."""
    publish_gated(server.api.env, source=STAGED if is_staged else SOURCE)
    dependencies, table = server.api.env.dependencies, MemoryGatedTable()
    source = MemorySnapshots(table, frozenset())
    landing = MemoryLandingParts(server.api.env.memory.objects, "landing")

    def ask() -> str:
        staged = ["--staged"] if is_staged else []
        words = ["deliver", "--table", "sales.orders", *staged, "--contract", "orders", "--api", server.url, "--json"]
        lines = CliRunner().invoke(app, words).stdout.splitlines()
        found = json.loads("".join(each for each in lines if '"_aws"' not in each))
        run(deliver_snapshots(dependencies, table, source, landing), dependencies.clock)
        server.api.env.memory.clock.sleep(60)
        return str(found["status"])

    table.stage("good:1") if is_staged else table.commit("good:1")
    statuses = [ask() for _ in range(4)]
    landed = server.api.env.memory.objects.versions("landing", "shop/orders/").versions

    assert statuses == ["Unscheduled", "Due", "Due", "Due"]
    assert [each.key.rpartition("-")[2] for each in landed] == ["orders.parquet"]


def test_a_version_of_a_table_of_delta_is_delivered_as_a_file(server: Server, tmp_path: Path) -> None:
    """Its own rows alone, under its name and version, followed to the verdict; the table is as it was."""
    table = tmp_path / "shop orders"
    for name in ("good:1", "good:2"):
        write_deltalake(table, pa.table({"name": [name], "amount": pa.array([1], pa.int64())}), mode="overwrite")
    before = sorted((each.name, each.stat().st_mtime_ns) for each in table.rglob("*"))
    words = ["--table", str(table), "--snapshot", "0", "--contract", "orders", "--api", server.url]
    ended = CliRunner().invoke(app, ["deliver", *words])
    (upload,) = server.api.env.uploads
    rows = pq.read_table(io.BytesIO(upload.body)).to_pylist()

    assert ended.exit_code == 0, ended.output
    assert rows == [{"name": "good:1", "amount": 1}]
    assert upload.version.key.endswith("shop_orders-0.parquet")
    assert sorted((each.name, each.stat().st_mtime_ns) for each in table.rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--table", "nowhere/orders"), "there is no table `nowhere/orders`"),
        (("--table", "a.b.c"), "pyiceberg knows no catalog `a`"),
        (("--table", "sales.other"), "has such a branch"),
        (("--table", "sales.orders", "--wait"), "takes --branch or --staged alone"),
        (("--table", "sales.orders", "--snapshot", "1"), "takes --branch or --staged alone"),
        (("day.csv", "--table", "sales.orders"), "--table takes --contract, and no file"),
        (("day.csv", "--snapshot", "1"), "name the file to deliver, or a table"),
        ((), "name the file to deliver, or a table"),
    ],
)
def test_what_is_no_table_of_the_contract_is_refused(server: Server, words: tuple[str, ...], reason: str) -> None:
    publish_gated(server.api.env)
    ended = CliRunner().invoke(app, ["deliver", *words, "--contract", "orders", "--api", server.url])

    assert reason in refusal(ended)


@pytest.mark.parametrize("as_json", [False, True])
def test_a_refused_summary_sends_nothing(server: Server, file: Path, *, as_json: bool) -> None:
    """Exit code 1, with each reason and its place."""
    summary = file.with_name("summary.json")
    summary.write_text(json.dumps({"rows": 0, "columns": []}))
    ended = deliver(server, file, "--summary", str(summary), *(["--json"] if as_json else []))

    assert ended.exit_code == 1
    assert "/summary/rows" in ended.stdout
    assert server.api.env.uploads == []


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--contract", "other"), "No contract"),
        (("--dataset", "other"), "no such dataset"),
        (("--summary", "nowhere.json"), "is not a JSON document"),
        (("--api", "http://example.com"), "begins with https://"),
        (("--api", "https://127.0.0.1:1"), "does not answer"),
    ],
)
def test_what_cannot_be_delivered_is_refused_with_the_reason(
    server: Server, file: Path, arguments: tuple[str, ...], reason: str
) -> None:
    """In one sentence."""
    assert reason in refusal(deliver(server, file, *arguments))


def test_without_an_address_it_is_the_api_of_the_stack(server: Server, lakegate: Lakegate, file: Path) -> None:
    """Which the stack names among its outputs; the next command asks that stack for the reasons."""
    outputs = {"ApiUrl": {"Value": server.url}}
    template = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}, "Outputs": outputs}
    lakegate.clients["cloudformation"].create_stack(StackName="shop", TemplateBody=json.dumps(template))
    file.write_bytes(b"bad:1")

    ended = lakegate("deliver", str(file), "--stack", "shop", "--contract", "orders", "--wait")

    (upload,) = server.api.env.uploads
    assert (ended.exit_code, ended.stdout.splitlines()[-1]) == (
        1,
        f"Next: lakegate reasons {upload.workload} --stack shop",
    )


def test_the_contract_has_to_be_named(file: Path) -> None:
    """Only a correction knows its own."""
    ended = CliRunner().invoke(app, ["deliver", str(file), "--local"])

    assert refusal(ended) == "name the contract with --contract, or a rejected delivery with --corrects"


def test_a_file_that_s3_refuses_is_an_error(server: Server, file: Path) -> None:
    """The answer does not claim that it was sent."""
    server.put_status = 412

    assert "S3 refused the file with status 412" in refusal(deliver(server, file))


@pytest.mark.parametrize(
    "answer",
    [(302, b"", {"location": "http://127.0.0.1:1/"}), (200, b"<html>", {}), (200, b"[]", {}), (500, b"\xff", {})],
)
def test_another_answer_than_the_apis_is_an_error(
    server: Server, file: Path, answer: tuple[int, bytes, dict[str, str]]
) -> None:
    """A redirect is not followed: it would get the token."""
    server.answer = answer

    assert refusal(deliver(server, file)) == f"the API answered {answer[0]}"
    assert len(server.seen) == 1


@pytest.mark.parametrize("answer", [b"{}", b'"text"', b'{"workloadId": "w", "upload": {}}'])
def test_an_answer_of_another_form_sends_nothing(server: Server, file: Path, answer: bytes) -> None:
    """It is another version's, or something else's."""
    server.answer = (200, answer, {})

    assert refusal(deliver(server, file)).startswith("the answer has a form that this command does not know")
    assert server.api.env.uploads == []


def test_a_token_may_be_in_a_file(server: Server, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which has to be there."""
    place = file.with_name("token")
    place.write_text("of-a-file\n")
    monkeypatch.delenv("LAKEGATE_TOKEN")
    monkeypatch.setenv("LAKEGATE_TOKEN_FILE", str(place))
    good = deliver(server, file)
    place.unlink()
    bad = deliver(server, file)

    assert (good.exit_code, server.seen[0]["authorization"]) == (0, "Bearer of-a-file")
    assert "LAKEGATE_TOKEN_FILE names cannot be read" in refusal(bad)


@pytest.mark.parametrize(
    ("host", "region"),
    [
        ("a.execute-api.eu-south-2.amazonaws.com", "eu-south-2"),
        ("a.execute-api.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        ("api.example.com", "eu-west-3"),
    ],
)
def test_without_a_token_requests_are_signed(monkeypatch: pytest.MonkeyPatch, host: str, region: str) -> None:
    """With the credentials of AWS, for the region of the address; body and key are part of it."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-3")
    monkeypatch.delenv("LAKEGATE_TOKEN", raising=False)
    requests: list[Any] = []
    monkeypatch.setattr(api_client, "send_request", lambda request, _: requests.append(request) or (200, b"{}"))
    api_client.Api(f"https://{host}/").ask("POST", "/api/v1/workload", {})
    (request,) = requests

    assert request.full_url == f"https://{host}/api/v1/workload"
    assert f"/{region}/execute-api/aws4_request" in request.get_header("Authorization")
    assert re.fullmatch("[0-9a-f]{32}", request.get_header("Idempotency-key"))


def test_without_credentials_nothing_is_sent(server: Server, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the variables."""
    monkeypatch.delenv("LAKEGATE_TOKEN")
    monkeypatch.setattr("botocore.session.Session.get_credentials", lambda _: None)

    assert "set LAKEGATE_TOKEN" in refusal(deliver(server, file))
    assert server.seen == []


@pytest.mark.parametrize(
    "url",
    [
        "http://bucket.example/x",
        "ftp://bucket.example/x",
        "file:///etc/passwd",
        "data:,x",
        "//bucket.example/x",
        "x",
        "",
    ],
)
def test_a_file_goes_nowhere_but_to_https(url: str) -> None:
    """An answer of the API cannot have it sent in the clear, nor to a file."""
    with pytest.raises(InputError, match="not of HTTPS: the file was not sent"):
        deliver_command.put(url, {}, io.BytesIO(b"data"))
