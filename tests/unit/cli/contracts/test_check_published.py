"""`lakegate check` by a published version, and by standard input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lakegate.cli.main import app
from tests.unit.cli.conftest import Lakegate

NEGATIVE = b"id,amount\na,-1\n"


def verdict(found: Any) -> tuple[int, str]:
    return found.exit_code, json.loads(found.stdout)["contract"]["version"]


def test_the_newest_published_version_judges_or_the_one_that_is_named(lakegate: Lakegate) -> None:
    """A task needs no copy of the contract, and names an older version where the newest is faulty."""
    lakegate.ok("publish", lakegate.contract())
    strict = {"logicalType: integer,": "logicalType: integer, logicalTypeOptions: {minimum: 0},"}
    lakegate.ok("publish", lakegate.contract("1.1.0", **strict))
    file = lakegate.file(NEGATIVE)
    found = {
        name: verdict(lakegate("check", "--contract", name, file, "--json"))
        for name in ("shop", "sh", "shop@1.1.0", "shop@1.0.0", "shop@latest")
    }
    inputs = json.loads(lakegate("check", "--contract", "shop@1.0.0", file, "--json").stdout)["inputs"]

    assert found == dict.fromkeys(("shop", "sh", "shop@1.1.0", "shop@latest"), (1, "1.1.0")) | {
        "shop@1.0.0": (0, "1.0.0")
    }
    assert inputs["contract"] == "shop@1.0.0"


def test_a_withdrawn_version_is_not_the_newest(lakegate: Lakegate) -> None:
    """As the gate judges by the one before."""
    lakegate.ok("publish", lakegate.contract())
    lakegate.ok("publish", lakegate.contract("1.1.0", **{"name: Shop\n": "name: Shop 2\n"}))
    lakegate.ok("withdraw", "shop@1.1.0", "--yes")

    assert verdict(lakegate("check", "--contract", "shop", lakegate.file(), "--json")) == (0, "1.0.0")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("shop@7.0.0", "shop has no version 7.0.0"),
        ("stop", "no such contract is published. Did you mean `shop`?"),
        ("shop.yaml", "the contract shop.yaml cannot be read"),
    ],
)
def test_a_name_that_means_nothing_is_refused(lakegate: Lakegate, name: str, words: str) -> None:
    """What ends as a document does is a file, and no stack is asked."""
    lakegate.ok("publish", lakegate.contract())

    assert words in str(lakegate("check", "--contract", name, lakegate.file()).exception)


def test_what_a_published_version_inherits_is_that_of_its_publication(lakegate: Lakegate) -> None:
    """The parent is read from the registry, not from a file beside the data."""
    parent = lakegate.contract(
        **{"id: shop": "id: base", "logicalType: integer,": "logicalType: integer, required: true,"}
    )
    child = {"name: Shop\n": "name: Shop\ncustomProperties: [{property: lakegate, value: {inherits: base@1}}]\n"}
    lakegate.ok("publish", parent)
    lakegate.ok("publish", lakegate.contract(**child))

    assert verdict(lakegate("check", "--contract", "shop", lakegate.file(b"id,amount\na,\n"), "--json"))[0] == 1


def test_standard_input_is_a_contract(lakegate: Lakegate) -> None:
    """`lakegate show shop | lakegate check --contract - FILE`."""
    text = Path(lakegate.contract()).read_text()
    found = CliRunner().invoke(app, ["check", "--contract", "-", lakegate.file(), "--json"], input=text)

    assert verdict(found) == (0, "1.0.0")
    assert json.loads(found.stdout)["inputs"]["contract"] == "-"
