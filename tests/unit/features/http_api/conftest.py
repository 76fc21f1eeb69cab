"""The HTTP API over the ports in memory: requests as API Gateway sends them, answers as it takes them."""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from functions import api_handler
from lakegate.aws import lambda_runtime
from lakegate.features.http_api.api_routes import ROUTES
from tests.fakes.identity import ALICE
from tests.simulation.environment import Environment
from tests.unit.features.http_api.openapi import document as description

CONTRACT = """apiVersion: v3.1.0
kind: DataContract
id: shop
name: Shop
version: VERSION
status: STATUS
schema:
- name: orders
  physicalName: orders.csv
  properties:
  - {name: id, logicalType: string, required: true}
  - {name: amount, logicalType: integer, logicalTypeOptions: {minimum: 0}}
"""
CONTRACTS = "/api/v1/data-contract"
DESCRIBED = description()


@dataclass
class Context:
    function_name: str = "f"
    memory_limit_in_mb: int = 512
    invoked_function_arn: str = "arn:aws:lambda:eu-central-1:123456789012:function:f"
    aws_request_id: str = "r"

    def get_remaining_time_in_millis(self) -> int:
        return 29_000


def signed(arn: str = ALICE) -> dict[str, Any]:
    """What API Gateway says of a caller who signed by IAM."""
    return {"iam": {"userArn": arn, "accountId": "123456789012"}}


@dataclass
class Response:
    status: int
    headers: dict[str, str]
    text: str

    @property
    def body(self) -> Any:
        return json.loads(self.text)


@dataclass
class Api:
    """One API over its environment."""

    env: Environment
    log: io.StringIO = field(default_factory=io.StringIO)

    def call(  # noqa: PLR0913 - a request has these parts
        self,
        route: str,
        body: bytes | str | None = None,
        *,
        path: str = "",
        query: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
        authorizer: dict[str, Any] | None = None,
        **changes: Any,
    ) -> Response:
        event: dict[str, Any] = {
            "version": "2.0",
            "routeKey": route,
            "headers": {"content-type": "application/json", **token_of(authorizer), **(headers or {})},
            "requestContext": {"requestId": "request-1", "authorizer": signed() if authorizer is None else authorizer},
            "isBase64Encoded": False,
        }
        if path:
            event["pathParameters"] = dict(zip(re.findall(r"{(\w+)}", route), path.split(" / "), strict=False))
        if query:
            event["queryStringParameters"] = query
        if isinstance(body, str):
            event["body"] = body
        elif body is not None:
            event |= {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}
        response = api_handler.handler(event | changes, Context())
        assert response["isBase64Encoded"] is False
        if route in ROUTES:
            described(route, response)
        assert response["body"].isascii()
        return Response(response["statusCode"], response["headers"], response["body"])

    def publish(self, document: str, **query: str) -> Response:
        return self.call(f"POST {CONTRACTS}", json.dumps(document).encode(), query=query)

    def contract(self, name: str, **query: str) -> Response:
        return self.call(f"GET {CONTRACTS}/{{id}}", path=name, query=query)

    def find(self, **query: str) -> Response:
        return self.call(f"GET {CONTRACTS}", query=query)

    def workload(self, name: str) -> Response:
        return self.call("GET /api/v1/workload/{id}", path=name)


def token_of(authorizer: dict[str, Any] | None) -> dict[str, str]:
    """The header with the token whose claims API Gateway has written into an authorizer, a list as `[a b]`."""
    claims = (authorizer or {}).get("jwt", {}).get("claims", {})
    written = {name: each[1:-1].split() if each.startswith("[") else each for name, each in claims.items()}
    return {"authorization": f"Bearer {encoded(written)}"} if claims else {}


def encoded(claims: dict[str, Any]) -> str:
    """A token with these claims; API Gateway has verified it."""
    parts = (json.dumps(each).encode() for each in ({"alg": "RS256"}, claims))
    return ".".join([*(base64.urlsafe_b64encode(each).decode().rstrip("=") for each in parts), "signature"])


def document(version: str = "1.0.0", status: str = "active", **changes: str) -> str:
    """A contract document."""
    text = CONTRACT.replace("VERSION", version).replace("STATUS", status)
    for old, new in changes.items():
        text = text.replace(old, new)
    return text


def described(route: str, response: dict[str, Any]) -> None:
    """The OpenAPI document has the status of the answer, its content type, and a schema that its body has."""
    method, path = route.split(" ")
    content = DESCRIBED["paths"][path][method.lower()]["responses"][str(response["statusCode"])]["content"]
    schema = {**content[response["headers"]["content-type"]]["schema"], "components": DESCRIBED["components"]}
    Draft202012Validator(schema).validate(json.loads(response["body"]))


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Environment], Api]]:
    """Makes an API of an environment."""

    def make(env: Environment) -> Api:
        made = Api(env)
        monkeypatch.setattr(api_handler, "dependencies", lambda: env.dependencies)
        monkeypatch.setattr(api_handler.LOG._logger.handlers[0], "stream", made.log)  # noqa: SLF001 - Powertools shows it nowhere else
        return made

    yield make
    lambda_runtime.INVOCATION.set(None)


@pytest.fixture
def served(serve: Callable[[Environment], Api]) -> Api:
    """An API without contracts of its own."""
    return serve(Environment())
