"""What the overview of all datasets costs in a large stack: `python -m tests.bench.overview --datasets 2000`.

The use case runs over the double of the tables in memory, whose requests are counted by operation. The seconds are processor
time of this process alone: a network adds its time to each request; the index is asked by ten threads at once.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from time import process_time
from typing import Any

from lakegate.base.json_codec import encode
from lakegate.gate.datasets.dataset_states import DatasetDeadlines, Deadline
from lakegate.gate.datasets.datasets_overview import keep_overview, overview
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import run
from lakegate.gate.lake_layout import OVERVIEW, OVERVIEW_PAGE
from lakegate.gate.ledger.ledger_store import ENTRY, head_key
from lakegate.gate.registry.registry_rows import Publication, Route
from lakegate.gate.registry.registry_store import PAGE_ITEMS
from lakegate.gate.table import Put, Row, RowAbsent, RowKey, TableName
from tests.fakes import table as fakes
from tests.simulation.environment import LANDING, Environment

DELIVERIES = 30
"""Of each dataset."""


@dataclass
class CountingTable:
    """The tables, with the requests that are made of them: of a query one, whatever it reads."""

    inner: Any
    requests: Counter[str] = field(default_factory=Counter)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if not callable(found):
            return found

        def counted(*given: Any, **named: Any) -> Any:
            self.requests[name] += 1
            return found(*given, **named)

        return counted


def stack_of(datasets: int) -> tuple[Dependencies, CountingTable]:
    """A stack with so many contracts of one dataset, each with deliveries and a deadline."""
    env = Environment()
    table = env.memory.table
    for number in range(datasets):
        contract = f"{number:08x}-1c4a-4f6e-9c57-6a1de5a3c0de"
        chain, labels = (
            f"{contract}/orders_v1",
            (("name", f"Orders of shop {number}"), ("owner", f"team-{number % 40}")),
        )
        route = Route(LANDING, f"in/{number}/", contract, "orders", 1, "1.0.0", "active", "0" * 64)
        env.memory.registry.publish(
            Publication(
                contract, "1.0.0", "active", "contracts/c", (route,), plans=(("orders", "0" * 64),), labels=labels
            )
        )
        env.dependencies.deadlines.write(
            DatasetDeadlines(
                chain, "2026-01-05T00:00:00.000000Z", "1.0.0", (Deadline("freshness", 86_400 * (number % 3)),)
            )
        )
        table.write(Put(Row(head_key(chain), {"top": DELIVERIES - 1, "digest": "0" * 64}), RowAbsent(), "head"))
        for height in range(DELIVERIES):
            verdict = "rejected" if (height + number) % 9 == 0 else "accepted"
            entry = {
                "height": height,
                "at": f"2026-01-{1 + height % 28:02}T06:00:00.000000Z",
                "workload": f"{number:032x}{height:032x}",
                "kind": "published" if verdict == "accepted" else "quarantined",
                "verdict": verdict,
                "version": "1.0.0",
                "rows": 1_000,
                "rejected_rows": 0 if verdict == "accepted" else 1_000,
                "rules": [] if verdict == "accepted" else [["not_null_id", "fail", 12]],
                "enforced": None,
                "producer": f"in/{number}/",
            }
            row = Row(RowKey(TableName.LEDGER, chain, height), {ENTRY: json.dumps(entry)})
            table.write(Put(row, RowAbsent(), "head"))
    counting = CountingTable(table)
    return replace(env.dependencies, table=counting), counting


def main(arguments: list[str] | None = None) -> None:
    """Print a line for each of three readings."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--datasets", type=int, default=2_000)
    options = parser.parse_args(arguments)
    vars(fakes)["PAGE"] = PAGE_ITEMS // 3  # version, route and list of each contract are scanned
    dependencies, table = stack_of(options.datasets)

    def measured(what: str, do: Any) -> Any:
        table.requests.clear()
        begun = process_time()
        found = do()
        told = ", ".join(f"{count:,} {name}" for name, count in sorted(table.requests.items()))
        sys.stdout.write(f"{what}: {process_time() - begun:.2f} s of the processor; requests: {told}\n")
        return found

    measured("nothing kept", lambda: overview(dependencies))
    measured("the first sweep", lambda: run(keep_overview(dependencies), dependencies.clock))
    found = measured("kept", lambda: overview(dependencies))
    measured("a sweep without changes", lambda: run(keep_overview(dependencies), dependencies.clock))
    sizes = (len(dependencies.read_lake(key)) for key in (OVERVIEW, OVERVIEW_PAGE))
    sys.stdout.write(
        f"{len(found.datasets):,} datasets; document {next(sizes):,} bytes, page {next(sizes):,} bytes,"
        f" response of the API {len(json.dumps(encode(found))):,} bytes\n"
    )


if __name__ == "__main__":
    main()
