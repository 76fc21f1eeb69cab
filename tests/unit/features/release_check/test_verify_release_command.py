"""`lakegate verify-release`: a release that was changed in any way is not taken for the one that was built."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lakegate.base.errors import InputError
from lakegate.cli.main import app
from lakegate.features.release_check.verify_release_command import BILLS, MAX_BYTES, SUMS, Difference, verify

FUNCTIONS, JUDGE, PULL, TABLE, JOB, WHEEL = BILLS
BUNDLE = "build/lambda/functions.zip"
JUDGE_BUNDLE = "build/judge/judge.zip"
CODE = "build/code/0123456789abcdef"
ENVIRONMENT = f"{CODE}/environment.tar.gz"
PACKAGE = "lakegate-0.1.0-py3-none-any.whl"
JAR = b"the bytes of a jar"


def metadata(name: str, version: str, *more: str) -> bytes:
    return "\n".join(["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}", *more, "", "text"]).encode()


def zipped(**files: bytes) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"{name}.dist-info/METADATA", text)
        archive.writestr("package/module.py", "Name: none\n")
    return content.getvalue()


def tarred(**files: bytes) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"lib/python3.11/site-packages/{name}.dist-info/METADATA")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
    return gzip.compress(content.getvalue(), mtime=0)  # the same bytes in each process: they are part of a test's id


def bill(*components: dict[str, Any]) -> bytes:
    return json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.6", "components": components}).encode()


def package(name: str, version: str) -> dict[str, Any]:
    return {"type": "library", "name": name, "version": version}


def record(folder: Path) -> None:
    """Write the digests of what a folder holds."""
    found = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != SUMS]
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}\n" for path in found]
    (folder / SUMS).write_text("".join(lines))


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A small release in which everything is as recorded."""
    required = ("Requires-Dist: Duck_DB==2.0.0", "Requires-Dist: boto3[crt]<2,>=1.44; extra == 'aws'")
    jar = {"type": "library", "name": "deequ", "version": "2.1.0"}
    files = {
        BUNDLE: zipped(one=metadata("Jmes.Path", "1.0"), two=metadata("boto3", "1.44.2")),
        JUDGE_BUNDLE: zipped(one=metadata("duckdb", "1.4")),
        "build/pull/pull.zip": zipped(one=metadata("asyncssh", "2.24")),
        "build/table/table.zip": zipped(one=metadata("pyiceberg", "0.12.0")),
        ENVIRONMENT: tarred(one=metadata("numpy", "2.4")),
        f"{CODE}/deequ.jar": JAR,
        f"{CODE}/validate.py": b"print()",
        PACKAGE: zipped(lakegate=metadata("lakegate", "0.1.0", *required)),
        FUNCTIONS: bill(package("jmes-path", "1.0"), package("boto3", "1.44.2")),
        JUDGE: bill(package("duckdb", "1.4")),
        PULL: bill(package("asyncssh", "2.24")),
        TABLE: bill(package("pyiceberg", "0.12.0")),
        JOB: bill(package("numpy", "2.4"), jar | {"hashes": [{"alg": "SHA-256", "content": hashlib.sha256(JAR).hexdigest()}]}),
        WHEEL: bill(package("duck-db", "2.0.0"), {"type": "library", "name": "boto3"}),
        "NOTES.md": b"# notes",
    }  # fmt: skip
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    record(tmp_path)
    return tmp_path


def test_an_unchanged_release_has_no_differences(release: Path) -> None:
    """What was built is recognized, and the digest to compare with the announced one is printed."""
    answer = CliRunner().invoke(app, ["verify-release", str(release)])
    digest = hashlib.sha256((release / SUMS).read_bytes()).hexdigest()

    assert (answer.exit_code, answer.output) == (0, f"15 files recorded, 0 differences; SHA-256 of {SUMS}: {digest}\n")


@pytest.mark.parametrize(
    "name", [BUNDLE, JUDGE_BUNDLE, ENVIRONMENT, f"{CODE}/deequ.jar", f"{CODE}/validate.py", PACKAGE, "NOTES.md"]
)
def test_a_changed_byte_is_found(release: Path, name: str) -> None:
    """One byte of any file is enough, and the file is named."""
    content = bytearray((release / name).read_bytes())
    content[len(content) // 2] ^= 1
    (release / name).write_bytes(content)

    assert Difference(name, "has another digest than recorded") in verify(release)


def _remove(release: Path) -> None:
    (release / "NOTES.md").unlink()


def _add(release: Path) -> None:
    (release / "build/extra.py").write_text("import os")


def _link(release: Path) -> None:
    content = (release / "NOTES.md").read_bytes()
    (release / "NOTES.md").unlink()
    (release.parent / "elsewhere").write_bytes(content)
    (release / "NOTES.md").symlink_to(release.parent / "elsewhere")


@pytest.mark.parametrize(
    ("change", "path", "problem"),
    [
        (_remove, "NOTES.md", "is missing"),
        (_add, "build/extra.py", f"is not recorded in {SUMS}"),
        (_link, "NOTES.md", "is not a regular file"),
    ],
)
def test_every_other_difference_is_named(
    release: Path, change: Callable[[Path], None], path: str, problem: str
) -> None:
    """A missing file, an additional one, and a link to the same bytes: exit code 1, for people and for machines."""
    change(release)

    answer = CliRunner().invoke(app, ["verify-release", str(release)])
    document = json.loads(CliRunner().invoke(app, ["verify-release", str(release), "--json"]).output)

    assert (answer.exit_code, answer.output.splitlines()[0]) == (1, f"{path} {problem}")
    assert document == {
        "release": str(release),
        "files": 15,
        "digest": hashlib.sha256((release / SUMS).read_bytes()).hexdigest(),
        "differences": [{"path": path, "problem": problem}],
    }


@pytest.mark.parametrize(
    ("name", "content", "problems"),
    [
        (
            FUNCTIONS,
            bill(package("jmes-path", "1.1"), package("boto3", "1.44.2")),
            ["lacks jmes-path 1.0 of the artifact", "lists jmes-path 1.1, which the artifact lacks"],
        ),
        (FUNCTIONS, bill(package("jmes-path", "1.0")), ["lacks boto3 1.44.2 of the artifact"]),
        (JOB, bill(package("numpy", "2.4")), [f"lacks jar {hashlib.sha256(JAR).hexdigest()} of the artifact"]),
        (WHEEL, bill(package("duck-db", "2.0.0")), ["lacks boto3 of the artifact"]),
        (WHEEL, b"[]", ["is not a CycloneDX document"]),
        (WHEEL, b"{", ["is not a CycloneDX document"]),
        (WHEEL, b'{"bomFormat": "SPDX", "components": []}', ["is not a CycloneDX document"]),
        (BUNDLE, b"no archive", ["cannot be compared: functions.zip cannot be read as an archive"]),
        (ENVIRONMENT, tarred()[:20], ["cannot be compared: environment.tar.gz cannot be read as an archive"]),
    ],
)  # fmt: skip
def test_a_bill_is_compared_with_its_artifact(release: Path, name: str, content: bytes, problems: list[str]) -> None:
    """Also where all digests agree: a package that is not listed, and one that is not there, are named."""
    (release / name).write_bytes(content)
    record(release)

    assert [each.problem for each in verify(release)] == problems


@pytest.mark.parametrize(
    "line",
    [
        "0" * 64 + "  ../outside",
        "0" * 64 + "  /etc/hostname",
        "0" * 64 + "  a/../../b",
        "0" * 64 + " NOTES.md",
        "0" * 63 + "  NOTES.md",
        "NOTES.md",
        "\\" + "0" * 64 + "  a\\nb",
    ],
)
def test_a_list_of_digests_names_files_of_the_release_only(release: Path, line: str) -> None:
    """A path that leads out of the release, and a line of another form, refuse the list as a whole."""
    with (release / SUMS).open("a") as file:
        file.write(line + "\n")

    with pytest.raises(InputError, match=r"line 16 of SHA256SUMS"):
        verify(release)


def test_a_folder_without_digests_is_no_release(tmp_path: Path) -> None:
    """The mistake is one sentence and not a list of differences."""
    with pytest.raises(InputError, match="is not a release: it has no readable SHA256SUMS"):
        verify(tmp_path)


def test_a_name_cannot_write_on_the_terminal(release: Path) -> None:
    """Control characters of a file's name are shown as escapes."""
    (release / "\x1b[31m\n.py").write_text("")

    answer = CliRunner().invoke(app, ["verify-release", str(release)])

    assert answer.output.splitlines()[0] == f"\\x1b[31m\\n.py is not recorded in {SUMS}"


def test_metadata_is_read_within_a_bound(release: Path) -> None:
    """A package whose metadata expands to gigabytes costs no more than a mebibyte of it."""
    bomb = b" " * (4 * MAX_BYTES) + metadata("bomb", "1")
    (release / BUNDLE).write_bytes(zipped(one=bomb, two=metadata("boto3", "1.44.2")))
    record(release)

    assert verify(release) == (Difference(FUNCTIONS, "cannot be compared: functions.zip has a package without a name"),)
