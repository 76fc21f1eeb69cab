"""Clients that common generators make of docs/openapi.json: they register, announce, follow and list, knowing nothing else."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from infra.setup.environments import program
from lakegate.base.errors import SetUpError
from lakegate.base.extension_points import ROOT
from tests.unit.features.http_api.api_server import Server
from tests.unit.features.http_api.conftest import document as contract
from tests.unit.features.http_api.test_routes_api import ALL

OPENAPI = ROOT / "docs/openapi.json"
UPLOAD = """
import base64, hashlib, sys, urllib.request
url, document, data = sys.argv[1], open(sys.argv[2]).read(), b"good:1"
checksum = "sha256:" + base64.b64encode(hashlib.sha256(data).digest()).decode()
def sent(upload, headers):
    urllib.request.urlopen(urllib.request.Request(upload, data, headers, method="PUT"))
"""
OF_PYTHON_CLIENT = """
from made import AuthenticatedClient
from made.api.default import announce_workload, find_workloads, publish_contract, read_contract, read_workload
from made.api.default import add_route_of_contract, notify_workload
from made.models import RouteBody, WantedDelivery
client = AuthenticatedClient(base_url=url, token="t")
assert publish_contract.sync(client=client, body=document) == "shop"
assert read_contract.sync("shop", client=client).version == "1.0.0"
assert add_route_of_contract.sync("shop", client=client, body=RouteBody(prefix="in/")).line == "shop/orders_v1"
assert announce_workload.sync(client=client, body="nothing").status == 404
wanted = WantedDelivery(contract="orders", size=len(data), checksum=checksum)
made = announce_workload.sync(client=client, body=wanted)
sent(made.upload.url, made.upload.headers.to_dict())
notify_workload.sync(made.workload_id, client=client)
ended = read_workload.sync(made.workload_id, client=client)
assert (ended.workload_id, ended.status, ended.result.result) == (made.workload_id, "Accepted", "OK"), ended
assert ended.result.info.results[0].severity.fail is not None
assert find_workloads.sync(client=client, data_contract_id="orders").workloads[0].workload_id == made.workload_id
"""
OF_OPENAPI_GENERATOR = """
import made
api = made.DefaultApi(made.ApiClient(made.Configuration(host=url, access_token="t")))
api.publish_contract(document)
assert api.read_contract("shop").version == "1.0.0"
assert api.add_route_of_contract("shop", made.RouteBody(prefix="in/")).line == "shop/orders_v1"
try:
    api.read_contract("nothing")
except made.exceptions.NotFoundException as refused:
    assert refused.status == 404
wanted = made.WantedDelivery(contract="orders", size=len(data), checksum=checksum)
made_ = api.announce_workload(made.AnnounceWorkloadRequest(wanted))
sent(made_.upload.url, made_.upload.headers)
api.notify_workload(made_.workload_id)
ended = api.read_workload(made_.workload_id)
assert (ended.workload_id, ended.status, ended.result.result) == (made_.workload_id, "Accepted", "OK"), ended
assert ended.result.info.results[0].severity.fail is not None
assert api.find_workloads("orders").workloads[0].workload_id == made_.workload_id
"""
GENERATORS = {
    "openapi-python-client": (
        ["generate", "--path", str(OPENAPI), "--meta", "none", "--output-path", "made"],
        OF_PYTHON_CLIENT,
    ),
    "openapi-generator-cli": (
        ["generate", "-i", str(OPENAPI), "-g", "python", "--package-name", "made", "-o", "."],
        OF_OPENAPI_GENERATOR,
    ),
}


@pytest.mark.full
@pytest.mark.parametrize("generator", GENERATORS)
def test_a_generated_client_works(server: Server, tmp_path: Path, generator: str) -> None:
    """The package is made, can be imported, and does what a client does, with answers as objects of its own."""
    options, script = GENERATORS[generator]
    try:
        tool, python = program(f"openapi-clients/{generator}"), program("openapi-clients/python")
    except SetUpError as error:
        pytest.skip(str(error))
    server.authorizer = ALL
    document = tmp_path / "shop.yaml"
    document.write_text(contract())
    environment = {"PATH": os.defpath, "PYTHONPATH": str(tmp_path), "NO_PROXY": "127.0.0.1", "HOME": str(tmp_path)}
    generated = subprocess.run(  # noqa: S603 - from the lock file
        [str(tool), *options], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert generated.returncode == 0, generated.stderr[-3_000:]
    ran = subprocess.run(  # noqa: S603 - likewise
        [str(python), "-c", UPLOAD + script, server.url, str(document)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr[-3_000:]
    assert "Unable to" not in generated.stdout
