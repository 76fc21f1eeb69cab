"""The cost of each handler before its first event: `python -m tests.bench.handlers`. Figures, not tests."""

from __future__ import annotations

import json
import subprocess
import sys

HANDLERS = ("intake", "completion", "sweep", "notify")
ROUNDS = 15
MEASURE = """
import json, resource, sys, time
start = time.perf_counter()
import functions.{}_handler
imports = time.perf_counter() - start
from lakegate.aws.clients import _create_client
start = time.perf_counter()
for service in {}:
    _create_client(service)
clients = time.perf_counter() - start
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([imports * 1000, clients * 1000, memory, len(sys.modules)]))
"""
USES = {
    "intake": ["dynamodb", "s3", "emr-serverless"],
    "completion": ["dynamodb", "s3", "emr-serverless"],
    "sweep": ["dynamodb", "s3", "emr-serverless"],
    "notify": ["dynamodb", "events"],
}


def measured(handler: str) -> list[float]:
    """Milliseconds of imports and of clients, peak memory in MiB, modules; each in a process of its own."""
    process = subprocess.run(  # noqa: S603 - our own interpreter on our own text
        [sys.executable, "-c", MEASURE.format(handler, USES[handler])],
        check=True,
        capture_output=True,
        text=True,
        env={"AWS_DEFAULT_REGION": "us-east-1", "PYTHONDONTWRITEBYTECODE": ""},
    )
    figures: list[float] = json.loads(process.stdout)
    return figures


def main() -> None:
    """Print one line a handler: the best of ROUNDS processes, because other work on the machine only adds."""
    print("handler      imports  clients   memory  modules")  # noqa: T201 - figures for a person
    for handler in HANDLERS:
        rounds = [measured(handler) for _ in range(ROUNDS)]
        imports, clients, memory, modules = (min(column) for column in zip(*rounds, strict=True))
        print(f"{handler:11}{imports:6.0f} ms{clients:6.0f} ms{memory:5.0f} MiB{modules:8.0f}")  # noqa: T201 - likewise


if __name__ == "__main__":
    main()
