"""The corpus of patterns that explode, and the texts that make them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

MEBIBYTE = 2**20
FULL = bool(os.environ.get("LAKEGATE_FULL"))
CORPUS = Path(__file__).with_name("exploding_patterns.yaml")


@dataclass(frozen=True, slots=True)
class Exploding:
    """A pattern and the shape of its attack."""

    pattern: str
    pump: str
    times: int
    head: str = ""
    tail: str = ""
    ends: str = "slow"

    def text(self, times: int) -> str:
        return f"{self.head}{self.pump * times}{self.tail}"

    @property
    def mebibyte(self) -> str:
        """The attack grown to the longest value there can be."""
        return self.text((MEBIBYTE - 100) // len(self.pump.encode()))


@cache
def corpus() -> list[Exploding]:
    return [Exploding(**each) for each in yaml.safe_load(CORPUS.read_text())]


def sample(count: int) -> list[Exploding]:
    """All of the corpus in the nightly run, else so many, spread over it."""
    return corpus() if FULL else corpus()[:: len(corpus()) // count]
