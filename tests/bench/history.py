"""What `lakegate history` costs for a long line: `python -m tests.bench.history --deliveries 10000`.

The adapter of DynamoDB runs over a twin of the ledger's table in memory, as in `tests.bench.registry`. The command reads besides
the row of each delivery that it lists, by key.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lakegate.aws.dynamodb_table import DynamoTable
from lakegate.aws.ledger_table import ENTRY, DynamoHistory, index_items
from lakegate.gate.datasets.delivery_history import chosen, history
from tests.bench.registry import TableTwin, measured, row
from tests.simulation.environment import Environment
from tests.unit.usecases.test_history import LINE, delivered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.gate.dependencies import Dependencies

SHARE = 10
"""One delivery of so many is rejected."""


@dataclass(slots=True)
class LedgerTwin(TableTwin):
    """The items of each key, the newest first."""

    chains: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def paginate(self, **request: Any) -> Iterator[dict[str, Any]]:
        values, size = request["ExpressionAttributeValues"], request["PaginationConfig"]["PageSize"]
        items = self.chains.get(values[":chain"]["S"], [])
        top = int(values[":below"]["N"])
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
        written, items = index_items(block, env.memory.rows.get(block.workload))
        items.append({"chain": {"S": LINE}, "height": {"N": str(height)}, ENTRY: {"S": written}})
        for each in items:
            twin.chains.setdefault(each["chain"]["S"], []).insert(0, each)
    dependencies = replace(env.dependencies, history=DynamoHistory(DynamoTable(twin, "ledger")))  # type: ignore[arg-type] # a twin
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
