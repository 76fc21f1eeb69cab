"""A command parses, validates and reads each document once, whoever asks for it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from lakegate.base.extension_points import ROOT
from lakegate.cli.main import app
from lakegate.contract.documents import document_formats, read_document, schema_validation
from lakegate.gate.registry.publish_contract import compile_document, plan_publication, publish, referred_of
from tests.simulation.environment import Environment
from tests.unit.gate.scenarios import drive

EXAMPLES = ROOT / "contracts/examples"
ORDERS = EXAMPLES / "orders.odcs.yaml"
DOCUMENTS = (ORDERS, EXAMPLES / "weather.dcm.yaml", ROOT / "tests/golden/documents/orders-latest.dcs.yaml")
INHERITANCE = ("enterprise", "sales", "purchases")
FIELDS = """\
apiVersion: v3.2.0
kind: DataContract
id: x
version: 1.0.0
status: active
schema: [{name: s, properties: [{name: a, $ref: 'types.yaml#/definitions/code'}]}]
"""


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[object]:
    """How often each text was parsed, and validated by each schema."""
    found: Counter[object] = Counter()
    events, validator = yaml.parse, schema_validation._validator  # noqa: SLF001 - what is counted

    def parse(text: str, Loader: Any) -> Any:  # noqa: N803 - as YAML calls it
        found[text] += 1
        return events(text, Loader=Loader)

    def validating(schema: str) -> Any:
        class Counting:
            """The validator of a schema."""

            @staticmethod
            def iter_errors(plain: object) -> Any:
                found[schema, repr(plain)] += 1
                return validator(schema).iter_errors(plain)

        return Counting

    monkeypatch.setattr(yaml, "parse", parse)
    monkeypatch.setattr(schema_validation, "_validator", validating)
    read_document.document_of.cache_clear()
    document_formats._read.cache_clear()  # noqa: SLF001 - as in a new process
    return found


def once(reads: Counter[object], documents: int) -> None:
    """Each of so many texts was parsed once, and no plain document was validated twice by one schema."""
    parsed = [each for each in reads if isinstance(each, str)]
    assert len(parsed) == documents
    assert set(reads.values()) == {1}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.suffixes[0])
@pytest.mark.parametrize(("command", "documents"), [("lint", 1), ("diff", 1), ("convert", 2)])
def test_a_command_reads_a_document_once(reads: Counter[object], path: Path, command: str, documents: int) -> None:
    """`convert` reads the document that it writes, too."""
    words = [command, str(path), *([str(path)] if command == "diff" else [])]

    assert CliRunner().invoke(app, words).exit_code == 0
    once(reads, documents)


@pytest.mark.parametrize("words", [[str(EXAMPLES / "inheritance" / f"{name}.odcs.yaml")] for name in INHERITANCE[1:]])
def test_a_document_and_its_parents_are_read_once(reads: Counter[object], words: list[str]) -> None:
    """The files beside it are parsed once, to know their ids."""
    assert CliRunner().invoke(app, ["lint", *words]).exit_code == 0
    once(reads, len(INHERITANCE))


def test_a_folder_is_searched_for_parents_once(reads: Counter[object], tmp_path: Path) -> None:
    """More documents than are kept, each of which inherits: a file is parsed as a document, and once to know its id."""
    parent = (EXAMPLES / "inheritance" / "enterprise.odcs.yaml").read_text()
    (tmp_path / "parent.yaml").write_text(parent)
    for number in range(12):
        child = (EXAMPLES / "inheritance" / "sales.odcs.yaml").read_text()
        (tmp_path / f"{number}.yaml").write_text(child.replace("\nid: ", f"\nid: number-{number}-"))

    assert CliRunner().invoke(app, ["lint", str(tmp_path)]).exit_code == 0
    assert max(count for text, count in reads.items() if isinstance(text, str) and "inherits" in text) == 2


def test_definitions_of_files_are_read_once(reads: Counter[object], tmp_path: Path) -> None:
    """The document, the file, and the document with the definitions."""
    (tmp_path / "types.yaml").write_text("definitions: {code: {logicalType: string}}\n")
    (tmp_path / "contract.yaml").write_text(FIELDS)

    assert CliRunner().invoke(app, ["lint", str(tmp_path / "contract.yaml")]).exit_code == 0
    once(reads, 3)


def test_publishing_reads_a_version_and_the_one_before_once(reads: Counter[object]) -> None:
    """Both are compared when it is planned, and whenever somebody else has written the registry."""
    env, text = Environment(), ORDERS.read_bytes()
    for each in (text, text.replace(b"\nversion: 1.", b"\nversion: 1.9")):
        compiled = compile_document(each, referred_of(env.dependencies, each), allow_unmeasured=True)
        plan_publication(env.dependencies, compiled)
        drive(env.dependencies, publish(env.dependencies, compiled))

    once(reads, 2)
