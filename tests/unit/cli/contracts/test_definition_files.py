"""Definitions in files beside a contract, for every command that reads it; links and revisions of git."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lakegate.cli.main import app
from lakegate.library.api import lint
from tests.unit.cli.conftest import Lakegate
from tests.unit.diff.builder import document

COMMON = (
    "definitions:\n  email: {logicalType: string, classification: confidential, logicalTypeOptions: {maxLength: 254}}\n"
)


def contract(folder: Path, reference: str = "shared/common.yaml#/definitions/email", version: str = "1.0.0") -> str:
    """A contract whose field is defined in a file below its folder."""
    folder.mkdir(exist_ok=True)
    (folder / "shop.json").write_bytes(document({"properties": [{"name": "mail", "$ref": reference}]}, version))
    return str(folder / "shop.json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the file."""
    (tmp_path / "own" / "shared").mkdir(parents=True)
    (tmp_path / "own" / "shared" / "common.yaml").write_text(COMMON)
    return tmp_path / "own"


def errors(lakegate: Lakegate, *words: str) -> list[tuple[str, str]]:
    found = json.loads(lakegate("lint", "--json", *words).stdout)
    return [(each["code"], each["message"]) for each in found["errors"]]


def test_every_command_reads_the_files(lakegate: Lakegate, folder: Path) -> None:
    """Lint, plan, check, the Python API; what is published has the definitions, and is the same without the files."""
    file = contract(folder)
    data = lakegate.file(b"mail\na@b.example\n")
    plan = lakegate.json("plan", file)

    assert errors(lakegate, file) == []
    assert lint(file).valid
    assert "mail:maxLength:1" in {each["rule"] for each in plan["checks"]}
    assert lakegate("check", "--contract", file, data).exit_code == 0
    lakegate.ok("publish", file)
    stored = lakegate.json("show", "shop")["text"]
    assert json.loads(stored)["definitionFiles"]["shared/common.yaml"]["definitions"] == {
        "email": {
            "logicalType": "string",
            "classification": "confidential",
            "logicalTypeOptions": {"maxLength": 254},
        }
    }
    assert lakegate.ok("diff", "shop@latest", file) == "No change (1.0.0 → 1.0.0).\n"
    alone = lakegate.folder / "alone.json"
    alone.write_text(stored)
    assert lakegate.json("plan", str(alone))["checks"] == plan["checks"]
    assert lakegate.json("publish", str(alone))["version"] == "1.0.0"


def test_a_changed_file_is_a_changed_contract(lakegate: Lakegate, folder: Path) -> None:
    """Its change needs a number, as if it were written in the document."""
    lakegate.ok("publish", contract(folder))
    (folder / "shared" / "common.yaml").write_text(COMMON.replace("254", "5"))
    same, patch = lakegate("publish", contract(folder)), lakegate("publish", contract(folder, version="1.0.1"))

    assert "give the changed one a new number" in str(same.exception)
    assert (patch.exit_code, "mail" in patch.stdout) == (1, True)
    assert lakegate("publish", contract(folder, version="1.1.0")).exit_code == 0


def test_a_document_without_a_folder_names_the_remedy(folder: Path) -> None:
    """From standard input no file is read."""
    text = Path(contract(folder)).read_text()
    (problem,) = json.loads(CliRunner().invoke(app, ["lint", "--json", "-"], input=text).stdout)["errors"]

    assert problem["code"] == "external-reference"
    assert "is read where the document itself is read from a folder: else copy it in" in problem["message"]


ABOVE = "../common.yaml#/definitions/email"


@pytest.fixture
def tree(folder: Path) -> Path:
    """The folder above, which has the file, too."""
    (folder.parent / "common.yaml").write_text(COMMON)
    return folder.parent


def test_a_file_above_is_read_within_a_folder_that_is_given(lakegate: Lakegate, folder: Path, tree: Path) -> None:
    """By lint of the folder, or by the root of a command; else it is an error that names both."""
    file = contract(folder, ABOVE)
    ((code, message),) = errors(lakegate, file)

    assert (code, "`--root FOLDER`" in message) == ("external-reference", True)
    assert errors(lakegate, str(tree)) == []
    assert errors(lakegate, str(folder)) != []
    assert errors(lakegate, str(folder), "--root", str(tree)) == []
    assert errors(lakegate, file, "--root", str(folder / "shared")) != []
    assert (lint(file).valid, lint(file, root=tree).valid) == (False, True)


def test_every_command_has_the_root(lakegate: Lakegate, folder: Path, tree: Path) -> None:
    """Plan, check, convert, publish and diff read what lint reads; what is published needs no file."""
    file, root = contract(folder, ABOVE), ("--root", str(tree))
    data = lakegate.file(b"mail\na@b.example\n")

    assert "mail:maxLength:1" in {each["rule"] for each in lakegate.json("plan", file, *root)["checks"]}
    assert lakegate("check", "--contract", file, data, *root).exit_code == 0
    assert "VARCHAR(254)" in lakegate("convert", file, "--to", "postgres", *root).stdout
    assert "maxLength: 254" in lakegate("convert", file, "--to", "dcs", *root).stdout
    lakegate.ok("publish", file, *root)
    stored = json.loads(lakegate.json("show", "shop")["text"])
    assert list(stored["definitionFiles"]) == ["../common.yaml"]
    assert lakegate.ok("diff", "shop@latest", file, *root) == "No change (1.0.0 → 1.0.0).\n"
    assert lakegate("plan", file).exit_code != 0


@pytest.mark.parametrize(
    "reference", ["./shared/common.yaml#/definitions/email", "shared/email.yaml", "./shared/email.yaml#"]
)
def test_a_file_has_several_names(lakegate: Lakegate, folder: Path, reference: str) -> None:
    """`./` changes nothing; a file alone is one definition."""
    (folder / "shared" / "email.yaml").write_text("{logicalType: string, logicalTypeOptions: {maxLength: 254}}")
    file = contract(folder, reference)

    assert errors(lakegate, file) == []
    assert "mail:maxLength:1" in {each["rule"] for each in lakegate.json("plan", file)["checks"]}


@pytest.mark.parametrize("target", ["/etc/hostname", "outside.yaml"])
def test_no_link_leaves_the_root(lakegate: Lakegate, folder: Path, tree: Path, target: str) -> None:
    """Wherever the file is below the root, what it is a link to must be there, too."""
    (tree.parent / "outside.yaml").write_text(COMMON)
    (tree / "common.yaml").unlink()
    (tree / "common.yaml").symlink_to(tree.parent / target)
    ((code, message),) = errors(lakegate, contract(folder, ABOVE), "--root", str(tree))
    (tree.parent / "outside.yaml").unlink()

    assert code == "external-reference"
    assert "is a link that leaves the folder of the document, or the root" in message or "cannot be read" in message


def linked(folder: Path, kind: str) -> None:
    """Puts something else in the place of the file."""
    place, outside = folder / "shared" / "common.yaml", folder.parent / "outside.yaml"
    outside.write_text(COMMON)
    place.unlink()
    match kind:
        case "link":
            place.symlink_to(outside)
        case "folder":
            (folder / "shared").rmdir()
            (folder / "shared").symlink_to(folder.parent)
            outside.rename(folder.parent / "common.yaml")
        case "circle":
            place.symlink_to(place)
        case "pipe":
            os.mkfifo(place)
        case "device":
            place.symlink_to("/dev/zero")
        case _:
            place.mkdir()


LEAVES = "the file is a link that leaves the folder of the document"
CANNOT: list[Any] = [
    ("link", LEAVES),
    ("folder", LEAVES),
    ("device", LEAVES),
    ("pipe", "this is no file"),
    ("directory", "this is no file"),
    ("circle", "the "),
]


@pytest.mark.parametrize(("kind", "reason"), CANNOT)
def test_what_is_no_file_of_the_folder_is_not_read(lakegate: Lakegate, folder: Path, kind: str, reason: str) -> None:
    """Links out of it, pipes and devices are refused at the reference, and nothing of them is shown."""
    linked(folder, kind)
    ((code, message),) = errors(lakegate, contract(folder))

    assert code == "external-reference"
    assert message.startswith(f"`shared/common.yaml#/definitions/email` cannot be used: {reason}")
    assert str(folder.parent) not in message


def test_a_link_within_the_folder_is_followed(lakegate: Lakegate, folder: Path) -> None:
    """It is a file of the folder."""
    (folder / "again.yaml").symlink_to(folder / "shared" / "common.yaml")

    assert errors(lakegate, contract(folder, "again.yaml#/definitions/email")) == []


def test_a_missing_file_is_named(lakegate: Lakegate, folder: Path) -> None:
    """With the reason of the system, and without a path of the machine."""
    assert errors(lakegate, contract(folder, "none.yaml#/definitions/email")) == [
        (
            "external-reference",
            "`none.yaml#/definitions/email` cannot be used: the file cannot be read: No such file or directory.",
        )
    ]


def test_a_file_that_is_no_contract_is_left_as_it_is(lakegate: Lakegate, folder: Path) -> None:
    """A JSON Schema has references of its own."""
    (folder / "schema.json").write_text('{"$ref": "shared/common.yaml#/definitions/email"}')
    contract(folder)

    assert errors(lakegate, str(folder)) == []


def test_a_revision_has_the_files_of_its_commit(
    lakegate: Lakegate, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not those of the working tree; a symbolic link of the commit is not followed."""

    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.example", *words], cwd=folder, check=True)  # noqa: S603, S607 - a list of words

    file = contract(folder)
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "a")
    (folder / "shared" / "common.yaml").write_text(COMMON.replace("254", "5"))
    monkeypatch.chdir(folder)
    changes = json.loads(lakegate("diff", "HEAD:shop.json", file, "--json").stdout)["changes"]
    linked(folder, "link")
    git("add", ".")
    git("commit", "-qm", "b")
    refused = lakegate("diff", "HEAD:shop.json", "HEAD~1:shop.json")

    assert [each["kind"] for each in changes] == ["rule-stricter", "metadata"]
    assert refused.exit_code == 1
    assert "the file has no such definition" in refused.output + str(refused.exception)
