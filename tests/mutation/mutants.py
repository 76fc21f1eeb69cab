"""Mutants of a package: one for each drawn position, reproducible by a seed."""

from __future__ import annotations

import json
import random
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.setup.environments import program
from lakegate.base.extension_points import ROOT

PROGRAM = Path(__file__).with_name("cosmic.py")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file with one change."""

    path: str
    """Relative to the repository."""
    operator: str
    line: int
    source: str
    """The whole text of the file."""

    @property
    def module(self) -> str:
        """The name that it is imported by."""
        return ".".join(Path(self.path).with_suffix("").parts).removesuffix(".__init__")

    @property
    def changed(self) -> tuple[str, str]:
        """The line before and after."""
        before, after = (ROOT / self.path).read_text().splitlines(), self.source.splitlines()
        if len(before) != len(after):
            return before[self.line - 1].strip(), ""
        at = next((at for at, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]), self.line - 1)
        return before[at].strip(), after[at].strip()


def drawn(folder: str, number: int | None, seed: int) -> list[Mutant]:
    """One mutant at each of so many positions of a folder's files; at every position where `number` is None.

    A position is a place in a file with a family of operators: a comparison that can become seven others is one position, so that
    operators with many forms do not crowd out the others.
    """
    paths = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / folder).rglob("*.py"))]
    positions: dict[tuple[Any, ...], list[Any]] = {}
    for each in _cosmic("list", paths):
        path, operator, _, *place = each
        positions.setdefault((path, *place, operator.split("_")[0]), []).append(each)
    draw = random.Random(seed)
    chosen = [draw.choice(positions[place]) for place in sorted(positions)]
    if number is not None:
        chosen = draw.sample(chosen, min(number, len(chosen)))
    texts = _cosmic("apply", chosen)
    return [Mutant(each[0], each[1], each[3], text) for each, text in zip(chosen, texts, strict=True)]


def _cosmic(what: str, given: list[Any]) -> list[Any]:
    ended = subprocess.run(  # noqa: S603 - our own program
        [program("mutation/python"), PROGRAM, what],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    found: list[Any] = json.loads(ended.stdout)
    return found
