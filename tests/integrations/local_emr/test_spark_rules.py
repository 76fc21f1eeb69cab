"""What a run must ask for: the defaults of EMR Serverless, workers that exist, and a number of executors that Spark accepts."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError
from local_emr.api_shapes import Invalid
from local_emr.spark_rules import (
    initial_executors,
    mebibytes,
    refuse_workers,
    run_vcpus,
    start_refusal,
    worker_memory,
)

from tests.integrations.local_emr.conftest import Aws, Emr
from tests.integrations.local_emr.programs import HELLO

ALLOCATION = "spark.dynamicAllocation."
REFUSED = (
    "Maximum value of spark.dynamicAllocation.initialExecutors: 3 must be between spark.dynamicAllocation.minExecutor 1 "
    "and spark.dynamicAllocation.maxExecutors 2."
)
"""As AWS's own engineers quote it: aws-samples/aws-emr-utilities, pull request 175."""


def test_a_run_without_settings_has_those_of_aws() -> None:
    """Three executors of 4 vCPU and a driver of that size, each with 14 GB and a tenth more."""
    refuse_workers({})

    assert (initial_executors({}), run_vcpus({}), worker_memory({}, "driver")) == (3, 16, 16)
    assert start_refusal({}, {}) == ""


@pytest.mark.parametrize(
    ("settings", "initial", "starts"),
    [
        ({"maxExecutors": "1"}, 3, False),
        ({"initialExecutors": "1", "maxExecutors": "1"}, 3, False),
        ({"initialExecutors": "2", "maxExecutors": "2"}, 3, False),
        ({"initialExecutors": "3", "maxExecutors": "3"}, 3, True),
        ({"initialExecutors": "1", "maxExecutors": "1", "instances": "1"}, 1, True),
        ({"initialExecutors": "1", "maxExecutors": "1", "instances": "2"}, 2, False),
        ({"minExecutors": "5", "maxExecutors": "4"}, 5, False),
        ({"enabled": "false", "maxExecutors": "1", "instances": "2"}, 2, True),
    ],
)
def test_spark_starts_with_the_largest_of_three_numbers(
    settings: dict[str, str], initial: int, *, starts: bool
) -> None:
    """`Utils.getDynamicAllocationInitialExecutors`; what exceeds `maxExecutors` fails at once."""
    own = {("spark.executor." if name == "instances" else ALLOCATION) + name: value for name, value in settings.items()}

    assert initial_executors(own) == initial
    assert (start_refusal(own, {}) == "") is starts


@pytest.mark.parametrize(
    ("settings", "memory"),
    [
        ({"cores": "2", "memory": "6g"}, 7),
        ({"cores": "2", "memory": "3g", "memoryOverhead": "3584m"}, 7),
        ({"cores": "2", "memory": "4g"}, 5),
        ({"cores": "1", "memory": "2g"}, 3),
        ({"cores": "8", "memory": "18g"}, 20),
        ({"cores": "16", "memory": "108g"}, 120),
        ({"cores": "2", "memory": "15g"}, 0),
        ({"cores": "1", "memory": "1g"}, 2),
        ({"cores": "4", "memory": "2g"}, 0),
        ({"cores": "1", "memory": "6g", "memoryOverhead": "1536m"}, 0),
        ({"cores": "4", "memory": "28g"}, 0),
        ({"cores": "3", "memory": "8g"}, 0),
    ],
)
@pytest.mark.parametrize("role", ["driver", "executor"])
def test_workers_are_those_that_exist(settings: dict[str, str], memory: int, role: str) -> None:
    """Heap and overhead in whole GB, within the bounds of its vCPUs; 0 stands for a worker that there is none of."""
    own = {f"spark.{role}.{name}": value for name, value in settings.items()}

    if memory:
        refuse_workers(own)
        assert worker_memory(own, role) == memory
    else:
        with pytest.raises(Invalid, match=f"spark.{role}"):
            refuse_workers(own)


def test_a_disk_has_its_bounds() -> None:
    """Twenty to two hundred GB, unless it is one for shuffles."""
    with pytest.raises(Invalid, match="20 to 200 GB, not 500"):
        refuse_workers({"spark.emr-serverless.executor.disk": "500g"})
    refuse_workers(
        {"spark.emr-serverless.executor.disk": "500g", "spark.emr-serverless.executor.disk.type": "shuffle_optimized"}
    )


def test_an_application_has_room_for_a_driver_and_an_executor() -> None:
    """Below that nothing can run, whatever else runs; the text is EMR's."""
    small = start_refusal({}, {"cpu": "4 vCPU", "memory": "3000 GB", "disk": "20000 GB"})

    assert small.startswith("Worker could not be allocated as the application has exceeded maximumCapacity settings: [")
    assert start_refusal({}, {"cpu": "8 vCPU", "memory": "32 GB"}) == ""


@pytest.mark.parametrize(("text", "size"), [("6g", 6144), ("3584m", 3584), ("384", 384), ("2048k", 2), ("1GB", 1024)])
def test_sizes_are_read_as_spark_reads_them(text: str, size: int) -> None:
    """Without a unit they are mebibytes."""
    assert mebibytes(text) == size
    with pytest.raises(Invalid, match="not a size"):
        mebibytes(text + "?")


def test_a_run_that_spark_refuses_fails_before_its_program_runs(aws: Aws, emr: Emr) -> None:
    """No error of StartJobRun: a run that FAILED at once, whose details begin with the text that AWS gives."""
    parameters = f"--conf {ALLOCATION}minExecutors=1 --conf {ALLOCATION}maxExecutors=2"
    run = emr.ended(emr.start(aws.program(HELLO), parameters=parameters))

    assert (run["state"], run["stateDetails"]) == ("FAILED", REFUSED)
    assert "startedAt" not in run


def test_a_worker_that_does_not_exist_is_refused(aws: Aws, emr: Emr) -> None:
    """StartJobRun itself is refused."""
    with pytest.raises(ClientError, match=r"ValidationException.*4 vCPU has 8 to 30 GB, not 31"):
        emr.start(aws.program(HELLO), parameters="--conf spark.executor.memory=28g")
