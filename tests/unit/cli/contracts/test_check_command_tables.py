"""`lakegate check` of a contract with several datasets: which file is which table, and one answer for all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from lakegate.base.errors import InputError
from lakegate.cli.main import app
from lakegate.inheritance import inherited_documents as inheritance
from lakegate.inheritance.inherited_documents import Parents, Resolved
from lakegate.library import contract_files
from tests.published_schemas import validate

if TYPE_CHECKING:
    from click.testing import Result


CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: shop
version: 1.0.0
status: active
name: Shop
servers:
  - {server: files, type: local, path: "./export_{model}_*.csv", format: csv}
schema:
  - name: customers
    physicalName: crm_customers
    logicalType: object
    properties:
      - {name: id, logicalType: string, primaryKey: true}
  - name: orders
    logicalType: object
    properties:
      - {name: order_id, logicalType: string, required: true}
      - name: customer_id
        logicalType: string
        relationships: [{to: customers.id}]
  - name: order_lines
    logicalType: object
    properties:
      - {name: amount, logicalType: integer}
"""
FILES = {
    "customers.csv": "id\nC1\nC2\n",
    "orders.csv": "order_id,customer_id\nO1,C1\nO2,C9\n",
    "order_lines.csv": "amount\n1\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The contract, and a folder `data` with a file for each table; orders refer to a customer that is not there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.yaml").write_text(CONTRACT)
    (tmp_path / "data").mkdir()
    for name, text in FILES.items():
        (tmp_path / "data" / name).write_text(text)
    return tmp_path


def check(*words: str) -> Result:
    return CliRunner().invoke(app, ["check", "--contract", "shop.yaml", *words])


@pytest.mark.usefixtures("folder")
def test_all_tables_of_a_folder_are_judged_in_one_call() -> None:
    """Each is listed with its verdict, in the order of the contract; the worst one is that of the call."""
    answer = check("data")

    assert answer.exit_code == 1, answer.output
    assert [line for line in answer.stdout.splitlines() if " as " in line and "contract shop" in line] == [
        line for line in answer.stdout.splitlines() if line.startswith("data/")
    ]
    assert "customer_id:foreignKey:1" in answer.stdout
    assert answer.stdout.splitlines()[-2:] == [
        "Rejected: 1 of 3 tables (`orders`)",
        "Next: lakegate explain foreignKey",
    ]


@pytest.mark.usefixtures("folder")
def test_the_contract_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once more for each table."""
    resolve, read = inheritance.resolve, list[bytes]()

    def counting(text: bytes, parents: Parents) -> Resolved:
        read.append(text)
        return resolve(text, parents)

    monkeypatch.setattr(contract_files, "resolve", counting)
    check("data")

    assert read == [CONTRACT.encode()]


@pytest.mark.usefixtures("folder")
def test_the_document_has_one_for_each_table() -> None:
    """Each is that of a call for this table alone; references are the files of the other tables."""
    document = json.loads(check("data", "--json").stdout)
    validate("check-tables", document)
    for each in document["tables"]:
        validate("check", each)

    assert (document["verdict"], [(each["dataset"], each["verdict"]) for each in document["tables"]]) == (
        "rejected",
        [("customers", "accepted"), ("orders", "rejected"), ("order_lines", "accepted")],
    )
    assert [[file["file"] for file in each["inputs"]["files"]] for each in document["tables"]] == [
        [f"data/{name}"] for name in FILES
    ]
    (reason,) = document["tables"][1]["reasons"]
    assert reason["id"].startswith("customer_id:foreignKey:1")


@pytest.mark.parametrize(
    "name",
    [
        "orders.csv",
        "ORDERS.CSV",
        "orders-2026-11-26.csv",
        "orders_1.csv",
        "orders/part-1.csv",
        "2026/orders/part-1.csv",
        "export_orders_1.csv",
    ],
)
def test_a_file_is_of_the_dataset_that_it_is_named_after(name: str, folder: Path) -> None:
    """By its whole name, a folder, the beginning of its name, or the path of a server."""
    place = folder / "alone" / name
    place.parent.mkdir(parents=True)
    place.write_text(FILES["orders.csv"])
    (folder / "alone/crm_customers.csv").write_text("id\nC1\nC9\n")

    document = json.loads(check("alone", "--json").stdout)

    assert [(each["dataset"], each["verdict"]) for each in document["tables"]] == [
        ("customers", "accepted"),
        ("orders", "accepted"),
    ]


def test_the_name_of_a_file_counts_before_that_of_a_folder(folder: Path) -> None:
    """A folder far above, such as that of the project, says nothing of a file that is named after another table."""
    (folder / "orders").mkdir()
    (folder / "orders/customers-2026.csv").write_text(FILES["customers.csv"])
    (folder / "orders/1.csv").write_text("order_id,customer_id\nO1,C1\n")

    document = json.loads(check("orders", "--json").stdout)

    assert [each["dataset"] for each in document["tables"]] == ["customers", "orders"]
    assert [each["inputs"]["files"][0]["file"] for each in document["tables"]] == [
        "orders/customers-2026.csv",
        "orders/1.csv",
    ]


def test_the_longest_name_counts(folder: Path) -> None:
    """`order_lines-1.csv` is no file of `order`."""
    text = CONTRACT.replace("name: orders", "name: order")
    (folder / "shop.yaml").write_text(text)
    (folder / "data/orders.csv").rename(folder / "data/order-1.csv")
    (folder / "data/order_lines.csv").rename(folder / "data/order_lines-1.csv")

    document = json.loads(check("data", "--json").stdout)

    assert [each["dataset"] for each in document["tables"]] == ["customers", "order", "order_lines"]


def test_a_file_of_no_dataset_is_named(folder: Path) -> None:
    """It would else be left out without a word."""
    (folder / "data/invoices.csv").write_text("x\n")
    error = check("data").exception

    assert isinstance(error, InputError)
    assert str(error) == (
        "data/invoices.csv is named after no dataset of the contract (`customers`, `orders`, `order_lines`):"
        " rename it, or choose one with --dataset"
    )


@pytest.mark.usefixtures("folder")
def test_one_table_of_several_has_its_own_document() -> None:
    """A folder with files of one table alone, and a table that is named, are answered as before."""
    alone, named = check("data/customers.csv", "--json"), check("data/orders.csv", "--dataset", "orders", "--json")
    validate("check", json.loads(alone.stdout))
    validate("check", json.loads(named.stdout))

    assert [json.loads(each.stdout)["dataset"] for each in (alone, named)] == ["customers", "orders"]


def test_every_format_and_file_has_all_tables(folder: Path) -> None:
    """JUnit has a suite for each; the page a section; failing rows have a file for each."""
    suites = ET.fromstring(check("data", "--format", "junit").stdout)  # noqa: S314 - our own text
    markdown = check("data", "--format", "markdown").stdout
    log = json.loads(check("data", "--format", "sarif").stdout)
    github = check("data", "--format", "github").stdout
    written = check("data", "--failures", "bad.csv", "--report", "page.html").stdout
    page = (folder / "page.html").read_text()

    assert [each.get("name") for each in suites] == [f"data/{name}" for name in FILES]
    assert suites.get("failures") == "1"
    assert markdown.count("contract shop") == 3
    assert [each["ruleId"] for each in log["runs"][0]["results"]] == ["customer_id:foreignKey:1/customer_id"]
    assert github.count("::error") == 1
    assert written.splitlines()[-2:] == ["page.html: report written", "Next: lakegate explain foreignKey"]
    assert "<title>Rejected: 1 of 3 tables: Lakegate report</title>" in page
    assert (page.count("<section>"), page.count("<main>")) == (3, 0)
