"""Owners of contracts are apart through what documents refer to: their data, their rules, and what they may publish."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lakegate.features.proposals.proposal import approve, propose
from lakegate.gate.delivery.delivery_row import Referred
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.pin_contract import referred_datasets
from lakegate.gate.registry.contract_owners import are_named
from lakegate.gate.registry.publish_contract import compile_document, plan_publication, publish, referred_of
from lakegate.gate.registry.registry_rows import Publication
from lakegate.gate.registry.routes import add_route
from tests.fakes.identity import ALICE, BOB, MemoryIdentity
from tests.simulation.environment import LANDING, Environment
from tests.unit.diff.builder import COLUMN, document
from tests.unit.features.http_api.conftest import CONTRACTS, Api, Response, encoded, signed
from tests.unit.gate.delivery.test_attempt_request_references import published
from tests.unit.gate.scenarios import drive
from tests.unit.inheritance.families import parent_of

VICTIM = "orders/lines_v1"
"""The line whose accepted data somebody else wants to compare with."""
SOME = {"id": "some", "metric": "rowCount"}


def token(*contracts: str) -> dict[str, Any]:
    """A token that is limited to contracts, as API Gateway writes its claims."""
    claims = {"iss": "https://issuer.example", "sub": "s", "lakegate_contracts": f"[{' '.join(contracts)}]"}
    return {"jwt": {"claims": claims, "scopes": []}}


def referring(contract: str, to: str = "orders_v1.yaml#/schema/lines/properties/name", **parts: Any) -> bytes:
    """A document whose rule looks up each key in the data of another contract."""
    column = {"name": "key", "logicalType": "string", "relationships": [{"to": to}]}
    return document({"properties": [COLUMN, column], "root": {"id": contract}, **parts})


def policy(least: int, version: str = "1.0.0", **extension: Any) -> bytes:
    """A parent: every dataset has at least so many rows."""
    parts = {"common": {"quality": [{**SOME, "mustBeGreaterOrEqualTo": least}]}, "extension": extension}
    return parent_of(parts, version=version)


def child(contract: str, least: int, parent: str = "acme@1") -> bytes:
    parts: dict[str, Any] = {"quality": [{**SOME, "mustBeGreaterOrEqualTo": least}]}
    return document({"object": parts, "extension": {"inherits": parent}, "root": {"id": contract}})


def by_address(api: Api, contract: str, text: bytes, authorizer: dict[str, Any], **query: str) -> Response:
    body = json.dumps(text.decode()).encode()
    return api.call(f"PUT {CONTRACTS}/{{id}}", body, path=contract, authorizer=authorizer, query=query)


def posted(api: Api, _contract: str, text: bytes, authorizer: dict[str, Any], **query: str) -> Response:
    return api.call(f"POST {CONTRACTS}", json.dumps(text.decode()).encode(), authorizer=authorizer, query=query)


def by_command(api: Api, _contract: str, text: bytes, _authorizer: dict[str, Any]) -> None:
    """With rights in the account: on every contract."""
    dependencies = api.env.dependencies
    drive(dependencies, publish(dependencies, compile_document(text, referred_of(dependencies, text))))


def by_two_people(api: Api, _contract: str, text: bytes, _authorizer: dict[str, Any]) -> None:
    """Proposed over HTTP by who may use one contract, approved by who may use all: the proposer's contracts count."""
    dependencies = api.env.dependencies
    one = replace(dependencies, identity=MemoryIdentity(ALICE))
    compiled = compile_document(text, referred_of(one, text, ()))
    drive(one, propose(one, compiled))
    proposal = one.registry.proposal(compiled.contract, compiled.version)
    assert proposal is not None
    again = compile_document(text, referred_of(dependencies, text, proposal.publication.own))
    other = replace(dependencies, identity=MemoryIdentity(BOB))
    drive(other, approve(other, again, proposal))


WAYS = {
    "token, limited": (by_address, token("spy*"), False),
    "token, limited, posted": (posted, token("spy*"), False),
    "token with both": (by_address, token("spy*", "orders", "acme"), True),
    "token, unlimited": (by_address, {"jwt": {"claims": {"iss": "https://i", "sub": "s"}}}, True),
    "IAM, by the address": (by_address, signed(), False),
    "IAM, every contract": (posted, signed(), True),
    "command": (by_command, {}, True),
    "two people": (by_two_people, {}, False),
}
"""How a contract is published, and whether its publisher may use the other owner's."""
SHARED = {
    "not shared": ((), False),
    "with its id": (("spy",), True),
    "with others": (("spy-2", "s*y"), False),
    "with a star": (("sp*",), True),
}


def world() -> tuple[Environment, int]:
    """Accepted data of one owner, and the height of its chain."""
    env = Environment()
    published(env, b"good:1", b"good:2")
    return env, env.dependencies.ledger.head(VICTIM).height


def share(env: Environment, *patterns: str) -> None:
    """The owner of the line publishes it with `sharedWith`."""
    registry = env.dependencies.registry
    (version,) = registry.contract("orders").versions
    registry.publish(
        Publication(**{**{each: getattr(version, each) for each in version.__slots__}, "shared_with": patterns})
    )


def pinned(env: Environment, contract: str) -> tuple[Referred, ...]:
    """What a delivery to the contract is compared with."""
    drive(env.dependencies, add_route(env.dependencies, f"{contract}/", contract, "orders", 1))
    upload = env.upload(f"{contract}/day.csv", b"id,key\n1,A600\n")
    drive(env.dependencies, intake(env.dependencies, LANDING, f"{contract}/day.csv"))
    pin = env.dependencies.workloads.get(upload.workload).pin
    assert pin is not None
    return pin.references


@pytest.mark.parametrize("shared", SHARED)
@pytest.mark.parametrize("way", WAYS)
def test_data_is_compared_with_ones_own_and_what_is_shared(
    serve: Callable[[Environment], Api], way: str, shared: str
) -> None:
    """Else a delivery is judged as if nothing were accepted of the line: as with one that does not exist."""
    env, height = world()
    share(env, *SHARED[shared][0])
    api = serve(env)
    send, authorizer, has_it = WAYS[way]
    to = "nobody_v1.yaml#/schema/lines/properties/name"
    answers = [
        send(api, name, text, authorizer)
        for name, text in (("spy", referring("spy")), ("spy-other", referring("spy-other", to)))
    ]

    assert [each.status for each in answers if each] in ([], [200, 200])
    assert pinned(env, "spy") == (Referred(VICTIM, height if has_it or SHARED[shared][1] else -1),)
    assert pinned(env, "spy-other") == (Referred("nobody/lines_v1", -1),)


def test_what_is_shared_no_more_is_not_compared_any_more(serve: Callable[[Environment], Api]) -> None:
    """At the next delivery, and at the next run of a rule with a schedule: by the version that is current then."""
    env, height = world()
    share(env, "spy")
    by_address(serve(env), "spy", referring("spy"), token("spy"))
    dependencies = env.dependencies
    before = referred_datasets(dependencies, "spy", "1.0.0", [VICTIM])
    share(env, "other")
    after = referred_datasets(dependencies, "spy", "1.0.0", [VICTIM])

    assert (before, after) == ((Referred(VICTIM, height),), (Referred(VICTIM, -1),))
    assert referred_datasets(dependencies, "spy", "9.0.0", [VICTIM]) == after
    assert referred_datasets(dependencies, "orders", "1.0.0", [VICTIM]) == before


@pytest.mark.parametrize("way", [each for each in WAYS if WAYS[each][0] in {by_address, posted}])
@pytest.mark.parametrize("shared", [(), ("spy",)])
def test_rules_are_read_of_ones_own_and_of_what_is_shared(served: Api, way: str, shared: tuple[str, ...]) -> None:
    """A parent that is neither is answered as one that does not exist: same status, same errors."""
    by_command(served, "acme", policy(8, **({"sharedWith": list(shared)} if shared else {})), {})
    send, authorizer, has_it = WAYS[way]
    weak, unknown = (send(served, "spy", child("spy", 5, parent), authorizer) for parent in ("acme@1", "acne@1"))
    strict = send(served, "spy", child("spy", 9), authorizer)
    codes = [each["code"] for each in weak.body["errors"]]

    if has_it or shared:
        assert (weak.status, codes, strict.status) == (400, ["weaker-than-parent"], 200)
    else:
        assert codes == ["unknown-parent"]
        assert _without_id(weak).replace("acme", "acne") == _without_id(unknown)
        assert (strict.status, strict.body["errors"]) == (400, weak.body["errors"])


def _without_id(response: Response) -> str:
    return json.dumps(response.body)


@pytest.mark.parametrize("send", [by_address, posted])
def test_a_foreign_id_opens_no_foreign_parent(served: Api, send: Callable[..., Response]) -> None:
    """A document of a contract that the caller may not use is refused before anything that it refers to is read."""
    by_command(served, "acme", policy(8), {})
    answers = [send(served, "acme.x", child("acme.x", 5, parent), token("spy*")) for parent in ("acme@1", "acne@1")]

    assert [each.status for each in answers] == [403, 403]
    assert answers[0].body == answers[1].body


def test_children_of_others_neither_block_a_parent_nor_are_shown(served: Api) -> None:
    """Their datasets get notice. The publisher's own are shown, and confirmed."""
    owner, spy = token("acme*"), token("spy*")
    by_address(served, "acme", policy(5, sharedWith=["spy*"]), owner)
    assert by_address(served, "spy", child("spy", 6), spy).status == 200
    stricter = by_address(served, "acme", policy(7, "1.1.0", sharedWith=["spy*"]), owner)
    assert by_address(served, "acme.sub", child("acme.sub", 8), owner).status == 200
    asked = by_address(served, "acme", policy(9, "1.2.0", sharedWith=["spy*"]), owner)
    confirmed = by_address(served, "acme", policy(9, "1.2.0", sharedWith=["spy*"]), owner, confirm="true")
    lines = served.env.dependencies.datasets

    assert (stricter.status, stricter.body) == (200, "acme")
    assert (asked.status, [each["contract"] for each in asked.body["children"]]) == (409, ["acme.sub"])
    assert "spy" not in asked.text
    assert confirmed.status == 200
    assert [each.version for each in lines.get("spy/orders_v1").parents] == ["acme@1.1.0"]
    assert [each.version for each in lines.get("acme.sub/orders_v1").parents] == ["acme@1.2.0"]


def test_a_later_parent_that_is_not_shared_any_more_is_not_told(served: Api) -> None:
    """A child is warned of announced versions only if it may inherit from them."""
    owner, spy = token("acme*"), token("spy*")
    by_address(served, "acme", policy(5, sharedWith=["spy*"]), owner)
    by_address(served, "acme", policy(9, "1.1.0"), owner, **{"from": "2099-01-01", "confirm": "true"})
    dependencies, text = served.env.dependencies, child("spy", 6)
    compiled = compile_document(text, referred_of(dependencies, text, ("spy*",)))

    assert by_address(served, "spy", text, spy).status == 200
    assert plan_publication(dependencies, compiled).warnings == ()
    assert [each.code for each in plan_publication(dependencies, replace(compiled, own=("*",))).warnings] == [
        "weaker-than-parent"
    ]


def test_a_line_that_nothing_is_compared_with_is_a_warning(serve: Callable[[Environment], Api]) -> None:
    """In the same words for a line that does not exist, one without a usable name, and one of another owner."""
    env, _ = world()
    dependencies = serve(env).env.dependencies
    found = []
    for contract in ("orders", "nobody", "_contracts"):
        text = referring("spy", f"{contract}_v1.yaml#/schema/lines/properties/name")
        (warning,) = plan_publication(
            dependencies, compile_document(text, referred_of(dependencies, text, ()))
        ).warnings
        found.append(warning.message.replace(contract, "X"))
        assert warning.code == "dangling-relationship"
    own = referring("spy", "spy_v1.yaml#/schema/orders/properties/key")

    assert set(found) == {
        "`X/lines_v1` is not published here, or not shared with this contract (`sharedWith`): what refers to it is not measured."
    }
    assert plan_publication(dependencies, compile_document(own, referred_of(dependencies, own, ()))).warnings == ()


@pytest.mark.parametrize(
    ("claim", "named"),
    [
        (["shop sales"], []),
        (["shop", "sales"], ["shop", "sales"]),
        (["shop,sales"], []),
        ("shop sales", ["shop", "sales"]),
        (["a b"], ["a b"]),
        (["sh*", 1, None, ""], ["shop"]),
        ({"shop": 1}, []),
        (None, []),
    ],
)
def test_a_claim_is_read_from_the_token_itself(served: Api, claim: object, named: list[str]) -> None:
    """API Gateway writes lists as `[a b]`, which does not say where an id ends."""
    for contract in ("shop", "sales", "a b"):
        by_command(served, contract, document({"root": {"id": contract}}), {})
    shown = "[shop sales]"
    authorizer = {"jwt": {"claims": {"iss": "https://i", "sub": "s", "lakegate_contracts": shown}}}
    headers = {"authorization": f"Bearer {encoded({'lakegate_contracts': claim})}"}
    read = [
        name
        for name in ("shop", "sales", "a b")
        if served.call(f"GET {CONTRACTS}/{{id}}", path=name, authorizer=authorizer, headers=headers).status == 200
    ]

    assert read == named


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer a.b", "Bearer a.W10.c", "Bearer a.bnVsbA.c"])
def test_a_claim_that_cannot_be_read_names_nothing(served: Api, header: str) -> None:
    """API Gateway knows of a claim, and the token has none that can be read."""
    by_command(served, "shop", document({}), {})
    authorizer = {"jwt": {"claims": {"iss": "https://i", "sub": "s", "lakegate_contracts": "[shop]"}}}
    response = served.call(
        f"GET {CONTRACTS}/{{id}}", path="shop", authorizer=authorizer, headers={"authorization": header}
    )

    assert response.status == 404


@pytest.mark.parametrize("between", [",Bearer ", ", Bearer ", " ", ",", "\t", "."])
def test_a_header_with_a_second_token_names_nothing(served: Api, between: str) -> None:
    """API Gateway puts commas between the values of two headers, and has verified one of them at most."""
    by_command(served, "shop", document({}), {})
    verified, forged = (encoded({"lakegate_contracts": each}) for each in ("other", "*"))
    authorizer = {"jwt": {"claims": {"iss": "https://i", "sub": "s", "lakegate_contracts": "other"}}}
    read = [
        served.call(f"GET {CONTRACTS}/{{id}}", path="shop", authorizer=authorizer, headers={"authorization": header})
        for header in (f"Bearer {verified}{between}{forged}", f"Bearer {forged}{between}{verified}")
    ]

    assert [each.status for each in read] == [404, 404]


def test_a_star_ends_a_pattern() -> None:
    """Everywhere else it is a character."""
    assert [are_named([each], "a*b") for each in ("a*b", "a*", "a", "*", "*b", "")] == [
        True,
        True,
        False,
        True,
        False,
        False,
    ]
