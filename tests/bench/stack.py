"""Deliveries through a local stack of their own: the seconds from an upload to its verdict, and those of a burst of small files.

Every command is the person's own (`lakegate local up`, `publish`, `upload --wait --json`). Each delivery must be accepted.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from lakegate.aws.open_stack import VARIABLE
from lakegate.base.extension_points import ROOT
from tests.bench.data import CONTRACT, files
from tests.bench.sides import LAKEGATE

ROWS = 199
BURST = 200
PREFIX = "weather/"
BURST_PATIENCE = "900"
"""Seconds."""


def measured(runs: int) -> tuple[float, float]:
    """Start a stack, deliver, and stop it: the median seconds of `runs` single uploads to their verdicts, and those of the burst.

    The burst lasts from the start of the first upload to the last verdict. Raises SystemExit where a command fails.
    """
    with TemporaryDirectory(prefix="lakegate-bench-") as name:
        folder = Path(name)
        environment = os.environ | {VARIABLE: str(folder / "local.json"), "LAKEGATE_LOCAL": "1"}
        data = files(folder / "data", ROWS, runs + 1 + BURST)
        contract = yaml.safe_load(CONTRACT.read_text())["id"]
        try:
            _output(environment, "local", "up")
            _output(environment, "publish", str(CONTRACT), "--yes")
            _output(environment, "route", "add", PREFIX, contract, "--yes")
            single = [_uploaded(environment, [each])[0] for each in data[: runs + 1]]
            burst = _uploaded(environment, data[runs + 1 :])
        finally:
            _output(environment, "local", "down")
    return median(each["verdict"] for each in single[1:]), last_verdict(burst)


def last_verdict(waited: list[dict[str, float]]) -> float:
    """Seconds from the start of the first upload to the last verdict; uploads follow one another.

    `waited` has for each delivery the seconds of its upload, and those from the end of its upload to its verdict.
    """
    sent, last = 0.0, 0.0
    for each in waited:
        sent += each["upload"]
        last = max(last, sent + each["verdict"])
    return last


def _uploaded(environment: dict[str, str], paths: list[Path]) -> list[dict[str, float]]:
    names = [str(path) for path in paths]
    output = _output(environment, "upload", *names, "--to", PREFIX, "--wait", "--timeout", BURST_PATIENCE, "--json")
    document: dict[str, Any] = json.loads(output)
    return [each["waited"] for each in document.get("deliveries", [document])]


def _output(environment: dict[str, str], *words: str) -> str:
    """The standard output of a command of lakegate."""
    ended = subprocess.run(  # noqa: S603 - our own program
        [LAKEGATE, *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        raise SystemExit(f"lakegate {words[0]} ended with {ended.returncode}:\n{ended.stdout}\n{ended.stderr}")
    return ended.stdout
