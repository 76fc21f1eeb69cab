"""What commands print over AWS and over the HTTP API: one shape, described by the schema of their dataclass."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit
from urllib.request import Request

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from infra.site.command_schemas import FILE, text
from infra.site.published_schemas import derived
from lakegate.cli.main import app
from lakegate.contract.file_formats import Format
from lakegate.features.announcements.announced_delivery import SummaryRefused, announce
from lakegate.features.announcements.wanted_delivery import DataSummary, WantedDelivery
from lakegate.features.pull.pull_task import tick
from lakegate.features.pull.pulled_dataset import PulledDataset
from lakegate.gate.effects import run
from lakegate.library.described_deliveries import AnsweredDelivery, DeliveryStatus, StartedReplay, WaivedDelivery
from lakegate.library.published_contracts import ContractDocument, DescribedVersions, PublishedVersion
from tests.fakes.moto_state import MotoState
from tests.fakes.pulls import MemorySource
from tests.simulation.environment import Environment
from tests.unit.cli.conftest import Lakegate, check_form
from tests.unit.cli.contracts.test_inherited_contracts import family, policy
from tests.unit.cli.contracts.test_publish_command import TEXT, with_a_rule_of_dbt
from tests.unit.cli.deliveries.test_decide_command import WORKFLOW
from tests.unit.features.http_api.api_server import routed
from tests.unit.features.http_api.conftest import Api, signed
from tests.unit.features.pull.test_pull_command import PULL

if TYPE_CHECKING:
    from click.testing import Result

URL = "https://api.example.com"
BAD = b"id,amount\n,1\nb,2\nc,3\nd,4\n"
OWNER = {"jwt": {"claims": {"iss": "https://issuer.example", "sub": "owner"}}}
"""A token of the owner of all contracts, as a person with rights in the account is."""
WAIVER = ("--reason", "known", "--expires", "2027-01-31")


@pytest.fixture
def over_http(
    lakegate: Lakegate, serve: Callable[[Environment], Api], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    """Runs a command over the HTTP API, whose handler has the same stack as the commands of `lakegate`."""
    api, caller = serve(lakegate), signed()  # type: ignore[arg-type] # it has `dependencies`
    monkeypatch.setenv("LAKEGATE_TOKEN", "the-token")

    def sent(request: Request, _what: str) -> tuple[int, bytes]:
        address = urlsplit(request.full_url)
        route, path = routed(str(request.get_method()), address.path)
        headers = {name.lower(): value for name, value in request.header_items()}
        given = {"path": " / ".join(path), "query": dict(parse_qsl(address.query)), "headers": headers}
        found = api.call(route, request.data, authorizer=caller, **given)  # type: ignore[arg-type] # its parts
        return found.status, found.text.encode()

    monkeypatch.setattr("lakegate.features.http_api.api_client.send_request", sent)

    def ran(*words: str, authorizer: dict[str, Any] | None = None) -> Result:
        nonlocal caller
        caller = authorizer or signed()
        return CliRunner().invoke(app, [*words, "--api", URL])

    return ran


@pytest.fixture
def by_api(over_http: Callable[..., Result]) -> Callable[..., Any]:
    """The document of a command over the HTTP API."""

    def command(*words: str) -> Any:
        ended = over_http(*words, "--json")
        assert ended.exit_code == 0, (ended.output, ended.exception)
        return json.loads(printed(ended))

    return command


def printed(ended: Result) -> str:
    """Standard output without the metrics of the handler, which runs in the same process."""
    return "".join(each for each in ended.stdout.splitlines(keepends=True) if '"_aws"' not in each)


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


def announced(lakegate: Lakegate) -> tuple[str, ...]:
    """One that waits, one that is refused, and a delivery."""
    accepted(lakegate)
    for identity, stated in (("a", None), ("b", DataSummary(4, (), Format.PARQUET))):
        wanted = WantedDelivery("shop", summary=stated)
        with suppress(SummaryRefused):
            run(announce(lakegate.dependencies, wanted, identity * 64), lakegate.dependencies.clock)
    return "status", "a" * 64


CASES: dict[str, tuple[type, Callable[[Lakegate], tuple[str, ...]]]] = {
    "status, accepted": (DeliveryStatus, lambda lakegate: ("status", accepted(lakegate))),
    "status, rejected": (DeliveryStatus, lambda lakegate: ("status", rejected(lakegate))),
    "status, waiting": (DeliveryStatus, lambda lakegate: ("status", waiting(lakegate))),
    "status, failed": (DeliveryStatus, lambda lakegate: ("status", failed(lakegate)[1])),
    "status, announced": (DeliveryStatus, announced),
    "replay": (StartedReplay, failed),
    "waive": (WaivedDelivery, lambda lakegate: ("waive", rejected(lakegate), *WAIVER)),
    "approve": (AnsweredDelivery, lambda lakegate: ("approve", waiting(lakegate))),
    "decline": (AnsweredDelivery, lambda lakegate: ("decline", waiting(lakegate), "--reason", "no")),
    "contracts": (DescribedVersions, lambda lakegate: (accepted(lakegate), "contracts")[1:]),
    "contracts, none": (DescribedVersions, lambda lakegate: (accepted(lakegate), "contracts", "--tag", "x")[1:]),
    "show": (ContractDocument, lambda lakegate: (accepted(lakegate), "show", "shop")[1:]),
    "show, a version": (ContractDocument, lambda lakegate: (accepted(lakegate), "show", "shop", "1.0.0")[1:]),
    "publish": (PublishedVersion, lambda lakegate: (accepted(lakegate), "publish", lakegate.contract())[1:]),
    "pull run": (PulledDataset, pulling),
}


@pytest.mark.parametrize("case", CASES)
def test_a_command_prints_the_same_both_ways(lakegate: Lakegate, by_api: Callable[..., Any], case: str) -> None:
    """After the first time, as every transition is done once; what is printed first has the same members."""
    cls, made = CASES[case]
    words = made(lakegate)
    first, here, there = lakegate(*words, "--json"), lakegate(*words, "--json"), by_api(*words)

    assert json.loads(here.stdout) == there
    assert all(fits(json.loads(each), cls) for each in (first.stdout, here.stdout))


@pytest.mark.parametrize("made", [accepted, pulling, announced])
def test_the_list_of_a_contract_is_the_same_both_ways(
    lakegate: Lakegate, by_api: Callable[..., Any], over_http: Callable[..., Result], made: Callable[[Lakegate], object]
) -> None:
    """In words and for machines, with what features say about its datasets."""
    made(lakegate)
    words = "status", "--contract", "shop"

    assert json.loads(lakegate(*words, "--json").stdout) == by_api(*words)
    assert lakegate(*words).stdout == printed(over_http(*words))


def test_announcements_are_in_the_list_of_their_contract(lakegate: Lakegate) -> None:
    """What becomes of each is in its row; without the contract, nobody can tell whose they are."""
    announced(lakegate)
    rows = lakegate.ok("status", "--contract", "orders").splitlines()
    shown = {each.split()[0]: each for each in rows}
    listed = lakegate.json("status", "--contract", "shop", "--verdict", "none")["deliveries"]

    assert (" announced " in shown["a" * 12], " refused " in shown["b" * 12]) == (True, True)
    assert sorted(each["workload"][0] for each in listed) == ["a", "b"]
    assert {each["contract"]["line"] for each in listed} == {"shop/orders_v1"}
    assert [each["key"] for each in lakegate.json("status")["deliveries"]] == ["orders/day.csv"]


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


# ---- Publishing: all that is printed ----


def published_before(lakegate: Lakegate) -> None:
    lakegate.routed()


def with_subscribers(lakegate: Lakegate) -> None:
    lakegate.routed()
    lakegate.ok("subscribe", "orders", "--as", "finance")


def a_key_that_is_kept(lakegate: Lakegate) -> str:
    head = "dataContractSpecification: 1.2.1\nid: warned\ninfo: {title: t, version: 1.0.0, status: active}\n"
    return lakegate.file(f"{head}models: {{d: {{fields: {{n: {{type: long, zzz: 1}}}}}}}}\n".encode(), "warned.yaml")


def a_stricter_parent(lakegate: Lakegate) -> str:
    family(lakegate)
    return policy(lakegate, 8, "1.1.0")


PUBLICATIONS: dict[str, tuple[int, Callable[[Lakegate], tuple[str, ...]]]] = {
    "accepted": (0, lambda lakegate: (accepted(lakegate), lakegate.contract("1.1.0"))[1:]),
    "accepted, with a start": (
        0,
        lambda lakegate: (with_subscribers(lakegate), lakegate.contract("2.0.0", **TEXT))[1:],
    ),
    "warnings": (0, lambda lakegate: (a_key_that_is_kept(lakegate),)),
    "errors": (1, lambda lakegate: (lakegate.contract(integer="whole"),)),
    "no document": (1, lambda lakegate: (lakegate.file(b"a: 1\nb: [\n", "broken.yaml"),)),
    "number too low": (1, lambda lakegate: (published_before(lakegate), lakegate.contract("1.2.0", **TEXT))[1:]),
    "weaker child": (1, lambda lakegate: (a_stricter_parent(lakegate),)),
    "weaker child, confirmed": (0, lambda lakegate: (a_stricter_parent(lakegate), "--yes")),
    "unmeasured rule": (1, lambda lakegate: (with_a_rule_of_dbt(lakegate),)),
    "unmeasured rule, allowed": (0, lambda lakegate: (with_a_rule_of_dbt(lakegate), "--allow-unmeasured")),
}


@pytest.mark.parametrize("case", PUBLICATIONS)
def test_a_publication_prints_the_same_both_ways(
    lakegate: Lakegate, over_http: Callable[..., Result], case: str
) -> None:
    """Each begins with the same stack: all lines of both outputs, the refusal and the exit code are equal."""
    code, made = PUBLICATIONS[case]
    words = ("publish", *made(lakegate))
    before = MotoState.save(lakegate.jobs)
    for option in ((), ("--json",)):
        before.restore(lakegate.jobs)
        here = lakegate(*words, *option)
        before.restore(lakegate.jobs)
        there = over_http(*words, *option, authorizer=OWNER)

        assert (here.exit_code, here.stdout, here.stderr) == (there.exit_code, printed(there), there.stderr)
        assert (code, str(here.exception)) == (here.exit_code, str(there.exception))
        if option and here.stdout:
            check_form(words, json.loads(here.stdout))


def test_the_reasons_of_an_announcement_are_those_of_its_refusal(lakegate: Lakegate) -> None:
    """It is described as `status` describes it: nothing has landed, so nothing was measured."""
    announced(lakegate)
    shown = lakegate.json("status", "b" * 64)

    assert shown["reasons"]
    assert lakegate.json("reasons", "b" * 64) == {**shown, "checks": [], "timings": {}}
