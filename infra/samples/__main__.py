"""`python -m infra.samples DIR [--rows N] [--seed N]`: write every sample below DIR."""

from __future__ import annotations

import argparse
from pathlib import Path

from infra.samples.sample_data import SAMPLES, write

MONTH = 16 * 24 * 30
"""Rows of thirty days of sixteen stations."""


def main(arguments: list[str] | None = None) -> None:
    """Write the samples and say what is in each."""
    options = _parser().parse_args(arguments)
    options.dir.mkdir(parents=True, exist_ok=True)
    for name, sample in SAMPLES.items():
        write(sample, options.dir / name, options.rows, options.seed)
        print(f"{options.dir / name}: {options.rows:,} rows, {sample.description}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m infra.samples", description="Write sample files to try the gate on."
    )
    parser.add_argument("dir", type=Path, metavar="DIR", help="where the files go")
    parser.add_argument("--rows", type=_count, default=MONTH, metavar="N", help=f"rows of each file ({MONTH})")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="another seed, other values (1)")
    return parser


def _count(text: str) -> int:
    rows = int(text)
    if rows < 1:
        raise argparse.ArgumentTypeError("at least one row")
    return rows


if __name__ == "__main__":
    main()
