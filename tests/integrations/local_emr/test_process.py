"""The service as a process: how it begins and how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from local_emr.guard import VARIABLE

from tests.integrations.local_emr.conftest import (
    COMMAND,
    PATIENCE_SECONDS,
    ROLE,
    ROOT,
    Aws,
    client,
    descendants,
    running,
    service,
    until,
)
from tests.integrations.local_emr.programs import FOREVER, STUBBORN


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_service_leaves_nothing_running(aws: Aws, tmp_path: Path, sign: signal.Signals) -> None:
    """Programs, what these started, those that wait and those that ignore SIGTERM: with the service all are gone."""
    with service(aws, tmp_path, "--mode", "process", "--seats", "2") as emr:
        for source in (FOREVER, STUBBORN):
            emr.reaches(emr.start(aws.program(source, "stubborn.py")), "RUNNING")
        emr.reaches(emr.start(aws.program(FOREVER, "waiting.py")), "SCHEDULED")
        started = until(
            lambda: found if len(found := descendants(emr.pid())) == 3 else None, "two programs and a child"
        )
        os.kill(emr.pid(), sign)
        emr.process.wait(PATIENCE_SECONDS)

        until(lambda: not running(started), "all of it ended")


def test_a_service_that_is_started_again_has_its_applications(aws: Aws, tmp_path: Path) -> None:
    """Its runs are unknown; a deleted application is gone, and a run starts one that is left."""
    with service(aws, tmp_path, "--mode", "process") as emr:
        first, gone = emr.application, emr.client.create_application(releaseLabel="emr-7.14.0", type="SPARK")
        emr.client.delete_application(applicationId=gone["applicationId"])
        os.kill(emr.pid(), signal.SIGKILL)
        emr.process.wait(PATIENCE_SECONDS)
    with service(aws, tmp_path, "--mode", "process") as emr:
        listed = [each["id"] for each in emr.client.list_applications()["applications"]]
        emr.application = first
        emr.reaches(emr.start(aws.program("", "empty.py")), "SUCCESS")

    assert listed[1:] == [first]  # the first one is that of the second service of this test


def test_a_service_without_aws_still_serves(tmp_path: Path) -> None:
    """EventBridge and S3 that do not answer cost a line for each event or log, and no run its end."""
    command = [COMMAND, "--aws-endpoint", "http://127.0.0.1:1", "--mode", "process"]
    program = tmp_path / "program.py"
    program.touch()
    process = subprocess.Popen(  # noqa: S603 - our own service
        [*command, "--state-dir", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {VARIABLE: "local"},  # by which `client` signs
    )
    assert process.stdout is not None
    emr = client("emr-serverless", json.loads(process.stdout.readline())["endpoint"])
    one = {"applicationId": emr.create_application(releaseLabel="emr-7.14.0", type="SPARK")["applicationId"]}
    submit = {"sparkSubmit": {"entryPoint": program.as_uri()}}
    logs = {"monitoringConfiguration": {"s3MonitoringConfiguration": {"logUri": "s3://lake/logs"}}}
    run = emr.start_job_run(**one, executionRoleArn=ROLE, jobDriver=submit, configurationOverrides=logs)["jobRunId"]
    until(lambda: emr.get_job_run(**one, jobRunId=run)["jobRun"]["state"] == "SUCCESS", "the run ends")
    emr.close()
    process.terminate()
    output = process.communicate(timeout=PATIENCE_SECONDS)[1].splitlines()

    assert process.returncode == 0
    assert [line for line in output if "EndpointConnectionError" not in line and f"logs of {run}" not in line] == []
    assert sum(f"the logs of {run} were not written" in line for line in output) == 1


def refusal(*options: str, **environment: str) -> tuple[int, str]:
    """Exit code and words of a service that cannot start."""
    command = [COMMAND, "--aws-endpoint", "http://127.0.0.1:1", *options]
    ended = subprocess.run(  # noqa: S603 - our own service
        command,
        env=os.environ | environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert ended.stdout == ""
    return ended.returncode, ended.stderr


def test_what_keeps_a_service_from_starting_is_one_sentence(tmp_path: Path) -> None:
    """A port in use and a folder that is a file: exit code 2 and one sentence that explains what to do."""
    file = tmp_path / "file"
    file.touch()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        in_use = refusal("--state-dir", str(tmp_path), "--mode", "process", "--port", port)
    no_folder = refusal("--state-dir", str(file), "--mode", "process")
    no_setting = refusal("--state-dir", str(tmp_path), "--conf", "spark.ui.enabled")

    assert (
        2,
        f"emr: port {port} of 127.0.0.1 cannot be used: another program has it; take another, or 0 for a free one\n",
    ) == in_use
    assert (2, f"emr: {file} cannot be used as a folder: name another --state-dir\n") == no_folder
    assert no_setting == (2, "emr: --conf takes NAME=VALUE, not spark.ui.enabled\n")


@pytest.mark.parametrize("mode", ["resident", "submit"])
def test_a_service_without_java_reports_it(tmp_path: Path, mode: str) -> None:
    """Spark needs Java: without one nothing is served, and the error says what to set."""
    script = tmp_path / "bin" / "java"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\nexit 1\n")
    script.chmod(0o755)
    code, output = refusal(
        "--state-dir", str(tmp_path), "--mode", mode, PATH=str(script.parent), JAVA_HOME=str(tmp_path)
    )

    assert (code, output) == (2, f"emr: {script} does not start: set JAVA_HOME to a Java that Spark runs on\n")
