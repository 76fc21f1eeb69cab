"""`lakegate new` writes a commented example of a contract, and overwrites nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from lakegate.base.errors import InputError
from lakegate.cli.main import app
from lakegate.features.draft.init_command import example
from lakegate.lints.linter import examine


@pytest.mark.parametrize("name", ["payments", "a: b # 'x' \"y\"\n- z", "@OWNER@", "…", ""])
def test_an_example_is_valid_with_any_name_and_owner(name: str) -> None:
    """It lints clean, names the schema for editors, and keeps both texts."""
    text = example(name, name)
    examined = examine(text.encode())

    assert (examined.errors, examined.warnings) == ((), ())
    assert examined.contract is not None
    assert ((examined.contract.name or ""), (examined.contract.about.owner or "")) == (name, name)
    assert text.startswith("# yaml-language-server: $schema=lakegate-odcs-3.1.0.schema.json\n")


def test_a_file_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time it is refused, and the file is unchanged."""
    monkeypatch.chdir(tmp_path)
    first = CliRunner().invoke(app, ["new", "My payments", "--json"])
    (tmp_path / "my_payments.odcs.yaml").write_text("mine")
    second = CliRunner().invoke(app, ["new", "My payments"])

    assert json.loads(first.stdout) == {"file": "my_payments.odcs.yaml", "text": None}
    assert isinstance(second.exception, InputError)
    assert (tmp_path / "my_payments.odcs.yaml").read_text() == "mine"


def test_standard_output_gets_the_document_alone() -> None:
    """`-` prints the text, with `--json` inside of one document."""
    plain, document = (CliRunner().invoke(app, ["new", "-o", "-", *more]).stdout for more in ((), ("--json",)))

    assert plain == example("payments", "my-team") == json.loads(document)["text"]
