"""The local stack: the embedded AWS, the local EMR Serverless, and `template.yaml` deployed on both.

Up, in this order, each step reported to the caller:

1. the socket of the embedded AWS is bound, so that its address is known before anything runs;
2. both programs start at once, and the functions' bundle is made if their code is newer;
3. SAM deploys, while Spark warms up on deliveries of its own;
4. the state file is written, last: a stack whose state file exists is whole.

Whatever goes wrong, or is interrupted, in between: everything is stopped again.
"""

from __future__ import annotations

import errno
import fcntl
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple
from urllib.error import URLError

from local_emr.guard import VARIABLE

from infra.packaging.bundles import JARS, bundle_functions, bundle_judge, bundle_pull, bundle_table
from infra.samples.sample_data import SAMPLES, write
from infra.setup.atomic_dir import alone
from lakegate.aws.open_stack import ACCOUNT, REGION, LocalState, state_path
from lakegate.aws.vpc_endpoints import endpoints_of
from lakegate.base.errors import SetUpError
from lakegate.base.extension_points import ROOT, TOOLS
from lakegate.lints.linter import read
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request, StagedPart
from lakegate.rules.compile_plan import compile_plan
from lakegate.spark.local_spark import class_options, jars, java_home

# ---- A program that outlives its command ----
# Its lock file holds its process id, and the process holds the lock: as long as it lives, and not a moment longer, however it
# ended. So a process id is never mistaken for another process that got the same number later.


DAEMON_PATIENCE_SECONDS: Final = 60.0
GRACE_SECONDS: Final = 10.0
"""Between SIGTERM and SIGKILL."""
TICK_SECONDS: Final = 0.02
_CHILDREN: Final[dict[int, subprocess.Popen[bytes]]] = {}
"""Processes that this process started and has to wait for."""


@dataclass(frozen=True, slots=True)
class Daemon:
    """One program, by its name; what it writes lies in the folder."""

    name: str
    folder: Path

    @property
    def log(self) -> Path:
        """Its standard error."""
        return self.folder / f"{self.name}.log"

    @property
    def answers(self) -> Path:
        """Its standard output."""
        return self.folder / f"{self.name}.out"

    @property
    def lock(self) -> Path:
        """Held by the process, and holding its id."""
        return self.folder / f"{self.name}.lock"

    def start(self, command: Sequence[str], environment: Mapping[str, str], descriptors: Sequence[int] = ()) -> int:
        """Start it in a session of its own, out of reach of the terminal's Ctrl-C; its process id."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.lock.open("a") as held, self.log.open("ab") as log, self.answers.open("wb") as answers:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held.truncate(0)  # only now: until it is locked it is another process's
            process = subprocess.Popen(  # noqa: S603 - our own programs
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=answers,
                stderr=log,
                pass_fds=(held.fileno(), *descriptors),
                start_new_session=True,
            )
            held.write(str(process.pid))
        _CHILDREN[process.pid] = process
        return process.pid

    def pid(self) -> int | None:
        """The process id, or None where it does not run."""
        try:
            with self.lock.open() as file:
                if _is_free(file.fileno()):
                    return None
                return int(file.read() or 0) or None
        except FileNotFoundError:
            return None

    def wait(self, ready: Callable[[], bool], seconds: float = DAEMON_PATIENCE_SECONDS) -> None:
        """Until it is ready; SetUpError where it ends before, or takes too long."""
        for _ in _ticks(seconds):
            if ready():
                return
            if self.pid() is None:
                _bury(int(self.lock.read_text()))
                raise SetUpError(f"the local {self.name} ended while it started: its log is {self.log}.")
        raise SetUpError(f"the local {self.name} was not ready after {seconds:.0f} seconds: its log is {self.log}.")

    def stop(self) -> bool:
        """End it, gently and then not; whether it ran."""
        process = self.pid()
        if process is None:
            return False
        for sent, seconds in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, GRACE_SECONDS)):
            _send(process, sent)
            if any(self.pid() is None for _ in _ticks(seconds)):
                _bury(process)
                return True
        raise SetUpError(f"the local {self.name} (process {process}) does not end.")


def _bury(process: int) -> None:
    child = _CHILDREN.pop(process, None)
    if child is not None:
        child.wait()


def _is_free(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return True


def _send(process: int, sent: signal.Signals) -> None:
    """To the process; the last signal also to what it left in its session."""
    try:
        (os.killpg if sent is signal.SIGKILL else os.kill)(process, sent)
    except ProcessLookupError:
        return


def _ticks(seconds: float) -> Iterator[None]:
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        yield
        time.sleep(TICK_SECONDS)


# ---- The two programs of the local stack ----


LAUNCHER: Final = Path(__file__).with_name("aws") / "launcher.py"
PYTHON_OF_AWS: Final = TOOLS / "ministack/bin/python"
SAM: Final = Path(__file__).with_name("aws") / "sam.py"
PYTHON_OF_SAM: Final = TOOLS / "sam/bin/python"
CODE: Final = ROOT / "build/local/code"
"""Contents of the functions' bundles."""
LOOPBACK: Final = "127.0.0.1"
QUIET: Final = {
    "SFTP_ENABLED": "0",
    "IOT_MTLS_ENABLED": "0",
    "DOCKER_HOST": "unix:///nowhere",
    "S3_PERSIST": "0",
    "LOG_LEVEL": "INFO",
}
"""ministack opens ports of its own, looks for containers and keeps objects on disk by default."""


def examine() -> None:
    """Raise SetUpError, in one sentence, where something that the stack is made of is not there."""
    for path in (PYTHON_OF_AWS, PYTHON_OF_SAM):
        if not path.is_file():
            raise SetUpError(f"{path.relative_to(ROOT)} is missing: run `make stack-tools`.")
    java_home()
    jars()


def listen(port: int) -> socket.socket:
    """A socket bound to loopback before anything is started, so that everybody knows the address from the beginning.

    Port 0 takes a free one. SetUpError where the port is in use.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        listening.bind((LOOPBACK, port))
    except OSError as error:
        listening.close()
        if error.errno not in {errno.EADDRINUSE, errno.EACCES}:
            raise
        why = "in use" if error.errno == errno.EADDRINUSE else "not for you to take"
        raise SetUpError(f"port {port} is {why}: choose another with --port, or leave it out.") from None
    return listening


def aws_command(descriptor: int) -> Sequence[str]:
    """Starts the embedded AWS on a bound socket."""
    return (str(PYTHON_OF_AWS), str(LAUNCHER), str(descriptor))


def aws_environment(scratch: Path, emr: Path, secret: str) -> dict[str, str]:
    """Of the embedded AWS and, through it, of the functions; `scratch` takes all that it unpacks.

    The file `emr` holds the address of the local EMR Serverless once that runs.
    """
    CODE.mkdir(parents=True, exist_ok=True)
    own = {"MINISTACK_REGION": REGION, "AWS_SECRET_ACCESS_KEY": secret, VARIABLE: secret}
    own |= {"LAKEGATE_EMR_ADDRESS": str(emr), "LAKEGATE_CODE": str(CODE)}
    return _environment(scratch) | QUIET | own


def emr_command(endpoint: str, folder: Path, mode: str, port: int = 0) -> Sequence[str]:
    """Starts the local EMR Serverless beside the AWS at an endpoint; port 0 takes a free one."""
    place = ("--port", str(port), "--aws-endpoint", endpoint, "--account", ACCOUNT, "--region", REGION)
    own = ("--state-dir", str(folder), "--mode", mode, "--code", str(ROOT))
    settings = (word for name, value in spark_settings().items() for word in ("--conf", f"{name}={value}"))
    return (sys.executable, "-m", "local_emr", *place, *own, *settings)


def spark_settings() -> dict[str, str]:
    """Settings of every Spark of the local EMR Serverless: the pinned jars, and the archive of the classes in them."""
    return {
        "spark.driver.extraClassPath": os.pathsep.join(map(str, jars())),
        "spark.driver.defaultJavaOptions": class_options(java_home()),
    }


def emr_environment(scratch: Path, secret: str) -> dict[str, str]:
    """Of the local EMR Serverless and, through it, of the job."""
    return _environment(scratch) | {"JAVA_HOME": str(java_home()), VARIABLE: secret}


def _environment(scratch: Path) -> dict[str, str]:
    """The caller's, without what would name a real account, another Spark, or a proxy between this machine and itself."""
    scratch.mkdir(parents=True, exist_ok=True)
    foreign = ("AWS_", "LAKEGATE_", "SPARK_", "PYSPARK_", "PYTHON", "LAMBDA_")
    own = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    direct = f"{LOOPBACK},localhost"
    return own | {"TMPDIR": str(scratch), "NO_PROXY": direct, "no_proxy": direct, "PYTHONUNBUFFERED": "1"}


# ---- Deployment of `template.yaml` ----


RELEASE: Final = "emr-7.14.0"
ARTIFACTS: Final = "lakegate-artifacts"
"""The bucket that SAM uploads to."""
BUNDLED: Final = ("lakegate", "functions", "infra/packaging", "infra/setup")
"""Sources of the bundles."""
LOCAL_BUILD: Final = ROOT / "build/local"
"""Builds for the Python of this machine: the embedded AWS has no other."""
BYTECODE: Final = LOCAL_BUILD / "bytecode"
"""Of the modules of earlier bundles."""
AT_ONCE: Final = 15
"""Job runs that the application takes at a time; how many run at once is a matter of this machine's processors."""
DEPLOY_PATIENCE_SECONDS: Final = 180
SAM_POLL_SECONDS: Final = 0.2
"""Between SAM's looks at a change: its five seconds spare the limits of AWS, and there are two or more in each deployment."""
JOB: Final = ROOT / "spark_jobs/validate.py"
JOB_SETTINGS: Final[Mapping[str, str]] = {
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "0",
    "spark.sql.debug.maxToStringFields": "0",
}
"""Spark writes each plan out for its event log: a tenth of what a small delivery costs, and nobody reads it here."""


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
    LocalBundle("table/table.zip", bundle_table, lambda parameters: bool(parameters.get("TableDatabase"))),
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


def make_endpoints(state: LocalState, parameters: Mapping[str, str]) -> None:
    """Make the endpoints that the guide lists for these parameters, in the VPC of their subnets, where they are not there yet."""
    ec2 = client(state, "ec2")
    there = {(each["VpcId"], each["ServiceName"]) for each in ec2.describe_vpc_endpoints()["VpcEndpoints"]}
    for subnet in ec2.describe_subnets(SubnetIds=parameters["SubnetIds"].split(","))["Subnets"]:
        for endpoint in endpoints_of(parameters):
            place = (subnet["VpcId"], f"com.amazonaws.{state.region}.{endpoint.service}")
            if place not in there:
                ec2.create_vpc_endpoint(VpcId=place[0], ServiceName=place[1], VpcEndpointType=endpoint.kind)
                there.add(place)


def deploy(state: LocalState, log: Path, parameters: Mapping[str, str]) -> dict[str, str]:
    """Deploy the stack, or its next version; the stack's outputs. SetUpError where SAM refuses."""
    settings = " ".join(f"--conf {name}={value}" for name, value in JOB_SETTINGS.items())
    own = {"EmrEndpoint": state.emr_endpoint, "ExtraJobParameters": settings, "MaxConcurrentRuns": str(AT_ONCE)}
    own["SigningKey"] = "own"
    own |= parameters
    if own.get("SubnetIds"):
        make_endpoints(state, own)
    _sam(state, own, log)
    outputs = outputs_of(state)
    for name, body in job_files().items():
        client(state, "s3").put_object(Bucket=outputs["LakeBucket"], Key=f"code/current/{name}", Body=body)
    return outputs


def job_files() -> dict[str, bytes]:
    """The files of the job's release on this machine, by name: a run has this clone's packages."""
    files = {name: path.read_bytes() for name, path in zip(JARS, jars(TOOLS), strict=False)}
    return files | {"validate.py": JOB.read_bytes(), "environment.tar.gz": b""}


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
                command,
                check=True,
                cwd=ROOT,
                env=environment,
                stdout=output,
                stderr=output,
                timeout=DEPLOY_PATIENCE_SECONDS,
            )
        except subprocess.SubprocessError as error:
            raise SetUpError(f"SAM could not deploy template.yaml: its log is {log}.") from error


# ---- Warming up ----
# The job itself runs on deliveries of its own, under an application of its own whose events nobody listens to, while SAM
# deploys: so the first upload meets the same Spark as the tenth.


DELIVERIES: Final = (
    ("weather-dirty.csv", "weather.dcm.yaml"),
    ("orders-clean.csv", "orders.odcs.yaml"),
    ("weather-clean.csv", "weather.dcm.yaml"),
    ("orders-dirty.csv", "orders.odcs.yaml"),
)

ROWS: Final = 2_000
ROLE: Final = "arn:aws:iam::000000000000:role/warm-up"
WARM_PATIENCE_SECONDS: Final = 120.0
PAUSE_SECONDS: Final = 0.2
ENDS: Final = frozenset({"SUCCESS", "FAILED", "CANCELLED"})
EMPTY_BATCH: Final = b'{"Records": []}'
UNSIGNED: Final = b'{"routeKey": "GET /api/v1/workload/{id}", "requestContext": {"requestId": "warm-up"}}'
"""A request that the HTTP API refuses."""
HARMLESS: Final = {
    "IntakeFunction": EMPTY_BATCH,
    "CompletionFunction": EMPTY_BATCH,
    "JudgeFunction": EMPTY_BATCH,
    "ApiFunction": UNSIGNED,
}


def warm_spark(state: LocalState) -> None:
    """Run the job on each delivery, one after the other. SetUpError where one does not succeed."""
    jobs, s3 = client(state, "emr-serverless"), client(state, "s3")
    application = jobs.create_application(name="warm-up", releaseLabel=RELEASE, type="SPARK")["applicationId"]
    for number, (sample, contract) in enumerate(DELIVERIES):
        _run(jobs, application, _put(s3, number, sample, _plan(contract)))


def warm_functions(state: LocalState, outputs: Mapping[str, str]) -> None:
    """Give each function that people meet an event without effects, so that it is loaded."""
    lambdas = client(state, "lambda")
    events = {outputs[name]: event for name, event in HARMLESS.items() if name in outputs}
    with ThreadPoolExecutor(len(events)) as threads:
        for each in [
            threads.submit(lambdas.invoke, FunctionName=name, Payload=event) for name, event in events.items()
        ]:
            each.result()


def _plan(contract: str) -> Plan:
    document = read((ROOT / "contracts/examples" / contract).read_bytes())
    return compile_plan(document, document.datasets[0])


def _put(s3: Any, number: int, sample: str, plan: Plan) -> str:  # noqa: ANN401 - boto3 makes its clients' classes as it goes
    """Put plan, data and request of one delivery into the bucket of artifacts; the request's address."""
    folder = f"warm-up/{number}"
    with TemporaryDirectory() as name:
        path = Path(name, sample)
        write(SAMPLES[sample], path, ROWS, seed=0)
        data = path.read_bytes()
    place = f"s3://{ARTIFACTS}/{folder}"
    identity = sha256(place.encode()).hexdigest()
    request = Request(
        workload=identity,
        attempt=1,
        plan_uri=f"{place}/plan.json",
        plan_digest=plan.digest,
        source_version=identity,
        parts=(StagedPart(f"{place}/part-00000.csv", len(data)),),
        judged_at=datetime.now(UTC).isoformat(timespec="seconds"),
        output_uri=place,
    )
    for file, body in (("plan.json", plan.to_bytes()), ("part-00000.csv", data), ("request.json", request.to_bytes())):
        s3.put_object(Bucket=ARTIFACTS, Key=f"{folder}/{file}", Body=io.BytesIO(body))
    return f"{place}/request.json"


def _run(jobs: Any, application: str, request: str) -> None:  # noqa: ANN401 - as above
    submit = {"entryPoint": str(JOB), "entryPointArguments": ["--request", request]}
    run = jobs.start_job_run(applicationId=application, executionRoleArn=ROLE, jobDriver={"sparkSubmit": submit})
    limit = time.monotonic() + WARM_PATIENCE_SECONDS
    while time.monotonic() < limit:
        found = jobs.get_job_run(applicationId=application, jobRunId=run["jobRunId"])["jobRun"]
        if found["state"] in ENDS:
            break
        time.sleep(PAUSE_SECONDS)
    if found["state"] != "SUCCESS":
        raise SetUpError(f"the job does not run here ({found['state']}: {found.get('stateDetails', '')}).")


STACK: Final = "lakegate"


@dataclass(frozen=True, slots=True)
class StackOptions:
    """The wanted properties of the stack."""

    port: int = 0
    """Of the embedded AWS; 0 takes a free one."""
    mode: str = "resident"
    """Of the local EMR Serverless: one warm Spark, or a `submit` per run."""
    warm: bool = True
    """Whether Spark is warmed up before anybody uploads."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Of the template, beside what the local stack needs."""


@dataclass(frozen=True, slots=True)
class Stack:
    """One local stack, by its state file; what it writes lies in a folder beside it."""

    path: Path = field(default_factory=state_path)

    @property
    def folder(self) -> Path:
        """Logs, locks and scratch files."""
        return self.path.with_suffix("")

    @property
    def daemons(self) -> tuple[Daemon, Daemon]:
        """EMR Serverless first: it is the first to stop."""
        return Daemon("emr", self.folder), Daemon("aws", self.folder)

    def up(
        self, options: StackOptions, report: Callable[[str], None] = lambda _: None, *, reset: bool = False
    ) -> LocalState:
        """Start what does not run; the state. SetUpError, with nothing left running, where a first start fails.

        Of a stack that was up, a dead EMR Serverless alone is started again. The embedded AWS holds everything in memory: where
        it has died, a new one needs `reset`, which also throws away what runs.
        """
        with self._alone():
            local_state = self.found()
            if local_state is not None and not reset:
                return local_state
            if not reset and self.path.exists():
                return self._revived(options, report)
            self._end()
            examine()
            try:
                state = self._deployed(self._started(options, report), options, report)
                state.write(self.path)
            except BaseException:
                self._end(keep=True)
                raise
            return state

    def dead(self) -> tuple[str, ...]:
        """The programs of a stack that was up and that have ended: `aws`, `emr`; none where it never was, or all run."""
        return tuple(daemon.name for daemon in self.daemons if self.path.exists() and daemon.pid() is None)

    def _revived(self, options: StackOptions, report: Callable[[str], None]) -> LocalState:
        """A stack that was up with its EMR Serverless started again, at its address. SetUpError where the AWS is dead, too."""
        state, (emr, aws) = LocalState.read(self.path), self.daemons
        if aws.pid() is None:
            raise SetUpError(
                f"the embedded AWS has died, and with it all that it held: `lakegate local up --reset` starts another, with"
                f" nothing in it. Its log is {aws.log}."
            )
        report("starting the local EMR Serverless again")
        port = int(state.emr_endpoint.rpartition(":")[2])
        command = emr_command(state.endpoint, self.folder / "emr", options.mode, port)
        pid = emr.start(command, emr_environment(self.folder / "tmp", state.secret_key))
        emr.wait(lambda: emr.answers.read_text().endswith("\n"))
        state = replace(state, pids={**state.pids, "emr": pid})
        state.write(self.path)
        return state

    def found(self) -> LocalState | None:
        """The state of a stack whose programs both run; None where there is none."""
        if not self.path.exists() or any(daemon.pid() is None for daemon in self.daemons):
            return None
        return LocalState.read(self.path)

    def down(self) -> bool:
        """Stop everything and remove what it wrote; whether anything ran."""
        with self._alone():
            return self._end()

    def _started(self, options: StackOptions, report: Callable[[str], None]) -> LocalState:
        emr, aws = self.daemons
        secret = token_hex(20)
        report("starting the embedded AWS and the local EMR Serverless")
        with listen(options.port) as listening:
            endpoint = f"http://{LOOPBACK}:{listening.getsockname()[1]}"
            command = emr_command(endpoint, self.folder / "emr", options.mode)
            pids = {"emr": emr.start(command, emr_environment(self.folder / "tmp", secret))}
            descriptor = listening.fileno()
            environment = aws_environment(self.folder / "tmp", emr.answers, secret)
            pids["aws"] = aws.start(aws_command(descriptor), environment, (descriptor,))
        bundle(options.parameters)
        emr.wait(lambda: emr.answers.read_text().endswith("\n"))
        aws.wait(lambda: _answers(endpoint))
        found = json.loads(emr.answers.read_text())["endpoint"]
        return LocalState(endpoint, found, STACK, secret_key=secret, pids=pids)

    def _deployed(self, state: LocalState, options: StackOptions, report: Callable[[str], None]) -> LocalState:
        make_bucket(state)
        beside = ThreadPoolExecutor(1)
        try:
            spark = beside.submit(warm_spark, state) if options.warm and options.mode == "resident" else None
            report("deploying template.yaml with SAM")
            outputs = deploy(state, self.folder / "sam.log", options.parameters)
            warm_functions(state, outputs)
            if spark is not None:
                report("waiting for Spark to be warm")
                spark.result()
        finally:
            beside.shutdown(wait=False, cancel_futures=True)
        api = f"{state.endpoint}/_aws/execute-api/{outputs['ApiId']}"
        return replace(state, api=api, parameters=options.parameters)

    def _end(self, *, keep: bool = False) -> bool:
        self.path.unlink(missing_ok=True)
        ran = [daemon.stop() for daemon in self.daemons]
        shutil.rmtree(self.folder / "tmp" if keep else self.folder, ignore_errors=True)
        return any(ran)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No two commands move one stack at once."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise SetUpError("another `lakegate local` or `lakegate demo` is at work: wait for it.") from None
            yield


def _answers(endpoint: str) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{endpoint}/_ministack/health", timeout=2) as answer:
            return bool(answer.status == 200)  # noqa: PLR2004 - OK
    except (URLError, OSError):
        return False
