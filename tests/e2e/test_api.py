"""The HTTP API of the deployed stack: through API Gateway, the function and the tables, as docs/api.md shows it."""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
import shlex
import subprocess
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator
from local_emr.guard import HEADER

from infra.setup.environments import program
from lakegate.base.errors import SetUpError
from lakegate.base.extension_points import ROOT
from lakegate.cli.main import app
from lakegate.features.workflows.callbacks import Callbacks, CallbackToken
from lakegate.features.workflows.published_workflows import publish_workflow
from lakegate.gate.delivery.protocol import State
from lakegate.gate.effects import run
from lakegate.gate.registry.publish_contract import compile_document, publish, referred_of
from lakegate.gate.registry.routes import add_route
from lakegate.gate.sweep import sweep
from tests.e2e.deployed import Deployed, Landed, until
from tests.e2e.running import lakegate

DESCRIPTION = json.loads((ROOT / "docs/openapi.json").read_text())
EXAMPLES = re.findall(r"^\$ (curl .+)\n(.+)$", (ROOT / "docs/api.md").read_text(), re.MULTILINE)
LEFT_OUT = "…"
SHOP = "e2e-shop"
NOT_DECLARED = ("positive_data_acceptance", "unsupported_method")
"""Checks that an HTTP API cannot keep: no JSON Schema says what a valid contract is, and API Gateway answers 404, not 405."""


def curl(stack: Deployed, command: str) -> str:
    """What a command of the page prints."""
    state = stack.state
    signed = f"--silent --aws-sigv4 aws:amz:{state.region}:execute-api --user {state.access_key}:{state.secret_key}"
    environment = {"PATH": os.environ["PATH"], "NO_PROXY": "127.0.0.1", "API": state.api, "SIGNED": signed}
    ended = subprocess.run(  # noqa: S603 - a command of our own page
        ["/bin/bash", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return ended.stdout


def without_content(answer: Any) -> Any:
    """The answer as the page shows it: the text of a document is left out."""
    return {**answer, "content": LEFT_OUT} if isinstance(answer, dict) and "content" in answer else answer


def test_the_examples_of_the_page(stack: Deployed) -> None:
    """Every request of docs/api.md has the answer that it shows."""
    answers = [without_content(json.loads(curl(stack, command))) for command, _ in EXAMPLES]

    assert len(EXAMPLES) > 2
    assert answers == [json.loads(shown) for _, shown in EXAMPLES]


def test_a_delivery_is_followed_to_its_verdict(stack: Deployed) -> None:
    """The workload of an upload is accepted, with a result for each rule, in the form that the OpenAPI document has."""
    landed = stack.upload(stack.fresh())
    stack.finished(landed)
    answer = json.loads(curl(stack, f"curl $SIGNED $API/api/v1/workload/{landed.workload}"))
    schema = {"$ref": "#/components/schemas/Workload", "components": DESCRIPTION["components"]}

    Draft202012Validator(schema).validate(answer)
    assert (answer["status"], answer["result"]["result"]) == ("Accepted", "OK")
    assert {each["success"] for each in answer["result"]["info"]["results"]} == {"pass"}


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("curl --silent $API/api/v1/data-contract", "403"),
        ("curl $SIGNED $API/api/v1/workload/0", "404"),
        ("curl $SIGNED $API/api/v1/else", "404"),
        ("curl $SIGNED -X DELETE $API/api/v1/data-contract", "404"),
        ("curl $SIGNED -H 'Content-Type: text/html' -d x $API/api/v1/data-contract", "415"),
    ],
)
def test_what_is_refused(stack: Deployed, command: str, status: str) -> None:
    """Unsigned requests, unknown ids, routes and methods, and bodies of another type."""
    assert curl(stack, f"{command} --output /dev/null --write-out '%{{http_code}}'") == status


@pytest.mark.full
def test_generated_requests_find_nothing(stack: Deployed, tmp_path: Path) -> None:
    """Schemathesis makes requests from the OpenAPI document: no server error, and no answer that the document does not have."""
    try:
        tool = program("schemathesis/schemathesis")
    except SetUpError as error:
        pytest.skip(str(error))
    state = stack.state
    credential = f"{state.access_key}/20260101/{state.region}/execute-api/aws4_request"
    signature = f"Authorization: AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature=0"
    secret = f"{HEADER}: {state.secret_key}"  # each request would need a signature of its own
    command = [str(tool), "run", str(ROOT / "docs/openapi.json"), "--url", state.api, "-H", signature, "-H", secret]
    command += ["--max-examples", "200", "--workers", "2", "--no-color", "--exclude-checks", ",".join(NOT_DECLARED)]
    ended = subprocess.run(  # noqa: S603 - from the lock file
        command, cwd=tmp_path, env={"NO_PROXY": "127.0.0.1"}, capture_output=True, text=True, check=False
    )

    assert ended.returncode == 0, ended.stdout[-5_000:]


def answered(stack: Deployed, path: str, *arguments: str) -> Any:
    """The JSON answer of a signed request."""
    return json.loads(curl(stack, f"curl $SIGNED {shlex.join(arguments)} $API{path}"))


def test_an_announced_file_is_uploaded_by_its_url_and_followed(stack: Deployed, tmp_path: Path) -> None:
    """A refused summary, then an announcement whose URL takes exactly the file; notified, it ends accepted, as one delivery."""
    route, text, file = "/api/v1/workload", stack.fresh(), tmp_path / "day.csv"
    file.write_bytes(text)
    summary = {"rows": 3, "columns": [{"name": "id", "type": "integer", "minimum": 1, "maximum": 3}, {"name": "name"}]}
    checksum = "sha256:" + base64.b64encode(sha256(text).digest()).decode()
    wanted = {"contract": SHOP, "name": file.name, "size": len(text), "checksum": checksum, "summary": summary}
    send = ("-H", "Content-Type: application/json", "-d")
    refused = answered(stack, route, *send, json.dumps(wanted | {"summary": summary | {"rows": 0}}))
    made = answered(stack, route, *send, json.dumps(wanted))
    assert "upload" in made, made
    headers = [part for name, value in made["upload"]["headers"].items() for part in ("-H", f"{name}: {value}")]
    put = [
        "curl",
        "--silent",
        "--upload-file",
        str(file),
        *headers,
        "--write-out",
        "%{http_code}",
        made["upload"]["url"],
    ]
    sent = curl(stack, shlex.join(put))
    notified = answered(stack, f"{route}/notify/{made['workloadId']}", "-X", "POST")
    finished = until("linked", lambda: stack.row(made["workloadId"]))
    stack.finished(finished.joined)
    answer = answered(stack, f"{route}/{made['workloadId']}")

    assert [each["code"] for each in refused["errors"]] == ["rows"]
    assert (made["status"], sent) == ("Created", "200")
    assert notified.get("dataContractId") == SHOP, notified
    assert (answer["workloadId"], answer["deliveryId"]) == (made["workloadId"], finished.joined)
    assert answer["status"] == "Accepted"
    assert stack.blocks(stack.finished(finished.joined)) == 1


def test_files_are_delivered_to_the_local_stack(stack: Deployed, tmp_path: Path) -> None:
    """By the address of its API; the command that a rejection ends with says the rule."""
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_bytes(stack.fresh())
    bad.write_bytes(b"id,name\n-1,a\n-2,b\n" + uuid4().bytes.hex().encode() + b",c\n")
    options = ("--contract", SHOP, "--local", "--wait")
    accepted = lakegate("deliver", str(good), *options, "--json")
    rejected = lakegate("deliver", str(bad), *options)
    then = shlex.split(rejected.stdout.splitlines()[-1].removeprefix("Next: lakegate "))
    explained = lakegate(*then)
    delivered = json.loads(accepted.stdout)

    assert (accepted.exit_code, delivered["status"]) == (0, "Accepted"), accepted.output
    assert stack.row(delivered["deliveryId"]) is not None
    assert (rejected.exit_code, then[0], then[2:]) == (1, "reasons", ["--local"]), rejected.output
    assert (explained.exit_code, "\nRejected: " in explained.stdout) == (0, True), explained.output


def test_a_rejected_delivery_is_waived_over_http(stack: Deployed) -> None:
    """The function has the rights that it takes: recorded in the request, accepted by the next sweep, with warnings."""
    landed = stack.upload(b"id,name\n-1,a\n-2,b\n" + uuid4().bytes.hex().encode() + b",c\n")
    stack.finished(landed)
    ends = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = {"transition": "waive", "reason": "the supplier corrects it on Monday", "expires": ends}
    send = ("-H", "Content-Type: application/json", "-d")
    address = f"/api/v1/workload/{landed.workload}/transition"
    made = answered(stack, address, *send, json.dumps(body))
    refused = answered(stack, address, *send, json.dumps({"transition": "replay"}))
    assert made.get("status") == "Created", made
    run(sweep(stack.dependencies), stack.dependencies.clock)
    stack.finished(made["workloadId"])
    after = answered(stack, f"/api/v1/workload/{made['workloadId']}")

    assert (refused["type"], refused["transitions"]) == ("urn:lakegate:problem:illegal-transition", ["waive"])
    assert (after["status"], after["verdict"]) == ("Accepted", "accepted_with_warnings")


def test_who_is_asked_approves_over_http(stack: Deployed) -> None:
    """A workflow is published, its contract's deliveries wait; the sweep publishes what a person, or a token, approved."""
    name, token = f"asked-{uuid4().hex[:8]}", secrets.token_urlsafe(32)
    waits = "waitsFor: callback\ntransitions: [{from: VALIDATING, when: accepted, to: AWAITING}]\n"
    workflow = f"workflow: {name}\nversion: 1.0.0\n{waits}"
    own = f"customProperties: [{{property: lakegate, value: {{workflow: {name}@1}}}}]\n"
    body = ((ROOT / "tests/e2e/shop.odcs.yaml").read_text().replace(SHOP, name, 1) + own).encode()
    run(publish_workflow(stack.dependencies, workflow.encode()), stack.dependencies.clock)
    compiled = compile_document(body, referred_of(stack.dependencies, body))
    run(publish(stack.dependencies, compiled), stack.dependencies.clock)
    run(add_route(stack.dependencies, f"{name}/", name, "sales", 1), stack.dependencies.clock)
    landed, other = (stack.upload(stack.fresh(), f"{name}/{each}.csv") for each in ("day", "night"))
    row, _ = stack.reached(other, State.AWAITING), stack.reached(landed, State.AWAITING)
    assert row.deadline is not None
    kept = CallbackToken(other.workload, row.attempt, "webhook:erp", row.deadline)
    Callbacks(stack.dependencies.table).keep(sha256(token.encode()).hexdigest(), kept)
    address = f"/api/v1/workload/{landed.workload}"
    before = answered(stack, address)
    send = ("-H", "Content-Type: application/json", "-d", json.dumps({"transition": "approve"}))
    made = answered(stack, f"{address}/transition", *send)
    unknown, known = (called_back(stack, other, each) for each in (secrets.token_urlsafe(32), token))
    run(sweep(stack.dependencies), stack.dependencies.clock)
    stack.finished(landed)
    published = stack.finished(other)
    after = answered(stack, address)

    assert (before.get("status"), before.get("verdict")) == ("AwaitingApproval", None), before
    assert made.get("status") == "RuntimeValidationInProgress", made
    assert (after["status"], after["verdict"]) == ("Accepted", "accepted")
    assert unknown.get("type") == "urn:lakegate:problem:not-found", unknown
    assert known == {"workloadId": other.workload, "status": "RuntimeValidationInProgress"}
    assert published.answer is not None
    assert (published.state, published.answer.actor) == (State.PUBLISHED, "callback:webhook:erp")


def called_back(stack: Deployed, landed: Landed, token: str) -> Any:
    """The answer to an approval by a token, without a signature."""
    body = shlex.quote(json.dumps({"transition": "approve", "token": token}))
    header = "-H 'Content-Type: application/json'"
    return json.loads(curl(stack, f"curl --silent {header} -d {body} $API/api/v1/workload/{landed.workload}/callback"))


def test_the_command_needs_the_api_alone(stack: Deployed, tmp_path: Path) -> None:
    """A producer delivers, follows the delivery, publishes, and finds and reads contracts, with an address and a signature."""
    file, document = tmp_path / "day.csv", tmp_path / "more.yaml"
    file.write_bytes(stack.fresh())
    state = stack.state
    keys = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION")
    environment = {name: state.environment()[name] for name in keys} | {
        "LAKEGATE_API": state.api,
        "NO_PROXY": "127.0.0.1",
    }

    def lakegate(*arguments: str) -> Any:
        ended = CliRunner().invoke(app, [*arguments, "--json"], env={"AWS_ENDPOINT_URL": None, **environment})
        assert ended.exit_code == 0, (ended.output, ended.exception)
        return json.loads(ended.stdout)

    delivered = lakegate("deliver", str(file), "--contract", SHOP, "--wait")
    followed = lakegate("status", delivered["workloadId"], "--contract", SHOP)
    shown = lakegate("show", SHOP)
    document.write_text(shown["text"])
    published = lakegate("publish", str(document))

    assert (followed["state"], shown["contract"]) == ("PUBLISHED", SHOP)
    assert (published["contract"], published["version"], published["warnings"]) == (SHOP, shown["version"], [])
    assert SHOP in [each["contract"] for each in lakegate("contracts")["contracts"]]
