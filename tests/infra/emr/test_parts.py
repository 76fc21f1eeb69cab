"""Parts that are easier to look at alone: parameters, needs of a driver, defects, and the documentation."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from infra.local.emr.__main__ import MODES, arguments
from infra.local.emr.api_shapes import Stop, now, read_parameters
from infra.local.emr.faults import WORDS, EventDelivery, RunEnd
from infra.local.emr.job_runs import Application, Run
from infra.local.emr.run_life import Event, Life, Reporter
from infra.local.emr.server import OPERATIONS
from infra.local.emr.spark_processes import FileCache, JobAttempt, Needs, added_jars
from lakegate.spark.local_spark import pinned_jars
from tests.infra.emr.conftest import ROLE, ROOT, until

if TYPE_CHECKING:
    import pytest


GUIDE = (ROOT / "docs" / "local-emr.md").read_text()


def test_parameters_are_sorted_by_what_can_be_done_about_them() -> None:
    """Settings for a live session, those for a session of its own, files, environment; a cluster's sizes are passed over."""
    found = read_parameters(
        "--conf spark.sql.ansi.enabled=false --conf 'spark.hadoop.a=b c=d' --py-files s3://b/a.zip,s3://b/b.zip "
        "--conf spark.jars=s3://b/deequ.jar --conf spark.archives=s3://b/e.tar.gz#e --conf spark.executor.cores=4 "
        "--driver-memory 8g --num-executors=3 --conf spark.emr-serverless.driverEnv.WORD=yes --verbose --class a.B "
        "--conf spark.emr-serverless.driverEnv.PYSPARK_PYTHON=./e/bin/python --conf spark.sql.extensions=x.Y"
    )

    assert found.live == {"spark.sql.ansi.enabled": "false"}
    assert found.fixed == {"spark.hadoop.a": "b c=d", "spark.sql.extensions": "x.Y"}
    assert found.environment == {"WORD": "yes"}
    assert (found.py_files, found.jars) == (("s3://b/a.zip", "s3://b/b.zip"), ("s3://b/deequ.jar",))
    assert found.options == ("--verbose", "--class", "a.B")


def job(folder: Path, parameters: str = "", jars: tuple[Path, ...] = ()) -> JobAttempt:
    return JobAttempt(folder, folder / "entry.py", (), read_parameters(parameters), (), jars)


def test_what_most_jobs_ask_for_needs_no_new_driver(tmp_path: Path) -> None:
    """SQL settings, a cluster's sizes and the pinned jars under any name are what every driver has; others are not."""
    deequ = tmp_path / pinned_jars()[0].sha256 / "deequ.jar"
    other = tmp_path / ("0" * 64) / "other.jar"
    usual = job(tmp_path, "--conf spark.sql.ansi.enabled=false --conf spark.executor.cores=4", (deequ,))

    assert Needs.of(usual) == Needs.of(None)
    assert Needs.of(replace(usual, jars=(deequ, other))) != Needs.of(None)
    assert added_jars(replace(usual, jars=(deequ, other))) == (str(other),)
    assert Needs.of(job(tmp_path, "--conf spark.hadoop.a=b")) != Needs.of(None)
    assert Needs.of(replace(usual, py_files=(other,))) != Needs.of(None)


class Defective:
    """An executor with a defect."""

    seats = 1

    def start(self) -> None:
        raise NotImplementedError

    def ready(self) -> bool:
        return False

    def run(self, job: JobAttempt, stop: Stop) -> int:
        raise RuntimeError(f"no way to run {job.entry.name}: {stop.requested}")

    def close(self) -> None:
        """There is nothing to end."""


class Recording:
    """An outlet that remembers."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def put(self, sent: Event, delay: float = 0.0) -> None:
        assert delay == 0.0
        self.events.append(sent)


def test_a_defect_of_the_service_is_a_run_that_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever breaks behind a run ends it: no run waits for ever for a thread that died, and the log has the traceback."""
    (tmp_path / "entry.py").touch()
    recording, moment = Recording(), now()
    life = Life(Defective(), FileCache(NotImplemented, tmp_path / "code"), Reporter(recording), tmp_path / "runs", 60)
    application = Application("a", "arn", {"releaseLabel": "emr-7.14.0"}, moment, moment)
    submit = {"entryPoint": str(tmp_path / "entry.py")}
    run = Run("r", "arn", application, {"executionRoleArn": ROLE, "jobDriver": {"sparkSubmit": submit}}, "me", moment)
    life.submit(run)
    until(lambda: run.state == "FAILED", "the run ends")
    life.close()

    assert run.latest.details == "RuntimeError: no way to run entry.py: False"
    assert "RuntimeError" in capsys.readouterr().err
    assert '"state": "FAILED"' in recording.events[-1].detail


# --- the documentation


def table(title: str) -> set[str]:
    """The words in code font of the first column of the table that begins with a header."""
    rows = GUIDE[GUIDE.index(title) :].partition("\n\n")[0].splitlines()[2:]
    return {
        word for row in rows for word in re.findall(r"`(--?)?([a-z-]+)[^`]*`", row.split("|")[1]) for word in word[1:]
    }


def test_the_guide_lists_every_option() -> None:
    """The table of options is the command's own."""
    options = {option.removeprefix("--") for action in arguments()._actions for option in action.option_strings}  # noqa: SLF001 - argparse lists its options nowhere else

    assert table("| option |") == options - {"-h", "help"}
    assert all(f"`{mode}`" in GUIDE for mode in MODES)


def test_the_guide_lists_every_operation() -> None:
    """What is played is what is documented."""
    listed = GUIDE[GUIDE.index("Operations played:") :].partition(". Others")[0]

    assert set(re.findall(r"`(\w+)`", listed)) == set(OPERATIONS)


def test_the_guide_lists_every_fault() -> None:
    """The table contains every word of a fault, every end and every delivery."""
    faults = GUIDE[GUIDE.index("| word |") :].partition("\n\n")[0]

    assert set(re.findall(r"^\| `([a-z-]+)`", faults, re.MULTILINE)) == set(WORDS)
    assert all(f"`{word}`" in faults for word in [*RunEnd, *EventDelivery] if word != "normal")
