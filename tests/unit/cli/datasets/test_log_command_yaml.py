"""`lakegate log --yaml` and `lakegate verify --yaml`: a chain in a file, verified without a stack."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from lakegate.base.errors import InputError
from lakegate.base.extension_points import advice
from lakegate.cli.main import app
from lakegate.gate.ledger.ledger_yaml import yaml_of
from tests.unit.cli.conftest import Lakegate
from tests.unit.gate.ledger.ledger_chain import CHAIN, HEAD, STORED
from tests.unit.gate.ledger.signing import FORGER, ONE, TWO, signed_chain

if TYPE_CHECKING:
    from click.testing import Result


LINE = CHAIN[0].chain


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A chain of five blocks."""
    path = tmp_path / "chain.yaml"
    path.write_text("".join(map(yaml_of, STORED)))
    return path


def verify(file: Path, *words: str, line: str = LINE) -> Result:
    """The command, where there is no stack."""
    return CliRunner().invoke(app, ["verify", line, "--yaml", str(file), *words])


def test_a_chain_of_the_stack_is_verified_from_its_file(lakegate: Lakegate, tmp_path: Path) -> None:
    """What `log --yaml` prints, deliveries and records, is verified to the head of the stack without a stack."""
    lakegate.routed()
    lakegate.delivered()
    lakegate.delivered(failing=1, body=b"id,amount\n,1\n", name="bad.csv")
    lakegate.ok("replay", lakegate.json("log", "orders")["blocks"][0]["workload"])
    stack = lakegate.json("verify", "orders_v1")
    path = tmp_path / "chain.yaml"
    path.write_text(lakegate.ok("log", "orders", "--yaml"))
    anchor = f"{stack['height']}={stack['head']}"
    found = verify(path, "--anchor", anchor, "--json", line="shop/orders_v1")

    assert (found.exit_code, json.loads(found.stdout)) == (0, stack)
    assert (stack["height"], stack["intact"]) == (2, True)


def test_a_file_is_verified_for_people(file: Path) -> None:
    """The answer has the head, and says what it does not prove."""
    assert verify(file).stdout == (
        f"{LINE}: 5 blocks, intact.\n"
        "Not signed: this chain names no key (docs/ledger.md).\n"
        f"Head of the file: 4={HEAD}\n"
        "Only an anchor (--anchor) proves that no block was cut off above, or all of them rewritten.\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "answer"),
    [
        ("rows: 10", "rows: 11", "block 0: altered"),
        ("rows: 10", "rows: -1", "block 0: schema: block.json does not fit its schema at rows (rule: minimum)"),
        ("height: 0", "height: 7", "block 0: height"),
        (
            f"chain: {json.dumps(LINE)}\n",
            "",
            "block 0: schema: block.json does not fit its schema at the whole document",
        ),
    ],
)
def test_a_change_of_a_file_is_found(file: Path, old: str, new: str, answer: str) -> None:
    """Exit code 1, and what of which block is wrong."""
    file.write_text(file.read_text().replace(old, new, 1))
    found = verify(file)

    assert found.exit_code == 1
    assert answer in found.stdout


def test_a_file_that_was_cut_off_is_found_by_an_anchor(file: Path) -> None:
    """Nothing else shows it."""
    file.write_text("".join(map(yaml_of, STORED[:3])))

    assert (verify(file).exit_code, verify(file, "--anchor", f"4={HEAD}").exit_code) == (0, 1)


@pytest.mark.parametrize(
    ("text", "words", "line", "message"),
    [
        (None, [], "shop/x_v1", "chain.yaml has blocks of `orders/lines_v1`, not of `shop/x_v1`"),
        (
            None,
            ["--objects"],
            LINE,
            "leave out --key kms, --keep-anchor, --objects, --derivation, --integrity and --replay",
        ),
        (
            None,
            ["--keep-anchor"],
            LINE,
            "leave out --key kms, --keep-anchor, --objects, --derivation, --integrity and --replay",
        ),
        (
            None,
            ["--integrity"],
            LINE,
            "leave out --key kms, --keep-anchor, --objects, --derivation, --integrity and --replay",
        ),
        ("# nothing\n", [], LINE, "chain.yaml has no block: `lakegate log orders/lines_v1 --yaml` writes them"),
        ("---\na: 1.5\n", [], LINE, "chain.yaml, line 1: a block has no numbers but integers"),
    ],
)
def test_what_cannot_be_verified_is_refused(
    file: Path, text: str | None, words: list[str], line: str, message: str
) -> None:
    """A file of another line, of no blocks, or an option that needs a stack."""
    if text is not None:
        file.write_text(text)
    found = verify(file, *words, line=line)

    assert isinstance(found.exception, InputError)
    assert message in str(found.exception)


def test_a_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    """With its name."""
    assert str(verify(tmp_path / "none").exception) == f"{tmp_path / 'none'} cannot be read: No such file or directory"


@pytest.mark.parametrize("words", [["--json"], ["--limit", "3"]])
def test_yaml_is_the_whole_chain_and_nothing_else(lakegate: Lakegate, words: list[str]) -> None:
    """--yaml with --json or --limit is refused."""
    assert str(lakegate("log", "orders", "--yaml", *words).exception).startswith("--yaml prints the whole chain")


def test_a_block_that_cannot_be_read_is_not_written(lakegate: Lakegate) -> None:
    """It is named, with the command that gives the reason."""
    lakegate.routed()
    lakegate.delivered()
    key = {"chain": {"S": "shop/orders_v1"}, "height": {"N": "0"}}
    lakegate.clients["dynamodb"].put_item(TableName="ledger", Item={**key, "block": {"S": "{}"}})

    assert str(lakegate("log", "orders_v1", "--yaml").exception) == (
        "block 0: a stored block cannot be read: it is not the JSON of a block; `lakegate verify shop/orders_v1` gives the reason"
    )


def test_a_signed_chain_is_verified_from_its_file(tmp_path: Path) -> None:
    """Signatures are in the file: whose they are, the given key proves; another key, or none in the file, is a fault."""
    file, key, other = (tmp_path / name for name in ("chain.yaml", "key.pem", "other.pem"))
    chain = signed_chain(["key", "block", "next", "block"])
    file.write_text("".join(yaml_of(*each) for each in chain))
    key.write_bytes(ONE.pem)
    other.write_bytes(FORGER.pem)
    found = verify(file, "--key", str(key), "--json")

    assert found.exit_code == 0
    assert json.loads(found.stdout)["signatures"] == {
        "keys": [{"key": ONE.name, "height": 0, "signed": 3}, {"key": TWO.name, "height": 2, "signed": 1}],
        "covered": 3,
        "proven_by": "key",
    }
    assert verify(file).stdout.splitlines()[:4] == [
        f"{LINE}: 4 blocks, intact.",
        f"3 blocks signed by the key {ONE.name}, which block 0 names.",
        f"1 block signed by the key {TWO.name}, which block 2 names.",
        "The chain itself names these keys: only --key FILE, or an anchor above their records, proves whose they are.",
    ]
    assert verify(file, "--key", str(other)).stdout.splitlines()[:2] == [
        f"{LINE}: broken. Nothing from block 0 on can be trusted.",
        f"  block 0: unknown-key: no block is signed by the given key {FORGER.name[:12]}",
    ]
    file.write_text("".join(yaml_of(each.text) for each in chain))
    assert [each["what"] for each in json.loads(verify(file, "--json").stdout)["faults"]] == ["unsigned"] * 4


def test_signatures_need_a_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is missing, a signed chain is not verified, and the answer names the extra; others need none."""
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    file = tmp_path / "chain.yaml"
    file.write_text("".join(yaml_of(*each) for each in signed_chain(["key"])))
    error = verify(file).exception
    file.write_text("".join(map(yaml_of, STORED)))

    assert isinstance(error, ModuleNotFoundError)
    assert (
        advice(error)
        == "this command needs cryptography: pip install 'WHEEL[aws]', where WHEEL is the wheel or the clone of Lakegate"
    )
    assert verify(file).exit_code == 0
