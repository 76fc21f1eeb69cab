"""The engines on this machine: a request and a plan in, a result out."""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.request import Request
    from lakegate.contracts.plan.result import Result
    from lakegate.spark_jobs.store import PinnedObject

STEPS = {
    "start": "starting the engine",
    "open": "reading the header",
    "read": "reading every record",
    "measure": "measuring the checks",
    "explain": "looking up failing rows",
    "split": "splitting good rows from bad ones",
    "ask": "asking the contract's own queries",
    "slice": "writing the accepted rows as slices",
}


class EngineName(StrEnum):
    """What measures a delivery; both give the same results."""

    NATIVE = "native"
    """This process, without a JVM."""
    SPARK = "spark"
    """The gate's own job, with Spark and Deequ."""


def measure(  # noqa: PLR0913, PLR0917 - a request and its plan, and where and how they are measured
    engine: EngineName, request: Request, plan: Plan, folder: Path, samples: int, pins: Mapping[str, PinnedObject]
) -> Result:
    """Measure a delivery; the engine writes only below `folder`, and so many failing rows are named of each check at most.

    `pins`: the versions of objects of S3, by address.
    SetUpError where the engine cannot finish.
    """
    found: Result = import_module(f"{__package__}.{engine}").measure(request, plan, folder, samples, pins)
    return found
