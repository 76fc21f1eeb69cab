"""The API: AWS's own model of requests and answers, tokens, lists, applications, and who is served."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.validate import ParamValidator
from local_emr.api_shapes import model, routes
from local_emr.guard import HEADER
from local_emr.server import OPERATIONS

from tests.integrations.local_emr.conftest import ROLE, Aws, Emr, send, until
from tests.integrations.local_emr.programs import FOREVER, NOTHING


def asked(emr: Emr, **changes: Any) -> dict[str, Any]:
    """A StartJobRun request, with changes; None takes a member out."""
    request = {
        "applicationId": emr.application,
        "clientToken": "token",
        "executionRoleArn": ROLE,
        "jobDriver": {"sparkSubmit": {"entryPoint": "s3://lake/code/nothing.py"}},
        **changes,
    }
    return {name: value for name, value in request.items() if value is not None}


def test_every_operation_played_is_one_of_aws() -> None:
    """The table of operations names operations of AWS's model, and every operation of the model can be reached."""
    assert set(OPERATIONS) <= set(model().operation_names)
    assert {route.operation for route in routes()} == set(model().operation_names)


def test_every_pattern_of_aws_can_be_judged() -> None:
    """All patterns of AWS's model are patterns here too."""
    shapes = [model().shape_for(name) for name in model().shape_names]
    patterns = {shape.metadata["pattern"] for shape in shapes if "pattern" in shape.metadata}

    assert len({re.compile(pattern) for pattern in patterns}) == len(patterns) > 20


def test_answers_have_the_shape_that_aws_describes(aws: Aws, emr: Emr) -> None:
    """Every answer of every operation fits the model's output, required members and patterns included."""
    token = {"applicationId": emr.application}
    run = emr.start(aws.program(NOTHING, "nothing.py"), name="shaped", tags={"a": "b"}, retryPolicy={"maxAttempts": 2})
    emr.ended(run)
    other = emr.client.create_application(name="other", releaseLabel="emr-7.14.0", type="SPARK", tags={"c": "d"})
    one, arn = {"applicationId": other["applicationId"]}, {"resourceArn": other["arn"]}
    waiting = emr.start(aws.program(FOREVER, "waiting.py"))
    calls: list[tuple[str, dict[str, Any]]] = [
        ("CreateApplication", {"name": "third", "releaseLabel": "emr-7.14.0", "type": "SPARK", "clientToken": "shape"}),
        ("GetApplication", token),
        ("ListApplications", {}),
        ("UpdateApplication", {**one, "clientToken": "t", "schedulerConfiguration": {"maxConcurrentRuns": 2}}),
        ("StartApplication", one),
        ("StopApplication", one),
        ("TagResource", {**arn, "tags": {"e": "f"}}),
        ("UntagResource", {**arn, "tagKeys": ["c"]}),
        ("ListTagsForResource", arn),
        ("DeleteApplication", one),
        ("StartJobRun", asked(emr, clientToken="shape")),
        ("GetJobRun", {**token, "jobRunId": run}),
        ("ListJobRuns", token),
        ("ListJobRunAttempts", {**token, "jobRunId": run}),
        ("CancelJobRun", {**token, "jobRunId": waiting}),
    ]

    assert set(OPERATIONS) == {operation for operation, _ in calls}
    for operation, request in calls:
        method = re.sub(r"(?<!^)([A-Z])", r"_\1", operation).lower()
        answer = getattr(emr.client, method)(**request)
        del answer["ResponseMetadata"]
        report = ParamValidator().validate(answer, model().operation_model(operation).output_shape)
        assert report.generate_report() == "", operation
        assert answer == {"tags": {"e": "f"}} or operation != "ListTagsForResource"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"executionRoleArn": "arn:aws:s3:::bucket-of-somebody"}, "'executionRoleArn'.*regular expression pattern"),
        ({"clientToken": "t" * 65}, "'clientToken'.*length less than or equal to 64"),
        ({"clientToken": "a b"}, "'clientToken'.*regular expression pattern"),
        ({"name": " "}, "'name'.*regular expression pattern"),
        ({"mode": "OFTEN"}, "'mode'.*enum value set"),
        ({"executionTimeoutMinutes": 1_000_001}, "'executionTimeoutMinutes'.*less than or equal to 1000000"),
        ({"executionTimeoutMinutes": 4}, "at least 5 minutes"),
        ({"executionTimeoutMinutes": 0}, "at least 5 minutes"),
        ({"retryPolicy": {"maxAttempts": 11}}, "'retryPolicy.maxAttempts'"),
        ({"tags": {"a": "%"}}, "'tags.a.member'.*regular expression pattern"),
        (
            {"executionIamPolicy": {"policyArns": ["arn:aws:iam::aws:policy/x"] * 11}},
            "'executionIamPolicy.policyArns'.*equal to 10",
        ),
        (
            {"configurationOverrides": {"applicationConfiguration": [{"classification": " "}]}},
            "'configurationOverrides.applicationConfiguration.1.member.classification'",
        ),
        ({"executionIamPolicy": {"policy": "{"}}, "'executionIamPolicy.policy'.*not a policy document"),
        ({"executionIamPolicy": {"policy": "{}"}}, "'executionIamPolicy.policy'.*not a policy document"),
        ({"executionIamPolicy": {"policy": "x" * 2049}}, "'executionIamPolicy.policy'.*less than or equal to 2048"),
        ({"mode": "STREAMING"}, "only BATCH"),
        ({"jobDriver": {"hive": {"query": "s3://lake/q.sql"}}}, "only sparkSubmit"),
        ({"jobDriver": None}, "only sparkSubmit"),
    ],
)
def test_a_request_that_breaks_a_constraint_is_refused(emr: Emr, changes: dict[str, Any], words: str) -> None:
    """ValidationException names the member and the constraint, HTTP 400, and no run is made."""
    with pytest.raises(ClientError, match=f"ValidationException.*{words}") as refused:
        emr.client.start_job_run(**asked(emr, **changes))

    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


@pytest.mark.parametrize("text", ["--conf", "--conf spark.x", "main.py", "--conf 'spark.x=1", "--jars"])
def test_parameters_that_spark_submit_would_not_take_are_refused(emr: Emr, text: str) -> None:
    """The words of sparkSubmitParameters are looked at when the run is submitted, not when it starts."""
    submit = {"entryPoint": "s3://lake/code/nothing.py", "sparkSubmitParameters": text}
    with pytest.raises(ClientError, match=r"ValidationException.*sparkSubmitParameters"):
        emr.client.start_job_run(**asked(emr, jobDriver={"sparkSubmit": submit}))


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("POST", "/applications", "{", 400, "SerializationException"),
        ("POST", "/applications", "[]", 400, "SerializationException"),
        ("POST", "/applications", '{"type": 7, "releaseLabel": "x"}', 400, "SerializationException"),
        ("POST", "/applications", "{}", 400, "ValidationException"),
        ("GET", "/applications?maxResults=many", "", 400, "SerializationException"),
        ("GET", "/applications/ABC", "", 400, "ValidationException"),
        ("GET", "/applications/abc", "", 404, "ResourceNotFoundException"),
        ("GET", "/applications/abc/sessions", "", 501, "UnknownOperationException"),
        ("GET", "/elsewhere", "", 501, "UnknownOperationException"),
    ],
)
def test_what_no_sdk_would_send_is_refused_too(  # noqa: PLR0913, PLR0917 - the columns of a table
    emr: Emr, method: str, path: str, body: str, status: int, code: str
) -> None:
    """Requests that boto3 never sends are answered in AWS's codes: nothing breaks the service."""
    answered, document = send(emr, method, path, body)

    assert (status, code) == (answered, document["__type"])
    assert document["message"]


def test_an_unknown_run_or_application_is_not_found(aws: Aws, emr: Emr) -> None:
    """ResourceNotFoundException, HTTP 404, also for a run of another application, an attempt never made, a tag of nothing."""
    run = emr.start(aws.program(NOTHING, "nothing.py"))
    other = emr.client.create_application(releaseLabel="emr-7.14.0", type="SPARK")["applicationId"]
    calls: list[tuple[Callable[..., Any], dict[str, Any]]] = [
        (emr.client.start_job_run, asked(emr, applicationId="0absent")),
        (emr.client.get_job_run, {"applicationId": emr.application, "jobRunId": "0absent"}),
        (emr.client.get_job_run, {"applicationId": other, "jobRunId": run}),
        (emr.client.get_job_run, {"applicationId": emr.application, "jobRunId": run, "attempt": 2}),
        (emr.client.list_tags_for_resource, {"resourceArn": emr.run(run)["arn"] + "x"}),
    ]

    for call, request in calls:
        with pytest.raises(emr.client.exceptions.ResourceNotFoundException):
            call(**request)


# --- tokens


def test_a_token_starts_one_run(aws: Aws, emr: Emr) -> None:
    """The same request again is answered with the run it started, and starts none; another request is a conflict."""
    aws.program(NOTHING, "nothing.py")
    request = asked(emr, clientToken="same", name="same")
    runs = {emr.client.start_job_run(**request)["jobRunId"] for _ in range(3)}
    with pytest.raises(emr.client.exceptions.ConflictException) as conflict:
        emr.client.start_job_run(**{**request, "name": "other"})

    assert len(runs) == 1
    assert conflict.value.response["ResponseMetadata"]["HTTPStatusCode"] == 409
    assert [each["name"] for each in every_run(emr) if each.get("name") in {"same", "other"}] == ["same"]
    emr.ended(runs.pop())
    assert len({emr.client.start_job_run(**request)["jobRunId"]}) == 1


def test_a_token_makes_one_application(emr: Emr) -> None:
    """CreateApplication keeps the same promise."""
    request = {"name": "once", "releaseLabel": "emr-7.14.0", "type": "SPARK", "clientToken": "once"}
    made = {emr.client.create_application(**request)["applicationId"] for _ in range(2)}
    with pytest.raises(emr.client.exceptions.ConflictException):
        emr.client.create_application(**{**request, "name": "twice"})

    assert len(made) == 1


# --- lists


def every_run(emr: Emr, **wanted: Any) -> list[dict[str, Any]]:
    pages = emr.client.get_paginator("list_job_runs").paginate(applicationId=emr.application, **wanted)
    return [run for page in pages for run in page["jobRuns"]]


def test_lists_come_in_pages_newest_first(aws: Aws, emr: Emr) -> None:
    """All pages together hold every run once, whatever the size of a page; filters hold of each."""
    program = aws.program(NOTHING, "nothing.py")
    started = [emr.start(program, name="listed") for _ in range(5)]
    for run in started:
        emr.ended(run)

    def listed(**wanted: Any) -> list[str]:
        return [each["id"] for each in every_run(emr, **wanted) if each.get("name") == "listed"]

    middle = emr.run(started[2])["createdAt"]
    assert started[::-1] == listed() == listed(PaginationConfig={"PageSize": 2})
    assert started[::-1] == listed(states=["SUCCESS", "FAILED"])
    assert [] == listed(states=["RUNNING"]) == listed(mode="STREAMING")
    assert started[:2:-1] == listed(createdAtAfter=middle)[:-1]
    assert started[1::-1] == listed(createdAtBefore=middle)[1:]
    with pytest.raises(ClientError, match=r"ValidationException.*nextToken"):
        emr.client.list_job_runs(applicationId=emr.application, nextToken="mine")


def test_applications_are_listed_by_state(emr: Emr) -> None:
    """A state filter finds an application as long as it is in that state."""
    made = emr.client.create_application(name="listed", releaseLabel="emr-7.14.0", type="SPARK")["applicationId"]

    def listed(*states: str) -> bool:
        pages = emr.client.get_paginator("list_applications").paginate(states=list(states))
        return made in {each["id"] for page in pages for each in page["applications"]}

    assert (listed("CREATED"), listed("STARTED", "TERMINATED")) == (True, False)
    emr.client.delete_application(applicationId=made)
    assert (listed("CREATED"), listed("STARTED", "TERMINATED")) == (False, True)


# --- applications


def test_an_application_starts_with_its_first_run_and_stops_after_its_last(aws: Aws, emr: Emr) -> None:
    """CREATED, STARTED by a run, no stop while a run lives, no change or end before the stop; an event for every state."""
    one = {
        "applicationId": emr.client.create_application(name="x", releaseLabel="emr-7.14.0", type="SPARK")[
            "applicationId"
        ]
    }
    run = emr.start(aws.program(FOREVER, "waiting.py"), **one)
    refusals = [
        (emr.client.stop_application, "has job runs"),
        (emr.client.delete_application, "CREATED or STOPPED"),
        (emr.client.update_application, "CREATED or STOPPED"),
    ]

    for call, words in refusals:
        with pytest.raises(ClientError, match=f"ValidationException.*{words}"):
            call(**one)
    emr.client.cancel_job_run(**one, jobRunId=run)
    until(lambda: emr.run(run, one["applicationId"])["state"] == "CANCELLED", "the run ends")
    emr.client.stop_application(**one)
    emr.client.delete_application(**one)

    def reported_states() -> list[str] | None:
        found = [
            each["detail"]["state"] for each in aws.events(applicationId=one["applicationId"], applicationName="x")
        ]
        return found if "TERMINATED" in found else None

    expected = ["CREATING", "CREATED", "STARTING", "STARTED", "STOPPING", "STOPPED", "TERMINATED"]
    assert expected == until(reported_states, "the events of the application")


def test_an_application_that_does_not_start_itself_takes_no_run(emr: Emr) -> None:
    """autoStartConfiguration: without it a run of an application that is not started is a conflict, until it is."""
    request: dict[str, Any] = {
        "releaseLabel": "emr-7.14.0",
        "type": "SPARK",
        "autoStartConfiguration": {"enabled": False},
    }
    made = emr.client.create_application(**request)["applicationId"]
    with pytest.raises(emr.client.exceptions.ConflictException, match="does not start itself"):
        emr.client.start_job_run(**asked(emr, applicationId=made))
    emr.client.start_application(applicationId=made)

    assert emr.client.start_job_run(**asked(emr, applicationId=made))["jobRunId"]


def test_only_spark_is_played(emr: Emr) -> None:
    """An application of Hive is refused rather than pretended."""
    with pytest.raises(ClientError, match=r"ValidationException.*only Spark"):
        emr.client.create_application(releaseLabel="emr-7.14.0", type="HIVE")


# --- who is served


@pytest.mark.parametrize(
    "headers", [{"Origin": "http://example.org"}, {"Host": "example.org"}, {"Host": "example.org:80"}]
)
def test_a_web_page_is_not_served(emr: Emr, headers: dict[str, str]) -> None:
    """A page in a browser, or a name that resolves to loopback, can neither run code nor order faults."""
    for path in ("/applications", "/_faults", "/_health"):
        status, document = send(emr, "GET", path, **headers)

        assert (status, document["__type"]) == (403, "AccessDeniedException")


@pytest.mark.parametrize("path", ["/applications", "/_faults", "/applications/1/jobruns"])
@pytest.mark.parametrize("headers", [{HEADER: "guessed"}, {HEADER: ""}])
def test_another_user_of_this_machine_is_not_served(emr: Emr, path: str, headers: dict[str, str]) -> None:
    """Who does not know the secret of this start can neither run code nor order faults."""
    for method in ("GET", "POST", "DELETE"):
        status, document = send(emr, method, path, "{}", **headers)

        assert (status, document["__type"]) == (403, "AccessDeniedException")


def test_a_request_that_is_signed_by_another_secret_is_refused(emr: Emr) -> None:
    """As AWS refuses it."""
    other = boto3.client(
        "emr-serverless",
        endpoint_url=emr.endpoint,
        region_name="us-east-1",
        aws_access_key_id="000000000000",
        aws_secret_access_key="guessed",
    )
    with pytest.raises(ClientError, match="sign the request by the secret key"):
        other.list_applications()
    other.close()


def test_the_service_reports_whether_it_is_warm(emr: Emr) -> None:
    """`/_health` is for anyone who starts the service and waits."""
    assert send(emr, "GET", "/_health") == (200, {"ready": True})
