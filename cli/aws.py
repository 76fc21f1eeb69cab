"""A stack, opened: what it is made of, by the outputs it declares, and the same use cases over the same adapters.

Without `--local` everything is boto3's own: profiles, regions, roles and endpoints, as they are for every other tool.
With it this process sees the embedded AWS alone; nothing of a person's own AWS is in reach.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from lakegate.cli.escape import escaped
from lakegate.cli.options import DEFAULT_STACK
from lakegate.contracts.errors import InputError, SetUpError
from lakegate.functions.adapters.clients import client
from lakegate.functions.adapters.errors import port_errors
from lakegate.functions.bootstrap import bootstrap
from lakegate.functions.ports.errors import NotFound, PortError, Throttled, Unanswered, UnreadableItem
from lakegate.functions.settings import DEFAULTS, Settings, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from lakegate.functions.usecases.dependencies import Dependencies

NOBODY_ASKS: Final = "none"
"""A placeholder for settings that only the start of a job needs: the CLI reads them from the functions when it starts one."""
SENTENCES: Final[Mapping[str, str]] = {
    "NoCredentialsError": "no AWS credentials were found: set AWS_PROFILE, or sign in (`aws sso login`)",
    "PartialCredentialsError": "the AWS credentials are not whole: both key and secret are needed",
    "NoRegionError": "no AWS region is set: set AWS_REGION, or name one in the profile",
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
    """What this command has made of the stack."""

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
        answer = asked("cloudformation", "describe_stack_resources", StackName=self.name, LogicalResourceId=logical)
        return str(answer["StackResources"][0]["PhysicalResourceId"])

    def dependencies(self) -> Dependencies:
        """The gate for everything that starts no job: the registry, the ledger, the rows."""
        return self._opened(
            Settings(
                stack=self.name,
                account=self.account,
                landing=self.output("LandingBucket"),
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
                ignored=self.outputs.get("IgnoredKeys", DEFAULTS["ignored"]),
            )
        )

    def working_dependencies(self) -> Dependencies:
        """The gate as the intake function itself has it, job included: its settings are read from its configuration."""
        answer = asked("lambda", "get_function_configuration", FunctionName=self.output("IntakeFunction"))
        return self._opened(read(answer.get("Environment", {}).get("Variables", {})))

    def _opened(self, settings: Settings) -> Dependencies:
        self.opened.append(bootstrap(settings))
        return self.opened[-1]


@contextmanager
def opened(name: str = DEFAULT_STACK, *, local: bool = False) -> Iterator[DeployedStack]:
    """The stack of a name. What AWS refuses inside becomes one sentence: SetUpError or InputError."""
    name = entered(name, local=local)
    with readable_errors():
        stack = _described(name)
        yield stack
    for dependencies in stack.opened:
        for each in dependencies.taken_out():
            sys.stderr.write(f"lakegate: left out: {escaped(str(each))}; lakegate doctor has the remedy\n")


def entered(name: str, *, local: bool) -> str:
    """The name of the stack. With `local`, this process knows the embedded AWS from here on, and no other."""
    return _into_the_local_stack(name) if local else name


@contextmanager
def readable_errors() -> Iterator[None]:
    """Turn errors of AWS raised inside into a sentence that explains what to do."""
    try:
        yield
    except PortError as error:
        raise SetUpError(_sentence(error)) from None


def _into_the_local_stack(name: str) -> str:
    from lakegate.infra.local.state import LocalState  # noqa: PLC0415 - start-up is paid by every command

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
    stack = find_stack(name, asked)
    if stack is None:
        raise InputError(
            f"there is no stack {name} in {client('cloudformation').meta.region_name}: "
            "name another with --stack or another region with AWS_REGION, or deploy one (docs/deploy.md)"
        )
    return stack


def asked(service: str, operation: str, **request: object) -> Any:  # noqa: ANN401 - as boto3 has it
    """One read of AWS that no port has."""
    with port_errors():
        return getattr(client(service), operation)(**request)


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
    return f"AWS refused: {text or type(error).__name__}"
