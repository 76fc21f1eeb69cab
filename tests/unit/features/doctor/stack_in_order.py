"""What AWS answers to `lakegate doctor`: a stack in order, of which a test changes one answer.

Every request and every answer is validated against botocore's own model of the service, so that no test relies on a field that
AWS does not have. Buckets and tables are those of moto.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

import botocore.session
from botocore import xform_name
from botocore.exceptions import ClientError
from botocore.validate import ParamValidator

from tests.fakes.quick_moto import REGION
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import ACCOUNT, LAKE, LANDING

if TYPE_CHECKING:
    from botocore.model import OperationModel


SESSION = botocore.session.get_session()
REAL = frozenset({"s3", "dynamodb"})
"""Services that moto answers, unless a test replaces an answer."""
QUEUES = ("LandedQueue", "MovedQueue", "NamedQueue", "DeadLetterQueue")
FUNCTIONS = (
    "IntakeFunction",
    "CompletionFunction",
    "SweepFunction",
    "NotifyFunction",
    "ApiFunction",
    "AnchorFunction",
    "PullFunction",
    "NamingFunction",
    "DriftFunction",
)
NAMED = (
    *("LandedRule", "MovedRule", "SweepEvery", "NotifyEvery", "DeadLetters", "SweepStopped"),
    *("IntakeLog", "CompletionLog", "SweepLog", "NotifyLog", "ApiLog"),
    *("AnchorEvery", "AnchorLog", "PullEvery", "PullLog", "NamingLog", "DriftEvery"),
)
TOPIC = f"arn:aws:sns:{REGION}:{ACCOUNT}:alarms"
CODE = f"s3://{LAKE}/code/current/validate.py"
UUID = "0f1e2d3c-0000-4000-8000-000000000000"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/function"


def arn(service: str, name: str) -> str:
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{name}"


@cache
def model_of(service: str, operation: str) -> OperationModel:
    """An operation as botocore describes it."""
    model = SESSION.get_service_model(service)
    return model.operation_model(next(each for each in model.operation_names if xform_name(each) == operation))


def encrypted(algorithm: str, **key: str) -> dict[str, Any]:
    return {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": algorithm, **key}}


def in_order(lakegate: Lakegate) -> None:
    """A stack with one contract, whose code, encryption and backups are as the template makes them."""
    lakegate.routed()
    lakegate.clients["s3"].put_object(Bucket=LAKE, Key="code/current/validate.py", Body=b"code")
    for bucket in (LANDING, LAKE):
        lakegate.clients["s3"].put_bucket_encryption(
            Bucket=bucket, ServerSideEncryptionConfiguration={"Rules": [encrypted("AES256")]}
        )
    for table in ("registry", "workloads", "ledger"):
        lakegate.clients["dynamodb"].update_continuous_backups(
            TableName=table, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        )


class World:
    """A deployed stack, as its services describe it."""

    def __init__(self, lakegate: Lakegate) -> None:
        self.lakegate = lakegate
        self.changed: dict[tuple[str, str], Callable[[dict[str, Any]], Any]] = {}
        self.ahead = timedelta()
        """How much later than now the operator looks."""
        self.settings = self._settings()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    # ---- what a test changes -------------------------------------------------------------------------------------------

    def say(self, service: str, operation: str, answer: Any) -> None:
        """From here on this operation is answered so: a document, or a function of the request."""
        self.changed[service, operation] = answer if callable(answer) else lambda _request: answer

    def change(self, service: str, operation: str, **changes: Any) -> None:
        """The usual answer, with other values at the top."""
        usual = self.usual(service, operation)
        self.changed[service, operation] = lambda request: usual(request) | changes

    def refuse(self, service: str, operation: str, code: str, status: int = 400, date: str = "") -> None:
        """From here on AWS refuses this operation."""
        headers = {"date": date} if date else {}
        metadata = {"HTTPStatusCode": status, "HTTPHeaders": headers}

        def refused(_request: dict[str, Any]) -> Any:
            name = model_of(service, operation).name
            raise ClientError({"Error": {"Code": code, "Message": "m"}, "ResponseMetadata": metadata}, name)  # type: ignore[typeddict-item]

        self.changed[service, operation] = refused

    def refuse_only(self, service: str, operation: str, name: str, code: str) -> None:
        """The same, only for one resource that the request names."""
        usual = self.usual(service, operation)
        self.refuse(service, operation, code, 404)
        refused = self.changed[service, operation]
        self.changed[service, operation] = lambda request: (refused if name in request.values() else usual)(request)

    def fail(self, service: str, operation: str, error: Exception) -> None:
        """From here on no answer comes."""

        def failed(_request: dict[str, Any]) -> Any:
            raise error

        self.changed[service, operation] = failed

    def log(self, function: str, **line: str) -> None:
        """A line in the log of one function."""
        self.write(function, json.dumps(line))

    def write(self, function: str, text: str) -> None:
        """A text in the log of one function, on its second page."""

        def events(request: dict[str, Any]) -> dict[str, Any]:
            if request["logGroupName"] != f"the-{function}Log":
                return {"events": []}
            return {"events": [{"message": text}]} if "nextToken" in request else {"events": [], "nextToken": "2"}

        self.say("logs", "filter_log_events", events)

    def measure(self, metric: str, name: str, *values: float) -> None:
        """Values of a metric, of one queue or function."""

        def data(request: dict[str, Any]) -> dict[str, Any]:
            asked = request["MetricDataQueries"][0]["MetricStat"]["Metric"]
            same = (asked["MetricName"], asked["Dimensions"][0]["Value"]) == (metric, name)
            return {"MetricDataResults": [{"Id": "m", "Values": list(values) if same else []}]}

        self.say("cloudwatch", "get_metric_data", data)

    def elsewhere(self, region: str, request: dict[str, Any]) -> Any:
        """What other regions answer: eu-north-1 has a stack `north`, eu-south-1 is not enabled."""
        if (region, request["StackName"]) == ("eu-north-1", "north"):
            return self._cloudformation_describe_stacks(request | {"StackName": "lakegate"})
        code = "InvalidClientTokenId" if region == "eu-south-1" else "ValidationError"
        raise ClientError({"Error": {"Code": code, "Message": "m"}}, "DescribeStacks")

    # ---- the seam ------------------------------------------------------------------------------------------------------

    def client(self, service: str, region: str | None = None) -> Client:
        return Client(self, service, region)

    def answer(self, service: str, operation: str, request: dict[str, Any]) -> Any:
        model = model_of(service, operation)
        _validate(request, model.input_shape)
        found = self.changed.get((service, operation)) or self.usual(service, operation)
        answer = found(request)
        if service not in REAL:
            _validate({name: each for name, each in answer.items() if name != "ResponseMetadata"}, model.output_shape)
        return answer

    def usual(self, service: str, operation: str) -> Callable[[dict[str, Any]], Any]:
        if operation == "get_bucket_notification_configuration":  # moto forgets what it was given
            return lambda _request: {"EventBridgeConfiguration": {}}
        if service in REAL:
            real = getattr(self.lakegate.clients[service], operation)
            return lambda request: {name: each for name, each in real(**request).items() if name != "ResponseMetadata"}
        found: Callable[[dict[str, Any]], Any] = getattr(self, f"_{service.replace('-', '_')}_{operation}")
        return found

    # ---- a stack in order ----------------------------------------------------------------------------------------------

    def _settings(self) -> dict[str, str]:
        answer = self.lakegate.clients["lambda"].get_function_configuration(FunctionName="intake")
        return {**answer["Environment"]["Variables"], "LAKEGATE_ENTRY_POINT": CODE}

    def _cloudformation_describe_stacks(self, request: dict[str, Any]) -> Any:
        if request["StackName"] != "lakegate":
            raise ClientError({"Error": {"Code": "ValidationError", "Message": "m"}}, "DescribeStacks")
        outputs = {
            "LandingBucket": LANDING,
            "LakeBucket": LAKE,
            "RegistryTable": "registry",
            "WorkloadsTable": "workloads",
            "LedgerTable": "ledger",
            "ApplicationId": self.settings["LAKEGATE_APPLICATION"],
            "EventBusName": "lakegate",
            "AlarmTopic": TOPIC,
            "IntakeFunction": "intake",
        }
        described = [{"OutputKey": key, "OutputValue": value} for key, value in outputs.items()]
        stack = {
            "StackName": "lakegate",
            "StackId": arn("cloudformation", "stack/lakegate/1"),
            "StackStatus": "UPDATE_COMPLETE",
            "CreationTime": self.now(),
            "Outputs": described,
        }
        return {
            "Stacks": [stack],
            "ResponseMetadata": {"HTTPHeaders": {"date": f"{self.now():%a, %d %b %Y %H:%M:%S} GMT"}},
        }

    def _cloudformation_list_stack_resources(self, request: dict[str, Any]) -> Any:
        queues = {name: f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/the-{name}" for name in QUEUES}
        resources = {name: f"the-{name}" for name in (*NAMED, *FUNCTIONS)} | queues
        summaries = [
            {
                "LogicalResourceId": logical,
                "PhysicalResourceId": physical,
                "ResourceType": "AWS::A::B",
                "LastUpdatedTimestamp": self.now(),
                "ResourceStatus": "CREATE_COMPLETE",
            }
            for logical, physical in resources.items()
        ]
        if "NextToken" in request:
            return {"StackResourceSummaries": summaries[5:]}
        return {"StackResourceSummaries": summaries[:5], "NextToken": "2"}

    def _events_describe_rule(self, request: dict[str, Any]) -> Any:
        return {"Name": request["Name"], "State": "ENABLED"}

    def _events_list_targets_by_rule(self, request: dict[str, Any]) -> Any:
        queue = request["Rule"].replace("Rule", "Queue")
        return {"Targets": [{"Id": "1", "Arn": arn("sqs", queue)}]}

    def _events_describe_event_bus(self, request: dict[str, Any]) -> Any:
        return {"Name": request["Name"]}

    def _scheduler_get_schedule(self, request: dict[str, Any]) -> Any:
        return {"Name": request["Name"], "State": "ENABLED"}

    def _lambda_list_event_source_mappings(self, _request: dict[str, Any]) -> Any:
        return {"EventSourceMappings": [{"UUID": UUID, "State": "Enabled"}]}

    def _lambda_get_function_configuration(self, request: dict[str, Any]) -> Any:
        name = request["FunctionName"]
        return {
            "FunctionName": name,
            "Role": f"{ROLE}-{name}",
            "State": "Active",
            "LastUpdateStatus": "Successful",
            "Environment": {"Variables": self.settings},
        }

    def _lambda_get_function_concurrency(self, _request: dict[str, Any]) -> Any:
        return {}

    def _sqs_get_queue_attributes(self, _request: dict[str, Any]) -> Any:
        return {"Attributes": {"ApproximateNumberOfMessages": "0"}}

    def _cloudwatch_get_metric_data(self, _request: dict[str, Any]) -> Any:
        return {"MetricDataResults": [{"Id": "m", "Values": []}]}

    def _cloudwatch_describe_alarms(self, _request: dict[str, Any]) -> Any:
        return {"MetricAlarms": []}

    def _sns_list_subscriptions_by_topic(self, _request: dict[str, Any]) -> Any:
        return {"Subscriptions": [{"Protocol": "email", "Endpoint": "you@example.com"}]}

    def _logs_filter_log_events(self, _request: dict[str, Any]) -> Any:
        return {"events": [{"message": '{"message": "taken", "level": "INFO"}'}, {"message": "[1]"}, {"message": "x"}]}

    def _iam_simulate_principal_policy(self, request: dict[str, Any]) -> Any:
        """Signing is allowed to who says how, as the template's policy has it; everything else is allowed."""
        (action,) = request["ActionNames"]
        how = {each["ContextKeyName"]: each["ContextKeyValues"] for each in request.get("ContextEntries", ())}
        known = {"kms:SigningAlgorithm": ["ED25519_SHA_512"], "kms:MessageType": ["RAW"]}
        is_allowed = action != "kms:Sign" or known.items() <= how.items()
        return {
            "EvaluationResults": [
                {"EvalActionName": action, "EvalDecision": "allowed" if is_allowed else "implicitDeny"}
            ]
        }

    def _kms_describe_key(self, request: dict[str, Any]) -> Any:
        return {"KeyMetadata": {"KeyId": request["KeyId"], "KeyState": "Enabled"}}

    def application(self, **changes: Any) -> dict[str, Any]:
        """The application, described."""
        usual = {
            "applicationId": self.settings["LAKEGATE_APPLICATION"],
            "arn": arn("emr-serverless", "/applications/a"),
            "releaseLabel": "emr-7.14.0",
            "type": "Spark",
            "state": "STOPPED",
            "createdAt": self.now(),
            "updatedAt": self.now(),
            "autoStartConfiguration": {"enabled": True},
            "maximumCapacity": {"cpu": "16 vCPU", "memory": "3000 GB"},
        }
        return {"application": usual | changes}

    def _emr_serverless_get_application(self, _request: dict[str, Any]) -> Any:
        return self.application()

    def run(self, state: str, details: str = "", minutes: float = 0) -> None:
        """What EMR Serverless knows of every job run."""
        application = self.settings["LAKEGATE_APPLICATION"]
        described = {
            "applicationId": application,
            "jobRunId": "00f1run",
            "arn": arn("emr-serverless", f"/applications/{application}/jobruns/00f1run"),
            "createdBy": ROLE,
            "createdAt": self.now() - timedelta(minutes=minutes),
            "updatedAt": self.now(),
            "executionRole": ROLE,
            "state": state,
            "stateDetails": details or "Job run is in this state",
            "releaseLabel": "emr-7.14.0",
            "jobDriver": {"sparkSubmit": {"entryPoint": CODE}},
        }
        self.say("emr-serverless", "get_job_run", {"jobRun": described})

    def _service_quotas_list_aws_default_service_quotas(self, _request: dict[str, Any]) -> Any:
        return {"Quotas": [{"QuotaName": "Max concurrent vCPUs per account", "Value": 16.0}]}

    def _service_quotas_list_service_quotas(self, _request: dict[str, Any]) -> Any:
        """Only what was raised or lowered is listed."""
        return {"Quotas": []}


class Client:
    """A client of boto3, whose answers are those of the simulated stack."""

    def __init__(self, world: World, service: str, region: str | None) -> None:
        self._world, self._service, self._region = world, service, region

    def __getattr__(self, operation: str) -> Any:
        def asked(**request: Any) -> Any:
            if self._region is not None:
                return self._world.elsewhere(self._region, request)
            return self._world.answer(self._service, operation, request)

        return asked


def _validate(document: dict[str, Any], shape: Any) -> None:
    report = ParamValidator().validate(document, shape)
    assert not report.has_errors(), report.generate_report()
