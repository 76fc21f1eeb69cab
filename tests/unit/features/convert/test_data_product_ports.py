"""`lakegate convert --from data-product`: a contract is built from the ports of a data product, and published."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from lakegate.base.errors import InputError
from lakegate.features.convert.data_product_ports import read
from tests.unit.cli.conftest import Lakegate
from tests.unit.lints.test_product_lints import ODPS, PRODUCT


def written(folder: Path, text: bytes) -> str:
    place = folder / "floe.yaml"
    place.write_bytes(text)
    return str(place)


def test_a_contract_of_ports_is_published(lakegate: Lakegate, tmp_path: Path) -> None:
    """Printed, or written to a file, which is then published: its datasets are the output ports, with the product's version."""
    target = tmp_path / "datacontract.yaml"
    product = written(tmp_path, PRODUCT)
    printed = lakegate.ok("convert", product, "--from", "data-product")
    lakegate.ok("convert", product, "--from", "data-product", "--output", str(target))
    lakegate.ok("publish", str(target), "--yes")
    made = yaml.safe_load(printed)

    assert target.read_text() == printed
    assert (made["id"], made["version"], made["status"]) == ("sales", "1.0.0", "draft")
    assert made["customProperties"] == [
        {"property": "inputContracts", "value": [{"id": "shop.orders", "version": "1.0.0"}, {"id": "web.clicks"}]}
    ]
    assert "customers" in lakegate.ok("show", "sales", "1.0.0")


def test_ports_are_written_in_other_formats(lakegate: Lakegate, tmp_path: Path) -> None:
    """As those of every schema; with a name of one's own."""
    product = written(tmp_path, PRODUCT)

    assert "CREATE TABLE" in lakegate.ok("convert", product, "--from", "data-product", "--to", "duckdb")
    named = yaml.safe_load(lakegate.ok("convert", product, "--from", "data-product", "--name", "other"))
    assert (named["id"], named["name"]) == ("other", "other")


def test_ports_with_contracts_of_their_own_are_listed() -> None:
    """A product of ODPS describes no columns: its ports have contracts. With columns in one of them, the other one is listed."""
    with pytest.raises(InputError, match="Each port names a contract of its own"):
        read(ODPS, "")
    contract, lost = read(ODPS + b"- {name: buyers, columns: [{name: id, type: text}]}\n", "")

    assert ([each.name for each in contract.datasets], lost) == (
        ["buyers"],
        ("customers: it has the contract sales.customers",),
    )


@pytest.mark.parametrize(
    "text", [b"metadata: [", b"metadata: {name: a}\noutput_ports: [{name: t, columns: [{name: a, type: x}]}]"]
)
def test_what_makes_no_contract_is_refused(text: bytes) -> None:
    """With every problem."""
    with pytest.raises(InputError):
        read(text, "")
