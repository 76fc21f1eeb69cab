"""How long documents take to judge: `python -m tests.golden.bench`. Figures are printed, never asserted.

Three documents that people have, and the large one of 192 KB; the best and the middle of several runs after the first, the
schemas being loaded; then whole processes of `lakegate lint`, start-up included.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from lakegate.lints.linter import examine
from tests.golden.large import large_contract

ROOT = Path(__file__).parents[2]
DOCUMENTS = (
    "contracts/examples/weather.dcm.yaml",
    "contracts/examples/orders.odcs.yaml",
    "tests/golden/documents/orders-latest.dcs.yaml",
)
RUNS, PROCESSES = 15, 5


def main() -> None:
    """Print a line for each document."""
    texts = {name: (ROOT / name).read_bytes() for name in DOCUMENTS} | {"large contract": large_contract()}
    sys.stdout.write(f"{'document':48} {'bytes':>8} {'best':>9} {'middle':>9} {'process':>9}\n")
    for name, text in texts.items():
        seconds = _judged(text)
        whole = _as_process(text)
        sys.stdout.write(
            f"{name:48} {len(text):8,} {min(seconds):7.3f} s {statistics.median(seconds):7.3f} s {whole:7.3f} s\n"
        )


def _judged(text: bytes) -> list[float]:
    examine(text)
    return [_timed(lambda: examine(text)) for _ in range(RUNS)]


def _as_process(text: bytes) -> float:
    """The middle of several runs of the whole command."""
    with tempfile.NamedTemporaryFile(suffix=".yaml") as file:
        file.write(text)
        file.flush()
        command = [sys.executable, "-m", "lakegate.cli.main", "lint", "--json", file.name]
        runs = [_timed(lambda: _run(command)) for _ in range(PROCESSES)]
    return statistics.median(runs)


def _run(command: list[str]) -> None:
    subprocess.run(command, cwd=ROOT, check=False, capture_output=True)  # noqa: S603 -- every word of it stands above


def _timed(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
