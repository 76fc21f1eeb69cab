"""`lakegate stack estimate`: what a month of deliveries costs about, by profile, and whether they fit, before a deployment.

List prices of us-east-1 (`lakegate/plan/billed_cost.py`), and times of docs/performance.md; none was measured in an account.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Annotated, Final

from lakegate.aws.wiring import most_executors
from lakegate.base.errors import InputError
from lakegate.cli.click_commands import Option
from lakegate.cli.command_runner import CommandResult, command
from lakegate.cli.terminal import Grid, Word
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
READS_MONTH: Final = 0.004
"""USD of what `sweep` reads of a dataset for the overview of all (docs/deploy.md, Costs)."""
KEY_MONTH: Final = 1.0
"""USD of a KMS key."""
DEFAULTS: Final[Mapping[str, str]] = {
    "JobMinutes": "60",
    "MaxConcurrentRuns": "2",
    "MaxVcpu": "16",
    "SmallFileBytes": "0",
}
"""Of the template, where a profile sets nothing."""
MOST: Final[Mapping[str, int]] = {"JobMinutes": 10_080, "MaxConcurrentRuns": 1_000}
"""The largest values that the template allows."""
DAY: Final = 86_400
MINUTE: Final = 60


@dataclass(frozen=True, slots=True)
class MonthlyCost:
    """About what a month costs with a profile, in USD."""

    profile: str
    way: str
    """`function` or `a run each`: no profile sends to batches what the function could take."""
    seconds: float
    """Of the evaluation of one delivery."""
    needs: tuple[str, ...]
    """Parameters with the values that these deliveries need at least, each an alternative; empty where the profile fits."""
    problem: str
    """Why they do not fit; empty where they do."""
    evaluation: float | None
    """By EMR Serverless or the judge function; null where they do not fit: what fails has no price."""
    others: float
    """Requests, metrics, alarms, keys; neither storage nor transfer."""

    @property
    def total(self) -> float | None:
        """Both together."""
        return None if self.evaluation is None else self.evaluation + self.others


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
    datasets: Annotated[
        int, Option(min=0, max=1_000_000, help="How many are published: each sweep reads of each what it is up to.")
    ] = 0,
) -> CommandResult[CostEstimate]:
    """Estimate what a month of deliveries costs with each profile, by list prices of us-east-1, and whether they fit.

    A delivery that would end at the time limit of its run, or more than a day's runs, has no price: the parameters that it needs
    are named (`lakegate stack deploy --parameter`). MaxVcpu is bounded by the quota of the account, too.

    Storage and transfer are not part of it. `lakegate cost` has what deliveries of a stack did cost.

    Example: lakegate stack estimate --deliveries 1000 --size 10MB
    """
    length = size_of(size)
    costs = tuple(monthly_cost(profile, deliveries, length, metrics_of, datasets) for profile in DeploymentProfile)
    rows = [
        (cost.profile, cost.way, _time(cost.seconds), *map(_money, (cost.evaluation, cost.others, cost.total)))
        for cost in costs
    ]
    numbers = ("time of each", "evaluation", "others", "USD a month")
    words: list[Word] = [Grid(("profile", "by", *numbers), rows, numbers)]
    words += [
        f"{cost.profile} does not fit: {cost.problem}: needs {', or '.join(cost.needs)}" for cost in costs if cost.needs
    ]
    return CommandResult(CostEstimate(deliveries, length, costs), words)


def size_of(text: str) -> int:
    """The bytes of a size such as 10MB. Raises InputError for any other form."""
    match = SIZE.fullmatch(text.strip())
    if not match or not int(match[1]):
        raise InputError(f"--size {text}: write a number of bytes, KB, MB, GB or TB, such as 10MB")
    return int(match[1]) * UNITS[(match[2] or "").upper()]


def monthly_cost(
    profile: DeploymentProfile, deliveries: int, size: int, metrics_of: int = 0, datasets: int = 0
) -> MonthlyCost:
    """About what a month costs: `deliveries` a day, of `size` bytes each.

    `metrics_of`: datasets with metrics of their own; `datasets`: all that are published.
    """
    values = {**DEFAULTS, **PROFILES[profile]}
    count = deliveries * DAYS
    keys = sum(KEY_MONTH for each in ("KmsKey", "SigningKey") if values.get(each))
    others = QUIET_MONTH + keys + count * REQUESTS + metrics_of * DATASET_MONTH + datasets * READS_MONTH
    if size < int(values["SmallFileBytes"]):
        seconds = INVOCATION_SECONDS + FUNCTION_SECONDS * size / BYTES_OF_AN_EXECUTOR
        one = cost_of_invocation(PRICES, seconds, FUNCTION_MEGABYTES).money
        return MonthlyCost(
            profile.value, "function", round(seconds, 1), (), "", round(count * one, 2), round(others, 2)
        )
    run = PlannedRun.of(values, size)
    problem, needs = run.beyond_time_limit() or run.beyond_day(deliveries) or ("", ())
    hours = (1 + run.executors) * run.seconds / HOUR
    one = cost_of_job(PRICES, WORKER_VCPU * hours, WORKER_GB * hours).money
    cost = None if needs else round(count * one, 2)
    return MonthlyCost(profile.value, "a run each", round(run.seconds, 1), needs, problem, cost, round(others, 2))


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run of one delivery, by the parameters of a stack."""

    size: int
    minutes: int
    """After which it is ended."""
    vcpu: int
    runs: int
    """At once."""
    executors: int

    @classmethod
    def of(cls, values: Mapping[str, str], size: int) -> PlannedRun:
        """With an executor for each GiB, as far as the stack goes."""
        vcpu, runs = int(values["MaxVcpu"]), int(values["MaxConcurrentRuns"])
        executors = min(ceil(size / BYTES_OF_AN_EXECUTOR), most_executors(vcpu, runs))
        return cls(size, int(values["JobMinutes"]), vcpu, runs, executors)

    @property
    def seconds(self) -> float:
        """About what it takes."""
        return RUN_SECONDS + self._data_seconds / self.executors

    @property
    def _data_seconds(self) -> float:
        """With one executor, for the data alone."""
        return EXECUTOR_SECONDS * self.size / BYTES_OF_AN_EXECUTOR

    def beyond_time_limit(self) -> tuple[str, tuple[str, ...]] | None:
        """Where the run would be ended before it is done: that, and what is needed instead."""
        limit = self.minutes * MINUTE
        if self.seconds <= limit:
            return None
        needed = ceil(self.seconds / MINUTE)
        executors = ceil(self._data_seconds / (limit - RUN_SECONDS))
        longer = (f"JobMinutes={needed}",) if needed <= MOST["JobMinutes"] else ()
        why = f"a run takes {_time(self.seconds)} and is ended after {_time(limit)}"
        return why, (*longer, f"MaxVcpu={self.runs * self._vcpu_of(executors)}")

    def beyond_day(self, deliveries: int) -> tuple[str, tuple[str, ...]] | None:
        """Where the runs of a day take longer than a day, so that ever more wait: that, and what is needed instead."""
        at_once = max(1, min(self.runs, self.vcpu // self._vcpu_of(self.executors)))
        needed = ceil(deliveries * self.seconds / DAY)
        if needed <= at_once:
            return None
        why = f"{deliveries:,} runs of {_time(self.seconds)}, {at_once} at once, take longer than a day"
        if needed > MOST["MaxConcurrentRuns"]:
            return why, ("fewer or smaller deliveries",)
        return why, (f"MaxConcurrentRuns={needed} with MaxVcpu={needed * self._vcpu_of(self.executors)}",)

    @staticmethod
    def _vcpu_of(executors: int) -> int:
        return WORKER_VCPU * (1 + executors)


def _money(value: float | None) -> str:
    return "does not fit" if value is None else f"{value:,.0f}"


def _time(seconds: float) -> str:
    """A time for people."""
    if seconds < MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / MINUTE:.0f} min" if seconds < HOUR else f"{seconds / HOUR:.1f} h"
