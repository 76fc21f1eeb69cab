"""`lakegate stack smoke`: the smoke test of a deployed stack, by its commands, at most ten minutes.

It publishes the contract `lakegate-smoke`, routes `lakegate-smoke/` to it, and uploads four small files whose content is new: one
is accepted, one is rejected by a rule, one by its header, and one as a duplicate. Then it verifies ledger and objects, reads what
was accepted, and asks `doctor`. What it published stays, so that a second run only adds deliveries.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import uuid4

from lakegate.aws.open_stack import DeployedStack
from lakegate.base.errors import SetUpError
from lakegate.cli import terminal
from lakegate.cli.command_runner import CommandResult, stack_command
from lakegate.cli.options import Local

CONTRACT: Final = Path(__file__).with_name("smoke.odcs.yaml")
LINE: Final = "lakegate-smoke/readings_v1"
PREFIX: Final = "lakegate-smoke/"
SECONDS_OF_SMOKE_TEST: Final = 600
"""All of it; a first run in an account starts the application, which takes two minutes."""
SHOWN: Final = 400
"""Characters of a command, and of the end of what it says, where it fails."""


@dataclass(frozen=True, slots=True)
class SmokeTest:
    """A smoke test whose every step ended as expected."""

    stack: str
    region: str
    seconds: int
    steps: tuple[str, ...]


@stack_command
def smoke(there: DeployedStack, *, local: Local = False) -> CommandResult[SmokeTest]:
    """Deliver four small files, and compare what becomes of them: accepted, rejected by a rule, by the header, as a duplicate.

    The contract and the prefix lakegate-smoke stay, for the next time.

    Example: lakegate stack smoke --stack lakegate

    Exit code: 0 every step ended as expected, 2 one did not: it is named.
    """
    found = smoke_test(there, local=local)
    return CommandResult(found, [f"every step as expected, in {found.seconds} s"])


def smoke_test(there: DeployedStack, *, local: bool) -> SmokeTest:
    """Run all steps, and report each. Raises SetUpError that names the step whose result is another one."""
    began, steps = time.monotonic(), list[str]()

    def report(text: str) -> None:
        steps.append(text)
        line = f"{time.monotonic() - began:5.0f} s  {text}"
        terminal.note(line)

    options = ("--stack", there.name, *(("--local",) if local else ()))
    commands = Commands(options, began + SECONDS_OF_SMOKE_TEST)
    prefix = there.outputs.get("LandingPrefix", "") + PREFIX
    with TemporaryDirectory(prefix="lakegate-smoke-") as folder:
        try:
            for step in _steps(commands, Path(folder), prefix, proposes=there.requires_approval):
                report(step)
        except SmokeError as error:
            raise SetUpError(f"the smoke test failed after {time.monotonic() - began:.0f} s: {error}") from None
    return SmokeTest(there.name, there.region, round(time.monotonic() - began), tuple(steps))


class SmokeError(Exception):
    """A step whose result is not the expected one."""


@dataclass(frozen=True, slots=True)
class Commands:
    """The `lakegate` command, on one stack."""

    options: tuple[str, ...]
    end: float

    def __call__(self, *words: str, codes: Sequence[int] = (0,), by: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401 - a document of any command
        """The JSON document of a command, None of one that was refused. `by`: variables with the credentials of somebody else.

        Raises SmokeError for another exit code, and where the time is up.
        """
        command = [sys.executable, "-m", "lakegate.cli.main", *words, "--json", *self.options]
        try:
            ended = subprocess.run(  # noqa: S603 - our own command
                command,
                env={**os.environ, **(by or {})},
                capture_output=True,
                text=True,
                check=False,
                timeout=max(self.end - time.monotonic(), 1),
            )
        except subprocess.TimeoutExpired:
            raise SmokeError(f"lakegate {words[0]}: the time is up") from None
        if ended.returncode not in codes:
            asked, reason = " ".join(words)[:SHOWN], ended.stderr.strip()[-SHOWN:]
            raise SmokeError(f"lakegate {asked}: exit code {ended.returncode}: {reason}")
        return json.loads(ended.stdout or "null")


def _steps(lakegate: Callable[..., Any], folder: Path, prefix: str, *, proposes: bool) -> Iterator[str]:
    if not proposes:
        lakegate("publish", str(CONTRACT), "--yes")
        lakegate("route", "add", prefix, "lakegate-smoke", "--yes")
    elif not any(each["prefix"] == prefix for each in lakegate("route", "list")["routes"]):
        yield f"skipped: somebody has to propose, approve and route {CONTRACT} to {prefix} once"
        return
    yield f"{LINE} is published, and {prefix} delivers to it"
    name = uuid4().hex
    good = f"id,amount\n{name},1\nsecond,2\n"
    bad = f"id,amount\n{name},1\n{name},2\n"
    expected = (
        ("good", good, 0, "accepted", "accepted"),
        ("bad", bad, 1, "rejected", "rejected: the id is not unique"),
        ("header", f"amount\n{int(name[:6], 16)}\n", 1, "rejected", "rejected at the door: no column id"),
        ("duplicate", good, 1, "rejected", "rejected: the same content was accepted before"),
    )
    for label, text, code, verdict, words in expected:
        path = folder / f"{name}-{label}.csv"
        path.write_text(text)
        found = lakegate(
            "upload", str(path), "--to", prefix, "--wait", "--timeout", str(SECONDS_OF_SMOKE_TEST), codes=(code,)
        )
        if (
            found["verdict"] != verdict
            or (label == "header" and found["attempt"])
            or (verdict == "rejected") != bool(found["reasons"])
        ):
            raise SmokeError(f"{label}: {found['state']}, verdict {found['verdict']}, reasons {found['reasons']}")
        yield f"{label}: {words}"
    lakegate("verify", LINE, "--objects")
    yield "the ledger and its objects are as recorded"
    lakegate("get", LINE, str(folder / "read"))
    if good not in {path.read_text() for path in (folder / "read").rglob("*.csv")}:
        raise SmokeError("what was accepted cannot be read as it was uploaded")
    yield "what was accepted is read as it was uploaded"
    causes = lakegate("doctor", codes=(0, 1, 3))
    faults = [f"{each['cause']}: {each['text']}" for each in causes["findings"] if each["level"] == "fault"]
    if faults:
        raise SmokeError(f"doctor finds {'; '.join(faults)}")
    yield f"doctor finds no fault; probes that could not look: {len(causes['unknown'])}"
