"""Quotas of an account: calls a second, runs that wait, vCPUs; each refused as AWS refuses it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError
from local_emr.api_shapes import StartError, ThrottlingError
from local_emr.quotas import RATES, CallRate, TokenBuckets, read_rates

from tests.integrations.local_emr.conftest import Aws, Emr, service
from tests.integrations.local_emr.programs import FOREVER, NOTHING

SMALL = "--conf spark.driver.cores=1 --conf spark.driver.memory=2g --conf spark.executor.cores=1 "
SMALL += "--conf spark.executor.memory=2g --conf spark.executor.instances=1 "
SMALL += "--conf spark.dynamicAllocation.initialExecutors=1 --conf spark.dynamicAllocation.maxExecutors=1"


def code(error: pytest.ExceptionInfo[ClientError]) -> tuple[str, int]:
    answer = error.value.response
    return answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"]


def test_a_bucket_gives_its_burst_and_then_its_rate() -> None:
    """Twenty-five at once, then one a second; another operation has its own bucket."""
    now = [0.0]
    buckets = TokenBuckets(RATES, lambda: now[0])

    def taken(operation: str) -> bool:
        try:
            buckets.take(operation)
        except ThrottlingError:
            return False
        return True

    assert sum(taken("StartJobRun") for _ in range(60)) == 25
    assert sum(taken("GetJobRun") for _ in range(60)) == 50
    assert all(taken("TagResource") for _ in range(60))
    for _ in range(10):
        now[0] += 0.5
        taken("StartJobRun")
    assert not taken("StartJobRun")
    now[0] += 3600
    assert sum(taken("StartJobRun") for _ in range(60)) == 25


def test_rates_are_read() -> None:
    """Of operations that have one; the others keep theirs."""
    assert read_rates(["StartJobRun=0.5/3"]) == {**RATES, "StartJobRun": CallRate(0.5, 3)}
    for word in ("StartJobRun", "StartJobRun=1", "Other=1/2", "StartJobRun=1/0"):
        with pytest.raises(StartError, match="a rate is"):
            read_rates([word])


@pytest.fixture(scope="module")
def bounded(aws: Aws, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emr]:
    """An account of 4 vCPU where two runs may wait, and which takes four starts at once."""
    quotas = ("--vcpus", "4", "--queued", "2", "--rate", "StartJobRun=0.001/6")
    with service(aws, tmp_path_factory.mktemp("bounded"), "--mode", "process", "--seats", "4", quotas=quotas) as emr:
        yield emr


def test_runs_wait_for_vcpus_then_the_queue_is_full_then_calls_are_throttled(aws: Aws, bounded: Emr) -> None:
    """Two runs of 2 vCPU run, two wait, the next is refused; who ends makes room for who waits."""
    program = aws.program(FOREVER, "forever.py")
    runs = [bounded.start(program, parameters=SMALL) for _ in range(4)]
    for run in runs[:2]:
        bounded.reaches(run, "RUNNING")
    assert [bounded.state(run) for run in runs[2:]] == ["QUEUED", "QUEUED"]

    with pytest.raises(ClientError) as full:
        bounded.start(program, parameters=SMALL)
    bounded.client.cancel_job_run(applicationId=bounded.application, jobRunId=runs[0])
    bounded.reaches(runs[2], "RUNNING")
    bounded.start(aws.program(NOTHING), parameters=SMALL)
    with pytest.raises(ClientError) as throttled:
        bounded.start(program, parameters=SMALL)

    assert code(full) == ("ServiceQuotaExceededException", 402)
    assert code(throttled) == ("ThrottlingException", 429)
