"""The archive of Java classes of the local Spark."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from infra.setup import classes
from lakegate.spark import local_spark
from lakegate.spark.local_spark import archive
from tests.infra.conftest import MakeJava


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, make_java: MakeJava, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a Java, whose environment is restored; its home."""
    for name in ("SPARK_LOCAL_IP", "SPARK_LOCAL_DIRS", "SPARK_LAUNCHER_OPTS", "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.setenv(name, "")
    java = make_java(tmp_path / "java")
    monkeypatch.setenv("JAVA_HOME", str(java))
    monkeypatch.setattr(local_spark, "jars", lambda: (Path("deequ.jar"),))
    return java


def test_an_archive_belongs_to_one_java(tmp_path: Path) -> None:
    """Another Java home has another archive, the same one the same."""
    one, other = (archive(Path(home), tmp_path) for home in ("/java/17", "/java/other"))

    assert one != other
    assert one == archive(Path("/java/17"), tmp_path)


@pytest.mark.parametrize("exists", [True, False])
def test_spark_maps_the_archive_that_is_there(exists: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: FBT001 - a parameter
    """The JVM gets the option if and only if there is an archive."""
    made = tmp_path / "made.jsa"
    if exists:
        made.touch()
    monkeypatch.setattr(local_spark, "archive", lambda _: made)

    local_spark.use_local_spark(tmp_path, size=0)

    assert (f"-XX:SharedArchiveFile={made}" in os.environ["PYSPARK_SUBMIT_ARGS"]) is exists


def test_set_up_records_once(tmp_path: Path, machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An archive that is there stays as it is."""
    made = archive(machine, tmp_path)
    made.parent.mkdir()
    made.write_bytes(b"classes")

    assert classes.main(tmp_path) == 0

    assert capsys.readouterr().err == f"classes: {made}\n"
    assert made.read_bytes() == b"classes"
