"""`lakegate init` drafts a contract from data, which accepts that data, and overwrites nothing."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from lakegate.cli.main import app, main
from lakegate.lints.linter import examine

if TYPE_CHECKING:
    from click.testing import Result


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A CSV file in the working folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "Shop orders.csv"
    path.write_text("order_id,email\n" + "".join(f"{at},a{at}@example.org\n" for at in range(50)))
    return path


def init(*words: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(app, ["init", *words])


def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Run the command, which ends with exit code 2; returns its sentence."""
    monkeypatch.setattr("sys.argv", ["lakegate", "init", *words])
    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x28\xb5\x2f\xfd\x00\xa0" + bytes(20), "a window of 1,024 MiB"),
        (b"\x28\xb5\x2f\xfd\x01\x50\x07" + bytes(20), "a dictionary of zstd"),
        (gzip.compress(gzip.compress(b"a,b\n1,2\n", mtime=0), mtime=0), "packed twice"),
        (
            b"\x04\x22\x4d\x18" + bytes(20),
            "lz4-compressed, which no contract can declare: unpack it, or pack it with gzip, bzip2 or zstd",
        ),
        (b"PK\x03\x04" + bytes(40), "which no contract can declare: unpack it, or pack it with gzip"),
        (
            b"PK\x03\x04" + bytes(26) + b"xl/",
            "which no contract can declare: save each sheet as CSV (in Excel: CSV UTF-8)",
        ),
    ],
)
def test_what_is_packed_otherwise_is_named(
    content: bytes, reason: str, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file is whole, and no contract can declare it so."""
    data.write_bytes(content)

    assert reason in " ".join(refused(monkeypatch, capsys, data.name).split())


def test_a_draft_is_written_beside_what_to_do_next(data: Path) -> None:
    """The file is named after the data; the answer says that the data is accepted, and how to go on."""
    ended = init(data.name, "--owner", "shop")
    examined = examine((data.parent / "shop_orders.odcs.yaml").read_bytes())

    assert ended.exit_code == 0
    assert ended.stdout.splitlines() == [
        "shop_orders.odcs.yaml: drafted from 50 rows of CSV: 2 columns, 10 suggestions",
        "The data is accepted by it (8 checks).",
        "Next: correct every line with `suggested`, then",
        "    lakegate lint shop_orders.odcs.yaml",
        "    lakegate check --contract shop_orders.odcs.yaml 'Shop orders.csv'",
    ]
    assert (examined.errors, examined.warnings) == ((), ())
    assert examined.contract is not None
    assert (examined.contract.name, examined.contract.about.owner) == ("Shop orders", "shop")


def test_the_draft_goes_to_standard_output(data: Path) -> None:
    """`-` prints the document and nothing else."""
    ended = init(data.name, "--name", "orders", "-o", "-")

    assert examine(ended.stdout.encode()).errors == ()
    assert list(data.parent.glob("*.yaml")) == []


def test_json_has_the_verdict_and_what_was_left_out(data: Path) -> None:
    """One document on standard output; with `-` it contains the draft."""
    data.write_text('{"id": 1, "x": 1}\n{"id": 2, "x": "a"}\n')
    written, printed = (json.loads(init(data.name, *more, "--json").stdout) for more in ((), ("-o", "-")))

    assert written == printed | {"file": "shop_orders.odcs.yaml", "text": None}
    assert printed | {"text": ""} == {
        "file": None,
        "text": "",
        "dataset": "shop_orders",
        "format": "jsonl",
        "rows": 2,
        "columns": 1,
        "suggestions": 4,
        "faults": [],
        "as_text": [],
        "left_out": ["x: its values are of several kinds (1 number and 1 string)"],
        "warnings": [],
        "verdict": "accepted_with_warnings",
        "reasons": ["the file has columns the contract does not name: x"],
    }


def test_data_with_faults_is_drafted_and_its_faults_are_named(data: Path) -> None:
    """Records that cannot be read are a reason of the verdict, not of the command's failure."""
    data.write_text(data.read_text() + '7,"x\n')
    ended = init(data.name)

    assert ended.exit_code == 0
    assert "The data is rejected by it" in ended.stdout


def test_a_draft_that_its_data_fails_names_what_and_why(data: Path) -> None:
    """In the document, and on standard error where the document goes to standard output; a hostile name stays in its comment."""
    hostile = "x\\n: y # z"
    data.write_text(f'id,"{hostile}"\n' + "".join(f"{at},{at}\n" for at in range(30)) + "31\n")
    written, printed = init(data.name), init(data.name, "-o", "-")
    text = (data.parent / "shop_orders.odcs.yaml").read_text()
    reason = "1 row (first: row 32) has another number of values than the header (1 instead of 2)"

    assert "The data is rejected by it" in written.stdout
    assert f"by its own draft. Each of these is a fault of the data, or a rule to correct:\n# - {reason}" in text
    assert (printed.stdout, examine(text.encode()).errors) == (text, ())
    assert (reason in " ".join(printed.stderr.split()), "rejected by it" in printed.stderr) == (True, True)


def test_no_file_is_overwritten(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second draft, a missing folder and an input are refused before any work."""
    (data.parent / "shop_orders.odcs.yaml").write_text("mine")

    assert "shop_orders.odcs.yaml exists and is not overwritten" in refused(monkeypatch, capsys, data.name)
    assert "the folder none does not exist" in refused(monkeypatch, capsys, data.name, "-o", "none/x.yaml")
    assert "exists and is not overwritten" in refused(monkeypatch, capsys, data.name, "-o", data.name)
    assert (data.parent / "shop_orders.odcs.yaml").read_text() == "mine"


def test_what_cannot_be_drafted_is_one_sentence(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A workbook, records without columns that can be named, and a file that is not there."""
    data.write_bytes(b"PK\x03\x04")
    assert "Shop orders.csv: the file is a zip archive" in refused(monkeypatch, capsys, data.name)
    data.write_bytes(b"PK\x03\x04" + bytes(26) + b"xl/workbook.xml")
    assert "can declare: save each sheet as CSV" in " ".join(refused(monkeypatch, capsys, data.name).split())
    data.write_text('{"a": {}}')
    assert "no column can be named by a contract (a: its values" in refused(monkeypatch, capsys, data.name)
    assert "none.csv" in refused(monkeypatch, capsys, "none.csv")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('a, b\n"x", "1"\n"y", "2"\n', "quotes that do not close or stand inside a value"),
        ("178,13,first\n1,2,3,4\n5,6,7,8\n", "another number of values than the header"),
        ('{\n  "a": 1,\n  "b": 2\n}\n', "4 rows (first: row 1) are"),
        ('{"a": 1} {"a": 2}\n', "1 row (first: row 1) has several objects in one line"),
        ('{"a": NaN}\n{"a": NaN}\n', "2 rows (first: row 1)"),
    ],
)
def test_a_file_of_which_most_records_cannot_be_read_is_refused(
    text: str,
    reason: str,
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A draft of the few others would describe another file: the answer states what is wrong, and nothing is written."""
    data.write_text(text)
    said = " ".join(refused(monkeypatch, capsys, data.name).split())

    assert "Shop orders.csv: most records cannot be read, so nothing can be drafted" in said
    assert reason in said
    assert list(data.parent.glob("*.yaml")) == []


def test_a_file_of_a_day_is_drafted_as_one_that_is_delivered_again(data: Path) -> None:
    """Its name has a date, and no two rows one key: a corrected file of that day takes its place."""
    init(data.name, "-o", "plain.yaml")
    dated = data.rename(data.with_name("orders_2026-11-27.csv"))
    init(dated.name, "-o", "dated.yaml")
    init(
        dated.name, str(data.with_name("plain.csv").write_bytes(dated.read_bytes()) and "plain.csv"), "-o", "both.yaml"
    )
    texts = {name: (data.parent / f"{name}.yaml").read_text() for name in ("plain", "dated", "both")}

    assert {name: "replaces: delivery" in text for name, text in texts.items()} == {
        "plain": False,
        "dated": True,
        "both": False,
    }
