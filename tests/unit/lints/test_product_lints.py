"""Data products: contracts that are made of ports, and contracts that ports name."""

from __future__ import annotations

from lakegate.lints.product_lints import UNKNOWN_CONTRACT, examined_product

PRODUCT = b"""\
metadata: {name: sales, version: 1.0.0}
output_ports:
- name: customers
  columns: [{name: id, type: bigint}]
input_ports:
- {name: orders, contractId: shop.orders, version: 1.0.0}
- {name: clicks, contract: web.clicks}
- {name: files}
"""
ODPS = b"""\
apiVersion: v1.0.0
kind: DataProduct
id: fbe8d147
name: sales
status: active
inputPorts:
- {name: orders, version: 1.0.0, contractId: shop.orders}
outputPorts:
- {name: customers, version: 1.0.0, contractId: sales.customers, inputContracts: [{id: web.clicks, version: 2.0.0}]}
"""


def test_contracts_that_ports_name_are_linted_documents() -> None:
    """Those of input ports, those of output ports, and those that an output port relies on; each at its place."""
    found = examined_product(PRODUCT, {"shop.orders"})
    odps = examined_product(ODPS, {"shop.orders"})

    assert (
        found.valid,
        [(each.code, each.path, each.line) for each in found.warnings if each.code == UNKNOWN_CONTRACT],
    ) == (
        True,
        [(UNKNOWN_CONTRACT, "$.input_ports[1].contract", 7)],
    )
    assert [(each.code, each.path) for each in odps.warnings] == [
        (UNKNOWN_CONTRACT, "$.outputPorts[0].inputContracts[0].id"),
        (UNKNOWN_CONTRACT, "$.outputPorts[0].contractId"),
    ]
    assert examined_product(ODPS, {"shop.orders", "web.clicks", "sales.customers"}).warnings == ()


def test_a_product_with_a_contract_beside_it_makes_none() -> None:
    """Its ports may be of any form; what they name is looked for all the same."""
    broken = PRODUCT.replace(b"bigint", b"nothing")

    assert [each.code for each in examined_product(broken, {"shop.orders"}).errors] == ["unknown-type"]
    assert examined_product(broken, {"shop.orders"}, has_document=True).errors == ()
    assert len(examined_product(broken, set(), has_document=True).warnings) == 2


def test_a_product_that_is_no_document_is_refused() -> None:
    """With the place of the fault."""
    assert [each.code for each in examined_product(b"metadata: [", set()).errors] == ["syntax"]
    assert [each.code for each in examined_product(b"metadata: {name: a}", set()).errors] == ["no-dataset"]
