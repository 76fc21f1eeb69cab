"""`lakegate schema` writes one schema for editors, which drafts name in their first line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from jsonschema.validators import validator_for

from lakegate.base.errors import InputError
from lakegate.base.extension_points import ROOT
from lakegate.base.json_schemas import EDITOR
from lakegate.cli.main import app

EXTENSION = {"property": "lakegate", "value": {"format": "csv", "csv": {"delimiter": ";"}}}


def schema(*words: str) -> dict[str, Any]:
    """The schema of a format."""
    found: dict[str, Any] = json.loads(CliRunner().invoke(app, ["schema", *words]).stdout)
    return found


def faults(found: dict[str, Any], document: dict[str, Any]) -> list[str]:
    """The keywords that a document breaks."""
    return [str(each.validator) for each in validator_for(found)(found).iter_errors(document)]


@pytest.mark.parametrize("form", EDITOR)
def test_a_schema_is_whole_in_itself(form: str) -> None:
    """It is a valid schema, and each reference names a part of it: an editor needs no network."""
    found = schema(form)
    validator_for(found).check_schema(found)
    references = {each for each in _references(found) if not isinstance(each, dict)}

    assert all(each.startswith("#/definitions/") for each in references)
    for reference in references:
        place: Any = found
        for step in reference.split("/")[1:]:
            place = place[step.replace("~1", "/").replace("~0", "~")]


def _references(node: Any) -> list[Any]:
    if isinstance(node, dict):
        own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return own + [each for value in node.values() for each in _references(value)]
    return [each for value in node for each in _references(value)] if isinstance(node, list) else []


def test_the_official_schema_and_the_extension_are_both_checked() -> None:
    """An example is valid; a wrong key of the standard, and one of the extension, are not."""
    found = schema()
    document = yaml.safe_load((ROOT / "contracts/examples/orders.odcs.yaml").read_text())
    table = document["schema"][0]
    wrong = document | {"schema": [table | {"customProperties": [EXTENSION | {"value": {"formt": "csv"}}]}]}

    assert faults(found, document) == []
    assert faults(found, document | {"schema": [table | {"customProperties": [EXTENSION]}]}) == []
    assert faults(found, {key: each for key, each in document.items() if key != "version"}) == ["required"]
    assert faults(found, wrong) == ["additionalProperties"]


def test_documents_of_the_repository_have_the_extension_alone() -> None:
    """DCM has no official schema."""
    document = yaml.safe_load((ROOT / "contracts/examples/weather.dcm.yaml").read_text())

    assert faults(schema("dcm"), document) == []
    assert faults(schema("dcm"), document | {"specific": {"lakegate": {"mode": "never"}}}) == ["enum"]


def test_the_first_line_of_a_draft_names_the_file_that_the_second_line_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of `init`, `new` and `convert`; a file that exists is replaced, another suffix and format are refused."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("id\n1\n")
    for words in (["init", "a.csv"], ["new", "x"], ["convert", str(ROOT / "contracts/examples/orders.odcs.yaml")]):
        text = CliRunner().invoke(app, [*words, "-o", "-"]).stdout
        first, second = text.splitlines()[:2]
        file = first.partition("# yaml-language-server: $schema=")[2]
        command = second.partition("by that file: lakegate ")[2].split()
        ended = [CliRunner().invoke(app, command).exit_code for _ in range(2)]

        assert ended == [0, 0]
        assert faults(json.loads((tmp_path / file).read_text()), yaml.safe_load(text)) == []
    assert isinstance(CliRunner().invoke(app, ["schema", "-o", "a.yaml"]).exception, InputError)
    assert "odcs-9.0.0 is no format with a schema" in str(CliRunner().invoke(app, ["schema", "odcs-9.0.0"]).exception)


def test_json_has_the_schema_or_the_file(tmp_path: Path) -> None:
    """One document on standard output; with `--output` the schema is in the file alone."""
    file = tmp_path / "a.json"
    printed, written = (schema("dcm", "--json", *more) for more in ([], ["--output", str(file)]))

    assert printed == {"format": "dcm", "file": None, "schema": schema("dcm")}
    assert written == {"format": "dcm", "file": str(file), "schema": None}
    assert json.loads(file.read_text()) == schema("dcm")
