"""The job as a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from lakegate.plan.plan import Plan
from lakegate.plan.request import Request
from tests.deliveries.delivery import request_for

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 240
"""A job that has not ended by then hangs."""

Answer = subprocess.CompletedProcess[str]


def job(
    environment: dict[str, str], *arguments: str, command: tuple[str, ...] = ("-m", "spark_jobs.validate")
) -> Answer:
    """Run the job to its end."""
    return subprocess.run(  # noqa: S603 - our own job
        [sys.executable, *command, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def staged(folder: Path, plan: Plan, content: bytes, **changes: Any) -> str:
    """Address of a request whose plan and object lie in a folder."""
    request = replace(request_for(plan, folder, content), **changes)
    (folder / "plan.json").write_text(json.dumps(plan.to_json()))
    return written(folder, request)


def written(folder: Path, request: Request) -> str:
    """Address of a request that is written to a folder."""
    path = folder / "request.json"
    path.write_text(json.dumps(request.to_json()))
    return path.as_uri()
