"""Job runs: every state and its event, logs, attempts, queue, limits, cancellation."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lakegate.aws.lambda_events import JobMoved, decode
from tests.integrations.local_emr.conftest import Aws, Emr, descendants, running, service, until
from tests.integrations.local_emr.programs import ENVIRONMENT, FOREVER, HELLO, THIRD_TIME_LUCKY

ALL_IS_WELL = ["SUBMITTED", "PENDING", "SCHEDULED", "RUNNING", "SUCCESS"]
AWS_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def test_a_run_passes_through_its_states_to_success(aws: Aws, emr: Emr) -> None:
    """A program that ends with 0 is a run that ends in SUCCESS; arguments arrive, and both logs are where the run asked."""
    run = emr.ended(emr.start(aws.program(HELLO), "a b", "ç", name="first"))

    assert (run["state"], run["name"], run["attempt"]) == ("SUCCESS", "first", 1)
    assert (aws.log(run), aws.log(run, "stderr")) == ("hello a b ç\n", "careful\n")
    assert run["createdAt"] <= run["startedAt"] <= run["endedAt"] <= run["updatedAt"]


def test_every_state_has_its_event_in_order(aws: Aws, emr: Emr) -> None:
    """One event a state, in the order of the states, each with the one before, in the shape that Lakegate decodes."""
    run = emr.start(aws.program(HELLO))
    states = emr.reported_states(run)

    assert states == ALL_IS_WELL
    for event, state, before in zip(emr.state_events(run), ALL_IS_WELL, [None, *ALL_IS_WELL], strict=False):
        assert JobMoved(emr.application, run, state) == decode(json.dumps(event))
        assert before == event["detail"].get("previousState")
        assert (emr.run(run)["arn"], "emr-7.14.0") == (event["detail"]["arn"], event["detail"]["releaseLabel"])
        assert AWS_TIME.fullmatch(event["detail"]["updatedAt"])
        assert AWS_TIME.fullmatch(event["detail"]["createdAt"])


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("raise SystemExit(3)", "ExitCode: 3."),
        ("raise ValueError('no such thing')", "ValueError: no such thing"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "ExitCode: -9."),
    ],
)
def test_a_program_that_fails_is_a_run_that_failed(aws: Aws, emr: Emr, source: str, words: str) -> None:
    """Any exit code but 0 ends in FAILED, and the details have the code and the last line of the log."""
    run = emr.ended(emr.start(aws.program(source, "failing.py")))

    assert run["state"] == "FAILED"
    assert words in run["stateDetails"]


def test_a_program_that_is_not_there_fails_the_run(emr: Emr) -> None:
    """An entry point, or a package, that cannot be read ends in FAILED, and the details name it."""
    run = emr.ended(emr.start("s3://lake/code/absent.py"))
    other = emr.ended(emr.start("s3://lake/code/absent.py", parameters="--py-files s3://nowhere/x.zip"))

    assert (run["state"], other["state"]) == ("FAILED", "FAILED")
    assert "s3://lake/code/absent.py cannot be read" in run["stateDetails"]


def test_a_failed_attempt_is_tried_again(aws: Aws, emr: Emr, tmp_path: Path) -> None:
    """retryPolicy: FAILED attempts are followed by others until one succeeds; each has its record, log, states and event."""
    run = emr.start(
        aws.program(THIRD_TIME_LUCKY, "retried.py"), str(tmp_path / "count"), retryPolicy={"maxAttempts": 5}
    )
    ended = emr.ended(run)
    attempts = emr.client.list_job_run_attempts(applicationId=emr.application, jobRunId=run)["jobRunAttempts"]
    first = emr.client.get_job_run(applicationId=emr.application, jobRunId=run, attempt=1)["jobRun"]

    assert (ended["state"], ended["attempt"]) == ("SUCCESS", 3)
    assert [(each["attempt"], each["state"]) for each in attempts] == [(1, "FAILED"), (2, "FAILED"), (3, "SUCCESS")]
    assert (first["state"], first["attempt"]) == ("FAILED", 1)
    assert [aws.log(ended, below=f"/attempts/{number}") for number in (1, 2, 3)] == ["0\n", "1\n", "2\n"]
    assert ["SUBMITTED", *ALL_IS_WELL[1:4] * 3, "SUCCESS"] == emr.reported_states(run)
    retries = [each["detail"] for each in aws.events(jobRunId=run) if "Retry" in each["detail-type"]]
    assert [(each["previousAttempt"], each["newAttempt"]) for each in retries] == [(1, 2), (2, 3)]


def test_attempts_end_with_the_policy(aws: Aws, emr: Emr) -> None:
    """A run that fails as often as its policy allows is FAILED, with one event."""
    run = emr.start(aws.program("raise SystemExit(1)", "failing.py"), retryPolicy={"maxAttempts": 2})

    assert (emr.ended(run)["state"], emr.run(run)["attempt"]) == ("FAILED", 2)
    assert emr.reported_states(run).count("FAILED") == 1


# --- the queue


def application(emr: Emr, **asked: Any) -> str:
    found = emr.client.create_application(releaseLabel="emr-7.14.0", type="SPARK", **asked)
    return str(found["applicationId"])


def test_runs_beyond_the_maximum_are_queued(aws: Aws, emr: Emr) -> None:
    """A full application queues what comes, and takes it first come, first served, as its runs end."""
    full = application(emr, schedulerConfiguration={"maxConcurrentRuns": 1, "queueTimeoutMinutes": 720})
    program = aws.program(FOREVER, "forever.py")
    first, second, third = (emr.start(program, applicationId=full) for _ in range(3))

    def state(run: str) -> str:
        return str(emr.run(run, full)["state"])

    until(lambda: state(first) == "RUNNING", "the first runs")
    assert (state(second), state(third)) == ("QUEUED", "QUEUED")

    emr.client.cancel_job_run(applicationId=full, jobRunId=first)
    until(lambda: state(second) == "RUNNING", "the second runs")
    assert (state(first), state(third)) == ("CANCELLED", "QUEUED")

    emr.client.cancel_job_run(applicationId=full, jobRunId=third)
    assert state(third) == "CANCELLED"
    emr.client.cancel_job_run(applicationId=full, jobRunId=second)
    until(lambda: state(second) == "CANCELLED", "the second ends")
    assert emr.reported_states(second)[:3] == ["SUBMITTED", "QUEUED", "PENDING"]
    assert emr.reported_states(third) == ["SUBMITTED", "QUEUED", "CANCELLING", "CANCELLED"]
    assert emr.run(second, full)["queuedDurationMilliseconds"] > 0


def test_a_run_that_waited_too_long_in_the_queue_is_cancelled(aws: Aws, emr: Emr) -> None:
    """QueueTimeoutMinutes ends what is still QUEUED, and nothing else."""
    full = application(emr, schedulerConfiguration={"maxConcurrentRuns": 1, "queueTimeoutMinutes": 15})
    program = aws.program(FOREVER, "forever.py")
    first, second = (emr.start(program, applicationId=full) for _ in range(2))

    until(lambda: emr.run(second, full)["state"] == "CANCELLED", "the queued one ends")
    assert "the queue timeout of 15 minutes" in emr.run(second, full)["stateDetails"]
    assert emr.run(first, full)["state"] == "RUNNING"
    emr.client.cancel_job_run(applicationId=full, jobRunId=first)


def test_runs_beyond_the_machine_stay_scheduled(aws: Aws, tmp_path: Path) -> None:
    """With one seat, the second run waits for its resources as SCHEDULED and runs when the first has ended."""
    with service(aws, tmp_path, "--mode", "process", "--seats", "1") as emr:
        first = emr.start(aws.program(FOREVER, "forever.py"))
        emr.reaches(first, "RUNNING")
        second = emr.start(aws.program(HELLO))
        emr.reaches(second, "SCHEDULED")
        emr.client.cancel_job_run(applicationId=emr.application, jobRunId=first)

        assert emr.ended(second)["state"] == "SUCCESS"
        assert emr.run(second)["startedAt"] >= emr.run(first)["endedAt"]


# --- limits and cancellation


def test_a_run_beyond_its_time_is_cancelled(aws: Aws, emr: Emr) -> None:
    """ExecutionTimeoutMinutes ends a program that does not end by itself, and all that it started."""
    run = emr.start(aws.program(FOREVER, "forever.py"), executionTimeoutMinutes=5)
    emr.reaches(run, "RUNNING")
    ended = emr.ended(run)

    assert ended["state"] == "CANCELLED"
    assert "the execution timeout of 5 minutes" in ended["stateDetails"]
    assert [*ALL_IS_WELL[:4], "CANCELLING", "CANCELLED"] == emr.reported_states(run)
    assert ended["executionTimeoutMinutes"] == 5


def test_a_cancelled_run_leaves_nothing_running(aws: Aws, emr: Emr) -> None:
    """CancelJobRun ends the program and what it started; CANCELLED follows when nothing of it runs any more."""
    before = descendants(emr.pid())
    run = emr.start(aws.program(FOREVER, "forever.py"))
    started = until(lambda: new if len(new := descendants(emr.pid()) - before) == 2 else None, "program and child")
    answer = emr.client.cancel_job_run(applicationId=emr.application, jobRunId=run)

    assert (emr.application, run) == (answer["applicationId"], answer["jobRunId"])
    assert emr.ended(run)["state"] == "CANCELLED"
    until(lambda: not running(started), "all of it ended")
    assert [*ALL_IS_WELL[:4], "CANCELLING", "CANCELLED"] == emr.reported_states(run)


def test_a_run_that_ended_cannot_be_cancelled(aws: Aws, emr: Emr) -> None:
    """An ended run does not change; the call fails with AWS's code."""
    run = emr.start(aws.program(HELLO))
    emr.ended(run)
    with pytest.raises(ClientError, match=r"ValidationException.*not in a cancellable state"):
        emr.client.cancel_job_run(applicationId=emr.application, jobRunId=run)

    assert emr.state(run) == "SUCCESS"


# --- what a program finds


def test_a_program_finds_the_local_aws_and_nothing_of_the_caller(aws: Aws, tmp_path: Path) -> None:
    """Endpoint, region and credentials are those of the service; a profile of anyone who started it stays outside."""
    caller = {"AWS_PROFILE": "production", "AWS_SESSION_TOKEN": "secret"}
    parameters = (
        "--conf spark.emr-serverless.driverEnv.OWN_WORD=yes --conf spark.emr-serverless.driverEnv.PYSPARK_PYTHON=x"
    )
    with service(aws, tmp_path, "--mode", "process", "--region", "eu-west-1", **caller) as emr:
        output = aws.log(emr.ended(emr.start(aws.program(ENVIRONMENT, "environment.py"), parameters=parameters)))

    assert {"AWS_ENDPOINT_URL", aws.endpoint} <= set(output.split())
    assert {"eu-west-1", "000000000000", "local", "yes"} <= set(output.split())
    assert "production" not in output
    assert "secret" not in output


def test_packages_of_the_run_come_before_the_code_of_the_service(aws: Aws, tmp_path: Path) -> None:
    """`--py-files` are on the path first; what is not in them comes from the folders of `--code`."""
    folders = [tmp_path / name for name in ("one", "two")]
    for folder, names in zip(folders, (("both",), ("both", "only")), strict=True):
        folder.mkdir()
        for name in names:
            (folder / f"{name}.py").write_text(f"WHO = 'folder {folder.name}'")
    aws.program("WHO = 'the package'", "package.py")
    (folders[0] / "package.py").write_text("WHO = 'folder one'")
    program = aws.program(
        "import package, both, only\nprint(package.WHO, both.WHO, only.WHO, sep=', ')", "importing.py"
    )
    code = (word for folder in folders for word in ("--code", str(folder)))
    with service(aws, tmp_path, "--mode", "process", *code) as emr:
        run = emr.ended(emr.start(program, parameters="--py-files s3://lake/code/package.py"))

    assert run["state"] == "SUCCESS"
    assert aws.log(run) == "the package, folder one, folder two\n"
