"""The local stack: the embedded AWS, the local EMR Serverless, and `template.yaml` deployed on both.

Up, in this order, each step reported to the caller:

1. the socket of the embedded AWS is bound, so that its address is known before anything runs;
2. both programs start at once, and the functions' bundle is made if their code is newer;
3. SAM deploys, while Spark warms up on deliveries of its own;
4. the state file is written, last: a stack whose state file exists is whole.

Whatever goes wrong, or is interrupted, in between: everything is stopped again.
"""

from __future__ import annotations

import fcntl
import json
import shutil
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from secrets import token_hex
from typing import TYPE_CHECKING, Final
from urllib.error import URLError

from infra.local import stack_programs
from infra.local.stack_daemon import Daemon
from infra.local.stack_deploy import bundle, deploy, make_bucket
from infra.local.stack_warm import warm_functions, warm_spark
from lakegate.aws.open_stack import LocalState, state_path
from lakegate.errors import SetUpError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

STACK: Final = "lakegate"


@dataclass(frozen=True, slots=True)
class StackOptions:
    """How the stack is to be."""

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
            found = self.found()
            if found is not None and not reset:
                return found
            if not reset and self.path.exists():
                return self._revived(options, report)
            self._end()
            stack_programs.examine()
            try:
                state = self._deployed(self._started(options, report), options, report)
                state.write(self.path)
            except BaseException:
                self._end(keep=True)
                raise
            return state

    def dead(self) -> tuple[str, ...]:
        """The programs of a stack that was up and that have ended: `aws`, `emr`; none where it never was, or all run."""
        return tuple(each.name for each in self.daemons if self.path.exists() and each.pid() is None)

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
        command = stack_programs.emr_command(state.endpoint, self.folder / "emr", options.mode, port)
        pid = emr.start(command, stack_programs.emr_environment(self.folder / "tmp", state.secret_key))
        emr.wait(lambda: emr.answers.read_text().endswith("\n"))
        state = replace(state, pids={**state.pids, "emr": pid})
        state.write(self.path)
        return state

    def found(self) -> LocalState | None:
        """The state of a stack whose programs both run; None where there is none."""
        if not self.path.exists() or any(each.pid() is None for each in self.daemons):
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
        with stack_programs.listen(options.port) as listening:
            endpoint = f"http://{stack_programs.LOOPBACK}:{listening.getsockname()[1]}"
            command = stack_programs.emr_command(endpoint, self.folder / "emr", options.mode)
            pids = {"emr": emr.start(command, stack_programs.emr_environment(self.folder / "tmp", secret))}
            descriptor = listening.fileno()
            environment = stack_programs.aws_environment(self.folder / "tmp", emr.answers, secret)
            pids["aws"] = aws.start(stack_programs.aws_command(descriptor), environment, (descriptor,))
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
        return replace(state, api=f"{state.endpoint}/_aws/execute-api/{outputs['ApiId']}")

    def _end(self, *, keep: bool = False) -> bool:
        self.path.unlink(missing_ok=True)
        ran = [each.stop() for each in self.daemons]
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
