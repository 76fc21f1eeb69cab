"""What commands print over AWS and over the HTTP API: one shape, described by the schema of their dataclass."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from urllib.request import Request

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from infra.site.command_schemas import FILE, text
from infra.site.published_schemas import derived
from lakegate.cli.main import app
from lakegate.features.pull.pull_task import tick
from lakegate.features.pull.pulled_line import PulledLine
from lakegate.gate.effects import run
from lakegate.published_contracts import ContractDocument, DescribedVersions, PublishedVersion
from lakegate.stack import AnsweredDelivery, DeliveryStatus, StartedReplay, WaivedDelivery
from tests.fakes.pulls import MemorySource
from tests.simulation.environment import Environment
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deliveries.test_decide_command import WORKFLOW
from tests.unit.features.http_api.api_server import routed
from tests.unit.features.http_api.conftest import Api, signed
from tests.unit.features.pull.test_pull_command import PULL

URL = "https://api.example.com"
BAD = b"id,amount\n,1\nb,2\nc,3\nd,4\n"
WAIVER = ("--reason", "known", "--expires", "2027-01-31")


@pytest.fixture
def by_api(
    lakegate: Lakegate, serve: Callable[[Environment], Api], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Runs a command over the HTTP API, whose handler has the same stack as the commands of `lakegate`."""
    api = serve(lakegate)  # type: ignore[arg-type] # it has `dependencies`
    monkeypatch.setenv("LAKEGATE_TOKEN", "the-token")

    def sent(request: Request, _what: str) -> tuple[int, bytes]:
        address = urlsplit(request.full_url)
        route, path = routed(str(request.get_method()), address.path)
        headers = {name.lower(): value for name, value in request.header_items()}
        given = {"path": " / ".join(path), "query": dict(parse_qsl(address.query)), "headers": headers}
        found = api.call(route, request.data, authorizer=signed(), **given)  # type: ignore[arg-type] # its parts
        return found.status, found.text.encode()

    monkeypatch.setattr("lakegate.features.http_api.api_client.sent", sent)

    def command(*words: str) -> Any:
        ended = CliRunner().invoke(app, [*words, "--api", URL, "--json"])
        assert ended.exit_code == 0, (ended.output, ended.exception)
        return json.loads("\n".join(each for each in ended.stdout.splitlines() if '"_aws"' not in each))

    return command


def fits(document: Any, cls: type) -> bool:
    Draft202012Validator(derived(cls)).validate(document)
    return True


def failed(lakegate: Lakegate) -> tuple[str, ...]:
    lakegate.routed()
    workload = lakegate.upload()
    lakegate.intake()
    lakegate.fail(workload)
    return "replay", workload


def rejected(lakegate: Lakegate) -> str:
    lakegate.routed()
    return lakegate.delivered(failing=1, body=BAD)


def waiting(lakegate: Lakegate) -> str:
    lakegate.ok("workflow", "publish", lakegate.file(WORKFLOW.encode(), "asking.yaml"))
    workflow = "customProperties: [{property: lakegate, value: {workflow: asking@1}}]\nschema:\n"
    lakegate.routed(**{"schema:\n": workflow})
    return lakegate.delivered()


def pulling(lakegate: Lakegate) -> tuple[str, ...]:
    lakegate.routed(**{"schema:\n": PULL})
    run(tick(lakegate.dependencies, MemorySource(), object()), lakegate.dependencies.clock)  # type: ignore[arg-type] # no parts
    return "pull", "run", "shop/orders_v1"


def accepted(lakegate: Lakegate) -> str:
    lakegate.routed()
    return lakegate.delivered()


CASES: dict[str, tuple[type, Callable[[Lakegate], tuple[str, ...]]]] = {
    "status, accepted": (DeliveryStatus, lambda lakegate: ("status", accepted(lakegate))),
    "status, rejected": (DeliveryStatus, lambda lakegate: ("status", rejected(lakegate))),
    "status, waiting": (DeliveryStatus, lambda lakegate: ("status", waiting(lakegate))),
    "status, failed": (DeliveryStatus, lambda lakegate: ("status", failed(lakegate)[1])),
    "replay": (StartedReplay, failed),
    "waive": (WaivedDelivery, lambda lakegate: ("waive", rejected(lakegate), *WAIVER)),
    "approve": (AnsweredDelivery, lambda lakegate: ("approve", waiting(lakegate))),
    "decline": (AnsweredDelivery, lambda lakegate: ("decline", waiting(lakegate), "--reason", "no")),
    "contracts": (DescribedVersions, lambda lakegate: (accepted(lakegate), "contracts")[1:]),
    "contracts, none": (DescribedVersions, lambda lakegate: (accepted(lakegate), "contracts", "--tag", "x")[1:]),
    "show": (ContractDocument, lambda lakegate: (accepted(lakegate), "show", "shop")[1:]),
    "show, a version": (ContractDocument, lambda lakegate: (accepted(lakegate), "show", "shop", "1.0.0")[1:]),
    "publish": (PublishedVersion, lambda lakegate: (accepted(lakegate), "publish", lakegate.contract())[1:]),
    "pull run": (PulledLine, pulling),
}


@pytest.mark.parametrize("case", CASES)
def test_a_command_prints_the_same_both_ways(lakegate: Lakegate, by_api: Callable[..., Any], case: str) -> None:
    """After the first time, as every transition is done once; what is printed first has the same members."""
    cls, made = CASES[case]
    words = made(lakegate)
    first, here, there = lakegate(*words, "--json"), lakegate(*words, "--json"), by_api(*words)

    assert json.loads(here.stdout) == there
    assert all(fits(json.loads(each), cls) for each in (first.stdout, here.stdout))


@pytest.mark.parametrize("case", ["replay", "waive", "approve", "decline"])
def test_a_transition_through_the_api_is_left_to_the_sweep(
    lakegate: Lakegate, by_api: Callable[..., Any], case: str
) -> None:
    """The person is recorded at once; the document has the same members before the sweep has carried it on."""
    cls, made = CASES[case]
    there = by_api(*made(lakegate))

    assert fits(there, cls)
    assert there["state"] in {"RECEIVED", "PINNED", "STAGED", "SUBMITTING", "ANSWERED"}


def test_the_schemas_of_commands_are_those_of_their_results() -> None:
    """`make published-schemas` writes the file."""
    assert FILE.read_text() == text()
