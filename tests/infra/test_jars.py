from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from infra.setup.jars import ALREADY_IN_SPARK, install_jars, sound
from infra.setup.trust import trust_options
from lakegate.base.errors import SetUpError
from lakegate.base.extension_points import TOOLS
from lakegate.spark.local_spark import Jar, jars, pinned_jars
from tests.infra.conftest import MakeJava

GOOD = Jar("good-1.0.jar", "org.example:good:1.0", hashlib.sha256(b"good").hexdigest())
ALTERED = Jar("good-1.0.jar", "org.example:good:1.0", hashlib.sha256(b"other").hexdigest())


def test_the_fetched_jars_lie_in_the_clone_under_their_own_names(tmp_path: Path, make_java: MakeJava) -> None:
    """After set-up `.tools/jars` holds exactly the pinned files, and the resolver's own folders are gone."""
    tools = tmp_path / "tools"

    install_jars(tools, make_java(tmp_path / "java"), (GOOD,))

    assert sorted(str(path.relative_to(tools)) for path in tools.rglob("*")) == ["jars", "jars/good-1.0.jar"]
    assert sound(tools / "jars", (GOOD,))


def test_a_jar_with_another_checksum_is_refused_and_nothing_is_installed(tmp_path: Path, make_java: MakeJava) -> None:
    """A jar that was changed on its way never reaches the place Spark loads from."""
    tools = tmp_path / "tools"

    with pytest.raises(SetUpError, match=r"^The good-1\.0\.jar that was fetched .* nothing was installed\.$"):
        install_jars(tools, make_java(tmp_path / "java"), (ALTERED,))

    assert list(tools.iterdir()) == []


def test_without_network_one_sentence_reports_it(tmp_path: Path, make_java: MakeJava) -> None:
    """The resolver's own words go to a log; the reader gets one sentence and the name of the log."""
    tools = tmp_path / "tools"

    with pytest.raises(SetUpError, match=r"^The jars could not be fetched \(see .*jars\.log\): fix the network and"):
        install_jars(tools, make_java(tmp_path / "java", online=False), (GOOD,))

    assert (tools / "jars.log").read_text() == "resolving\n"
    assert [path.name for path in tools.iterdir()] == ["jars.log"]


def test_an_altered_jar_does_not_stay_usable_when_fetching_fails(tmp_path: Path, make_java: MakeJava) -> None:
    """Once found unsound, the old jars are gone, whatever comes after."""
    tools = tmp_path / "tools"
    (tools / "jars").mkdir(parents=True)
    (tools / "jars" / GOOD.file).write_bytes(b"corrupted")

    assert not sound(tools / "jars", (GOOD,))
    with pytest.raises(SetUpError):
        install_jars(tools, make_java(tmp_path / "java", online=False), (GOOD,))

    assert not (tools / "jars").exists()


def test_a_missing_jar_is_reported_with_the_advice_to_run_set_up(tmp_path: Path) -> None:
    """Nobody meets a class-not-found inside Spark for want of a jar."""
    with pytest.raises(
        SetUpError, match=r"^deequ-2\.1\.0-spark-3\.5\.jar is missing from .*: run `make spark-tools`\.$"
    ):
        jars(tmp_path)


def test_sessions_get_every_pinned_jar_with_deequ_first(tmp_path: Path) -> None:
    """The order is the pins' order, so that a session is built the same way each time."""
    (tmp_path / "jars").mkdir()
    for jar in pinned_jars():
        (tmp_path / "jars" / jar.file).touch()

    assert tuple(tmp_path / "jars" / jar.file for jar in pinned_jars()) == jars(tmp_path)
    assert pinned_jars()[0].coordinate == "com.amazon.deequ:deequ:2.1.0-spark-3.5"


def test_no_exclusion_names_a_pinned_jar() -> None:
    """An exclusion that matched a pin would silently take the pin away as well."""
    pins = {jar.coordinate.rsplit(":", 1)[0] for jar in pinned_jars()}

    assert set() == pins & set(ALREADY_IN_SPARK)
    assert not [p for p in pins for e in ALREADY_IN_SPARK if "*" in e and p.startswith(e.split("*")[0])]


def test_java_is_given_the_authorities_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a proxy with its own authority Java trusts what fetched the Python packages."""
    monkeypatch.setattr("ssl.SSLContext.get_ca_certs", lambda *_args, **_options: [b"not a certificate"])

    assert trust_options(tmp_path) == []
    monkeypatch.undo()
    options = trust_options(tmp_path)
    assert bool(options) == (tmp_path / "trust.p12").exists()


@pytest.mark.spark
def test_the_jars_of_this_clone_are_the_pinned_ones() -> None:
    """What every Spark test runs on is what the pins say, byte for byte."""
    assert sound(TOOLS / "jars", pinned_jars())
