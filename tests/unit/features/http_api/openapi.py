"""The OpenAPI document of the HTTP API, from the table of routes, the dataclasses of requests and the schemas of responses.

`python -m tests.unit.features.http_api.openapi` writes docs/openapi.json.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from infra.site.published_schemas import Definitions, value_schema
from lakegate.base.extension_points import ROOT
from lakegate.features.http_api.api_routes import ROUTES
from lakegate.features.http_api.contracts_api import WARNINGS
from lakegate.library.http_messages import JSON, PROBLEM, Endpoint

FILE = ROOT / "docs/openapi.json"
RESPONSES = json.loads((Path(__file__).parent / "responses.json").read_text())["$defs"]
BETWEEN_MEMBERS = {"WantedDelivery": {"dependentRequired": {"size": ["checksum"], "checksum": ["size"]}}}
"""Rules between members of requests, which their routes enforce."""
EVERYWHERE = (400, 401, 500, 503)
"""Statuses that every route may answer."""
OPEN = (500, 503)
"""Those of a route without an authorizer."""
OF_KEYS = (422,)
"""Those of routes that take an idempotency key."""
MEANINGS = {
    200: "Done",
    202: "Proposed: another person has to approve it",
    400: "The request, or the document, has errors",
    401: "API Gateway names no caller",
    403: "The caller has no right to the route",
    404: "There is no such resource",
    409: "The registry or the workload does not allow it now, or a person has to agree first",
    413: "The body is too large",
    415: "The content type is not supported",
    422: "The data would be rejected, or the idempotency key belongs to another request",
    429: "Too many requests",
    500: "The request failed",
    503: "A service does not answer, or is asked too much at once",
}


PROBLEM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["code", "path", "line", "message"],
    "properties": {
        "code": {"type": "string"},
        "path": {"type": "string"},
        "line": {"type": ["integer", "null"]},
        "message": {"type": "string"},
        "column": {"type": ["integer", "null"]},
    },
}
OF_WARNINGS: dict[str, Any] = {
    "description": "What lint warns of in the document, as JSON in ASCII: how many, and the first ones. Absent without warnings.",
    "content": {
        JSON: {
            "schema": {
                "type": "object",
                "required": ["count", "warnings"],
                "properties": {
                    "count": {"type": "integer", "minimum": 1},
                    "warnings": {"type": "array", "items": PROBLEM_SCHEMA},
                },
            }
        }
    },
}


def schema(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def body(kind: str, name: str, status: int) -> dict[str, Any]:
    return {"description": MEANINGS[status], "content": {kind: {"schema": schema(name)}}}


def parameters(route: str, endpoint: Endpoint) -> list[dict[str, Any]]:
    """Those of the path, then those of the query."""
    text: dict[str, Any] = {"type": "string"}
    names = re.findall(r"{(\w+)}", route)
    of_path = [{"name": name, "in": "path", "required": True, "schema": text | {"minLength": 1}} for name in names]
    forms = {"cursor": {"pattern": "^[A-Za-z0-9_-]*$"}, "from": {"format": "date"}}
    of_query: list[dict[str, Any]] = [
        {"name": name, "in": "query", "schema": text | forms.get(name, {})} for name in endpoint.query
    ]
    for each in of_query:
        if each["name"] in {"prefix", "dataContractId"}:
            each["required"] = True
    flag = {"type": "string", "enum": ["true", "false"], "default": "false"}
    key = {"name": "Idempotency-Key", "in": "header", "schema": text | {"pattern": "^[!-~]{1,255}$"}}
    of_headers = [key] if route.startswith("POST ") and endpoint.scope else []
    of_query += [{"name": name, "in": "query", "schema": flag} for name in endpoint.flags]
    return of_path + of_query + of_headers


def operation(route: str, endpoint: Endpoint, definitions: Definitions) -> dict[str, Any]:
    """One operation; the dataclasses of its request are added to `definitions`."""
    answers = {status: body(JSON, name, status) for status, name in endpoint.responses.items()}
    of_keys = OF_KEYS if route.startswith("POST ") and endpoint.scope else ()
    if endpoint.takes is str:
        for each in answers.values():
            each["headers"] = {WARNINGS: OF_WARNINGS}
    problems = (*endpoint.problems, *(EVERYWHERE if endpoint.scope else OPEN), *of_keys)
    answers |= {status: body(PROBLEM, "ProblemDetails", status) for status in problems}
    for status in (403, 429):
        answers.setdefault(status, {"description": MEANINGS[status], "content": {}})
        answers[status]["content"][JSON] = {"schema": schema("GatewayMessage")}
    made: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "parameters": parameters(route, endpoint),
        "responses": {str(status): answers[status] for status in sorted(answers)},
        "security": [{"iam": []}, {"token": [endpoint.scope]}] if endpoint.scope else [],
    }
    if endpoint.takes is not None:
        kinds = (JSON, "application/yaml") if endpoint.takes is str else (JSON,)
        content = {kind: {"schema": value_schema(endpoint.takes, definitions)} for kind in kinds}
        made["requestBody"] = {"required": True, "content": content}
    return made


def document() -> dict[str, Any]:
    """The whole document."""
    paths: dict[str, dict[str, Any]] = {}
    definitions: Definitions = {}
    for route, endpoint in ROUTES.items():
        method, path = route.split(" ")
        paths.setdefault(path, {})[method.lower()] = operation(route, endpoint, definitions)
    own = {name: each | BETWEEN_MEMBERS.get(name, {}) for name, (_, each) in sorted(definitions.items())}
    whole = {
        "openapi": "3.1.0",
        "info": {
            "title": "Lakegate",
            "version": "1",
            "summary": "Contracts and workloads; the endpoints are those of DCM 3.2.3.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": RESPONSES | own,
            "securitySchemes": {
                "iam": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "Authorization",
                    "description": "AWS Signature Version 4, service execute-api; where the stack has no JwtIssuer.",
                },
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "JWT",
                    "description": "A token of JwtIssuer, where the stack has one.",
                },
            },
        },
    }
    made: dict[str, Any] = json.loads(json.dumps(whole).replace("#/$defs/", "#/components/schemas/"))
    made["components"]["schemas"] = for_generators(made["components"]["schemas"])
    return made


# ---- The form that generators of clients read ----
# An object stands under a name of its own, and null beside it where it is used: generators lose nested objects, and named ones
# that may be null (test_generated_clients.py).


NULL: dict[str, Any] = {"type": "null"}


def for_generators(schemas: dict[str, Any]) -> dict[str, Any]:
    """The same schemas with each object under a name of its own, without null."""
    nullable = {name for name, each in schemas.items() if _is_object(each) and "null" in each["type"]}
    named = dict(schemas)
    for name, each in schemas.items():
        inner = {key: _named(value, name, named, nullable) for key, value in each.items()}
        named[name] = inner | ({"type": "object"} if name in nullable else {})
    return dict(sorted(named.items()))


def _is_object(node: Any) -> bool:
    return isinstance(node, dict) and isinstance(node.get("properties"), dict) and "type" in node


def _named(node: Any, name: str, named: dict[str, Any], nullable: set[str]) -> Any:
    """A part of a schema; objects in it are added to `named`, by the name of what is around them."""
    if isinstance(node, list):
        return [each if each == NULL else _named(each, name, named, nullable) for each in node]
    if not isinstance(node, dict):
        return node
    inside = {
        key: _named(each, name if key in KEYWORDS else name + key[:1].upper() + key[1:], named, nullable)
        for key, each in node.items()
    }
    kinds = node.get("type", ())
    if str(node.get("$ref", "")).rpartition("/")[2] in nullable:
        found = {"oneOf": [{"$ref": inside.pop("$ref")}, NULL], **inside}
    elif _is_object(node):
        own = name if name not in named else f"{name}Object"
        named[own] = inside | {"type": "object"}
        found = {"oneOf": [schema(own), NULL]} if "null" in kinds else schema(own)
    elif kinds == "null":
        found = inside | {"type": ["object", "null"]}
    elif "array" in kinds and "items" not in node:
        found = {key: each for key, each in inside.items() if key != "type"}
    else:
        found = inside
    return found


KEYWORDS = frozenset(
    {"properties", "items", "anyOf", "oneOf", "allOf", "additionalProperties", "if", "then", "else", "not"}
)


def written() -> str:
    """The document as the file has it."""
    return json.dumps(document(), indent=2) + "\n"


if __name__ == "__main__":
    FILE.write_text(written())
