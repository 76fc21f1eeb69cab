"""Contracts are found by their file names, or generated from ports."""

from __future__ import annotations

import pytest

from lakegate.base.errors import ContractError
from lakegate.contract.documents.data_products import LOGICAL, generate_contract, is_contract_name
from lakegate.contract.logical_types import LogicalType
from lakegate.lints.linter import examine, read

PRODUCT = b"""\
metadata: {name: customer-360, version: 1.10, owner: sales-data, domain: sales, description: All customers.}
output_ports:
  - name: customers
    description: One row per customer.
    columns:
      - {name: id, type: bigint, required: true, primary_key: true}
      - {name: e_mail, type: text, pii: true, classification: confidential, unique: true}
      - {name: balance, type: "DECIMAL(10, 2)"}
      - {name: seen, type: timestamp, description: 'Yes: the last time'}
input_ports: [{name: orders}]
"""


def test_a_contract_is_written_from_ports() -> None:
    """The generated contract has names, types, keys and personal data, and is a valid draft."""
    text = generate_contract(PRODUCT.replace(b"1.10", b"1.1.0"))
    contract = read(text)
    (customers,) = contract.datasets

    assert examine(text).errors == ()
    assert (contract.id, contract.version, contract.status) == ("customer-360", "1.1.0", "draft")
    assert (contract.about.owner, contract.about.purpose) == ("sales-data", "All customers.")
    assert [(field.name, field.type) for field in customers.fields] == [
        ("id", LogicalType.INTEGER),
        ("e_mail", LogicalType.STRING),
        ("balance", LogicalType.DECIMAL),
        ("seen", LogicalType.TIMESTAMP),
    ]
    assert [field.personal for field in customers.fields] == [None, True, None, None]
    assert [rule.kind for rule in customers.rules if rule.kind != "type"] == ["required", "unique", "primaryKey"]


@pytest.mark.parametrize("declared", ["decimal", "bytes", "binary", "string", "boolean"])
def test_a_type_of_a_port_is_the_type_of_the_contract(declared: str) -> None:
    """A type without a logical type in ODCS is written as a physical type and read again as the same type."""
    found = generate_contract(
        PRODUCT.replace(b"1.10", b"1.1.0").replace(b"type: bigint", f"type: '{declared}'".encode())
    )

    assert examine(found).errors == ()
    assert read(found).datasets[0].fields[0].type is LOGICAL[declared]


def test_a_version_stays_as_it_was_written() -> None:
    """`1.10` is not a semantic version, and is reported as `1.10`, not as 1.1."""
    assert "`1.10`" in examine(generate_contract(PRODUCT)).errors[0].message


def test_a_product_may_be_written_in_other_words() -> None:
    """Keys of other tools and a name at the root are accepted; the default version is the first one."""
    text = b"name: p\noutputPorts: [{name: t, schema: [{name: a, type: string, primaryKey: true}]}]"
    contract = read(generate_contract(text))

    assert (contract.id, contract.version) == ("p", "0.1.0")
    assert [rule.kind for rule in contract.datasets[0].rules] == ["type", "primaryKey"]


def test_missing_keys_of_ports_are_reported_at_once() -> None:
    """Every missing key with its place, and a hint at a similar type."""
    with pytest.raises(ContractError) as refusal:
        generate_contract(b"metadata: {}\noutput_ports:\n  - columns: [{type: strng}]\n  - name: t\n")
    with pytest.raises(ContractError) as nothing:
        generate_contract(b"metadata: {name: p}\n")

    assert [(problem.code, problem.path) for problem in refusal.value.problems] == [
        ("missing-key", "$.metadata"),
        ("missing-key", "$.output_ports[0]"),
        ("missing-key", "$.output_ports[0].columns[0]"),
        ("unknown-type", "$.output_ports[0].columns[0].type"),
        ("no-field", "$.output_ports[1]"),
    ]
    assert refusal.value.problems[3].message.endswith("Did you mean `string`?")
    assert [problem.code for problem in nothing.value.problems] == ["no-dataset"]


def test_contracts_are_known_by_their_names() -> None:
    """As the specifications recommend, in whatever folder; other files are not."""
    names = {
        "a/datacontract.yaml": True,
        "c/orders.datacontract.yml": True,
        "c/orders-datacontract.yaml": True,
        "c/datacontract-orders.yaml": True,
        "a/floe.yaml": False,
        "b/orders.yaml": False,
        "datacontracts/orders.yml": False,
        "datacontracts/notes.txt": False,
        "d/mydatacontract.yaml": False,
    }

    assert {name: is_contract_name(name) for name in names} == names
