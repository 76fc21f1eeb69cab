"""`lakegate stack estimate`: what a month of deliveries costs about, by profile, before anything is deployed.

List prices of us-east-1 (`lakegate/plan/billed_cost.py`), and times of docs/performance.md; none was measured in an account.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Annotated, Final

from lakegate.base.errors import InputError
from lakegate.cli.click_commands import Option
from lakegate.cli.command_runner import CommandResult, command
from lakegate.cli.terminal import Grid
from lakegate.features.deployment.parameter_values import PROFILES, DeploymentProfile
from lakegate.gate.delivery.submit_run import BYTES_OF_AN_EXECUTOR
from lakegate.plan.billed_cost import HOUR, PRICES, cost_of_invocation, cost_of_job

DAYS: Final = 30
UNITS: Final[Mapping[str, int]] = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
SIZE: Final = re.compile(r"(\d{1,12})\s*([KMGT]?B)?", re.ASCII | re.IGNORECASE)
RUN_SECONDS: Final = 120
"""Of a run without data: workers start, and Spark plans (docs/deploy.md, Costs)."""
EXECUTOR_SECONDS: Final = 30
"""Of two cores for the bytes of an executor."""
INVOCATION_SECONDS: Final = 1
FUNCTION_SECONDS: Final = 20
"""Of the judge function for 1 GiB: 28 seconds of a processor, of which it has 1.7."""
FUNCTION_MEGABYTES: Final = 3008
WORKER_VCPU, WORKER_GB = 2, 7
"""Of a driver and an executor, as template.yaml makes them."""
REQUESTS: Final = 0.001
"""USD, at most, of a delivery: three short invocations, some forty requests, traces and logs (docs/deploy.md, Costs)."""
QUIET_MONTH: Final = 17.0
"""USD, at most: schedules, polling, metrics and alarms of a stack (docs/deploy.md, Costs)."""
DATASET_MONTH: Final = 1.2
"""USD of the four custom metrics of a dataset (`DatasetMetrics`; docs/cost.md)."""
KEY_MONTH: Final = 1.0
"""USD of a KMS key."""
DEFAULTS: Final[Mapping[str, str]] = {"MaxVcpu": "16", "SmallFileBytes": "0"}
"""Of the template, where a profile sets nothing."""


@dataclass(frozen=True, slots=True)
class MonthlyCost:
    """About what a month costs with a profile, in USD."""

    profile: str
    way: str
    """`function` or `a run each`: no profile sends to batches what the function could take."""
    evaluation: float
    """By EMR Serverless or the judge function."""
    others: float
    """Requests, metrics, alarms, keys; neither storage nor transfer."""

    @property
    def total(self) -> float:
        """Both together."""
        return self.evaluation + self.others


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """About what deliveries of one size cost in a month of 30 days, by profile."""

    deliveries: int
    """A day."""
    bytes: int
    """Of each."""
    profiles: tuple[MonthlyCost, ...]


@command
def estimate(
    *,
    deliveries: Annotated[int, Option(min=1, max=10_000_000, help="How many a day.")] = 1_000,
    size: Annotated[str, Option(help="Bytes of each, such as 10MB.")] = "10MB",
    metrics_of: Annotated[
        int, Option(min=0, max=100_000, help="How many datasets have metrics of their own (DatasetMetrics).")
    ] = 0,
) -> CommandResult[CostEstimate]:
    """Estimate what a month of deliveries costs with each profile, by list prices of us-east-1.

    Storage and transfer are not part of it. `lakegate cost` has what deliveries of a stack did cost.

    Example: lakegate stack estimate --deliveries 1000 --size 10MB
    """
    length = size_of(size)
    found = tuple(monthly_cost(each, deliveries, length, metrics_of) for each in DeploymentProfile)
    rows = [(each.profile, each.way, *map(_money, (each.evaluation, each.others, each.total))) for each in found]
    numbers = ("evaluation", "others", "USD a month")
    table = Grid(("profile", "by", *numbers), rows, numbers, is_wide=False)
    return CommandResult(CostEstimate(deliveries, length, found), [table])


def size_of(text: str) -> int:
    """The bytes of a size such as 10MB. Raises InputError for any other form."""
    found = SIZE.fullmatch(text.strip())
    if not found or not int(found[1]):
        raise InputError(f"--size {text}: write a number of bytes, KB, MB, GB or TB, such as 10MB")
    return int(found[1]) * UNITS[(found[2] or "").upper()]


def monthly_cost(profile: DeploymentProfile, deliveries: int, size: int, metrics_of: int = 0) -> MonthlyCost:
    """About what a month costs: `deliveries` a day, of `size` bytes each; `metrics_of`: datasets with metrics of their own."""
    values = {**DEFAULTS, **PROFILES[profile]}
    count = deliveries * DAYS
    keys = sum(KEY_MONTH for each in ("KmsKey", "SigningKey") if values.get(each))
    others = QUIET_MONTH + keys + count * REQUESTS + metrics_of * DATASET_MONTH
    if size < int(values["SmallFileBytes"]):
        seconds = INVOCATION_SECONDS + FUNCTION_SECONDS * size / BYTES_OF_AN_EXECUTOR
        one = cost_of_invocation(PRICES, seconds, FUNCTION_MEGABYTES).money
        return MonthlyCost(profile.value, "function", round(count * one, 2), round(others, 2))
    executors = min(ceil(size / BYTES_OF_AN_EXECUTOR), int(values["MaxVcpu"]) // WORKER_VCPU - 1)
    seconds = RUN_SECONDS + EXECUTOR_SECONDS * size / BYTES_OF_AN_EXECUTOR / executors
    hours = (1 + executors) * seconds / HOUR
    one = cost_of_job(PRICES, WORKER_VCPU * hours, WORKER_GB * hours).money
    return MonthlyCost(profile.value, "a run each", round(count * one, 2), round(others, 2))


def _money(value: float) -> str:
    return f"{value:,.0f}"
