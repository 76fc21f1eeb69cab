"""What finding a route and publishing cost in a large registry: `python -m tests.bench.registry --routes 1000000`.

The adapter of DynamoDB runs over a twin of the table in memory, which counts requests, items and the bytes of DynamoDB's JSON.
The seconds are those of this process alone: a network adds its time to each request, and DynamoDB answers a read by key in a time
that does not depend on the size of the table.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import quantiles
from time import perf_counter
from typing import Any

from lakegate.aws.dynamodb_table import DynamoTable
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import run
from lakegate.gate.registry.contract_versions import CompiledContract
from lakegate.gate.registry.publish_contract import publish
from lakegate.gate.registry.registry_rows import Publication, Route
from lakegate.gate.registry.registry_store import Registry
from lakegate.gate.registry.routes import candidates, covering
from lakegate.gate.table import Row, RowKey, TableName, Tables, Write
from tests.fakes.table import MemoryTable
from tests.simulation.environment import LANDING, Environment
from tests.unit.diff.builder import document

PAGE = 1_000
"""Items of one page of a scan."""
DEPTH = 8
"""Folders of a key that is looked up."""


@dataclass(slots=True)
class TableTwin:
    """A client of DynamoDB over a table in memory, without conditions; it counts."""

    items: dict[str, Any] = field(default_factory=dict)
    requests: int = 0
    read: int = 0
    written: int = 0
    sent: int = 0
    """Bytes of requests."""
    received: int = 0
    """Bytes of answers."""

    class exceptions:  # noqa: N801 - as boto3 has it
        """The exceptions of the client."""

        class TransactionCanceledException(Exception):  # noqa: N818 - as boto3 has it
            """Never raised here."""

    def start(self) -> None:
        """Count from here on."""
        self.requests = self.read = self.written = self.sent = self.received = 0

    def get_item(self, **request: Any) -> dict[str, Any]:
        item = self.items.get(request["Key"].get("id", {"S": ""})["S"])
        return self._answer(request, {} if item is None else {"Item": item}, read=int(item is not None))

    def batch_get_item(self, **request: Any) -> dict[str, Any]:
        (name, wanted), *_ = request["RequestItems"].items()
        found = [self.items[key["id"]["S"]] for key in wanted["Keys"] if key["id"]["S"] in self.items]
        return self._answer(request, {"Responses": {name: found}, "UnprocessedKeys": {}}, read=len(found))

    def put_item(self, **request: Any) -> dict[str, Any]:
        self.items[request["Item"]["id"]["S"]] = request["Item"]
        self.written += 1
        return self._answer(request, {})

    def transact_write_items(self, **request: Any) -> dict[str, Any]:
        for write in request["TransactItems"]:
            put = write.get("Put", {"Item": {}})
            if "id" in put["Item"]:
                self.items[put["Item"]["id"]["S"]] = put["Item"]
        self.written += len(request["TransactItems"])
        return self._answer(request, {})

    def get_paginator(self, _name: str) -> TableTwin:
        return self

    def paginate(self, **request: Any) -> Iterator[dict[str, Any]]:
        everything = list(self.items.values())
        for start in range(0, len(everything), PAGE):
            page = everything[start : start + PAGE]
            yield self._answer(request, {"Items": page}, read=len(page))

    def _answer(self, request: Any, answer: dict[str, Any], read: int = 0) -> dict[str, Any]:
        self.requests += 1
        self.read += read
        self.sent += len(json.dumps(request))
        self.received += len(json.dumps(answer))
        return answer


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one call."""

    requests: int
    items: int
    sent: int
    received: int
    seconds: float


class Beside:
    """The tables in memory, but one of them, which is that of a twin."""

    def __init__(self, others: MemoryTable, name: TableName, of_twin: DynamoTable) -> None:
        self.others, self.name, self.of_twin, self.left_out = others, name, of_twin, others.left_out

    def get(self, key: RowKey) -> Row | None:
        return (self.of_twin if key.table is self.name else self.others).get(key)

    def batch(self, keys: Sequence[RowKey]) -> Iterator[Row]:
        return self.of_twin.batch(keys)

    def transact(self, writes: Sequence[Write], token: str = "") -> None:
        is_own = any(each.key.table is self.name for each in writes)
        (self.of_twin if is_own else self.others).transact(writes, token)

    def __getattr__(self, name: str) -> Any:
        of_ledger = name == "heights" and self.name is TableName.LEDGER
        return getattr(self.of_twin if of_ledger else self.others, name)


def beside(others: MemoryTable, name: TableName, twin: TableTwin) -> Tables:
    """Tables of which one has a twin."""
    of_twin = DynamoTable(twin, {each: each.value for each in TableName})  # type: ignore[arg-type] # a twin
    return Beside(others, name, of_twin)


def filled(versions: int, routes: int) -> tuple[TableTwin, Registry]:
    """A registry with so many versions, each of a contract of its own, and so many routes, as publishing writes them."""
    twin = TableTwin()
    registry = Registry(DynamoTable(twin, {each: each.value for each in TableName}), LANDING)  # type: ignore[arg-type] # a twin
    each, more = divmod(routes, versions)
    for number in range(versions):
        name = f"contract-{number:07}"
        own = tuple(
            Route(LANDING, f"team-{number % 97}/{name}/{place}/", name, "orders", 1, "1.0.0", "active", "d" * 64)
            for place in range(each + (number < more))
        )
        plans = (("orders", "d" * 64),)
        publication = Publication(name, "1.0.0", "active", f"contracts/{'e' * 64}", own[:90], plans=plans)
        registry.publish(publication)
        for start in range(90, len(own), 90):
            registry.publish(replace(publication, routes=own[start : start + 90]))
    return twin, registry


def measured(twin: TableTwin, call: Callable[[], object]) -> Cost:
    """What one call costs."""
    twin.start()
    begun = perf_counter()
    call()
    return Cost(twin.requests, twin.read, twin.sent, twin.received, perf_counter() - begun)


def lookup(registry: Registry, key: str) -> Route | None:
    """The route of a key, as intake finds it."""
    return covering(key, registry.routes(LANDING, candidates(key)))


def around(twin: TableTwin) -> Dependencies:
    """The other ports and tables in memory."""
    env = Environment()
    return replace(env.dependencies, table=beside(env.memory.table, TableName.REGISTRY, twin))


def publishing(dependencies: Dependencies, version: str) -> Callable[[], object]:
    """A person publishes a version of a contract with one dataset."""
    compiled = CompiledContract("shop", version, "active", document({}, version), {"orders": version.encode()})
    return lambda: run(publish(dependencies, compiled), dependencies.clock)


def keys(versions: int, count: int) -> list[str]:
    """Keys of routed prefixes, with folders below them."""
    numbers = (at * 7919 % versions for at in range(count))
    deep = "/".join("x" * (DEPTH - 3))
    return [f"team-{number % 97}/contract-{number:07}/0/{deep}/day.csv" for number in numbers]


def row(name: str, costs: list[Cost]) -> str:
    """One line of the table: the largest counts, the 50th and 99th percentile of the time."""
    times = sorted(each.seconds * 1000 for each in costs)
    percentiles = quantiles(times, n=100) if len(times) > 1 else times * 99
    counts = (max(getattr(each, name) for each in costs) for name in ("requests", "items", "sent", "received"))
    return f"| {name} | {' | '.join(f'{count:,}' for count in counts)} | {percentiles[49]:,.2f} ms | {percentiles[98]:,.2f} ms |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--versions", type=int, default=10_000)
    parser.add_argument("--routes", type=int, default=100_000)
    parser.add_argument("--lookups", type=int, default=5_000)
    given = parser.parse_args()
    twin, registry = filled(given.versions, given.routes)
    wanted = keys(given.versions, given.lookups)
    assert all(lookup(registry, key) is not None for key in wanted[:100])
    print(f"{given.versions:,} versions, {given.routes:,} routes, {len(twin.items):,} items\n")  # noqa: T201 - a program
    print("| call | requests | items read | bytes sent | bytes received | p50 | p99 |\n|---|---|---|---|---|---|---|")  # noqa: T201
    print(row("find the route of a key", [measured(twin, lambda key=key: lookup(registry, key)) for key in wanted]))  # type: ignore[misc] # noqa: T201
    dependencies = around(twin)
    costs = [measured(twin, publishing(dependencies, f"1.0.{patch}")) for patch in range(20)]
    print(row("publish a version", costs))  # noqa: T201
    print(row("read the whole registry once, as publishing did before", [measured(twin, registry.snapshot)]))  # noqa: T201


if __name__ == "__main__":
    main()
