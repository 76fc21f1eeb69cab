"""The HTTP API of the template: every route is the code's, nobody calls it without a name, and its role is small."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lakegate.features.http_api.api_routes import ROUTES
from lakegate.library.http_messages import CALLBACK_ROUTE
from tests.infra.packaging.iam import Call
from tests.infra.packaging.iam import allowed as allowed_by
from tests.sam.built import Stack

NO_SUCH_ROUTE = "$default"
ISSUER = {"JwtIssuer": "https://issuer.example", "JwtAudience": "lakegate"}


def routes(stack: Stack) -> dict[str, dict[str, Any]]:
    """The routes of the template, by route key."""
    return {each["RouteKey"]: each for each in stack.resources("AWS::ApiGatewayV2::Route").values()}


def test_the_template_has_the_routes_that_the_code_answers(stack: Stack) -> None:
    """No more and no fewer, all of them answered by the function; what fits none of them is answered as well."""
    assert set(routes(stack)) == {*ROUTES, NO_SUCH_ROUTE}
    assert {each["Target"] for each in routes(stack).values()} == {"integrations/ApiIntegration"}
    assert stack.resources("AWS::ApiGatewayV2::Integration")["ApiIntegration"]["PayloadFormatVersion"] == "2.0"


def test_every_route_asks_for_a_signature_by_default(built: Path) -> None:
    """IAM decides; there is no authorizer of tokens."""
    stack = Stack.read(built)

    assert {key for key, each in routes(stack).items() if each["AuthorizationType"] != "AWS_IAM"} == {CALLBACK_ROUTE}
    assert routes(stack)[CALLBACK_ROUTE]["AuthorizationType"] == "NONE"
    assert not any({"AuthorizerId", "AuthorizationScopes"} & set(each) for each in routes(stack).values())
    assert stack.resources("AWS::ApiGatewayV2::Authorizer") == {}


def test_with_an_issuer_every_route_asks_for_a_token_with_its_scope(built: Path) -> None:
    """The scope is the one that the code's table names."""
    stack = Stack.read(built, **ISSUER)
    (authorizer,) = stack.resources("AWS::ApiGatewayV2::Authorizer").values()

    assert authorizer["JwtConfiguration"] == {"Issuer": "https://issuer.example", "Audience": ["lakegate"]}
    guarded = {key: each for key, each in routes(stack).items() if key != CALLBACK_ROUTE}
    assert {each["AuthorizationType"] for each in guarded.values()} == {"JWT"}
    assert {each["AuthorizerId"] for each in guarded.values()} == {"ApiAuthorizer"}
    assert "AuthorizationScopes" not in guarded.pop(NO_SUCH_ROUTE)
    assert {key: each["AuthorizationScopes"] for key, each in guarded.items()} == {
        key: [each.scope] for key, each in ROUTES.items() if key != CALLBACK_ROUTE
    }
    assert not {"AuthorizerId", "AuthorizationScopes"} & set(routes(stack)[CALLBACK_ROUTE])


def test_requests_are_throttled_and_logged_without_the_callers_text(built: Path) -> None:
    """The access log is JSON, with neither path nor query nor any header."""
    (stage,) = Stack.read(built, ApiRate="7").resources("AWS::ApiGatewayV2::Stage").values()
    fields = json.loads(stage["AccessLogSettings"]["Format"])

    assert stage["DefaultRouteSettings"]["ThrottlingRateLimit"] == "7"
    assert stage["DefaultRouteSettings"]["ThrottlingBurstLimit"] == "7"
    assert stage["RouteSettings"] == {CALLBACK_ROUTE: {"ThrottlingRateLimit": 5, "ThrottlingBurstLimit": 5}}
    assert stage["AccessLogSettings"]["DestinationArn"].endswith("ApiAccessLog")
    assert {"$context.requestId", "$context.routeKey", "$context.status"} <= set(fields.values())
    assert not [each for each in fields.values() if "path" in each or "query" in each or "userAgent" in each]


def test_only_this_api_invokes_the_function(stack: Stack) -> None:
    """API Gateway may, in the name of this API."""
    (permission,) = stack.resources("AWS::Lambda::Permission").values()

    assert permission["Principal"] == "apigateway.amazonaws.com"
    assert permission["SourceArn"] == "arn:aws:execute-api:eu-west-1:123456789012:Api/*"


@pytest.mark.parametrize("approval", ["no", "yes"])
def test_the_role_publishes_announces_begins_transitions_and_reads_and_nothing_else(built: Path, approval: str) -> None:
    """No accepted data; to chains of deliveries it adds records; with RequireApproval it writes proposals alone.

    It may put objects into landing, because it signs URLs for that.
    """
    stack = Stack.read(built, RequireApproval=approval)
    (policy,) = stack.resources("AWS::IAM::Role")["ApiRole"]["Policies"]
    tables = {
        name: stack.resolve({"Fn::GetAtt": [f"{name}Table", "Arn"]}) for name in ("Registry", "Workloads", "Ledger")
    }
    rows = {
        "Registry": ("version#a#1", "contract#a", "route#landing/a/", "proposal#a#1"),
        "Workloads": (
            *("workload#a", "announcement#a", "request#a", "validation#a", "pull#a", "line#a", "producer#a"),
            "callback#a",
            "revalidation#a",
            "content#a",  # who brought the same content first, for a duplicate
            "message#a",
            "pause#a",
        ),
        "Ledger": (
            "_contracts/a",
            "_contracts/a_v1",
            "event#a",
            "a/b_v1",
            "_unrouted/2026-01-01",
            *("a/b_v1#verdict#rejected", "a/b_v1#key", "a/b_v1#name#0f"),
        ),
    }
    asked = [
        Call(f"dynamodb:{action}", tables[table], {"dynamodb:LeadingKeys": [key]})
        for table, keys in rows.items()
        for key in keys
        for action in ("GetItem", "BatchGetItem", "PutItem", "DeleteItem", "UpdateItem")
    ]
    asked += [
        Call(f"s3:{action}", f"arn:aws:s3:::{place}")
        for place in (
            *(f"LakeBucket/{name}/a" for name in ("contracts", "plans", "accepted", "quarantine", "staging")),
            "LakeBucket/runs/a/attempt=1/result.json",
            "LakeBucket/runs/a/attempt=1/rows/accepted/a",
            "LakeBucket/runs/a/parts-0.json",
            "LandingBucket/a",
        )
        for action in ("GetObject", "GetObjectVersion", "PutObject", "DeleteObject", "DeleteObjectVersion")
    ]
    answers = zip(asked, allowed_by([policy["PolicyDocument"]], asked), strict=True)
    may = {
        (
            call.action.partition(":")[2],
            (call.keys or {}).get("dynamodb:LeadingKeys", [call.resource.partition(":::")[2]])[0],
        )
        for call, answer in answers
        if answer
    }
    reads = {("GetItem", key) for key in (*rows["Registry"], *rows["Workloads"][:10])}
    reads |= {("BatchGetItem", key) for key in rows["Registry"]}
    objects = {
        (action, f"LakeBucket/{name}/a")
        for name in ("contracts", "plans")
        for action in ("GetObject", "GetObjectVersion", "PutObject")
    }
    objects.add(("GetObject", "LakeBucket/runs/a/attempt=1/result.json"))
    writes = {(action, key) for key in rows["Registry"] for action in ("PutItem", "DeleteItem")}
    writes |= {(action, key) for key in rows["Ledger"][:3] for action in ("GetItem", "PutItem")}
    writes |= {("PutItem", each) for each in ("line#a", "message#a")}
    transitions = {(action, key) for key in rows["Ledger"][2:5] for action in ("GetItem", "PutItem")}
    transitions |= {("PutItem", "workload#a"), ("GetObject", "LakeBucket/quarantine/a")}
    transitions |= {
        (action, "LakeBucket/runs/a/parts-0.json") for action in ("GetObject", "GetObjectVersion", "PutObject")
    }

    transitions |= {
        (f"GetObject{each}", f"{place}/a")
        for each in ("", "Version")
        for place in ("LandingBucket", "LakeBucket/staging")
    }
    transitions.add(("UpdateItem", "pause#a"))  # what is cancelled is held no longer
    transitions |= {("PutItem", "line#a"), ("PutItem", "message#a")}  # what is recalled

    announces = {("PutItem", f"{each}#a") for each in ("announcement", "request", "validation", "pull")}
    announces.add(("PutObject", "LandingBucket/a"))
    published = {("GetItem", key) for key in rows["Ledger"][:2]}  # which versions were, and which were withdrawn
    approves = writes if approval == "no" else {("PutItem", "proposal#a#1"), *published}

    assert may == reads | objects | announces | transitions | approves


def test_the_role_lists_open_workloads_and_announcements_alone(built: Path) -> None:
    """Of the index: no messages, pauses, or schedules."""
    stack = Stack.read(built)
    (policy,) = stack.resources("AWS::IAM::Role")["ApiRole"]["Policies"]
    index = f"{stack.resolve({'Fn::GetAtt': ['WorkloadsTable', 'Arn']})}/index/agenda"
    shards = ("due#1", "announced#orders", "message#1", "pause#1", "held#orders/lines_v1", "revalidation#1")
    asked = [Call("dynamodb:Query", index, {"dynamodb:LeadingKeys": [each]}) for each in shards]

    assert allowed_by([policy["PolicyDocument"]], asked) == [True, True, False, False, False, False]


def test_the_role_ends_runs_and_starts_none(built: Path) -> None:
    """Of deliveries that are cancelled; it sees whether one has ended."""
    stack = Stack.read(built)
    (policy,) = stack.resources("AWS::IAM::Role")["ApiRole"]["Policies"]
    application = stack.resolve({"Fn::GetAtt": ["Application", "Arn"]})
    asked = [
        Call(f"emr-serverless:{action}", f"{application}/jobruns/1" if action != "StartJobRun" else application)
        for action in ("CancelJobRun", "GetJobRun", "StartJobRun")
    ]

    assert allowed_by([policy["PolicyDocument"]], asked) == [True, True, False]


def test_the_role_starts_validations_where_there_is_a_judge_function(built: Path) -> None:
    """It lists versions, writes requests and invokes that function; without one it may only list."""
    asked = [
        Call("s3:ListBucketVersions", "arn:aws:s3:::LandingBucket"),
        Call("s3:ListBucketVersions", "arn:aws:s3:::LakeBucket"),
        Call("s3:PutObject", "arn:aws:s3:::LakeBucket/runs/a/attempt=1/request.json"),
        Call("lambda:InvokeFunction", "JUDGE"),
        Call("s3:PutObject", "arn:aws:s3:::LakeBucket/runs/a/attempt=1/result.json"),
        Call("lambda:InvokeFunction", "arn:aws:lambda:eu-west-1:123456789012:function:other"),
    ]
    answers = []
    for size in ("0", "1"):
        stack = Stack.read(built, SmallFileBytes=size)
        (policy,) = stack.resources("AWS::IAM::Role")["ApiRole"]["Policies"]
        function = stack.resolve({"Fn::GetAtt": ["JudgeFunction", "Arn"]})
        calls = [each._replace(resource=each.resource.replace("JUDGE", function)) for each in asked]
        answers.append(allowed_by([policy["PolicyDocument"]], calls))

    assert answers == [[True, True, False, False, False, False], [True, True, True, True, False, False]]
