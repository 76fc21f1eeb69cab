"""The smoke test of a deployed stack, by its commands: `make smoke STACK=lakegate`, at most ten minutes.

It publishes the contract `lakegate-smoke`, routes `lakegate-smoke/` to it, and uploads four small files whose content is new: one
is accepted, one is rejected by a rule, one by its header, and one as a duplicate. Then it verifies ledger and objects, reads what
was accepted, and asks `doctor`. What it published stays, so that a second run only adds deliveries.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Sequence

CONTRACT: Final = Path(__file__).parent / "contract.odcs.yaml"
LINE: Final = "lakegate-smoke/readings_v1"
PREFIX: Final = "lakegate-smoke/"
SECONDS: Final = 600
"""All of it; a first run in an account starts the application, which takes two minutes."""


class SmokeError(Exception):
    """A step whose result is not the expected one."""


@dataclass(frozen=True, slots=True)
class Commands:
    """The `lakegate` command, on one stack."""

    options: tuple[str, ...]
    end: float

    def __call__(self, *words: str, codes: Sequence[int] = (0,)) -> Any:  # noqa: ANN401 - a document of any command
        """The JSON document of a command. Raises SmokeError for another exit code, and where the time is up."""
        command = [sys.executable, "-m", "lakegate.cli.main", *words, "--json", *self.options]
        try:
            ended = subprocess.run(  # noqa: S603 - our own command
                command, capture_output=True, text=True, check=False, timeout=max(self.end - time.monotonic(), 1)
            )
        except subprocess.TimeoutExpired:
            raise SmokeError(f"lakegate {words[0]}: the time is up") from None
        if ended.returncode not in codes:
            raise SmokeError(f"lakegate {' '.join(words)}: exit code {ended.returncode}: {ended.stderr.strip()}")
        return json.loads(ended.stdout)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all steps, and report each; 0 if every result is the expected one, else 1."""
    parser = argparse.ArgumentParser(prog="smoke", description="The smoke test of a deployed stack.")
    parser.add_argument("stack")
    parser.add_argument("--local", action="store_true", help="The stack that `lakegate local up` started.")
    given = parser.parse_args(arguments)
    options = ("--stack", given.stack, *(("--local",) if given.local else ()))
    began = time.monotonic()
    try:
        with TemporaryDirectory(prefix="lakegate-smoke-") as folder:
            _steps(Commands(options, began + SECONDS), Path(folder), began)
    except SmokeError as error:
        print(f"failed after {time.monotonic() - began:.0f} s: {error}", file=sys.stderr)
        return 1
    print(f"every step as expected, in {time.monotonic() - began:.0f} s")
    return 0


def _steps(lakegate: Commands, folder: Path, began: float) -> None:
    def report(text: str) -> None:
        print(f"{time.monotonic() - began:5.0f} s  {text}", flush=True)

    lakegate("publish", str(CONTRACT), "--yes")
    lakegate("route", "add", PREFIX, "lakegate-smoke", "--yes")
    report(f"{LINE} is published, and {PREFIX} delivers to it")
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
        found = _delivered(lakegate, folder / f"{name}-{label}.csv", text, code)
        if (
            found["verdict"] != verdict
            or (label == "header" and found["attempt"])
            or (verdict == "rejected") != bool(found["reasons"])
        ):
            raise SmokeError(f"{label}: {found['state']}, verdict {found['verdict']}, reasons {found['reasons']}")
        report(f"{label}: {words}")
    lakegate("verify", LINE, "--objects")
    report("the ledger and its objects are as recorded")
    lakegate("get", LINE, str(folder / "read"))
    if good not in {path.read_text() for path in (folder / "read").rglob("*.csv")}:
        raise SmokeError("what was accepted cannot be read as it was uploaded")
    report("what was accepted is read as it was uploaded")
    causes = lakegate("doctor", codes=(0, 1, 3))
    faults = [f"{each['cause']}: {each['text']}" for each in causes["findings"] if each["level"] == "fault"]
    if faults:
        raise SmokeError(f"doctor finds {'; '.join(faults)}")
    report(f"doctor finds no fault; probes that could not look: {len(causes['unknown'])}")


def _delivered(lakegate: Commands, path: Path, text: str, code: int) -> dict[str, Any]:
    path.write_text(text)
    document: dict[str, Any] = lakegate(
        "upload", str(path), "--to", PREFIX, "--wait", "--timeout", str(SECONDS), codes=(code,)
    )
    return document


if __name__ == "__main__":
    sys.exit(main())
