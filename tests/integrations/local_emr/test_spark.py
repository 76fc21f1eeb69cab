"""Real Spark behind the API: the resident driver and `spark-submit`, each with the job of this project and with hostile ones."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from local_emr.spark_processes import Surroundings

from infra.local.local_stack import spark_settings
from lakegate.plan.request import StagedPart
from lakegate.plan.result import Result
from lakegate.spark.local_spark import java_home
from lakegate.verdict.verdict import Verdict, judge
from tests.deliveries.delivery import plan_of, request_for, rule
from tests.integrations.local_emr.conftest import BUCKET, ROOT, Aws, Emr, descendants, running, service, until
from tests.integrations.local_emr.programs import ENDLESS, FOREVER

pytestmark = pytest.mark.spark

PLAN = plan_of({"id": "integer", "name": "string"}, rule("required", "name"))
DIRTY = b"id,name\n1,Ana\nx,\n"
CLEAN = b"id,name\n1,Ana\n2,Rui\n"

ROUND_TRIP = f"""
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
spark.range(3).write.mode("overwrite").parquet("s3://{BUCKET}/written")
print(spark.read.parquet("s3://{BUCKET}/written").count())
"""
LEAVING = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.config("spark.sql.shuffle.partitions", "17").getOrCreate()
spark.range(1).createOrReplaceTempView("left")
spark.table("left").cache().count()
print(spark.conf.get("spark.sql.shuffle.partitions"), spark.conf.get("spark.sql.session.timeZone"))
"""
LOOKING = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
print(spark.conf.get("spark.sql.shuffle.partitions"), spark.conf.get("spark.sql.session.timeZone"))
print([table.name for table in spark.catalog.listTables()], spark.sparkContext._jsc.getPersistentRDDs().size())
"""
STOPPING = "from pyspark.sql import SparkSession\nprint(SparkSession.builder.getOrCreate().range(5).count())\n"
EXITING = "import os\nos._exit(7)\n"
KILLING = """
import os, signal, threading
from pyspark.sql import SparkSession
os.kill(SparkSession.builder.getOrCreate().sparkContext._gateway.proc.pid, signal.SIGKILL)
threading.Event().wait()
"""
MEETING = """
import time
from pathlib import Path
Path({own!r}).touch()
while not Path({other!r}).exists():
    time.sleep(0.05)
"""
PACKAGED = "import packaged\nprint(packaged.VERSION)\n"


def spark_service(aws: Aws, folder: Path, *options: str) -> AbstractContextManager[Emr]:
    """A service whose Spark has the jars and the code of this repository."""
    settings = (word for name, value in spark_settings().items() for word in ("--conf", f"{name}={value}"))
    own = ("--memory", "1g", "--code", str(ROOT), *settings)
    return service(aws, folder, *options, *own, JAVA_HOME=str(java_home()))


@pytest.fixture(scope="module")
def resident(aws: Aws, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emr]:
    """A service with a resident driver."""
    with spark_service(aws, tmp_path_factory.mktemp("resident"), "--minute", "0.2", "--seats", "1") as emr:
        yield emr


def delivery(aws: Aws, name: str, content: bytes) -> str:
    """Address of a request for one object, all of it in the bucket."""
    request = replace(
        request_for(PLAN, ROOT),
        plan_uri=f"s3://{BUCKET}/plans/p.json",
        parts=(StagedPart(f"s3://{BUCKET}/staging/{name}/part-00000.csv", len(content)),),
        output_uri=f"s3://{BUCKET}/runs/{name}",
    )
    documents = {
        "plans/p.json": json.dumps(PLAN.to_json()).encode(),
        f"staging/{name}/part-00000.csv": content,
        f"runs/{name}/request.json": json.dumps(request.to_json()).encode(),
        "code/validate.py": (ROOT / "spark_jobs" / "validate.py").read_bytes(),
    }
    for key, body in documents.items():
        aws.s3.put_object(Bucket=BUCKET, Key=key, Body=body)
    return f"s3://{BUCKET}/runs/{name}/request.json"


def judged(aws: Aws, emr: Emr, name: str, content: bytes) -> dict[str, Any]:
    """What the job answered, without what differs from run to run."""
    run = emr.start("s3://lake/code/validate.py", "--request", delivery(aws, name, content))
    ended = emr.ended(run)
    assert ended["state"] == "SUCCESS", aws.log(ended, "stderr")
    answer: dict[str, Any] = json.loads(aws.object(f"runs/{name}/result.json") or b"")
    return {member: value for member, value in answer.items() if member not in {"timings", "vcpu_seconds"}}


def printed(aws: Aws, emr: Emr, source: str, name: str, parameters: str = "") -> str:
    """What a program printed, once it ended well."""
    ended = emr.ended(emr.start(aws.program(source, f"{name}.py"), parameters=parameters))
    assert ended["state"] == "SUCCESS", aws.log(ended, "stderr")
    return aws.log(ended)


def test_a_warm_answer_is_the_cold_one(aws: Aws, resident: Emr, tmp_path: Path) -> None:
    """The same delivery by a fresh spark-submit, first in the resident driver, and after others there: the same result."""
    with spark_service(aws, tmp_path, "--mode", "submit") as submit:
        cold = judged(aws, submit, "submitted", DIRTY)
    first = judged(aws, resident, "first", DIRTY)
    other = judged(aws, resident, "other", CLEAN)
    again = judged(aws, resident, "again", DIRTY)

    assert cold == first == again
    assert judge(PLAN, Result.from_json(cold | {"timings": {}})).verdict is Verdict.REJECTED
    assert judge(PLAN, Result.from_json(other | {"timings": {}})).verdict is Verdict.ACCEPTED


def test_a_program_reads_and_writes_s3_addresses(aws: Aws, resident: Emr) -> None:
    """`s3://` means the local S3 to Spark, with no word of it in the program."""
    assert printed(aws, resident, ROUND_TRIP, "round_trip") == "3\n"
    assert aws.object("written/_SUCCESS") == b""


def test_a_run_finds_nothing_of_the_one_before(aws: Aws, resident: Emr) -> None:
    """Settings, views, cached tables and modules of a program end with it."""
    before = printed(aws, resident, LOOKING, "looking")
    left = printed(aws, resident, LEAVING, "leaving", "--conf spark.sql.session.timeZone=Asia/Tokyo")

    assert left == "17 Asia/Tokyo\n"
    assert printed(aws, resident, LOOKING, "looking") == before
    assert before.endswith("\n[] 0\n")


def test_a_program_may_stop_its_session(aws: Aws, resident: Emr) -> None:
    """`spark.stop()` at the end is good manners on EMR: the next run finds a session all the same."""
    stopping = STOPPING + "SparkSession.builder.getOrCreate().stop()\n"

    assert [printed(aws, resident, source, "stopping") for source in (stopping, stopping, STOPPING)] == ["5\n"] * 3


def driver(emr: Emr) -> set[int]:
    """The processes of the resident driver, once there are a Python and a JVM."""
    return until(lambda: found if len(found := descendants(emr.pid())) >= 2 else None, "a driver and its JVM")


def test_a_run_that_hangs_costs_its_driver_and_nothing_else(aws: Aws, resident: Emr) -> None:
    """Cancelled or timed out, a hanging program ends with its driver and all that was started; the next run has a new one."""
    before = driver(resident)
    cancelled = resident.start(aws.program(FOREVER, "forever.py"))
    timed_out = resident.start(aws.program(FOREVER, "forever.py"), executionTimeoutMinutes=5)
    resident.reaches(cancelled, "RUNNING")
    resident.client.cancel_job_run(applicationId=resident.application, jobRunId=cancelled)

    assert {resident.ended(run)["state"] for run in (cancelled, timed_out)} == {"CANCELLED"}
    assert printed(aws, resident, STOPPING, "after") == "5\n"
    until(lambda: not running(before), "the first driver is gone")


def test_a_program_that_takes_the_driver_down_fails_alone(aws: Aws, resident: Emr) -> None:
    """`os._exit` ends the driver: that run is FAILED with its code, the next one has a new driver."""
    ended = resident.ended(resident.start(aws.program(EXITING, "exiting.py")))

    assert ended["state"] == "FAILED"
    assert "ExitCode: 7." in ended["stateDetails"]
    assert printed(aws, resident, STOPPING, "after") == "5\n"


def test_a_killed_jvm_ends_its_run_at_once_and_costs_no_other(aws: Aws, resident: Emr) -> None:
    """A JVM that dies under a program that does not even ask it ends the run as FAILED; the next one has a new driver."""
    began = time.monotonic()
    ended = resident.ended(resident.start(aws.program(KILLING, "killing.py")))

    assert ended["state"] == "FAILED"
    assert "ExitCode: 71." in ended["stateDetails"]
    assert "The JVM of Spark ended" in ended["stateDetails"]
    assert time.monotonic() - began < 60
    assert printed(aws, resident, STOPPING, "after") == "5\n"


def test_a_jvm_killed_between_two_runs_fails_neither(aws: Aws, resident: Emr) -> None:
    """An idle driver notices that its JVM is gone: the next run starts in a new one instead of failing in the old."""
    assert printed(aws, resident, STOPPING, "before") == "5\n"
    before = driver(resident)
    [jvm] = [pid for pid in before if Path(f"/proc/{pid}/comm").read_text() == "java\n"]
    os.kill(jvm, signal.SIGKILL)
    until(lambda: not running(before), "the driver ended with its JVM")

    assert printed(aws, resident, STOPPING, "after") == "5\n"


def test_a_package_that_changed_is_loaded_anew(aws: Aws, resident: Emr) -> None:
    """`--py-files` of another content are other modules, although the driver had loaded the first ones."""
    answers = []
    for version in ("1", "2"):
        aws.program(f"VERSION = {version}\n", "packaged.py")
        answers.append(printed(aws, resident, PACKAGED, "using", "--py-files s3://lake/code/packaged.py"))

    assert answers == ["1\n", "2\n"]


def test_settings_of_another_session_are_honoured(aws: Aws, resident: Emr) -> None:
    """What a live session cannot take (a Hadoop setting) is there too, by a driver of its own."""
    source = (
        STOPPING + "print(SparkSession.builder.getOrCreate().sparkContext.getConf().get('spark.hadoop.own.word'))\n"
    )

    assert printed(aws, resident, source, "own", "--conf spark.hadoop.own.word=yes") == "5\nyes\n"


def test_two_drivers_run_two_programs_at_a_time(aws: Aws, tmp_path: Path) -> None:
    """With two seats, programs that wait for each other both end."""
    one, other = str(tmp_path / "one"), str(tmp_path / "other")
    with spark_service(aws, tmp_path, "--seats", "2") as emr:
        first = emr.start(aws.program(MEETING.format(own=one, other=other), "one.py"))
        second = emr.start(aws.program(MEETING.format(own=other, other=one), "other.py"))

        assert {emr.ended(run)["state"] for run in (first, second)} == {"SUCCESS"}


def test_a_service_that_dies_takes_its_driver_with_it(aws: Aws, tmp_path: Path) -> None:
    """SIGKILL leaves no time for manners: the driver and its JVM end because their line to the service did."""
    with spark_service(aws, tmp_path) as emr:
        emr.reaches(emr.start(aws.program(ENDLESS, "endless.py")), "RUNNING")
        started = driver(emr)
        os.kill(emr.pid(), signal.SIGKILL)

        until(lambda: not running(started), "driver and JVM ended")


def test_a_driver_does_not_inherit_the_settings_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of programs names the local AWS, whatever was there before."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://example.org")

    assert Surroundings("http://127.0.0.1:1", "r", "a", "s").environment()["AWS_ENDPOINT_URL"] == "http://127.0.0.1:1"
