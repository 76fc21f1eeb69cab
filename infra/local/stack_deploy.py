"""Puts the real `template.yaml` on the embedded AWS, with the real SAM, and the job's program into its bucket."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from infra.local.stack_programs import PYTHON_OF_SAM, SAM
from infra.packaging.bundles import bundle_functions, bundle_judge, bundle_pull
from infra.setup.atomic_dir import alone
from lakegate.errors import SetUpError
from lakegate.extension_points import ROOT, TOOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from lakegate.aws.open_stack import LocalState

RELEASE: Final = "emr-7.14.0"


ARTIFACTS: Final = "lakegate-artifacts"
"""The bucket that SAM uploads to."""


BUNDLED: Final = ("lakegate", "functions", "infra/packaging", "infra/setup")
"""What the bundles are made of."""


LOCAL_BUILD: Final = ROOT / "build/local"
"""What is made for the Python of this machine: the embedded AWS has no other."""


BYTECODE: Final = LOCAL_BUILD / "bytecode"
"""Of the modules of earlier bundles."""


AT_ONCE: Final = 15
"""Job runs that the application takes at a time; how many run at once is a matter of this machine's processors."""


PATIENCE_SECONDS: Final = 180


SAM_POLL_SECONDS: Final = 0.2
"""Between SAM's looks at a change: its five seconds spare the limits of AWS, and there are two or more in each deployment."""


JOB: Final = ROOT / "spark_jobs/validate.py"


JOB_SETTINGS: Final[Mapping[str, str]] = {
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "0",
    "spark.sql.debug.maxToStringFields": "0",
}
"""Spark writes each plan out for its event log: a tenth of what a small delivery costs, and nobody reads it here.

The packaged parameters (sizes, archives) are those of EMR Serverless and mean nothing on one machine.
"""


def bundle(parameters: Mapping[str, str]) -> None:
    """Make the bundles that the parameters ask for, unless they are newer than all they are made of.

    Who starts another stack at the same time waits, and has them too.
    """
    with alone(LOCAL_BUILD):
        LOCAL_BUILD.mkdir(parents=True, exist_ok=True)
        for each in BUNDLES:
            if each.is_wanted(parameters) and _is_older(LOCAL_BUILD / each.path):
                each.make(ROOT, TOOLS, LOCAL_BUILD, BYTECODE)


def _is_older(made: Path) -> bool:
    sources = (
        path for name in BUNDLED for path in (ROOT / name).rglob("*") if path.is_file() and path.suffix != ".pyc"
    )
    return not made.exists() or made.stat().st_mtime < max(path.stat().st_mtime for path in sources)


def _judges(parameters: Mapping[str, str]) -> bool:
    """Whether the stack has the judge function or the drift function."""
    return parameters.get("SmallFileBytes", "0") != "0" or parameters.get("DriftSchedule", "") != ""


def _pulls(parameters: Mapping[str, str]) -> bool:
    """Whether the stack has the pull function."""
    return bool(parameters.get("PullHosts") or parameters.get("PullObjects"))


class LocalBundle(NamedTuple):
    """A bundle of functions that a stack has, some by its parameters."""

    path: str
    """Below a folder of bundles."""
    make: Callable[[Path, Path, Path, Path], Path]
    is_wanted: Callable[[Mapping[str, str]], bool]


BUNDLES: Final = (
    LocalBundle("lambda/functions.zip", bundle_functions, lambda _: True),
    LocalBundle("judge/judge.zip", bundle_judge, _judges),
    LocalBundle("pull/pull.zip", bundle_pull, _pulls),
)


def template(folder: Path, parameters: Mapping[str, str]) -> Path:
    """template.yaml with absolute paths of the bundles for this machine's Python.

    Where there is no such function, SAM is given the first bundle for it, which nothing is made of.
    """
    text = (ROOT / "template.yaml").read_text()
    for each in BUNDLES:
        code = LOCAL_BUILD / (each if each.is_wanted(parameters) else BUNDLES[0]).path
        text = text.replace(f"CodeUri: build/{each.path}", f"CodeUri: {code}")
    made = folder / "template.yaml"
    made.write_text(text)
    return made


def make_bucket(state: LocalState) -> None:
    """Make the bucket of artifacts."""
    place = {"LocationConstraint": state.region}
    client(state, "s3").create_bucket(Bucket=ARTIFACTS, CreateBucketConfiguration=place)


def deploy(state: LocalState, log: Path, parameters: Mapping[str, str]) -> dict[str, str]:
    """Deploy the stack, or its next version; the stack's outputs. SetUpError where SAM refuses."""
    settings = " ".join(f"--conf {name}={value}" for name, value in JOB_SETTINGS.items())
    own = {"EmrEndpoint": state.emr_endpoint, "JobParameters": settings, "MaxConcurrentRuns": str(AT_ONCE)}
    own["SigningKey"] = "own"
    _sam(state, {**own, **parameters}, log)
    outputs = outputs_of(state)
    client(state, "s3").put_object(Bucket=outputs["LakeBucket"], Key="code/current/validate.py", Body=JOB.read_bytes())
    return outputs


def outputs_of(state: LocalState) -> dict[str, str]:
    """The outputs of the stack."""
    stacks = client(state, "cloudformation").describe_stacks(StackName=state.stack)["Stacks"]
    return {each["OutputKey"]: each["OutputValue"] for each in stacks[0]["Outputs"]}


def client(state: LocalState, service: str) -> Any:  # noqa: ANN401 - the caller knows the type of the client
    """A client of the local stack, independent of the accounts and proxies of this machine."""
    from botocore.config import Config  # noqa: PLC0415 - the help of `lakegate local` needs none of it
    from botocore.session import Session  # noqa: PLC0415 - likewise

    return Session().create_client(
        service,
        region_name=state.region,
        endpoint_url=state.endpoint_of(service),
        aws_access_key_id=state.access_key,
        aws_secret_access_key=state.secret_key,
        config=Config(proxies={}, retries={"total_max_attempts": 2}, s3={"addressing_style": "path"}),
    )


def _sam(state: LocalState, parameters: Mapping[str, str], log: Path) -> None:
    made = template(log.parent, parameters)
    command = [
        *(str(PYTHON_OF_SAM), "-P", str(SAM), "deploy", "--template-file", str(made), "--stack-name", state.stack),
        *("--region", state.region, "--s3-bucket", ARTIFACTS, "--capabilities", "CAPABILITY_IAM"),
        *("--no-confirm-changeset", "--no-progressbar", "--on-failure", "DELETE", "--no-resolve-s3"),
        *("--parameter-overrides", *(f"{name}='{value}'" for name, value in parameters.items())),
    ]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "SAM_"))}
    environment |= state.environment() | {"SAM_CLI_TELEMETRY": "0", "SAM_CLI_POLL_DELAY": str(SAM_POLL_SECONDS)}
    environment |= {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    with log.open("wb") as output:
        try:
            subprocess.run(  # noqa: S603 - our own SAM on our own template
                command, check=True, cwd=ROOT, env=environment, stdout=output, stderr=output, timeout=PATIENCE_SECONDS
            )
        except subprocess.SubprocessError as error:
            raise SetUpError(f"SAM could not deploy template.yaml: its log is {log}.") from error
