"""A deployed or local stack is found and opened; messages of its queues are sent again."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lakegate.aws.clients import client, port_errors
from lakegate.aws.settings import DEFAULTS, Settings, read
from lakegate.base.errors import InputError, NotFound, PortError, SetUpError, Throttled, Unanswered, UnreadableItem
from lakegate.base.extension_points import ROOT, load_extension, names
from lakegate.base.text import printable as escaped

if TYPE_CHECKING:
    from lakegate.gate.dependencies import Dependencies


DEFAULT_STACK = "lakegate"


# ---- An open stack ----
# Without `--local` everything is boto3's own: profiles, regions, roles and endpoints, as they are for every other tool. With it
# this process sees the embedded AWS alone; nothing of a person's own AWS is in reach.


NOBODY_ASKS: Final = "none"
"""A placeholder for settings that only the start of a job needs: the CLI reads them from the functions when it starts one."""

SENTENCES: Final[Mapping[str, str]] = {
    "NoCredentialsError": "no AWS credentials were found: set AWS_PROFILE, or sign in (`aws sso login`)",
    "PartialCredentialsError": "the AWS credentials are not whole: both key and secret are needed",
    "NoRegionError": "no AWS region is set: set AWS_REGION to that of the stack, or name one in the profile; "
    "a stack on this machine is asked with --local (`lakegate local up`)",
    "ProfileNotFound": "the AWS profile does not exist: `aws configure list-profiles` lists those that do",
    "TokenRetrievalError": "the AWS sign-in has ended: sign in again (`aws sso login`)",
    "SSOTokenLoadError": "the AWS sign-in has ended: sign in again (`aws sso login`)",
    "UnauthorizedSSOTokenError": "the AWS sign-in has ended: sign in again (`aws sso login`)",
    "ExpiredToken": "the AWS sign-in has ended: sign in again",
    "ExpiredTokenException": "the AWS sign-in has ended: sign in again",
    "InvalidClientTokenId": "AWS does not know these credentials",
    "UnrecognizedClientException": "AWS does not know these credentials",
    "AccessDenied": "these credentials may not do that; docs/producer.md and docs/operator.md list what a person needs",
    "AccessDeniedException": "these credentials may not do that; docs/producer.md and docs/operator.md list what a person needs",
    "NoSuchBucket": "the bucket is not there any more: is the stack being deleted?",
    "EntityTooLarge": "S3 refuses so large an object",
    "BadDigest": "the file changed while it was on its way: upload it again",
    "XAmzContentSHA256Mismatch": "the file changed while it was on its way: upload it again",
}
"""By the last word of a port error: the code of AWS, or the name of what botocore raised."""


@dataclass(frozen=True, slots=True)
class DeployedStack:
    """One deployed Lakegate."""

    name: str
    account: str
    region: str
    outputs: Mapping[str, str]
    opened: list[Dependencies] = field(default_factory=list, repr=False, compare=False)
    """The stack as this command has opened it."""

    def output(self, name: str) -> str:
        """One output. Raises SetUpError where the stack has none of that name: it is older, or something else."""
        try:
            return self.outputs[name]
        except KeyError:
            raise SetUpError(f"the stack {self.name} has no output {name}: is it a Lakegate of this version?") from None

    @property
    def requires_approval(self) -> bool:
        """Whether a contract version becomes valid only when a second person approves it."""
        return self.outputs.get("RequireApproval") == "yes"

    def resource(self, logical: str) -> str:
        """The physical name of a resource; of a queue its address."""
        response = ask_service(
            "cloudformation", "describe_stack_resources", StackName=self.name, LogicalResourceId=logical
        )
        return str(response["StackResources"][0]["PhysicalResourceId"])

    def dependencies(self) -> Dependencies:
        """The gate for everything that starts no job: the registry, the ledger, the rows."""
        return self._opened(
            Settings(
                stack=self.name,
                account=self.account,
                landing=self.output("LandingBucket"),
                landing_prefix=self.outputs.get("LandingPrefix", ""),
                adopts="yes",
                lake=self.output("LakeBucket"),
                registry_table=self.output("RegistryTable"),
                workloads_table=self.output("WorkloadsTable"),
                ledger_table=self.output("LedgerTable"),
                application=self.output("ApplicationId"),
                job_role=NOBODY_ASKS,
                entry_point=NOBODY_ASKS,
                job_parameters=NOBODY_ASKS,
                job_minutes=1,
                max_vcpu=4,
                max_runs=1,
                prices="",
                judge="",
                small_file_bytes=0,
                batch_files=1,
                batch_bytes=1,
                batch_seconds=1,
                workload_days=int(DEFAULTS["workload_days"]),
                pull_hosts="",
                pull_secrets="",
                validator_hosts="",
                validator_secrets="",
                landed_queue="",
                bus=self.output("EventBusName"),
                unrouted="quarantine",
                approval="yes" if self.requires_approval else "no",
                signing_key="",
                replaced_signing_key="",
                anchors=self.outputs.get("AnchorBucket", ""),
                anchor_days=0,
                table_database=self.outputs.get("TableDatabase", ""),
                ignored=self.outputs.get("IgnoredKeys", DEFAULTS["ignored"]),
                missing_fields=self.outputs.get("MissingFields", DEFAULTS["missing_fields"]),
            )
        )

    def working_dependencies(self) -> Dependencies:
        """The gate as the intake function itself has it, job included: its settings are read from its configuration."""
        response = ask_service("lambda", "get_function_configuration", FunctionName=self.output("IntakeFunction"))
        return self._opened(read(response.get("Environment", {}).get("Variables", {})))

    def _opened(self, settings: Settings) -> Dependencies:
        from lakegate.aws.wiring import bootstrap  # noqa: PLC0415 - every command imports this module, few open a stack

        self.opened.append(bootstrap(settings))
        return self.opened[-1]


@contextmanager
def open_deployed(name: str = DEFAULT_STACK, *, local: bool = False) -> Iterator[DeployedStack]:
    """The stack of a name. What AWS refuses inside becomes one sentence: SetUpError or InputError."""
    name = enter_stack(name, local=local)
    with readable_errors():
        stack = _described(name)
        if local:
            stack = replace(stack, outputs={**stack.outputs, "ApiUrl": LocalState.read().api})
        yield stack
    for dependencies in stack.opened:
        for unreadable in dependencies.taken_out():
            sys.stderr.write(f"lakegate: left out: {escaped(str(unreadable))}; lakegate doctor has the remedy\n")


class RememberedName(str):
    """The name of a stack that a person named in an earlier command: the first time that it is asked, that is said."""

    __slots__ = ("is_told",)

    def tell(self, *, local: bool) -> None:
        """Say it on standard error, once."""
        if not getattr(self, "is_told", False):
            self.is_told = True
            sys.stderr.write(f"lakegate: asks {'the local stack' if local else f'the stack {self}'} (`lakegate use`)\n")


def enter_stack(name: str, *, local: bool) -> str:
    """The name of the stack. With `local`, this process knows the embedded AWS from here on, and no other."""
    if isinstance(name, RememberedName):
        name.tell(local=local)
    return _into_the_local_stack(name) if local else name


@contextmanager
def readable_errors() -> Iterator[None]:
    """Turn errors of AWS raised inside into a sentence that explains what to do."""
    try:
        yield
    except PortError as error:
        raise SetUpError(_sentence(error)) from None


def _into_the_local_stack(name: str) -> str:

    state = LocalState.read()
    for variable in [each for each in os.environ if each.startswith("AWS_")]:
        del os.environ[variable]
    os.environ |= {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull, **state.environment()}
    return state.stack if name == DEFAULT_STACK else name


def find_stack(name: str, asked: Callable[..., Any]) -> DeployedStack | None:
    """The stack of a name, None where there is none; `asked` reads AWS as the function of that name does. Raises PortError."""
    try:
        stack = asked("cloudformation", "describe_stacks", StackName=name)["Stacks"][0]
    except NotFound:
        return None
    except PortError as error:
        if not str(error).endswith("ValidationError"):
            raise
        return None
    _arn, _aws, _service, region, account, _ = stack["StackId"].split(":", 5)
    outputs = {each["OutputKey"]: each["OutputValue"] for each in stack.get("Outputs", ())}
    return DeployedStack(name, account, region, outputs)


def _described(name: str) -> DeployedStack:
    stack = find_stack(name, ask_service)
    if stack is None:
        raise InputError(
            f"there is no stack {name} in {client('cloudformation').meta.region_name}: "
            "name another with --stack or another region with AWS_REGION, or deploy one (docs/deploy.md)"
        )
    return stack


def ask_service(service: str, operation: str, **request: object) -> Any:  # noqa: ANN401 - as boto3 has it
    """One read of AWS that no port has."""
    with port_errors():
        return getattr(client(service), operation)(**request)


LONGEST_EXPLANATION: Final = 1_000


def _sentence(error: PortError) -> str:
    text = str(error)
    if isinstance(error, UnreadableItem):
        return f"{text}; `lakegate doctor` has the remedy"
    code = text.rpartition(": ")[2]
    if code in SENTENCES:
        return SENTENCES[code]
    if isinstance(error, Unanswered):
        endpoint = os.environ.get("AWS_ENDPOINT_URL")
        where = f" at {endpoint}: is it running? `lakegate local status`" if endpoint else ": is there a network?"
        return f"AWS does not answer{where}"
    if isinstance(error, Throttled):
        return "AWS is asked too much at once: try again in a minute"
    reason = f" ({escaped(error.explanation[:LONGEST_EXPLANATION])})" if error.explanation else ""
    return f"AWS refused: {text or type(error).__name__}{reason}"


BATCH: Final = 10
HIDDEN_SECONDS: Final = 120
"""Seconds for which a received message is hidden: it is moved by then, or is visible again after an interruption."""
EMPTY_ANSWERS: Final = 3
"""A queue whose answer is empty so often is empty: SQS asks a part of its servers only."""
OTHER_SENDER = 3
CAME_FROM: Final = "DeadLetterQueueSourceArn"
"""The attribute of a dead letter with the ARN of the queue that it was in."""


@dataclass(slots=True)
class Redriven:
    """Counts of redriven messages."""

    moved: Counter[str] = field(default_factory=Counter)
    """By the queue that they were sent to."""
    kept: Counter[str] = field(default_factory=Counter)
    """By the reason why they are no event of this stack."""


def send_again(there: DeployedStack, limit: int, *, dry_run: bool) -> Redriven:
    """Dead letters back to the queues that they came from; what cannot be read stays, with its reason."""
    dead = there.output("DeadLetterQueueUrl")
    result, kept, queues = Redriven(), [], dict[str, str]()
    for message in _messages(dead, limit):
        reason, queue = _destination(message, there.name)
        if reason:
            result.kept[reason] += 1
        else:
            result.moved[queue] += 1
        if reason or dry_run:
            kept.append(message["ReceiptHandle"])
            continue
        if queue not in queues:
            queues[queue] = _address(there, queue)
        with port_errors():
            client("sqs").send_message(QueueUrl=queues[queue], MessageBody=message["Body"])
            client("sqs").delete_message(QueueUrl=dead, ReceiptHandle=message["ReceiptHandle"])
    for handle in kept:
        with port_errors():
            client("sqs").change_message_visibility(QueueUrl=dead, ReceiptHandle=handle, VisibilityTimeout=0)
    return result


def _messages(queue: str, limit: int) -> Iterator[dict[str, Any]]:
    """Messages of a queue, each once, until none is visible."""
    count = empty = 0
    while count < limit and empty < EMPTY_ANSWERS:
        with port_errors():
            response = client("sqs").receive_message(
                QueueUrl=queue,
                MaxNumberOfMessages=min(BATCH, limit - count),
                VisibilityTimeout=HIDDEN_SECONDS,
                MessageSystemAttributeNames=[CAME_FROM],
            )
        found = response.get("Messages", [])
        empty = 0 if found else empty + 1
        count += len(found)
        yield from found


def _destination(message: dict[str, Any], stack: str) -> tuple[str, str]:
    """The reason why a message goes nowhere, and the queue that it goes to: logical name, or the name of a feature's queue.

    A feature registers, as one of `queues`, the reason why a message from `STACK-NAME` or `STACK-NAME-…` is refused. What such a
    message means depends on its queue, so that it goes to no other one, and only SQS says which.
    """
    from lakegate.aws.lambda_events import QUEUE_OF_HINT, Unintelligible, decode  # noqa: PLC0415 - for this command alone

    queue = str(message.get("Attributes", {}).get(CAME_FROM, "")).rpartition(":")[2]
    for name in names("queues"):
        if f"{queue}-".startswith(f"{stack}-{name}-"):
            reason: str = load_extension("queues", name)(message["Body"])
            return reason, "" if reason else queue
    hint = decode(message["Body"])
    return (str(hint.reason), "") if isinstance(hint, Unintelligible) else ("", QUEUE_OF_HINT[type(hint)])


def _address(there: DeployedStack, queue: str) -> str:
    """The URL of a queue as `_destination` names it."""
    from lakegate.aws.lambda_events import QUEUE_OF_HINT  # noqa: PLC0415 - likewise

    if queue in QUEUE_OF_HINT.values():
        return there.resource(queue)
    with port_errors():
        return str(client("sqs").get_queue_url(QueueName=queue)["QueueUrl"])


# ---- The region of every client ----


def settle_region(environment: MutableMapping[str, str] = os.environ) -> None:
    """Let `AWS_REGION` win over `AWS_DEFAULT_REGION` and the profile, as in the AWS command line and other SDKs.

    boto3 does not read it
    (https://boto3.amazonaws.com/v1/documentation/api/latest/guide/configuration.html#using-environment-variables).
    """
    if environment.get("AWS_REGION"):
        environment["AWS_DEFAULT_REGION"] = environment["AWS_REGION"]


def parameters_of(there: DeployedStack) -> dict[str, str]:
    """The parameters of the deployed stack, by key."""
    return {each["ParameterKey"]: each["ParameterValue"] for each in describe_stack(there).get("Parameters", ())}


def describe_stack(there: DeployedStack) -> dict[str, Any]:
    """The stack as CloudFormation describes it now."""
    stack: dict[str, Any] = ask_service("cloudformation", "describe_stacks", StackName=there.name)["Stacks"][0]
    return stack


def every_page(ask: Callable[..., Any], service: str, operation: str, key: str, **request: object) -> Iterator[Any]:
    """The elements of a list on all its pages. `ask`: as `ask_service`."""
    more: dict[str, str] = {}
    while True:
        page = ask(service, operation, **request, **more)
        yield from page[key]
        if not page.get("NextToken"):
            return
        more = {"NextToken": page["NextToken"]}


def resources_of(there: DeployedStack, ask: Callable[..., Any]) -> dict[str, str]:
    """The physical names of the resources of a stack, by logical name."""
    pages = every_page(ask, "cloudformation", "list_stack_resources", "StackResourceSummaries", StackName=there.name)
    return {each["LogicalResourceId"]: each.get("PhysicalResourceId", "") for each in pages}


def title_of(there: DeployedStack) -> str:
    """The stack in a sentence: name and region."""
    return f"the stack {there.name} in {there.region}"


# ---- The state file of the local stack ----


VARIABLE: Final = "LAKEGATE_LOCAL_STATE"
DEFAULT: Final = ROOT / ".lakegate" / "local.json"
VERSION: Final = 1
REGION: Final = "eu-west-1"
ACCOUNT: Final = "000000000000"


@dataclass(frozen=True, slots=True)
class LocalState:
    """A stack that is up."""

    endpoint: str
    """Of every AWS service but EMR Serverless."""
    emr_endpoint: str
    stack: str
    region: str = REGION
    account: str = ACCOUNT
    access_key: str = ACCOUNT
    """The embedded AWS takes an access key of twelve digits for the account."""
    secret_key: str = ""
    """Random for each start: both programs serve only requests that are signed by it."""
    pids: Mapping[str, int] = field(default_factory=dict)
    """By name of the process: `aws`, `emr`."""
    api: str = ""
    """Address of the stack's HTTP API; empty before it is deployed."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Of the template, as it was started with them, by their names; without those that every local stack has."""
    version: int = VERSION

    @staticmethod
    def read(path: Path | None = None) -> LocalState:
        """The state in a file; SetUpError where no stack is up, or one of another version of this program is."""
        where = path or state_path()
        try:
            document = json.loads(where.read_text())
            state = LocalState(**document)
        except FileNotFoundError:
            raise SetUpError(f"the local stack is not up ({where} is not there): run `lakegate local up`.") from None
        except (ValueError, TypeError, OSError):
            state = None
        if state is None or state.version != VERSION:
            raise SetUpError(f"{where} cannot be read: run `lakegate local down`, then `lakegate local up`.")
        return state

    def write(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_suffix(".aside")
        aside.unlink(missing_ok=True)
        aside.touch(mode=0o600)  # the secret is nobody else's
        aside.write_text(json.dumps(asdict(self), indent=2) + "\n")
        aside.replace(path)

    def session(self) -> dict[str, str]:
        """The arguments of `boto3.Session`."""
        return {
            "aws_access_key_id": self.access_key,
            "aws_secret_access_key": self.secret_key,
            "region_name": self.region,
        }

    def endpoint_of(self, service: str) -> str:
        """The address of a service, by boto3's name of it."""
        return self.emr_endpoint if service == "emr-serverless" else self.endpoint

    def environment(self) -> dict[str, str]:
        """Environment variables with which the AWS command line, SAM and every SDK use this stack."""
        return {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ENDPOINT_URL_EMR_SERVERLESS": self.emr_endpoint,
        }


def state_path(environment: Mapping[str, str] = os.environ) -> Path:
    """The file of this clone's stack, or of the one that the environment names."""
    named = environment.get(VARIABLE)
    return Path(named).resolve() if named else DEFAULT
