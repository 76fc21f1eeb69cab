"""Parts that are easier to look at alone: parameters, settings of Spark, needs of a driver, defects, and the README."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from local_emr.__main__ import MODES, arguments
from local_emr.api_shapes import Stop, now, read_parameters
from local_emr.faults import WORDS, EventDelivery, RunEnd
from local_emr.job_runs import Application, Run
from local_emr.run_life import Event, Life, Reporter
from local_emr.server import OPERATIONS
from local_emr.spark_processes import FileCache, JobAttempt, Needs, Surroundings

from tests.integrations.local_emr.conftest import ROLE, ROOT, until

if TYPE_CHECKING:
    import pytest


GUIDE = (ROOT / "integrations/local_emr/README.md").read_text()


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


def surroundings(code: tuple[Path, ...] = (), **settings: str) -> Surroundings:
    named = {f"spark.{name.replace('_', '.')}": value for name, value in settings.items()}
    return Surroundings("http://127.0.0.1:1", "eu-west-1", "key", "secret", code, named)


def test_what_most_jobs_ask_for_needs_no_new_driver(tmp_path: Path) -> None:
    """SQL settings, a cluster's sizes and jars of the class path under any name are what every driver has; others are not."""
    jar = tmp_path / "deequ-2.jar"
    jar.write_bytes(b"classes")
    deequ = tmp_path / hashlib.sha256(b"classes").hexdigest() / "deequ.jar"
    other = tmp_path / ("0" * 64) / "other.jar"
    around = surroundings(driver_extraClassPath=f"{tmp_path / 'none.jar'}{os.pathsep}{jar}")
    usual = job(tmp_path, "--conf spark.sql.ansi.enabled=false --conf spark.executor.cores=4", (deequ,))
    most = Needs.of(around, None)

    assert Needs.of(around, usual) == most
    assert Needs.of(around, replace(usual, jars=(deequ, other))) != most
    assert around.added_jars(replace(usual, jars=(deequ, other))) == (str(other),)
    assert Needs.of(around, job(tmp_path, "--conf spark.hadoop.a=b")) != most
    assert Needs.of(around, replace(usual, py_files=(other,))) != most


def test_edited_code_needs_a_new_driver(tmp_path: Path) -> None:
    """A module of a folder of code, or one of its packages, at any depth; not what no program could import by its name."""
    for name in ("package/inner", "files"):
        (tmp_path / name).mkdir(parents=True)
    files = [tmp_path / name for name in ("module.py", "package/__init__.py", "package/inner/deep.py", "files/data.py")]
    for file in files:
        file.touch()
        os.utime(file, (1, 1))
    needs = []
    for later, file in enumerate(files, 2):
        os.utime(file, (later, later))
        needs.append(Needs.of(surroundings((tmp_path,)), None).code // 10**9)

    assert needs == [2, 3, 4, 4]
    assert Needs.of(surroundings(), None).code == 0


def test_a_setting_of_the_service_replaces_its_own_and_one_of_a_run_replaces_both(tmp_path: Path) -> None:
    """All of them reach spark-submit as `--conf`; the local S3 is that of Spark."""
    around = surroundings(driver_memory="2g", ui_enabled="true")
    words = around.spark_options(tmp_path, {"spark.driver.memory": "1g"}, ("a.jar", "b.jar"))
    settings = dict(word.split("=", 1) for word in words[1::2])

    assert set(words[::2]) == {"--conf"}
    assert {name: settings[f"spark.{name}"] for name in ("driver.memory", "ui.enabled", "jars")} == {
        "driver.memory": "1g",
        "ui.enabled": "true",
        "jars": "a.jar,b.jar",
    }
    assert settings["spark.hadoop.fs.s3a.endpoint"] == "http://127.0.0.1:1"
    assert settings["spark.hadoop.fs.s3a.endpoint.region"] == "eu-west-1"
    assert str(tmp_path / "spark.log") in settings["spark.driver.extraJavaOptions"]


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
