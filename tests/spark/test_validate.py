"""The job as a process: its result, its messages and its exit code."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from lakegate.contract.delivery_policy import Policy
from lakegate.job import job_storage
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request, StagedPart
from lakegate.plan.result import Result
from lakegate.verdict.verdict import Verdict, judge
from tests.deliveries.delivery import plan_of, request_for, rule, with_classification
from tests.spark.jobs import ROOT, job, staged

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = pytest.mark.spark
OF_AWS = ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION")
SCRIPT = str(ROOT / "spark_jobs" / "validate.py")
PLAN = plan_of({"id": "integer", "name": "string"}, rule("required", "name"))
MAY_BE_EMPTY = plan_of({"id": "integer"}, policy=Policy(allow_empty=True))
"""With no bytes to read, the answer needs no Spark."""
DIRTY = b"id,name\n1,Ana\nx,\n"


def result_in(folder: Path) -> Result:
    return Result.from_json(json.loads((folder / "out" / "result.json").read_text()))


def test_a_job_that_answered_ends_well_and_its_answer_stays(tmp_path: Path, environment: dict[str, str]) -> None:
    """Exit code 0 and a result, also for data that is rejected; a second result is refused, and changes nothing."""
    address = staged(tmp_path, PLAN, DIRTY)

    first = job(environment, "--request", address)
    result, content = result_in(tmp_path), (tmp_path / "out" / "result.json").read_bytes()
    again = job(environment, "--request", address, command=(SCRIPT,))

    assert (first.returncode, first.stdout) == (0, "")
    assert (result.workload, result.attempt, result.plan_digest) == ("0" * 64, 1, PLAN.digest)
    assert (result.source_version, result.rows) == ("v1", 2)
    assert judge(PLAN, result).verdict is Verdict.REJECTED
    assert (again.returncode, again.stdout) == (2, "")
    assert "validate: this attempt was answered before" in again.stderr
    assert "Traceback" not in again.stderr
    assert [(path.name, path.read_bytes()) for path in (tmp_path / "out").iterdir()] == [("result.json", content)]


def unusable(folder: Path) -> dict[str, str]:
    """Requests that cannot be used, each with a part of its message."""
    for name in ("no-json", "schema", "digest", "size", "no-plan", "no-object"):
        (folder / name).mkdir()
    staged(folder / "no-json", PLAN, DIRTY)
    (folder / "no-json" / "request.json").write_text("{")
    staged(folder / "schema", PLAN, DIRTY, attempt=0)
    staged(folder / "no-object", PLAN, DIRTY)
    (folder / "no-object" / "staging" / "part-00000").unlink()
    staged(folder / "size", PLAN, DIRTY)
    (folder / "size" / "staging" / "part-00000").write_bytes(DIRTY + b"\n")
    staged(folder / "no-plan", PLAN, DIRTY)
    (folder / "no-plan" / "plan.json").unlink()
    staged(folder / "digest", PLAN, DIRTY, plan_digest="0" * 64)
    words = {
        "absent": "cannot be read",
        "no-json": "is not JSON",
        "schema": "does not fit its schema at attempt",
        "digest": "its digest differs",
        "size": "stage it again",
        "no-plan": "cannot be read",
        "no-object": "cannot be read",
    }
    addresses = {(folder / name / "request.json").as_uri(): output for name, output in words.items()}
    return addresses | {"http://example.org/request.json": "must begin with file: or s3:"}


def test_what_cannot_be_used_ends_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spark: object
) -> None:
    """A request, plan or object that is missing, broken or another than named: exit code 2, one sentence and no result."""
    from spark_jobs.validate import main  # noqa: PLC0415 - Spark's settings must be made first

    assert spark
    for address, words in unusable(tmp_path).items():
        code = main(["--request", address])
        output = capsys.readouterr()

        assert (code, output.out, output.err.count("\n")) == (2, "", 1)
        assert words in output.err
    assert list(tmp_path.glob("*/out/*")) == []


def test_a_job_that_cannot_answer_ends_too(tmp_path: Path, environment: dict[str, str]) -> None:
    """The process ends by itself with code 2 and one sentence when the object is not the one pinned, Spark running or not."""
    (tmp_path / "size").mkdir()
    address = staged(tmp_path / "size", PLAN, DIRTY)
    (tmp_path / "size" / "staging" / "part-00000").write_bytes(DIRTY + b"\n")

    answer = job(environment, "--request", address)

    assert answer.returncode == 2
    assert "stage it again" in answer.stderr
    assert "Traceback" not in answer.stderr


CANARIES = {name: f"CANARY{name}7311" for name in ("id", "name", "day", "moment", "open")}
SECRETIVE = with_classification(
    plan_of(
        {"id": "integer", "name": "string", "day": "date", "moment": "timestamp", "open": "string"},
        rule("unique", "name"),
        rule("enum", "name", values=["a"]),
        rule("enum", "open", values=["a"]),
        rule("maxLength", "name", value=3),
        rule("pattern", "name", pattern="^x$"),
    ),
    open="public",
    name="confidential",
)


@pytest.mark.full  # test_canaries.py has the same per commit, for rules of every kind
def test_no_value_leaves_the_job_but_those_of_public_fields(tmp_path: Path, environment: dict[str, str]) -> None:
    """A canary in every column, in broken records and in an extra column: none in the log or the result, but the public one."""
    row = ",".join(CANARIES.values())
    content = f'{",".join(CANARIES)},more\n{row},CANARYmore\n{row},CANARYmore\n{row}\n"CANARYbroken"x,{row}\n'

    answer = job(environment, "--request", staged(tmp_path, SECRETIVE, content.encode()))

    text = (tmp_path / "out" / "result.json").read_text()
    assert answer.returncode == 0
    assert "CANARY" not in answer.stdout + answer.stderr
    assert text.count("CANARY") == text.count(CANARIES["open"]) > 0
    assert "AAAAAAaaaa9999" in text


# --- S3


@pytest.fixture(scope="module")
def s3(environment: dict[str, str]) -> Iterator[tuple[Any, dict[str, str]]]:
    """A client of a bucket store on loopback, and the environment of a job that works on it."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    own = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
    settings = {"endpoint": endpoint, "path.style.access": "true", "access.key": "test", "secret.key": "test"}
    wanted = [word for name, value in settings.items() for word in ("--conf", f"spark.hadoop.fs.s3a.{name}={value}")]
    arguments = [*wanted, *shlex.split(environment["PYSPARK_SUBMIT_ARGS"])]
    client = boto3.client(
        "s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
    )
    with suppress(client.exceptions.BucketAlreadyOwnedByYou):  # moto has one state for all servers of a process
        client.create_bucket(Bucket="lake")
    yield client, environment | own | {"AWS_ENDPOINT_URL": endpoint, "PYSPARK_SUBMIT_ARGS": shlex.join(arguments)}
    client.close()
    server.stop()


def put(client: Any, plan: Plan, content: bytes) -> Request:
    """The plan, an object and its request in the bucket."""
    client.put_object(Bucket="lake", Key="plans/p.json", Body=json.dumps(plan.to_json()).encode())
    client.put_object(Bucket="lake", Key="staging/w/part-00000.csv", Body=content)
    request = replace(
        request_for(plan, ROOT),
        plan_uri="s3://lake/plans/p.json",
        parts=(StagedPart("s3://lake/staging/w/part-00000.csv", len(content)),),
        output_uri="s3://lake/runs/w/attempt=1",
    )
    client.put_object(Bucket="lake", Key="runs/w/attempt=1/request.json", Body=json.dumps(request.to_json()).encode())
    return request


def result_of(client: Any) -> bytes:
    content: bytes = client.get_object(Bucket="lake", Key="runs/w/attempt=1/result.json")["Body"].read()
    return content


@pytest.mark.full  # each delivery of tests/e2e/test_destinations.py is judged so
def test_a_job_on_s3_answers_there(s3: tuple[Any, dict[str, str]]) -> None:
    """Request, plan and data are read from a bucket, the answer is written there, and the verdict is the one of files."""
    client, environment = s3
    put(client, PLAN, DIRTY)

    answer = job(environment, "--request", "s3://lake/runs/w/attempt=1/request.json")

    assert (answer.returncode, answer.stdout) == (0, "")
    result = Result.from_json(json.loads(result_of(client)))
    assert (result.rows, judge(PLAN, result).verdict) == (2, Verdict.REJECTED)


def test_what_s3_refuses_ends_in_one_sentence(
    s3: tuple[Any, dict[str, str]],
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """An answer that stands already, an object that is gone, a request that never was: code 2, and nothing is written."""
    from spark_jobs.validate import main  # noqa: PLC0415 - Spark's settings must be made first

    monkeypatch.setattr(job_storage, "_buckets", cache(job_storage._buckets.__wrapped__))  # noqa: SLF001 - this test's endpoint
    client, environment = s3
    put(client, MAY_BE_EMPTY, b"")
    client.put_object(Bucket="lake", Key="runs/w/attempt=1/result.json", Body=b"the first answer")
    for name in OF_AWS:
        monkeypatch.setenv(name, environment[name])
    assert spark

    def output() -> tuple[int, str]:
        return main(["--request", "s3://lake/runs/w/attempt=1/request.json"]), capsys.readouterr().err

    assert output() == (2, "validate: this attempt was answered before: its result is kept as it is\n")
    client.delete_object(Bucket="lake", Key="staging/w/part-00000.csv")
    assert output() == (2, "validate: the staged object cannot be read (No such object): stage it again\n")
    client.delete_object(Bucket="lake", Key="runs/w/attempt=1/request.json")
    assert output()[0] == 2
    assert result_of(client) == b"the first answer"
