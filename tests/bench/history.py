"""What `lakegate history` costs for a long line: `python -m tests.bench.history --deliveries 10000`.

The adapter of DynamoDB runs over a twin of the ledger's table in memory, as in `tests.bench.registry`. The command reads besides
the row of each delivery that it lists, by key.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from lakegate.aws.dynamodb_table import item_of
from lakegate.gate.datasets.delivery_history import chosen, history
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.ledger.ledger_store import ENTRY, index_rows
from lakegate.gate.table import Row, RowKey, TableName
from tests.bench.registry import TableTwin, beside, measured, row
from tests.simulation.environment import Environment
from tests.unit.gate.datasets.test_delivery_history import LINE, delivered

SHARE = 10
"""One delivery of so many is rejected."""


@dataclass(slots=True)
class LedgerTwin(TableTwin):
    """The items of each key, the newest first."""

    chains: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def paginate(self, **request: Any) -> Iterator[dict[str, Any]]:
        values, size = request["ExpressionAttributeValues"], request["PaginationConfig"]["PageSize"]
        items = self.chains.get(values[":chain"]["S"], [])
        top = int(values[":last"]["N"]) + 1
        start = 0
        while start < len(items) and int(items[start]["height"]["N"]) >= top:
            start += 1
        for at in range(start, len(items), size):
            page = items[at : at + size]
            yield self._answer(request, {"Items": page}, read=len(page))


def filled(count: int) -> tuple[LedgerTwin, Dependencies, str]:
    """A line with so many finished deliveries, as their commits index them, and a rule that the rejected ones break."""
    env = Environment()
    delivered(env, b"good:1", b"bad:1")
    good, bad = env.memory.ledger.blocks(LINE, -1)[-2:]
    twin = LedgerTwin()
    for height in range(count):
        block = replace(bad if height % SHARE == 0 else good, height=height)
        written, items = index_rows(block, env.memory.workloads[block.workload])
        items.append(Row(RowKey(TableName.LEDGER, LINE, height), {ENTRY: written}))
        for each in items:
            twin.chains.setdefault(each.key.name, []).insert(0, item_of(each))
    dependencies = replace(env.dependencies, table=beside(env.memory.table, TableName.LEDGER, twin))
    (rule, *_) = next(chosen(dependencies, LINE, verdict="rejected")).rules
    return twin, dependencies, rule.rule


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deliveries", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=500)
    given = parser.parse_args()
    twin, dependencies, rule = filled(given.deliveries)
    print(f"{given.deliveries:,} deliveries\n")  # noqa: T201 - a program
    print("| call | requests | items read | bytes sent | bytes received | p50 | p99 |\n|---|---|---|---|---|---|---|")  # noqa: T201
    calls = {
        "the newest 20": (lambda: history(dependencies, LINE), given.calls),
        "the newest 20 that break a rule": (lambda: history(dependencies, LINE, rule=rule), given.calls),
        "all": (lambda: list(chosen(dependencies, LINE)), max(2, given.calls // 25)),
    }
    for name, (call, count) in calls.items():
        print(row(name, [measured(twin, call) for _ in range(count)]))  # noqa: T201


if __name__ == "__main__":
    main()
