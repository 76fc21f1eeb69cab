"""Hostile requests: every one is answered by problem details, nothing of it is logged, and nothing is written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lakegate.base.errors import PortError, Throttled, TransactionConflict, Unanswered
from lakegate.features.http_api.api_routes import ROUTES
from lakegate.gate.registry.registry_store import Registry
from lakegate.library.http_messages import CALLBACK_ROUTE, LARGEST_BODY
from tests.unit.features.http_api.conftest import CONTRACTS, Api, document

CANARY = "Erika.Mustermann@example.com"
IDS = (
    "",
    " ",
    ".",
    "..",
    "../../etc/passwd",
    "a/b",
    "%2e%2e",
    "_contracts",
    "#",
    "contract#shop",
    "a" * 129,
    "a" * 100_000,
    "0" * 64,
    "G" * 64,
    "A" * 64,
    "0" * 63 + "\n",
    "\x00",
    "\ud800",
    "\u202e",
    "<script>alert(1)</script>",
    "' OR 1=1 --",
    "${jndi:ldap://x}",
    "{{7*7}}",
    "$(id)",
    CANARY,
)
BODIES = (
    b"",
    b"\x00",
    b"\xff\xfe\x00",
    b"null",
    b"1e999999",
    b"{}",
    b"[]",
    b'""',
    b'"\\ud800"',
    b"[" * 100_000,
    b'{"a":' * 50_000,
    json.dumps("a: &a [*a, *a]").encode(),
    json.dumps("&a [" * 500).encode(),
    json.dumps("!!python/object/apply:os.system [id]").encode(),
    json.dumps("id: " + CANARY).encode(),
    json.dumps(document(**{"id: shop": "id: " + "a" * 5_000})).encode(),
    json.dumps(document(**{"id: shop": "id: ../../x"})).encode(),
    json.dumps(document(**{"id: shop": "id: _contracts"})).encode(),
    json.dumps(document(**{"id: shop": 'id: "\\uD800"'})).encode(),
    json.dumps(document(**{"name: orders": "name: ../orders"})).encode(),
    json.dumps(document() + "x" * (1 << 20)).encode(),
    b'"' + b"a" * LARGEST_BODY + b'"',
)
CURSORS = ("Y29udHJhY3Qjaw", "0" * 64, "a", "=", "===", "####", "\u00e9", "\x00", "_w", "a" * 4_000, CANARY, "Li4vLi4v")
TYPES = (
    "",
    "text/html",
    "multipart/form-data",
    "application/json-seq",
    "application/xml",
    "*/*",
    "\r\nx: y",
    "a" * 9_000,
)


def refused(answered: Any, api_: Api) -> None:
    """The answer is a refusal with problem details, and the log has none of the caller's text."""
    assert 400 <= answered.status < 500, answered.text
    assert answered.headers["content-type"] == "application/problem+json"
    assert answered.body["status"] == answered.status
    assert set(answered.body) >= {"type", "title", "status", "detail", "instance"}
    assert CANARY not in api_.log.getvalue()
    assert api_.env.memory.versions == {"orders#1.0.0"}


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize(
    "route", [route for route in ROUTES if "{id}" in route and (route.startswith("GET") or "notify" in route)]
)
def test_an_id_that_does_not_exist_is_404(served: Api, route: str, name: str) -> None:
    """Whatever its characters and length."""
    answered = served.call(route, path=name)

    refused(answered, served)
    assert answered.status == 404


@pytest.mark.parametrize("body", BODIES)
def test_a_body_that_is_no_contract_is_refused(served: Api, body: bytes) -> None:
    """As JSON and as YAML."""
    for kind in ("application/json", "application/yaml"):
        refused(served.call(f"POST {CONTRACTS}", body, headers={"content-type": kind}), served)
        refused(served.call(f"PUT {CONTRACTS}/{{id}}", body, path="orders", headers={"content-type": kind}), served)


@pytest.mark.parametrize("body", BODIES)
def test_a_body_that_is_no_announcement_is_refused(served: Api, body: bytes) -> None:
    """Also where the address names the contract; nothing is kept."""
    refused(served.call("POST /api/v1/workload", body), served)
    refused(served.call(f"POST {CONTRACTS}/{{id}}/workload", body, path="else"), served)
    assert served.env.memory.announcements == {}


@pytest.mark.parametrize("kind", TYPES)
def test_another_content_type_is_415(served: Api, kind: str) -> None:
    """Also none at all."""
    answered = served.call(f"POST {CONTRACTS}", b"{}", headers={"content-type": kind})

    refused(answered, served)
    assert answered.status == 415


def test_a_body_that_is_too_large_is_413(served: Api) -> None:
    """Before anything is read of it."""
    answered = served.call(f"POST {CONTRACTS}", b"a" * (LARGEST_BODY + 1))

    refused(answered, served)
    assert answered.status == 413


def test_a_body_that_is_no_base64_is_refused(served: Api) -> None:
    """API Gateway never sends one."""
    answered = served.call(f"POST {CONTRACTS}", "%%%", isBase64Encoded=True)

    refused(answered, served)


@pytest.mark.parametrize("cursor", CURSORS)
@pytest.mark.parametrize("route", [f"GET {CONTRACTS}", "GET /api/v1/route"])
def test_a_cursor_that_no_page_had_is_refused(served: Api, route: str, cursor: str) -> None:
    """Also the Base64 of a place, as pages once had it: nobody chooses where the list begins."""
    answered = served.call(route, query={"cursor": cursor})

    refused(answered, served)
    assert answered.body["detail"] == (
        "`cursor` is not one that a page of this list had in the last day: ask for the first page again, without it."
    )


@pytest.mark.parametrize("name", ["confirm", "allowUnmeasured"])
def test_a_flag_is_true_or_false(served: Api, name: str) -> None:
    """Another value is no consent."""
    custom = "  quality: [{id: q, type: custom, engine: other, implementation: x}]\n"
    served.publish(document())
    answered = served.publish(document("1.1.0", "draft") + custom * (name == "allowUnmeasured"), **{name: "yes"})

    assert (answered.status, answered.body["type"]) == (400, "urn:lakegate:problem:invalid-parameter")


@pytest.mark.parametrize(
    "authorizer",
    [
        {},
        {"iam": None},
        {"iam": {"userArn": None}},
        {"iam": {"userArn": ""}},
        {"jwt": {}},
        {"jwt": {"claims": {"iss": "https://issuer.example"}}},
        {"jwt": {"claims": {"iss": "http://issuer.example", "sub": "a"}}},
        {"lambda": {"userArn": "arn:aws:iam::123456789012:user/alice"}},
    ],
)
@pytest.mark.parametrize("route", [each for each in ROUTES if each != CALLBACK_ROUTE])
def test_nobody_is_answered_without_a_name(served: Api, route: str, authorizer: dict[str, Any]) -> None:
    """A route that lost its authorizer answers nothing."""
    answered = served.call(route, json.dumps(document()).encode(), path="orders", authorizer=authorizer)

    refused(answered, served)
    assert answered.status == 401


@pytest.mark.parametrize(
    ("error", "status"),
    [(Throttled, 503), (TransactionConflict, 503), (Unanswered, 503), (PortError, 500), (RuntimeError, 500)],
)
def test_what_went_wrong_inside_is_not_told(
    served: Api, monkeypatch: pytest.MonkeyPatch, error: type[Exception], status: int
) -> None:
    """Neither the answer nor the log has the text of an unexpected error; busy services ask for a repetition."""

    def broken(*_: object) -> None:
        raise error(CANARY)

    monkeypatch.setattr(Registry, "contract", broken)
    answered = served.contract("shop")

    assert (answered.status, CANARY in answered.text) == (status, False)
    assert ("retry-after" in answered.headers) == (status == 503)
    if error is RuntimeError:
        assert CANARY not in served.log.getvalue()
        assert "RuntimeError" in served.log.getvalue()


@pytest.mark.parametrize("route", ["$default", "GET /api/v1/else"])
def test_what_fits_no_route_is_404(served: Api, route: str) -> None:
    """Such as an address with an id that has a slash: a problem document, as every refusal."""
    answered = served.call(route)

    refused(answered, served)
    assert (answered.status, answered.body["type"]) == (404, "urn:lakegate:problem:not-found")


@pytest.mark.parametrize("route", [route for route in ROUTES if route != CALLBACK_ROUTE])
def test_an_unknown_parameter_is_refused_by_its_name(served: Api, route: str) -> None:
    """Before anything is done: a misspelt one was meant, too."""
    answered = served.call(route, b'"orders"', path="orders / orders", query={"detials": "true", "x\ny": CANARY})

    refused(answered, served)
    assert (answered.status, answered.body["type"]) == (400, "urn:lakegate:problem:invalid-parameter")
    assert [each["path"] for each in answered.body["errors"]] == ["?detials", "?x\ny"]
    assert ("Did you mean `details`?" in answered.text) == ("details" in ROUTES[route].flags)


def test_a_parameter_is_given_once(served: Api) -> None:
    """API Gateway puts commas between the values of two, which would be one value that nothing has."""
    answered = served.call(f"GET {CONTRACTS}", query={"tag": "a,b"}, rawQueryString="tag=a&tag=b")

    assert (answered.status, answered.body["errors"]) == (
        400,
        [{"path": "?tag", "message": "It is given more than once."}],
    )
    assert served.call(f"GET {CONTRACTS}", query={"tag": "a,b"}, rawQueryString="tag=a%2Cb").status == 200


def test_every_request_is_one_line_with_route_status_and_a_fingerprint(served: Api) -> None:
    """Ids, bodies and names of callers are in no log line."""
    served.contract(CANARY)
    (line,) = [json.loads(each) for each in served.log.getvalue().splitlines()]

    assert {name: line[name] for name in ("message", "route", "request", "status")} == {
        "message": "answered",
        "route": "GET /api/v1/data-contract/{id}",
        "request": "request-1",
        "status": 404,
    }
    assert len(line["caller"]) == 16
    assert CANARY not in served.log.getvalue()


def test_answers_are_neither_stored_nor_shown_as_pages(served: Api) -> None:
    """The headers of every answer."""
    assert served.workload("0" * 64).headers == {
        "content-type": "application/problem+json",
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "x-request-id": "request-1",
    }
