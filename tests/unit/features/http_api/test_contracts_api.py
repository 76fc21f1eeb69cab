"""Contracts over HTTP: what is published, what is refused and where, what is found."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import timedelta

import pytest

from lakegate.base.errors import ContractError, InputError, Problem
from lakegate.base.extension_points import ROOT
from lakegate.features.proposals.proposal import approve
from lakegate.gate.datasets.dataset_states import ParentNotice
from lakegate.gate.effects import run
from lakegate.gate.registry import publish_contract
from lakegate.gate.registry.publish_contract import referred_of
from lakegate.gate.registry.routes import add_route
from tests.fakes.identity import ALICE, BOB, MemoryIdentity
from tests.unit.features.http_api.conftest import CONTRACTS, Api, Response, document, signed
from tests.unit.gate.registry.test_parent_contracts import policy, product

DCM = (ROOT / "contracts/examples/weather.dcm.yaml").read_text()
DCM_CONTRACT = "brazil-se-weather-contract-inmet-weather-domain"
DCM_ID = f"{DCM_CONTRACT}-1.0.0"


def test_a_document_is_published_and_its_id_is_the_answer(served: Api) -> None:
    """DCM: 200 with the id as a JSON string; the version is in the registry as the command would write it."""
    response = served.publish(DCM)

    assert (response.status, response.body) == (200, DCM_ID)
    assert response.headers["location"] == f"{CONTRACTS}/{DCM_ID}"
    assert [each.version for each in served.env.dependencies.registry.contract(DCM_CONTRACT).versions] == ["1.0.0"]


@pytest.mark.parametrize("kind", ["application/yaml", "application/x-yaml", "text/yaml; charset=utf-8", "Text/YAML"])
def test_a_document_may_be_sent_as_yaml(served: Api, kind: str) -> None:
    """The body is then the document itself."""
    response = served.call(f"POST {CONTRACTS}", DCM.encode(), headers={"content-type": kind})

    assert (response.status, response.body) == (200, DCM_ID)


def test_a_text_body_is_read_as_well(served: Api) -> None:
    """API Gateway hands over JSON as text and other bodies as base64."""
    response = served.call(f"POST {CONTRACTS}", json.dumps(DCM))

    assert (response.status, response.body) == (200, DCM_ID)


def test_publishing_is_recorded_with_the_caller(served: Api) -> None:
    """The ledger names who sent the request, by IAM or by token, and not the function's role."""
    token = {"jwt": {"claims": {"iss": "https://issuer.example", "sub": "a b"}, "scopes": ["lakegate/publish"]}}
    for version, caller in (("1.0.0", signed(BOB)), ("1.0.1", token)):
        body = json.dumps(document(version)).encode()
        assert served.call(f"POST {CONTRACTS}", body, authorizer=caller).status == 200
    records = served.env.memory.ledger.blocks("_contracts/shop", -1)

    assert [each.actor for each in records] == [BOB, "https://issuer.example#a%20b"]


def test_publishing_twice_is_publishing_once(served: Api) -> None:
    """A repeated request has the same answer and writes nothing."""
    answers = [served.publish(document()) for _ in range(2)]

    assert answers[0] == answers[1]
    assert len(served.env.memory.ledger.blocks("_contracts/shop", -1)) == 1


def test_every_mistake_is_answered_with_its_position(served: Api) -> None:
    """400 with all problems at once, as `lint` has them; nothing is published."""
    response = served.publish(document(**{"logicalType: string": "logicalType: strin", "id: shop": "idd: shop"}))
    problem = response.body

    assert response.status == 400
    assert response.headers["content-type"] == "application/problem+json"
    assert problem["type"] == "urn:lakegate:problem:invalid-contract"
    assert problem["instance"] == "urn:lakegate:request:request-1"
    assert {(each["line"], bool(each["code"]), bool(each["message"])) for each in problem["errors"]} >= {
        (11, True, True)
    }
    assert len(problem["errors"]) > 1
    assert served.env.dependencies.registry.contract("shop").versions == ()


def test_a_number_that_is_too_low_is_refused_with_the_changes(served: Api) -> None:
    """409 with the comparison of `lakegate diff --json`."""
    served.publish(document())
    response = served.publish(document("1.0.1", **{"minimum: 0": "minimum: 5"}))

    assert response.status == 409
    assert response.body["type"] == "urn:lakegate:problem:incompatible-version"
    assert response.body["comparison"]["ok"] is False
    assert response.body["comparison"]["sufficient"] == "1.1.0"


def test_another_content_of_a_version_is_refused(served: Api) -> None:
    """What was published under a number stays."""
    served.publish(document())
    response = served.publish(document() + "# changed\n")

    assert (response.status, response.body["type"]) == (400, "urn:lakegate:problem:refused")
    assert "give the changed one a new number" in response.body["detail"]


def test_unexpected_effects_are_confirmed(served: Api) -> None:
    """A draft in a line that has versions becomes active: without `confirm=true` nothing is published."""
    served.publish(document())
    asked = served.publish(document("1.1.0", "draft"))
    confirmed = served.publish(document("1.1.0", "draft"), confirm="true")

    assert (asked.status, asked.body["type"]) == (409, "urn:lakegate:problem:confirmation-needed")
    assert asked.body["effects"] == ["the document's status is `draft`: publishing makes shop 1.1.0 active"]
    assert (confirmed.status, confirmed.body) == (200, "shop")


def test_a_retired_version_that_closes_routes_is_confirmed(served: Api) -> None:
    """The prefixes whose deliveries would be refused are named."""
    served.publish(document())
    dependencies = served.env.dependencies
    run(add_route(dependencies, "orders-in/", "shop", "orders", 1), dependencies.clock)
    asked = served.publish(document("1.1.0", "retired"))

    assert (asked.status, asked.body["type"]) == (409, "urn:lakegate:problem:confirmation-needed")
    assert asked.body["effects"] == ["shop 1.1.0 is retired: every delivery below `orders-in/` would be refused"]


def test_what_only_the_compiler_refuses_is_located_too(served: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that an inherited dataset cannot have is found when the whole contract is compiled, after lint."""
    problem = Problem("unknown-column", "$.schema[0]", 7, "There is no such column.")

    def refuse(*_: object) -> None:
        raise ContractError((problem,))

    monkeypatch.setattr(publish_contract, "compile_plan", refuse)
    response = served.publish(document())

    assert (response.status, response.body["type"]) == (400, "urn:lakegate:problem:invalid-contract")
    assert response.body["errors"] == [asdict(problem)]


def test_a_plan_that_is_too_large_is_an_error_of_the_document(served: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each delivery is judged by it in functions with bounded memory: it is refused while the contract is published."""
    monkeypatch.setattr(publish_contract, "MOST_PLAN_BYTES", 500)
    (error,) = served.publish(document()).body["errors"]

    assert (error["code"], error["path"]) == ("document-too-large", "$.schema[0]")
    assert "more than 500: use fewer or shorter rules" in error["message"]


def test_rules_that_can_never_be_measured_must_be_allowed(served: Api) -> None:
    """As with the command: refused with their positions, or published with `allowUnmeasured=true`."""
    custom = "  quality: [{id: q, type: custom, engine: other, implementation: x}]\n"
    refused = served.publish(document() + custom)
    allowed = served.publish(document() + custom, allowUnmeasured="true")

    assert (refused.status, refused.body["type"]) == (400, "urn:lakegate:problem:invalid-contract")
    assert "allowUnmeasured=true" in refused.body["detail"]
    assert [each["line"] for each in refused.body["errors"]] == [13]
    assert (allowed.status, allowed.body) == (200, "shop")


def test_children_that_are_weaker_are_confirmed(served: Api) -> None:
    """409 names the contracts that are weaker, with the places in their documents; confirmed, the version is published."""
    for text in (policy(5), product(least=7)):
        assert served.publish(text.decode()).status == 200
    stricter = served.publish(policy(8, "1.1.0").decode())
    (child,) = stricter.body["children"]

    assert (stricter.status, stricter.body["type"]) == (409, "urn:lakegate:problem:confirmation-needed")
    assert (child["contract"], child["version"]) == ("shop", "1.0.0")
    assert [(each["code"], each["path"]) for each in child["errors"]] == [
        ("weaker-than-parent", "$.schema[0].quality[0]")
    ]
    assert served.publish(policy(8, "1.1.0").decode(), confirm="true").status == 200
    (notice,) = served.env.dependencies.datasets.get("shop/orders_v1").parents
    assert notice.version == "acme@1.1.0"


def test_with_approval_a_proposal_is_left(served: Api) -> None:
    """202: the caller is the proposer, and nothing is valid before somebody else approves."""
    env = served.env
    env.dependencies = replace(env.dependencies, places=replace(env.dependencies.places, needs_approval=True))
    response = served.publish(document())
    (waiting,) = env.dependencies.registry.proposals()

    assert response.status == 202
    assert response.body == {
        "id": "shop",
        "version": "1.0.0",
        "proposal": waiting.digest,
        "expiresAt": waiting.expires_at,
    }
    assert waiting.proposer == ALICE
    assert env.dependencies.registry.contract("shop").versions == ()


def proposed(served: Api, **claims: str) -> Response:
    """What the API answers to a document that a token proposes; in its subject is an ARN of its own choice."""
    token = {"jwt": {"claims": {"iss": "https://issuer.example", "sub": "a=arn:x", **claims}, "scopes": []}}
    return served.call(f"POST {CONTRACTS}", json.dumps(document()).encode(), authorizer=token)


def test_what_a_token_proposed_is_approved_by_another_person(served: Api) -> None:
    """The claim of the token names the person: who is the same, by any token or by the ARN, cannot approve."""
    env = served.env
    env.dependencies = replace(env.dependencies, places=replace(env.dependencies.places, needs_approval=True))
    response = proposed(served, lakegate_arn=ALICE)
    (waiting,) = env.dependencies.registry.proposals()
    compiled = publish_contract.compile_document(
        document().encode(), referred_of(env.dependencies, document().encode())
    )
    with pytest.raises(InputError, match="another person has to approve"):
        run(approve(env.dependencies, compiled, waiting), env.dependencies.clock)
    by_bob = replace(env.dependencies, identity=MemoryIdentity(BOB))
    run(approve(by_bob, compiled, waiting), env.dependencies.clock)

    assert (response.status, waiting.proposer) == (202, f"https://issuer.example#a%3Darn%3Ax={ALICE}")
    assert [each.version for each in env.dependencies.registry.contract("shop").versions] == ["1.0.0"]


@pytest.mark.parametrize("claim", ["", "alice", "arn:aws:s3:::bucket", f"{ALICE} x", "arn:aws:iam::1:user/a"])
def test_a_token_that_names_no_person_cannot_propose(served: Api, claim: str) -> None:
    """Nobody could approve it: one error that states what to do, and no proposal is left."""
    env = served.env
    env.dependencies = replace(env.dependencies, places=replace(env.dependencies.places, needs_approval=True))
    response = proposed(served, **({"lakegate_arn": claim} if claim else {}))

    assert (response.status, response.body["type"]) == (400, "urn:lakegate:problem:refused")
    assert "without the claim `lakegate_arn`" in response.body["detail"]
    assert env.dependencies.registry.proposals() == ()


def test_a_contract_is_answered_as_dcm_has_it(served: Api) -> None:
    """Id, version, producer, consumer and content; the content is the document as it was sent."""
    served.publish(DCM)
    response = served.contract(DCM_ID)

    assert response.status == 200
    assert response.body == {
        "id": DCM_ID,
        "version": "1.0.0",
        "status": "active",
        "tags": ["weather", "america"],
        "producer": {"name": "INMET", "group": "inmet_mail.com"},
        "consumer": {"name": "weather domain", "group": "weather_domain.com"},
        "content": DCM,
    }


def test_the_newest_version_is_answered_or_the_one_asked_for(served: Api) -> None:
    """`version` chooses; an ODCS document names neither producer nor consumer."""
    for version in ("1.10.0", "1.9.0"):
        served.publish(document(version))
    newest, older, absent = (
        served.contract("shop"),
        served.contract("shop", version="1.9.0"),
        served.contract("shop", version="2"),
    )

    assert (newest.body["version"], newest.body["producer"]) == ("1.10.0", None)
    assert (older.body["version"], older.body["content"]) == ("1.9.0", document("1.9.0"))
    assert (absent.status, absent.body["type"]) == (404, "urn:lakegate:problem:not-found")


def test_contracts_are_found_by_tag_and_actor_over_all_pages(served: Api) -> None:
    """All pages together have each fitting contract once, in its newest version."""
    served.publish(DCM)
    for name in ("a", "b", "c"):
        served.publish(document(**{"id: shop": f"id: {name}", "name: Shop": "name: Shop\ntags: [Hourly]"}))
    served.publish(document("1.1.0", **{"id: shop": "id: a", "name: Shop": "name: Shop\ntags: [hourly, eu]"}))

    def found(**query: str) -> list[tuple[str, str]]:
        pages, cursor = [], {}
        while True:
            body = served.find(**query, **cursor).body
            pages += [(each["id"], each["version"]) for each in body["contracts"]]
            if body["cursor"] is None:
                return sorted(pages)
            cursor = {"cursor": body["cursor"]}

    assert found() == [("a", "1.1.0"), ("b", "1.0.0"), (DCM_ID, "1.0.0"), ("c", "1.0.0"), ("orders", "1.0.0")]
    assert found(tag="HOURLY") == [("a", "1.1.0"), ("b", "1.0.0"), ("c", "1.0.0")]
    assert found(tag="eu") == [("a", "1.1.0")]
    assert found(producer="inmet") == found(consumer="Weather Domain", tag="weather") == [(DCM_ID, "1.0.0")]
    assert found(producer="nobody") == []


def test_a_parent_that_breaks_its_children_is_inherited_from_a_day_on(served: Api) -> None:
    """As `lakegate publish --from`: confirmed with the children, then their lines have the notice; twice is once."""
    for text in (policy(5), product(least=7)):
        assert served.publish(text.decode()).status == 200
    dependencies = served.env.dependencies
    at = dependencies.now + timedelta(days=40)
    day = at.date().isoformat()
    stricter = policy(8, "1.1.0").decode()
    asked = served.publish(stricter, **{"from": day})
    confirmed = [served.publish(stricter, **{"from": day, "confirm": "true"}) for _ in range(2)]

    assert (asked.status, asked.body["type"]) == (409, "urn:lakegate:problem:confirmation-needed")
    assert asked.body["effects"] == [
        f"shop 1.0.0 is weaker than acme 1.1.0, from which new versions of it inherit from {day} on: its datasets get notice"
    ]
    assert [(each.status, each.body) for each in confirmed] == [(200, "acme")] * 2
    assert dependencies.registry.contract("acme").versions[-1].inherited_from == f"{day}T00:00:00.000000Z"
    assert dependencies.datasets.get("shop/orders_v1").parents == (
        ParentNotice("acme@1.1.0", f"{day}T00:00:00.000000Z"),
    )


def test_today_means_now(served: Api) -> None:
    """The version is inherited at once, and confirmed where a child is weaker."""
    for text in (policy(5), product(least=7)):
        served.publish(text.decode())
    today = served.env.dependencies.now.date().isoformat()
    refused = served.publish(policy(8, "1.1.0").decode(), **{"from": today})
    response = served.publish(policy(6, "1.1.0").decode(), **{"from": today})

    assert refused.body["effects"] == [
        "shop 1.0.0 is weaker than acme 1.1.0, from which new versions of it inherit at once: its datasets get notice"
    ]
    assert (response.status, response.body) == (200, "acme")
    assert served.env.dependencies.registry.contract("acme").versions[-1].inherited_from == ""


@pytest.mark.parametrize(
    "day", ["", "soon", "2027-02-30", "2027-01-01T00:00", "\x1b[2J", "\uff19999-01-01", "9" * 5_000]
)
def test_a_text_that_is_no_day_is_refused(served: Api, day: str) -> None:
    """The problem names the parameter and the form; nothing is published."""
    response = served.publish(document(), **{"from": day})

    assert (response.status, response.body["type"]) == (400, "urn:lakegate:problem:invalid-parameter")
    assert response.body["detail"].startswith("`from`: ")
    assert response.body["detail"].endswith(" is no day: write YYYY-MM-DD.")
    assert served.env.dependencies.registry.contract("shop").versions == ()


def test_a_day_that_is_over_is_refused(served: Api) -> None:
    """Contracts inherit from a later day on; nothing is published."""
    response = served.publish(document(), **{"from": "2020-01-01"})

    assert (response.status, response.body["type"]) == (400, "urn:lakegate:problem:refused")
    assert response.body["detail"].startswith("2020-01-01 is not in the future")


def dcs(model: dict[str, object] | None = None, **field: object) -> str:
    """A document of DCS, which allows unknown keys."""
    info = {"title": "t", "version": "1.0.0", "status": "active"}
    head = {"dataContractSpecification": "1.2.1", "id": "warned", "info": info}
    return json.dumps({**head, "models": {"d": {"fields": {"n": {"type": "long", **field}}, **(model or {})}}})


def test_what_lint_warns_of_reaches_the_publisher(served: Api) -> None:
    """The answer is the id, as DCM has it; a header has how many warnings there are, and the first ones."""
    response = served.publish(dcs(zzz=1))
    found = json.loads(response.headers["lakegate-warnings"])
    named = [(each["code"], each["path"]) for each in found["warnings"]]

    assert (response.status, response.body) == (200, "warned")
    assert (found["count"], named) == (1, [("unknown-key-kept", "$.models.d.fields.n.zzz")])
    assert "lakegate-warnings" not in served.publish(dcs().replace("warned", "clean")).headers


def test_many_warnings_are_counted_and_the_first_ones_shown(served: Api) -> None:
    """A header is of bounded length and of ASCII, whatever the document contains."""
    response = served.publish(dcs(**{f"zz{number}\u00f6\r\n": 1 for number in range(200)}))
    header = response.headers["lakegate-warnings"]

    assert (header.isascii(), header.isprintable()) == (True, True)
    assert len(header) <= 4_000
    assert json.loads(header)["count"] == 200
    assert json.loads(header)["warnings"]


def test_a_misspelt_key_is_confirmed(served: Api) -> None:
    """Its rules would be lost: publishing is refused until it is confirmed."""
    text = dcs({"qualty": [{"type": "sql", "query": "SELECT COUNT(*) FROM d", "mustBe": 1}]})
    key = "The key `qualty` is kept but has no meaning here. Did you mean `quality`?"
    refused = served.publish(text)

    assert refused.status == 409
    assert refused.body["effects"] == [f"line 1 ($.models.d.qualty): {key} What it holds is not checked"]
    assert served.publish(text, confirm="true").status == 200
