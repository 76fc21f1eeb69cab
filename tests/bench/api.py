"""How fast the HTTP API answers on a warm local stack: `python -m tests.bench.api --clients 20 --seconds 20`.

Each client repeats the control actions of a producer: one client, then all of them with a pause as programs and people ask
(`--rate` actions a second of each), then all of them without a pause, which measures how much the embedded AWS can do. Clients
run in a process of their own. Every answer must be the wanted one.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from statistics import quantiles
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from lakegate.lints.linter import read
from tests.e2e.running import CONTRACTS, running

SUMMARY = {"rows": 3, "columns": [{"name": "id", "nulls": 0}, {"name": "name"}]}
API = "/api/v1"


@dataclass(frozen=True, slots=True)
class Target:
    """What clients ask."""

    url: str
    authorization: str
    contract: str
    workload: str

    def actions(self) -> tuple[tuple[str, str, str, str], ...]:
        """Name, method, path and body of each action; `{announced}` is the workload that the client announced last."""
        announced = json.dumps({"contract": self.contract, "dataset": "sales", "summary": SUMMARY})
        return (
            ("read a contract", "GET", f"{API}/data-contract/{self.contract}", ""),
            ("search", "GET", f"{API}/data-contract?tag=shop", ""),
            ("read a workload", "GET", f"{API}/workload/{self.workload}", ""),
            ("announce a delivery", "POST", f"{API}/workload", announced),
            ("notify", "POST", f"{API}/workload/notify/{{announced}}", ""),
        )


@dataclass(frozen=True, slots=True)
class Client:
    """One client with a connection of its own."""

    target: Target
    pause: float
    """Seconds from the start of an action to that of the next one; 0: right after its answer."""
    seed: int

    def run(self, until: float) -> list[tuple[str, float]]:
        """Name and seconds of each action, until then. Raises AssertionError for an answer that is none of 200 and 202."""
        measured = []
        host = urlsplit(self.target.url).netloc
        connection, announced = HTTPConnection(host, timeout=60), ""
        headers = {"authorization": self.target.authorization, "content-type": "application/json"}
        base = urlsplit(self.target.url).path.rstrip("/")
        due = time.monotonic() + Random(self.seed).random() * self.pause
        while due < until:
            for name, method, path, body in self.target.actions():
                time.sleep(max(0.0, due - time.monotonic()))
                start = time.monotonic()
                connection.request(method, base + path.format(announced=announced), body or None, headers)
                answer = connection.getresponse()
                found = json.loads(answer.read())
                measured.append((name, time.monotonic() - start))
                assert answer.status in {200, 202}, (name, answer.status, found)
                announced = found["workloadId"] if name == "announce a delivery" else announced
                due = start + self.pause if self.pause else time.monotonic()
        return measured


def asked(target: Target, clients: int, seconds: float, rate: float) -> list[tuple[str, float]]:
    """Name and seconds of every action of so many clients at once, each with so many actions a second; 0: as fast as they can."""
    with ProcessPoolExecutor(1) as process:
        return process.submit(_clients, target, clients, seconds, 1 / rate if rate else 0.0).result()


def _clients(target: Target, clients: int, seconds: float, pause: float) -> list[tuple[str, float]]:
    until = time.monotonic() + seconds
    with ThreadPoolExecutor(clients) as threads:
        each = threads.map(lambda seed: Client(target, pause, seed).run(until), range(clients))
        return [one for measured in each for one in measured]


def row(name: str, measured: Sequence[float], seconds: float) -> str:
    """One row of the table: times in milliseconds."""
    cuts = quantiles(measured, n=100, method="inclusive")
    return (
        f"| {name} | {len(measured):,} | {len(measured) / seconds:,.0f} | "
        f"{cuts[49] * 1000:,.0f} ms | {cuts[98] * 1000:,.0f} ms | {max(measured) * 1000:,.0f} ms |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rate", type=float, default=1.0)
    given = parser.parse_args()
    with TemporaryDirectory(prefix="lakegate-bench-") as name, running(Path(name)) as stack:
        landed = stack.upload(stack.fresh())
        stack.finished(landed)
        state = stack.state
        signature = f"AWS4-HMAC-SHA256 Credential={state.access_key}/20260101/{state.region}/execute-api/aws4_request"
        contract = read(CONTRACTS["shop/"].read_bytes()).id
        target = Target(state.api, f"{signature}, SignedHeaders=host, Signature=0", contract, landed.workload)
        print("| clients | answers | a second | p50 | p99 | longest |\n|---|---|---|---|---|---|")  # noqa: T201 - a program
        asked(target, given.clients, 5.0, 0)  # the functions' processes start
        for clients, rate, load in (
            (1, 0.0, "one after the other"),
            (given.clients, given.rate, f"{given.rate:g} a second each"),
            (given.clients, 0.0, "one after the other"),
        ):
            found = asked(target, clients, given.seconds, rate)
            print(row(f"{clients}, {load}", [each for _, each in found], given.seconds), flush=True)  # noqa: T201
            for action in dict(found):
                print(row(f"  {action}", [each for named, each in found if named == action], given.seconds))  # noqa: T201


if __name__ == "__main__":
    main()
