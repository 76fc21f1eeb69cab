"""A derived dataset on the embedded AWS: the deployed sweep asks for its rows, a run computes them, and they are judged."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq
from pyarrow import BufferReader

from lakegate.gate.effects import run
from lakegate.gate.ledger.blocks import Block, BlockInput, BlockKind, deliveries
from lakegate.gate.ports import Address
from lakegate.gate.registry.publish_contract import compile_document, publish, referred_of
from lakegate.gate.registry.routes import add_route
from tests.e2e.deployed import Deployed, until
from tests.e2e.running import lakegate

ORDERS = b"""
apiVersion: v3.1.0
kind: DataContract
id: e2e-orders
version: 1.0.0
status: active
customProperties: [{property: lakegate, value: {replaces: delivery}}]
schema:
  - name: sales
    properties:
      - {name: id, logicalType: integer, required: true}
      - {name: buyer, logicalType: string, required: true}
      - {name: amount, logicalType: number, physicalType: "decimal(12,2)"}
"""
BUYERS = b"""
apiVersion: v3.1.0
kind: DataContract
id: e2e-buyers
version: 1.0.0
status: active
customProperties:
  - property: lakegate
    value:
      replaces: delivery
      derive:
        inputs:
          orders: {dataset: e2e-orders/sales_v1, columns: {buyer: string, amount: decimal}}
        query: SELECT buyer, count(*) AS orders, sum(amount) AS spent FROM orders GROUP BY buyer
schema:
  - name: sales
    properties:
      - {name: buyer, logicalType: string, required: true, unique: true}
      - {name: orders, logicalType: integer}
      - {name: spent, logicalType: number, physicalType: "decimal(38,18)", logicalTypeOptions: {maximum: 100}}
"""
DATASET = "e2e-buyers/sales_v1"


def test_rows_follow_the_inputs_and_are_judged(stack: Deployed) -> None:
    """Two orders become the rows of two buyers; a corrected file takes the place of both; too much is rejected."""
    dependencies = stack.dependencies
    for document, name, prefix in ((ORDERS, "e2e-orders", "orders-of-buyers/"), (BUYERS, "e2e-buyers", "buyers/")):
        run(publish(dependencies, compile_document(document, referred_of(dependencies, document))), dependencies.clock)
        run(add_route(dependencies, prefix, name, "sales", 1), dependencies.clock)
    files = (
        (b"1,ann,10.50\n2,bob,1.25\n3,ann,2.00\n", "day.csv"),
        (b"1,ann,10.50\n2,bob,1.25\n", "day.csv"),
        (b"4,cid,100.01\n", "more.csv"),
    )
    heights, blocks = [], list[Block]()
    for rows, name in files:
        heights.append(stack.finished(stack.upload(b"id,buyer,amount\n" + rows, f"orders-of-buyers/{name}")).height)
        blocks.append(_derived(stack, len(blocks)))
    first, second, third = blocks

    assert _rows(stack, first) == [("ann", 2, "12.5"), ("bob", 1, "1.25")]
    assert _rows(stack, second) == [("ann", 1, "10.5"), ("bob", 1, "1.25")]
    assert [each.inputs for each in blocks] == [(BlockInput("e2e-orders/sales_v1", height),) for height in heights]
    assert [each.kind for each in blocks] == [BlockKind.PUBLISHED, BlockKind.PUBLISHED, BlockKind.QUARANTINED]
    assert second.supersedes == (first.height,)
    assert _rows(stack, third)[-1] == ("cid", 1, "100.01")  # what was refused can be looked at

    again = lakegate("verify", DATASET, "--derivation", "--local")
    assert "2 derivations computed again: the rows of each are as they were accepted." in again.stdout

    shown = lakegate("derive", "list", "--local")
    assert f"of e2e-orders/sales_v1 up to height {heights[-1]}" in shown.stdout


def _derived(stack: Deployed, before: int) -> Block:
    """The next block of the derived dataset, when its delivery is finished. The first sweep finds what was published."""
    stack.sweep()
    lakegate("derive", "run", DATASET, "--local")
    stack.sweep()

    def found() -> Any:
        return next(iter(deliveries(stack.dependencies.ledger.blocks(DATASET, -1))[before:]), None)

    block: Block = until("the rows are derived", found)
    stack.finished(block.workload)
    return block


def _rows(stack: Deployed, block: Block) -> list[tuple[str, int, str]]:
    lake, found = stack.dependencies.places.lake, []
    for each in block.objects:
        body = stack.dependencies.objects.read(Address(lake, each.key, each.version))
        found += [
            (row["buyer"], row["orders"], f"{row['spent'].normalize():f}")
            for row in pq.read_table(BufferReader(body)).to_pylist()
        ]
    return found
