"""Commands with `--api`, over the real handler of the API in this process."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lakegate.base.errors import LakegateError
from lakegate.cli.main import app
from lakegate.contract.contract_model import NAMES
from lakegate.gate.delivery.delivery_row import replay_id
from lakegate.plan.plan import Plan
from tests.simulation import approvals
from tests.simulation.contract import PLANS
from tests.simulation.environment import PREFIX
from tests.simulation.stage import settle
from tests.simulation.workflows import ASKING, following
from tests.unit.features.http_api.api_server import Server
from tests.unit.features.http_api.conftest import document
from tests.unit.features.pull.pull_stage import LINE as PULLED
from tests.unit.features.pull.pull_stage import PullStage
from tests.unit.features.pull.test_named_objects import KEY as NAMED
from tests.unit.features.pull.test_named_objects import Stage as NamingStage

TOKEN = {"jwt": {"claims": {"iss": "https://issuer.example", "sub": "producer", "lakegate_contracts": "[orders shop]"}}}


@pytest.fixture(autouse=True)
def limited(server: Server) -> None:
    """The caller may use these contracts."""
    server.authorizer = TOKEN


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A contract."""
    made = tmp_path / "shop.yaml"
    made.write_text(document())
    return made


def ran(server: Server, *arguments: str, text: str | None = None) -> Any:
    return CliRunner().invoke(app, [*arguments, "--api", server.url], input=text)


def response(ended: Any) -> Any:
    return json.loads("".join(each for each in ended.stdout.splitlines() if '"_aws"' not in each))


def printed(ended: Any) -> list[str]:
    return [each for each in ended.stdout.splitlines() if '"_aws"' not in each]


def refusal(ended: Any) -> str:
    assert isinstance(ended.exception, LakegateError), ended.output
    return str(ended.exception)


def test_a_contract_is_published_at_its_own_address(server: Server, file: Path) -> None:
    """Twice is once; the command names what is valid now."""
    first, again = ran(server, "publish", str(file)), ran(server, "publish", str(file), "--json")

    found = response(again)

    assert (first.exit_code, printed(first)) == (
        0,
        [
            "Published shop 1.0.0 (active).",
            f"  orders: plan {found['datasets'][0]['plan'][:12]}",
            "No prefix delivers to it yet:",
            "  lakegate route add PREFIX/ shop",
        ],
    )
    assert (again.exit_code, found["contract"], found["version"], found["warnings"]) == (0, "shop", "1.0.0", [])
    assert [each.version for each in server.api.env.dependencies.registry.contract("shop").versions] == ["1.0.0"]


@pytest.mark.parametrize("yes", [True, False])
def test_effects_are_confirmed_before_anything_is_written(server: Server, file: Path, *, yes: bool) -> None:
    """By `--yes`, or the command ends with them."""
    file.write_text(document(status="nothing"))
    ended = ran(server, "publish", str(file), *(["--yes"] if yes else []))

    if yes:
        assert ended.exit_code == 0
    else:
        assert "confirm it with --yes" in refusal(ended)
    assert bool(server.api.env.dependencies.registry.contract("shop").versions) is yes


def test_a_person_confirms_effects(server: Server, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a terminal; then the document is sent again."""
    monkeypatch.setattr("lakegate.cli.command_runner.is_interactive", lambda: True)
    file.write_text(document(status="nothing"))

    assert ran(server, "publish", str(file), text="y\n").exit_code == 0
    assert server.api.env.dependencies.registry.contract("shop").versions


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (document().replace("integer", "nothing"), "shop.yaml:12: error"),
        ("[", "shop.yaml:"),
        (document().replace("id: shop\n", "", 1), "error"),
    ],
)
def test_a_refused_document_is_shown_as_lint_shows_it(server: Server, file: Path, text: str, wanted: str) -> None:
    """With the place of each error; a document without an id has no address of its own."""
    file.write_text(text)
    ended, as_json = ran(server, "publish", str(file)), ran(server, "publish", str(file), "--json")

    assert (ended.exit_code, as_json.exit_code) == (1, 1)
    assert wanted in ended.stdout
    assert response(as_json)["valid"] is False
    assert response(as_json)["errors"]


def test_rules_that_can_never_be_measured_are_allowed_by_option(server: Server, file: Path) -> None:
    """As without --api."""
    rule = '\n  quality:\n  - {type: custom, engine: unknown, implementation: "x"}\n'
    file.write_text(document().rstrip() + rule)

    assert ran(server, "publish", str(file)).exit_code == 1
    assert ran(server, "publish", str(file), "--allow-unmeasured").exit_code == 0


@pytest.mark.parametrize("as_json", [False, True])
def test_a_number_that_is_too_low_is_refused_with_the_changes(server: Server, file: Path, *, as_json: bool) -> None:
    """What each one needs, and why."""
    assert ran(server, "publish", str(file)).exit_code == 0
    file.write_text(
        document("1.0.1")
        .replace("logicalType: integer", "logicalType: string")
        .replace(", logicalTypeOptions: {minimum: 0}", "")
    )
    ended = ran(server, "publish", str(file), *(["--json"] if as_json else []))

    assert ended.exit_code == 1
    if as_json:
        assert response(ended)["comparison"]["sufficient"] == "2.0.0"
    else:
        assert any(each.startswith("major  ") for each in printed(ended))


def test_children_that_would_be_weaker_are_named(server: Server, file: Path) -> None:
    """With the places in their documents, as the API lists them."""
    child = {
        "contract": "c\x1b",
        "version": "1.0.0",
        "owner": "",
        "errors": [{"code": "k", "path": "$", "line": 3, "message": "weaker"}],
    }
    problem = {"type": "urn:lakegate:problem:confirmation-needed", "effects": ["it"], "children": [child]}
    server.answer = (409, json.dumps(problem).encode(), {})
    ended = ran(server, "publish", str(file))

    assert ended.exit_code == 1
    assert ended.stderr.splitlines() == ["c\\x1b 1.0.0 is weaker:", "  line 3: weaker"]


@pytest.mark.parametrize("as_json", [False, True])
def test_where_two_people_publish_a_proposal_is_left(server: Server, file: Path, *, as_json: bool) -> None:
    """The command says that nothing is valid yet."""
    details = {"proposal": "d1", "contract": "shop", "version": "1.0.0", "status": "active", "document": "c/1"}
    details |= {"proposer": "a", "proposed_at": "2026-01-02T12:15:00Z", "expires_at": "2026-01-05T12:15:00Z"}
    details |= {"expired": False, "warnings": []}
    proposal = {"id": "shop", "version": "1.0.0", "proposal": "d1", "expiresAt": "2026-01-05T12:15:00Z"}
    server.answer = (202, json.dumps({**proposal, "details": details}).encode(), {})
    ended = ran(server, "publish", str(file), *(["--json"] if as_json else []))

    assert ended.exit_code == 0
    if as_json:
        assert response(ended) == details
    else:
        assert printed(ended) == [
            "Proposed shop 1.0.0 (active): proposal d1.",
            "It becomes valid when another person approves it, until 2026-01-05T12:15:",
            "  lakegate approve shop@1.0.0 --proposal d1",
        ]


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("publish", "FILE", "--dry-run"), "nothing for --dry-run"),
        (("contracts", "--owner", "a", "--status", "active"), "nothing for --owner and --status"),
        (("show", "orders", "--resolved"), "nothing for --resolved"),
        (("show", "orders", "--local"), "nothing for --local"),
        (("status", "0", "--day", "2026-01-01"), "nothing for --day"),
        (("status",), "lists the deliveries to a contract: name it (--contract), or a workload"),
        (("status", "--contract", "nothing"), "No contract is published with this id"),
        (("show", "nothing"), "No contract is published with this id"),
        (("status", "0" * 64), "No workload has this id"),
    ],
)
def test_what_the_api_cannot_answer_is_refused(
    server: Server, file: Path, arguments: tuple[str, ...], wanted: str
) -> None:
    """In one sentence, before anything is written."""
    assert wanted in refusal(ran(server, *(str(file) if each == "FILE" else each for each in arguments)))


def test_another_contract_than_the_tokens_is_refused(server: Server, file: Path) -> None:
    """The refusal of the API is the command's."""
    file.write_text(document().replace("id: shop", "id: other", 1))

    assert refusal(ran(server, "publish", str(file))) == "The token is limited to other contracts"


def described(contract: str, **labels: list[str]) -> dict[str, Any]:
    """A contract as the API lists it with details."""
    dataset = {"dataset": "d", "line": f"{contract}/d_v1", "status": "active", "plan": "p", "prefixes": ["d/"]}
    return {
        "id": contract,
        "details": [
            {
                "contract": contract,
                "version": "1.0.0",
                "status": "active",
                "document": "k",
                "inherited_from": None,
                "unmeasured_rules": 0,
                "labels": {name: labels.get(name, []) for name in NAMES},
                "datasets": [dataset],
            }
        ],
    }


def test_contracts_are_found_on_every_page(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """By labels in upper or lower case: several values of one are alternatives, several options hold together."""
    pages = {
        "": {"contracts": [described("a", tag=["Hot"], producer=["P"])], "cursor": "next"},
        "next": {
            "contracts": [
                described("b", tag=["cold"], producer=["P"]),
                described("c", producer=["P"]),
                described("d", tag=["hot"]),
            ],
            "cursor": None,
        },
    }
    asked: list[dict[str, str]] = []

    def ask(_: object, method: str, path: str, *, query: dict[str, str]) -> Any:
        assert (method, path) == ("GET", "/api/v1/data-contract")
        asked.append(query)
        return pages[query.get("cursor", "")]

    monkeypatch.setattr("lakegate.features.http_api.api_client.Api.ask", ask)
    found = response(ran(server, "contracts", "--tag", "hot", "--tag", "COLD", "--producer", "p", "--json"))
    nothing = ran(server, "contracts", "--consumer", "x")
    shown = ran(server, "contracts")

    assert [contract["contract"] for contract in found["contracts"]] == ["a", "b"]
    assert asked[:2] == [{"details": "true"}, {"details": "true", "cursor": "next"}]
    assert nothing.stdout == "No published contract has these labels and this status.\n"
    assert [line.split() for line in shown.stdout.splitlines()[1:2]] == [["d", "1.0.0", "active", "d_v1", "d/", "a"]]


def test_a_published_document_is_shown_as_it_was_published(server: Server, file: Path) -> None:
    """The highest version, or the one that is named."""
    assert ran(server, "publish", str(file)).exit_code == 0
    listed, shown = response(ran(server, "contracts", "--json")), ran(server, "show", "shop", "1.0.0")
    whole = response(ran(server, "show", "shop", "--json"))

    assert "shop" in [each["contract"] for each in listed["contracts"]]
    assert "\n".join(printed(shown)) + "\n" == document()
    assert (whole["contract"], whole["text"]) == ("shop", document())


def test_a_delivery_is_shown_by_its_id(server: Server, tmp_path: Path) -> None:
    """Also below the address of its contract; reasons are those of the verdict."""
    place = tmp_path / "day.csv"
    place.write_bytes(b"bad:1")
    delivered = CliRunner().invoke(
        app, ["deliver", str(place), "--api", server.url, "--contract", "orders", "--wait", "--json"]
    )
    workload = response(delivered)["workloadId"]
    shown = printed(ran(server, "status", workload))
    below = response(ran(server, "status", workload, "--contract", "orders", "--json"))

    assert shown[0] == f"  workload  {workload}"
    assert re.fullmatch(r"      file  shop/orders/[0-9a-f]{64}/day.csv \(5 bytes\)", shown[1])
    assert shown[2:5] == ["  contract  orders/lines_v1 1.0.0", "     state  quarantined", "   verdict  Rejected"]
    assert shown[5] == (
        "    reason  file/whole: the whole file is rejected, although `onReject` is `rows`, because amount rejects the file, "
        "and no single rows"
    )
    assert [each.split(":")[0].split()[-1] for each in shown[5:8]] == ["file/whole", "name", "amount"]
    assert (below["workload"], below["state"]) == (workload, "QUARANTINED")


def test_the_deliveries_to_a_contract_are_listed_page_by_page(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are not finished first; as many as are wanted."""
    monkeypatch.setattr("lakegate.features.http_api.workloads_api.DETAILED_PAGE", 2)
    for number in range(3):
        server.api.env.upload(f"{PREFIX}{number}.csv", f"good:{number}".encode())
        settle(server.stage)
    server.api.env.upload(f"{PREFIX}late.csv", b"good:9")
    table = printed(ran(server, "status", "--contract", "orders"))
    keys = [response(ran(server, "status", "--contract", "orders", "--limit", limit, "--json")) for limit in ("9", "3")]

    assert [each.split()[1] for each in table if ".csv" in each] == [
        f"{PREFIX}{name}.csv" for name in ("late", "2", "1", "0")
    ]
    assert [[each["key"].removeprefix(PREFIX) for each in found["deliveries"]] for found in keys] == [
        ["late.csv", "2.csv", "1.csv", "0.csv"],
        ["late.csv", "2.csv", "1.csv"],
    ]


def test_an_announcement_has_no_verdict(server: Server) -> None:
    """Nor has anything landed; when its time is over, it says so."""
    wanted = {
        "name": "day.csv",
        "size": 5,
        "checksum": f"sha256:{base64.b64encode(sha256(b'bad:1').digest()).decode()}",
    }
    announced = server.api.call(
        "POST /api/v1/data-contract/{id}/workload", json.dumps(wanted), path="orders", authorizer=TOKEN
    ).body["workloadId"]
    fresh, as_json = printed(ran(server, "status", announced)), response(ran(server, "status", announced, "--json"))
    server.api.env.memory.clock.sleep(timedelta(days=30).total_seconds())
    late = printed(ran(server, "status", announced))

    assert fresh == [
        f"  workload  {announced}",
        "  contract  orders/lines_v1 1.0.0",
        "     state  announced: nothing has landed yet",
        "   verdict  none yet",
        "      time  2026-01-05 12:00:00 UTC",
    ]
    assert (as_json["state"], as_json["verdict"], as_json["size"]) == (None, None, 0)
    assert late[2:] == [
        "     state  expired: nothing has landed",
        "   verdict  none yet",
        "   problem  announcement-expired (docs/operator.md)",
        "      time  2026-01-05 12:00:00 UTC",
    ]


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (("contracts",), 200, {}),
        (("contracts",), 200, "text"),
        (("show", "orders"), 200, {}),
        (("status", "0"), 200, {"result": []}),
        (("publish", "FILE"), 202, {}),
        (("publish", "FILE"), 400, {"type": "urn:lakegate:problem:invalid-contract", "errors": [1]}),
        (("publish", "FILE"), 409, {"type": "urn:lakegate:problem:confirmation-needed", "children": [{}]}),
    ],
)
def test_an_answer_of_another_form_is_an_error(
    server: Server, file: Path, arguments: tuple[str, ...], status: int, text: object
) -> None:
    """In one sentence: it is another version's, or something else's."""
    server.answer = (status, json.dumps(text).encode(), {})
    ended = ran(server, *(str(file) if each == "FILE" else each for each in arguments))

    assert refusal(ended).startswith("the answer has a form that this command does not know")


def quarantined(server: Server) -> str:
    """The id of a rejected delivery."""
    upload = server.api.env.upload(f"{PREFIX}day.csv", b"bad:1")
    settle(server.stage)
    return upload.workload


def waived(server: Server, workload: str, *more: str) -> Any:
    ends = (server.api.env.memory.clock.now() + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M")
    return ran(server, "waive", workload, "--reason", "known", "--expires", ends, *more)


def test_a_delivery_is_waived(server: Server) -> None:
    """By either address; the answer is the workload that is accepted, and a second transition is refused with its reason."""
    workload = quarantined(server)
    first, again = waived(server, workload), waived(server, workload, "--contract", "orders", "--json")
    late = ran(server, "replay", workload)
    row = server.api.env.dependencies.workloads.get(replay_id(workload))

    assert (first.exit_code, printed(first)[0]) == (0, f"{workload} is waived: taken in, as {row.id}.")
    assert (again.exit_code, response(again)["workload"], response(again)["started"]) == (0, row.id, False)
    assert row.waiver is not None
    assert (row.waiver.reason, row.waiver.actor) == ("known", "https://issuer.example#producer")
    assert refusal(late) == "It was replayed or waived before: what came of that is a workload of its own"


def test_a_delivery_is_approved_or_declined(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its id; the next sweep carries it on, and the other answer is refused with who was first."""
    monkeypatch.setattr(approvals, "PEOPLE", {"https://issuer.example#producer"})
    with following(ASKING):
        server.api.env.publish("1.0.0", "active", Plan.from_bytes(PLANS["1.0.0"]))
        approved, declined = (
            server.api.env.upload(f"{PREFIX}{name}.csv", f"good:{name}".encode()).workload for name in "ab"
        )
        settle(server.stage)
        first = ran(server, "approve", approved, "--json")
        other = ran(server, "decline", declined, "--reason", "known", "--contract", "orders")
        late = ran(server, "decline", approved, "--reason", "known")
        settle(server.stage)
        rows = [server.api.env.dependencies.workloads.get(each) for each in (approved, declined)]
    local = ran(server, "approve", "shop@1.0.0")

    assert (first.exit_code, response(first)["state"]) == (0, "ANSWERED")
    assert (other.exit_code, printed(other)[0]) == (
        0,
        f"{declined} is declined by https://issuer.example#producer: answered by a person, being decided.",
    )
    assert "it was approved before, by https://issuer.example#producer" in refusal(late)
    assert [each.state for each in rows] == ["PUBLISHED", "QUARANTINED"]
    assert refusal(local).startswith("--api and --contract are for deliveries")


@pytest.mark.parametrize(
    ("contract", "version"), [((), None), (("--contract", "orders"), None), (("--contract", "orders@1.0.0"), "1.0.0")]
)
def test_a_delivery_is_replayed(server: Server, contract: tuple[str, ...], version: str | None) -> None:
    """By the version that is valid, or the one that is named; a contract alone is its address."""
    workload = quarantined(server)
    ended = ran(server, "replay", workload, *contract, "--json")
    row = server.api.env.dependencies.workloads.get(replay_id(workload))

    assert (ended.exit_code, response(ended)["workload"], response(ended)["replay_of"]) == (0, row.id, workload)
    assert (row.chosen and row.chosen.version) == version


def test_what_the_api_has_no_transition_for_is_refused(server: Server) -> None:
    """Many at once, and waiting; `--contract` of `waive` has no meaning without the API."""
    many = ran(server, "replay", "--state", "FAILED")
    none = ran(server, "replay")
    with_wait = ran(server, "replay", "0" * 64, "--wait")
    own = CliRunner().invoke(
        app, ["waive", "0" * 64, "--reason", "r", "--expires", "2027-01-31", "--contract", "orders", "--local"]
    )

    assert refusal(many).startswith("the HTTP API has nothing for --state")
    assert refusal(none) == "name a workload, or choose many with --state (then without --wait)"
    assert refusal(with_wait).startswith("the HTTP API has nothing for --wait")
    assert refusal(own).startswith("--contract is for --api")


def test_a_day_is_part_of_the_request(server: Server, file: Path) -> None:
    """`--from` is the parameter of the API, whose refusal the command shows."""
    assert ran(server, "publish", str(file), "--from", "2099-01-01").exit_code == 0
    (version,) = server.api.env.dependencies.registry.contract("shop").versions

    assert version.inherited_from == "2099-01-01T00:00:00.000000Z"
    assert refusal(ran(server, "publish", str(file), "--from", "soon")) == "`from`: `soon` is no day: write YYYY-MM-DD"


def test_files_are_checked_by_a_version_that_is_read_over_the_api(server: Server, tmp_path: Path) -> None:
    """With rights to the contract alone, and none in the account."""
    for version in ("1.0.0", "1.1.0"):
        (tmp_path / "shop.yaml").write_text(document(version))
        assert ran(server, "publish", str(tmp_path / "shop.yaml")).exit_code == 0
    file = tmp_path / "day.csv"
    file.write_bytes(b"id,amount\na,1\n")
    found = [ran(server, "check", "--contract", name, str(file)) for name in ("shop", "shop@1.0.0", "stop")]

    assert [each.exit_code for each in found[:2]] == [0, 0]
    assert "No contract is published with this id" in refusal(found[2])


def test_an_object_is_named_by_its_owner(server: Server) -> None:
    """As with rights in the account: repeated, it is the same delivery."""
    stage = NamingStage(env=server.api.env)
    stage.has(b"id\n1")
    server.authorizer = {"jwt": {"claims": TOKEN["jwt"]["claims"] | {"lakegate_contracts": "partner"}}}
    words = ("pull", "run", PULLED, "--object", NAMED, "--object-version", "v1")
    due = ran(server, *words)
    stage.tick()
    done = response(ran(server, *words, "--json"))

    assert printed(due) == [f"{NAMED} is pulled at the next tick, within five minutes"]
    assert (done["line"], done["object"], done["version"], done["status"]) == (PULLED, NAMED, "v1", "Done")
    assert done["latest"]["key"] in stage.landed


def test_a_contract_is_pulled_by_its_owner(server: Server) -> None:
    """All its lines by its id, one by its whole name; what no tick has seen says so."""
    stage = PullStage(env=server.api.env)
    stage.publish()
    server.authorizer = {"jwt": {"claims": TOKEN["jwt"]["claims"] | {"lakegate_contracts": "partner"}}}
    fresh = ran(server, "pull", "run", "partner")
    stage.tick()
    due, one = ran(server, "pull", "run", "partner"), ran(server, "pull", "run", PULLED, "--json")
    stage.env.memory.pulls.write(replace(stage.row, leased="9999-01-01T00:00:00.000000Z"))
    fetching = ran(server, "pull", "run", PULLED)
    local = ran(server, "pull", "run", PULLED, "--local")

    assert printed(fresh) == [
        f"{PULLED} is not scheduled yet: it was published within five minutes, or the stack does not pull"
    ]
    assert printed(due) == [f"{PULLED} is pulled at the next tick, within five minutes"]
    assert (response(one)["line"], response(one)["fetching"]) == (PULLED, None)
    assert printed(fetching) == [f"{PULLED} is being pulled"]
    assert "nothing for --local" in refusal(local)
    assert "No contract with this id has such a dataset that is pulled" in refusal(
        ran(server, "pull", "run", "partner/other_v1")
    )
