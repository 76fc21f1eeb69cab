"""Runners of programs: the port, and the simplest kind of it, a process of its own for each run."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError

from local_emr.api_shapes import Parameters, StartError, Stop, StoppedError
from local_emr.job_runs import Run

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


# ---- A process for each run ----


KILLED: Final = -signal.SIGKILL
LOOPBACK: Final = "127.0.0.1"
QUICK_JAVA: Final = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""For small deliveries of data, where compiling well costs more than it saves."""
LOG: Final = "spark.log"
LOGGING: Final = Path(__file__).with_name("log4j2.properties")


@dataclass(frozen=True, slots=True)
class JobAttempt:
    """One attempt of a run, all its files on this machine."""

    folder: Path
    """Empty but for its `stdout` and `stderr`, once it ran."""
    entry: Path
    arguments: tuple[str, ...]
    parameters: Parameters
    py_files: tuple[Path, ...] = ()
    jars: tuple[Path, ...] = ()


class Executor(Protocol):
    """Runs jobs."""

    seats: int
    """The number of programs at a time."""

    def start(self) -> None:
        """Make ready, without waiting for it."""
        ...

    def run(self, job: JobAttempt, stop: Stop) -> int:
        """The program's exit code; StoppedError when the run was stopped, and then nothing of it is left running."""
        ...

    def ready(self) -> bool:
        """Whether the next run begins at once."""
        ...

    def close(self) -> None:
        """Leave nothing running."""
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every program finds: the local AWS, its identity there, code, and settings of Spark."""

    endpoint: str
    region: str
    access_key: str
    secret_key: str
    code: tuple[Path, ...] = ()
    """Folders of Python's path."""
    settings: Mapping[str, str] = field(default_factory=dict)

    def environment(self, job: JobAttempt | None = None) -> dict[str, str]:
        """The environment of a program."""
        path = os.pathsep.join([*map(_importable, job.py_files if job else ()), *map(str, self.code)])
        aws = {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_REGION": self.region,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
        }
        spark = {
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "SPARK_LAUNCHER_OPTS": QUICK_JAVA,
            "SPARK_LOCAL_IP": LOOPBACK,
        }
        asked: Mapping[str, str] = job.parameters.environment if job else {}
        return {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1", **aws, **spark, **asked}

    def added_jars(self, job: JobAttempt) -> tuple[str, ...]:
        """The job's jars but for those that every driver has, whatever they are called: `FileCache` keeps each by its digest."""
        present = _digests(self.settings.get("spark.driver.extraClassPath", ""))
        return tuple(str(path) for path in job.jars if path.parent.name not in present)

    def spark_options(self, folder: Path, settings: Mapping[str, str], jars: Sequence[str]) -> list[str]:
        """The options of spark-submit for a Spark on this machine that writes below `folder` and whose S3 is the local one."""
        logging = f"-Dlog4j2.configurationFile={LOGGING.as_uri()} -Dlocal-emr.log={(folder / LOG).as_posix()}"
        used = {
            "spark.master": "local[*]",
            "spark.driver.bindAddress": LOOPBACK,
            "spark.driver.extraJavaOptions": f"{QUICK_JAVA} {logging}",
            "spark.local.dir": str(folder),
            "spark.sql.shuffle.partitions": "4",
            "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
            "spark.hadoop.fs.s3a.aws.credentials.provider": "com.amazonaws.auth.EnvironmentVariableCredentialsProvider",
            "spark.hadoop.fs.s3a.buffer.dir": str(folder / "s3a"),
            "spark.hadoop.fs.s3a.endpoint": self.endpoint,
            "spark.hadoop.fs.s3a.endpoint.region": self.region,
            "spark.hadoop.fs.s3a.path.style.access": "true",
            **self.settings,
            **settings,
            **({"spark.jars": ",".join(jars)} if jars else {}),
        }
        return [word for name, value in used.items() for word in ("--conf", f"{name}={value}")]


def _importable(package: Path) -> str:
    """The entry of Python's path for a package: an archive itself, the folder of a module."""
    return str(package.parent if package.suffix == ".py" else package)


@cache
def _digests(class_path: str) -> frozenset[str]:
    """The digests of the jars on a class path."""
    files = [path for path in map(Path, class_path.split(os.pathsep)) if path.is_file()]
    return frozenset(hashlib.sha256(path.read_bytes()).hexdigest() for path in files)


def require_java() -> None:
    """StartError where no Java starts that Spark would use."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin/java")) if home else "java"
    try:
        subprocess.run([java, "-version"], check=True, capture_output=True)  # noqa: S603 - what spark-submit starts
    except (OSError, subprocess.SubprocessError):
        raise StartError(f"{java} does not start: set JAVA_HOME to a Java that Spark runs on") from None


class Processes:
    """Each run is a process (group) of its own: here plain Python, without Spark."""

    def __init__(self, surroundings: Surroundings, seats: int) -> None:
        self._surroundings = surroundings
        self.seats = seats

    def start(self) -> None:
        """There is nothing to make ready."""

    def ready(self) -> bool:
        return True

    def close(self) -> None:
        """The caller stops the runs first, and no process outlives its run."""

    def run(self, job: JobAttempt, stop: Stop) -> int:
        job.folder.mkdir(parents=True, exist_ok=True)
        with (job.folder / "stdout").open("wb") as out, (job.folder / "stderr").open("wb") as err:
            process = subprocess.Popen(  # noqa: S603 - running what it is given is the trade of this service
                self.command(job),
                env=self._surroundings.environment(job),
                cwd=job.folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
            try:
                with stop.calls(lambda: kill_group(process)):
                    code = process.wait()
            finally:
                kill_group(process)
        if stop.requested:
            raise StoppedError(stop.reason)
        return code

    def command(self, job: JobAttempt) -> list[str]:
        return [sys.executable, str(job.entry), *job.arguments]


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads a group, with all that it started and left in the group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


# ---- Programs, packages and logs in S3 ----


LOGS: Final = ("stdout", "stderr")


class UnreachableError(Exception):
    """A file that a run names cannot be read."""


class FileCache:
    """Fetches to a folder where every content has its own place, so that a name always means the same bytes."""

    def __init__(self, client: S3Client, folder: Path) -> None:
        self._client = client
        self._folder = folder

    def fetch(self, uri: str) -> Path:
        """A local copy of the object or file at an address (`s3://`, `s3a://`, `file://` or a path); UnreachableError."""
        scheme, _, place = uri.rpartition("://")
        try:
            content = self._read(place) if scheme in {"s3", "s3a"} else Path(place).read_bytes()
        except (BotoCoreError, ClientError, OSError) as error:
            raise UnreachableError(f"{uri} cannot be read: {type(error).__name__}") from error
        return self._kept(content, Path(place).name)

    def write_logs(self, run: Run, folder: Path) -> None:
        """Write an attempt's logs to the place in the run's monitoring configuration, compressed as EMR Serverless does.

        A log that cannot be written causes a line on standard error and never fails the run.
        """
        target = log_folder(run)
        if target is None:
            return
        bucket, prefix = target
        try:
            for name in LOGS:
                content = gzip.compress((folder / name).read_bytes(), mtime=0)
                self._client.put_object(Bucket=bucket, Key=f"{prefix}/SPARK_DRIVER/{name}.gz", Body=content)
        except (BotoCoreError, ClientError) as error:
            print(f"emr: the logs of {run.id} were not written: {error}", file=sys.stderr)

    def _read(self, place: str) -> bytes:
        bucket, _, key = place.partition("/")
        return self._client.get_object(Bucket=bucket, Key=key)["Body"].read()

    def _kept(self, content: bytes, name: str) -> Path:
        path = self._folder / hashlib.sha256(content).hexdigest() / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            aside = path.with_name(f".{name}.{os.getpid()}.{id(content)}")
            aside.write_bytes(content)
            aside.replace(path)
        return path


def log_folder(run: Run) -> tuple[str, str] | None:
    """Bucket and prefix of the latest attempt's logs; None where no `logUri` was given."""
    uri = _log_uri(run.request.get("configurationOverrides", {})) or _log_uri(run.application.request)
    if uri is None:
        return None
    parts = urlsplit(uri)
    below = f"applications/{run.application.id}/jobs/{run.id}"
    attempt = f"/attempts/{run.latest.number}" if run.most_attempts > 1 else ""
    return parts.netloc, f"{parts.path.strip('/')}/{below}{attempt}".lstrip("/")


def _log_uri(configuration: Mapping[str, Any]) -> str | None:
    uri: str | None = (
        configuration.get("monitoringConfiguration", {}).get("s3MonitoringConfiguration", {}).get("logUri")
    )
    return uri


# ---- Warm Spark drivers ----
# A run that is stopped, or takes its driver down, costs that driver: it is killed with all it started, and the next one is
# started at once. A run that needs settings, jars or packages other than the driver was started with gets a new driver too.


LOST: Final = 1
"""Exit code of a program whose driver died without one."""


@dataclass(frozen=True, slots=True)
class Needs:
    """Start conditions of a driver for a job."""

    settings: Mapping[str, str]
    jars: tuple[str, ...]
    py_files: tuple[Path, ...]
    code: int

    @classmethod
    def of(cls, surroundings: Surroundings, job: JobAttempt | None) -> Needs:
        """Of a job; of none, what most jobs need."""
        code = _newest(surroundings.code)
        if job is None:
            return cls({}, (), (), code)
        return cls(dict(job.parameters.fixed), surroundings.added_jars(job), job.py_files, code)


def _newest(folders: Sequence[Path]) -> int:
    """When a module or package of these folders was changed last: a driver keeps the modules that it has imported."""
    packages = [place.parent for folder in folders for place in folder.glob("*/__init__.py")]
    files = [*(folder.glob("*.py") for folder in folders), *(package.rglob("*.py") for package in packages)]
    return max((path.stat().st_mtime_ns for place in files for path in place), default=0)


class Driver:
    """A driver process, and the line to it."""

    def __init__(self, surroundings: Surroundings, folder: Path, needs: Needs, job: JobAttempt | None) -> None:
        self.needs = needs
        self.ready = threading.Event()
        ours, theirs = socket.socketpair()
        options = shlex.join([*surroundings.spark_options(folder, needs.settings, needs.jars), "pyspark-shell"])
        with theirs, (folder / "driver.log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-m", "local_emr.driver", str(theirs.fileno()), str(folder)],
                env=surroundings.environment(job) | {"PYSPARK_SUBMIT_ARGS": options},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._line = ours
        self._received = ours.makefile("r", encoding="utf-8")
        self._awaited = threading.Thread(target=self._await_ready, daemon=True)
        self._awaited.start()

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def run(self, job: JobAttempt) -> int | None:
        """The program's exit code; None if the driver died before it had one."""
        self._awaited.join()
        request = {
            "entry": str(job.entry),
            "arguments": job.arguments,
            "settings": dict(job.parameters.live),
            "environment": dict(job.parameters.environment),
            "folder": str(job.folder),
        }
        try:
            self._line.sendall(json.dumps(request).encode() + b"\n")
        except OSError:
            return None
        answer = self._answer()
        return None if answer is None else int(answer["code"])

    def kill(self) -> None:
        """End the driver and all that it started."""
        kill_group(self._process)

    def gone(self) -> int:
        """Wait for the end of a killed driver, close its socket, and return its exit code."""
        code = self._process.wait()
        self.kill()
        self._awaited.join()
        self._received.close()
        self._line.close()
        return code

    def _await_ready(self) -> None:
        if self._answer() is not None:
            self.ready.set()

    def _answer(self) -> dict[str, Any] | None:
        try:
            line = self._received.readline()
        except OSError:
            return None
        answer: dict[str, Any] | None = json.loads(line) if line.endswith("\n") else None
        return answer


class Seat:
    """One driver after the other, one run at a time."""

    def __init__(self, surroundings: Surroundings, folder: Path) -> None:
        self._surroundings = surroundings
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._lock = threading.Lock()
        self._driver: Driver | None = None
        self._open = True

    def start(self) -> None:
        """Start a driver for what most jobs need."""
        self._replace(None)

    def ready(self) -> bool:
        """Whether the next run begins at once."""
        driver = self._driver
        return driver is not None and driver.alive and driver.ready.is_set()

    def run(self, job: JobAttempt, stop: Stop) -> int:
        driver = self._fitting(job)
        with stop.calls(driver.kill):
            code = driver.run(job)
        if stop.requested or code is None:
            driver.kill()
            died = driver.gone()
            self._replace(None)
            if stop.requested:
                raise StoppedError(stop.reason)
            return died if died > 0 else LOST
        return code

    def fits(self, needs: Needs) -> bool:
        """Whether there is a driver that was started with these needs."""
        driver = self._driver
        return driver is not None and driver.alive and driver.needs == needs

    def close(self) -> None:
        """Leave nothing running, for good."""
        with self._lock:
            self._open = False
            if self._driver is not None:
                self._driver.kill()
                self._driver.gone()

    def _fitting(self, job: JobAttempt) -> Driver:
        driver = self._driver
        fits = driver is not None and self.fits(Needs.of(self._surroundings, job))
        return driver if driver is not None and fits else self._replace(job)

    def _replace(self, job: JobAttempt | None) -> Driver:
        """Start a driver for a job's needs (None: for most jobs), once the one before is gone."""
        with self._lock:
            if not self._open:
                raise StoppedError("the service is going down")
            if self._driver is not None:
                self._driver.kill()
                self._driver.gone()
            needs = Needs.of(self._surroundings, job)
            self._driver = Driver(self._surroundings, self._folder, needs, job)
            return self._driver


class Resident:
    """Executor: a driver for each seat. The first one starts with the service, another one when runs have to wait for it."""

    def __init__(self, surroundings: Surroundings, seats: int, folder: Path) -> None:
        self.seats = seats
        self._surroundings = surroundings
        self._seats = [Seat(surroundings, folder / str(number)) for number in range(seats)]
        self._free = list(self._seats)
        self._lock = threading.Lock()

    def start(self) -> None:
        """StartError where Java is missing."""
        require_java()
        self._seats[0].start()

    def ready(self) -> bool:
        return any(seat.ready() for seat in self._seats)

    def run(self, job: JobAttempt, stop: Stop) -> int:
        """The caller admits no more runs than there are seats."""
        needs = Needs.of(self._surroundings, job)
        with self._lock:
            seat = next((seat for seat in self._free if seat.fits(needs)), self._free[0])
            self._free.remove(seat)
        try:
            return seat.run(job, stop)
        finally:
            with self._lock:
                self._free.insert(0, seat)

    def close(self) -> None:
        for seat in self._seats:
            seat.close()


# ---- A `spark-submit` for each run ----


class Submitted(Processes):
    """Executor: `spark-submit` with the settings of the run."""

    def start(self) -> None:
        """StartError where Java is missing."""
        require_java()

    def command(self, job: JobAttempt) -> list[str]:
        """`spark-submit` of the Python that runs this service."""
        around, parameters = self._surroundings, job.parameters
        settings = {**parameters.fixed, **parameters.live}
        return [
            str(Path(sys.executable).with_name("spark-submit")),
            *around.spark_options(job.folder / "spark", settings, around.added_jars(job)),
            *parameters.options,
            *(["--py-files", ",".join(map(str, job.py_files))] if job.py_files else []),
            str(job.entry),
            *job.arguments,
        ]
