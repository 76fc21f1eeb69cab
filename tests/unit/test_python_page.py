"""The public API, as docs/python.md shows it."""

from __future__ import annotations

import doctest
import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import lakegate
from lakegate.contracts.errors import InputError
from lakegate.contracts.schemas import validate
from lakegate.infra.local.clone import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGE = (ROOT / "docs/python.md").read_text()
HOSTILE = '<img src=x onerror="alert(1)">'
INVISIBLE = "\u202e"


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found[1]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the page's contract and file, as the current one."""
    (tmp_path / "orders.odcs.yaml").write_text(block("yaml"))
    (tmp_path / "orders.csv").write_text(block("csv"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_the_examples_of_the_page_are_true() -> None:
    """Each example prints what the page shows."""
    examples = "\n".join(re.findall(r"```pycon\n(.*?)```", PAGE, re.DOTALL))
    test = doctest.DocTestParser().get_doctest(examples, {}, "docs/python.md", "docs/python.md", 0)

    outcome = doctest.DocTestRunner().run(test)

    assert (outcome.failed, outcome.attempted > 5) == (0, True)


@pytest.mark.usefixtures("folder")
def test_a_result_is_the_document_of_the_command() -> None:
    """`to_json` fits the schema that machines read, and is plain JSON."""
    document = lakegate.check("orders.odcs.yaml", ["orders.csv"]).to_json()

    validate("check", json.loads(json.dumps(document)))


def test_texts_of_contracts_are_escaped_in_notebooks(folder: Path) -> None:
    """A contract can put no markup and no invisible character into a notebook."""
    named = block("yaml").replace("amount", json.dumps(HOSTILE))
    (folder / "named.yaml").write_text(named)
    (folder / "refused.yaml").write_text(named.replace("logicalType: integer", f"logicalType: '{HOSTILE}{INVISIBLE}'"))

    checked = lakegate.check("named.yaml", "orders.csv")._repr_html_()
    linted = lakegate.lint("refused.yaml")._repr_html_()

    assert "&lt;img src=x" in checked
    assert "refused" in linted
    assert [each for each in (checked, linted) if "<img" in each or INVISIBLE in each] == []


@pytest.mark.usefixtures("folder")
def test_a_contract_that_cannot_be_read_is_an_input_error() -> None:
    """Both functions name the file."""
    with pytest.raises(InputError, match=r"nowhere\.yaml cannot be read"):
        lakegate.lint("nowhere.yaml")
    with pytest.raises(InputError, match=r"nowhere\.yaml cannot be read"):
        lakegate.check("nowhere.yaml", "orders.csv")


def test_an_unknown_name_is_an_attribute_error() -> None:
    """The package has its public names and its subpackages, and no others."""
    with pytest.raises(AttributeError, match="no attribute 'unknown'"):
        _ = lakegate.unknown  # type: ignore[attr-defined]


def test_the_import_of_the_package_loads_nothing_else() -> None:
    """`import lakegate` costs no other module of ours and no library."""
    code = "import sys; before = set(sys.modules); import lakegate; print(*set(sys.modules) - before)"
    standard = set(sys.stdlib_module_names)

    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603 - our own text

    assert [name for name in ran.stdout.split() if name.partition(".")[0] not in standard] == ["lakegate"]
