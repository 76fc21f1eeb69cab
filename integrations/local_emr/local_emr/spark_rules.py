"""Requirements of EMR Serverless and Spark for the settings of a run: defaults, sizes of workers, number of executors.

Sources, by the name that comments here use:

* *Spark settings*: EMR Serverless User Guide, "Using Spark configurations when you run EMR Serverless jobs" (jobs-spark.html).
* *Workers*: EMR Serverless User Guide, "Understanding application behavior in EMR Serverless" (app-behavior.html).
* *Initial executors*: Apache Spark 3.5, `Utils.getDynamicAllocationInitialExecutors` and
  `SchedulerBackendUtils.getInitialTargetExecutorNumber`; the text of the refusal: pull request 175 of
  aws-samples/aws-emr-utilities.

Where the documents leave two readings, the stricter one is the rule here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from local_emr.api_shapes import Invalid

DEFAULTS: Final[Mapping[str, str]] = {
    "spark.driver.cores": "4",
    "spark.driver.memory": "14G",
    "spark.executor.cores": "4",
    "spark.executor.memory": "14G",
    "spark.executor.instances": "3",
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.initialExecutors": "3",
    "spark.dynamicAllocation.minExecutors": "0",
    "spark.dynamicAllocation.maxExecutors": str((1 << 31) - 1),
    "spark.emr-serverless.driver.disk": "20G",
    "spark.emr-serverless.executor.disk": "20G",
    "spark.emr-serverless.memoryOverheadFactor": "0.1",
}
"""*Spark settings*: what a run has that does not set them."""
MEMORY: Final[Mapping[int, tuple[int, int]]] = {1: (2, 8), 2: (4, 16), 4: (8, 30), 8: (16, 60), 16: (32, 120)}
"""*Workers*: least and most GB of a worker, by its vCPUs."""
STEP: Final[Mapping[int, int]] = {8: 4, 16: 8}
"""*Workers*: GB by which the memory of large workers grows; by 1 that of the others."""
DISK: Final = (20, 200)
"""*Workers*: GB of a worker's standard disk."""
LEAST_OVERHEAD: Final = 384
"""*Workers*: MiB beside the heap, at least, where a run does not set them."""
ROLES: Final = ("driver", "executor")
_UNITS: Final[Mapping[str, int]] = {"": 1, "k": 0, "m": 1, "g": 1 << 10, "t": 1 << 20}
_SIZE: Final = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)


def refuse_workers(settings: Mapping[str, str]) -> None:
    """Invalid where the driver or an executor would be a worker that EMR Serverless does not have."""
    for role in ROLES:
        cores, disk = vcpus(settings, role), mebibytes(_setting(settings, f"spark.emr-serverless.{role}.disk")) >> 10
        if cores not in MEMORY:
            raise Invalid(f"spark.{role}.cores: a worker has {', '.join(map(str, MEMORY))} vCPU, not {cores}")
        least, most = MEMORY[cores]
        memory = worker_memory(settings, role)
        if not least <= memory <= most:
            raise Invalid(
                f"spark.{role}.memory with its overhead: a worker of {cores} vCPU has {least} to {most} GB, not {memory}"
            )
        is_large = _setting(settings, f"spark.emr-serverless.{role}.disk.type").lower() == "shuffle_optimized"
        if not (is_large or DISK[0] <= disk <= DISK[1]):
            raise Invalid(f"spark.emr-serverless.{role}.disk: a worker has {DISK[0]} to {DISK[1]} GB, not {disk}")


def vcpus(settings: Mapping[str, str], role: str) -> int:
    """The vCPUs of a driver or of an executor."""
    return _number(settings, f"spark.{role}.cores")


def worker_memory(settings: Mapping[str, str], role: str) -> int:
    """The whole GB of a worker: heap and overhead.

    A `memoryOverhead` takes the place of the factor in Spark. Others report that EMR Serverless adds the factor to it; such a
    worker is the larger one.
    """
    heap = mebibytes(_setting(settings, f"spark.{role}.memory"))
    own = settings.get(f"spark.{role}.memoryOverhead")
    by_factor = int(heap * float(_setting(settings, "spark.emr-serverless.memoryOverheadFactor")))
    overhead = max(by_factor, LEAST_OVERHEAD) if own is None else mebibytes(own) + by_factor
    step = STEP.get(vcpus(settings, role), 1) << 10
    return -(-(heap + overhead) // step) * (step >> 10)


def outside_heap(settings: Mapping[str, str], role: str) -> int:
    """The MiB of a worker that are not heap, in the reading that gives it the least: for the JVM's own needs, and Python's."""
    own = settings.get(f"spark.{role}.memoryOverhead")
    heap = mebibytes(_setting(settings, f"spark.{role}.memory"))
    factor = float(_setting(settings, "spark.emr-serverless.memoryOverheadFactor"))
    return max(int(heap * factor), LEAST_OVERHEAD) if own is None else mebibytes(own)


def initial_executors(settings: Mapping[str, str]) -> int:
    """The number of executors with which a run starts."""
    instances = _number(settings, "spark.executor.instances")
    if _setting(settings, "spark.dynamicAllocation.enabled").lower() == "false":
        return instances
    names = ("minExecutors", "initialExecutors")
    return max(instances, *(_number(settings, f"spark.dynamicAllocation.{name}") for name in names))


def start_refusal(settings: Mapping[str, str], capacity: Mapping[str, str]) -> str:
    """The reason why a run with these settings fails before its program runs, as `stateDetails` states it; empty: it starts.

    `capacity`: `maximumCapacity` of the application.
    """
    initial = initial_executors(settings)
    least, most = (_number(settings, f"spark.dynamicAllocation.{name}") for name in ("minExecutors", "maxExecutors"))
    is_dynamic = _setting(settings, "spark.dynamicAllocation.enabled").lower() != "false"
    if is_dynamic and not least <= initial <= most:
        return (
            f"Maximum value of spark.dynamicAllocation.initialExecutors: {initial} must be between "
            f"spark.dynamicAllocation.minExecutor {least} and spark.dynamicAllocation.maxExecutors {most}."
        )
    both = {
        "cpu": sum(vcpus(settings, role) for role in ROLES),
        "memory": sum(worker_memory(settings, role) for role in ROLES),
    }
    if any(name in capacity and needed > int(capacity[name].split()[0]) for name, needed in both.items()):
        shown = ", ".join(f"{name}: {value}" for name, value in capacity.items())
        return f"Worker could not be allocated as the application has exceeded maximumCapacity settings: [{shown}]"
    return ""


def run_vcpus(settings: Mapping[str, str]) -> int:
    """The vCPUs of a run that starts: of its driver and its first executors."""
    return vcpus(settings, "driver") + initial_executors(settings) * vcpus(settings, "executor")


def mebibytes(text: str) -> int:
    """The MiB that a size of Spark's means; without a unit it is a number of MiB. Invalid for anything else."""
    size = _SIZE.fullmatch(text.strip())
    if size is None:
        raise Invalid(f"sparkSubmitParameters: not a size: {text}")
    number, unit = int(size[1]), size[2].lower()
    return number >> 10 if unit == "k" else number * _UNITS[unit]


def _number(settings: Mapping[str, str], name: str) -> int:
    text = _setting(settings, name)
    if not re.fullmatch(r"\d{1,10}", text, re.ASCII):
        raise Invalid(f"sparkSubmitParameters: {name} is not a whole number")
    return int(text)


def _setting(settings: Mapping[str, str], name: str) -> str:
    return settings.get(name, DEFAULTS.get(name, ""))
