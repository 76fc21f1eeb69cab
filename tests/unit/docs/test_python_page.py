"""The public API, as docs/python.md shows it."""

from __future__ import annotations

import doctest
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
import yaml

import lakegate
from lakegate.base.errors import InputError
from lakegate.base.extension_points import ROOT
from lakegate.library import contract_files
from tests.published_schemas import validate

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


ROWS = {"order_id": ["A-1", "A-2", None], "amount": [10, -5, 3]}
FAILED = {"order_id:required:1/order_id": 1, "amount:minimum:1/amount": 1}


@pytest.mark.parametrize("form", ["csv", "json", "jsonl", "parquet", "orc", "csv.gz", "jsonl.zst", "json.bz2"])
@pytest.mark.parametrize("library", [pd.DataFrame, pa.table], ids=["pandas", "arrow"])
def test_a_table_is_judged_as_the_file_that_is_written_of_it(
    form: str, library: Callable[[object], object], folder: Path
) -> None:
    """In each format and compression that a contract may declare, from pandas and from Arrow."""
    name, _, packed = form.partition(".")
    extension = {"format": name, "compression": {"gz": "gzip", "zst": "zstd", "bz2": "bzip2", "": "none"}[packed]}
    contract = block("yaml") + yaml.safe_dump({"customProperties": [{"property": "lakegate", "value": extension}]})
    (folder / "form.yaml").write_text(contract)

    result = lakegate.check("form.yaml", library(ROWS))

    assert (result.verdict, result.rows) == (lakegate.Verdict.REJECTED, 3)
    assert {each.id: each.failing_rows for each in result.checks if each.failing_rows} == FAILED
    assert [each["file"] for each in result.to_json()["inputs"]["files"]] == [type(library(ROWS)).__name__]  # type: ignore[index,call-overload]


def test_a_frame_is_written_with_the_separator_and_quote_of_the_contract(folder: Path) -> None:
    """What the gate reads is what `to_csv` writes for this contract; Arrow cannot write it, and says so."""
    extension = {"csv": {"delimiter": ";", "quote": "'", "decimalSeparator": ","}}
    contract = block("yaml").replace("logicalType: integer", "logicalType: number")
    contract += yaml.safe_dump({"customProperties": [{"property": "lakegate", "value": extension}]})
    (folder / "comma.yaml").write_text(contract)
    rows = {"order_id": ["A;1", "A-2"], "amount": [1.5, -2.5]}

    result = lakegate.check("comma.yaml", pd.DataFrame(rows))

    assert {each.id: each.failing_rows for each in result.checks if each.failing_rows} == {"amount:minimum:1/amount": 1}
    with pytest.raises(InputError, match="Arrow writes points in numbers and double quotes"):
        lakegate.check("comma.yaml", pa.table(rows))


@pytest.mark.parametrize("data", [pd.DataFrame(ROWS), pa.table(ROWS), "orders.csv"], ids=["pandas", "arrow", "file"])
@pytest.mark.usefixtures("folder")
def test_a_contract_is_read_and_compiled_once(data: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is measured: a large contract is not compiled twice."""
    calls: list[str] = []
    for name in ("resolve", "compile_plan"):
        monkeypatch.setattr(contract_files, name, counted(getattr(contract_files, name), calls, name))

    lakegate.check("orders.odcs.yaml", data)

    assert calls == ["resolve", "compile_plan"]


def counted(function: Callable[..., object], calls: list[str], name: str) -> Callable[..., object]:
    def counting(*given: object) -> object:
        calls.append(name)
        return function(*given)

    return counting


@pytest.mark.usefixtures("folder")
def test_what_is_no_table_and_no_path_is_an_input_error() -> None:
    """So is a table that cannot be a file of the contract's format."""
    with pytest.raises(InputError, match="data is a path, a list of paths or a table, not int"):
        lakegate.check("orders.odcs.yaml", 5)
    nested = pa.table({"order_id": ["A-1"], "amount": [[1, 2]]})
    with pytest.raises(InputError, match="the table cannot be written as CSV, the format of the contract"):
        lakegate.check("orders.odcs.yaml", nested)


@pytest.mark.usefixtures("folder")
def test_results_are_printed_briefly_and_failures_come_first() -> None:
    """A notebook shows the failures before what passed; `print` shows what the command prints."""
    checked, linted = lakegate.check("orders.odcs.yaml", "orders.csv"), lakegate.lint("orders.odcs.yaml")
    statuses = re.findall(r"<tr><td>(\w+)</td>", checked._repr_html_())

    assert repr(checked) == "<CheckResult rejected, 2 rows, 1 of 4 checks failed>"
    assert str(checked).startswith("fail  amount:minimum:1  amount\n")
    assert "Rejected: 2 rows, 1 of them breaks a rule" in str(checked)
    assert statuses == ["fail", "pass", "pass", "pass"]
    assert "<html" in checked.to_html()
    assert (repr(linted), str(linted)) == ("<LintResult valid, 0 errors, 0 warnings>", "valid")


def test_completion_shows_the_public_names() -> None:
    """`dir` lists what can be used, also before its first use."""
    assert dir(lakegate) == sorted(lakegate.__all__)


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
