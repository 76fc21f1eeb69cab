"""The table of one run: a row for each figure, a column for each program, and the targets beside them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tests.bench.sides import BY_HAND, NATIVE, PEER, SIDES, SPARK

Figures = dict[str, dict[str, float]]
"""By row: by side, the figure in the row's unit."""
ABSENT = "-"


@dataclass(frozen=True, slots=True)
class Target:
    """A figure is at most `factor` times another one, or at most `factor` where there is no other."""

    side: str
    text: str
    factor: float
    row: str | None = None
    """Of the other figure."""
    other: str = ""
    """The side of the other figure."""

    def outcome(self, row: str, figures: Figures) -> str:
        """`met` or `missed`; a dash where a figure is absent."""
        found = figures.get(row, {}).get(self.side)
        base = 1.0 if self.row is None else figures.get(self.row, {}).get(self.other)
        if found is None or base is None:
            return ABSENT
        return "met" if found <= self.factor * base else "missed"


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of all sides."""

    name: str
    part: str
    """Of the bench; `--only` selects parts."""
    label: str
    unit: str
    """Shown behind each figure."""
    digits: int = 1
    targets: tuple[Target, ...] = ()


ROWS = (
    Row(
        "small",
        "small",
        "check, 199 rows",
        "s",
        2,
        (
            Target(NATIVE, "native ≤ 1.0 s", 1.0),
            Target(NATIVE, "native ≤ 1/3 of datacontract-cli", 1 / 3, "small", PEER),
        ),
    ),
    Row("small-cpu", "small", "the same, CPU seconds", "s", 2),
    Row(
        "large",
        "large",
        "check, 201 MiB, 1.35 M rows",
        "s",
        1,
        (
            Target(NATIVE, "native ≤ 1/2 of datacontract-cli", 1 / 2, "large", PEER),
            Target(NATIVE, "native ≤ 6.5 s (1/5 of 32.3 s)", 6.46),
            Target(SPARK, "spark ≤ 1.15 times by hand", 1.15, "large", BY_HAND),
        ),
    ),
    Row(
        "large-cpu",
        "large",
        "the same, CPU seconds per GB",
        "s/GB",
        0,
        (Target(NATIVE, "native ≤ 35", 35), Target(SPARK, "spark ≤ 200", 200)),
    ),
    Row("large-peak", "large", "the same, peak memory", "MiB", 0),
    Row(
        "big",
        "big",
        "check, 2.1 GB, 14.2 M rows",
        "s",
        1,
        (Target(NATIVE, "native < datacontract-cli", 1, "big", PEER),),
    ),
    Row("big-cpu", "big", "the same, CPU seconds per GB", "s/GB", 0),
    Row(
        "big-peak",
        "big",
        "the same, peak memory",
        "MiB",
        0,
        (Target(NATIVE, "native ≤ 1/3 of datacontract-cli", 1 / 3, "big-peak", PEER),),
    ),
    Row(
        "parquet",
        "parquet",
        "check, the 1.35 M rows as Parquet",
        "s",
        1,
        (Target(NATIVE, "native ≤ 1/2 of its CSV time", 1 / 2, "large", NATIVE),),
    ),
    Row("parquet-cpu", "parquet", "the same, CPU seconds", "s", 1),
    Row("checks", "checks", "460 checks against 46, seconds", "", 2, (Target(NATIVE, "native ≤ 2", 2),)),
    Row("checks-cpu", "checks", "the same, CPU seconds", "", 2),
    Row("verdict", "stack", "upload to verdict, local stack, warm", "s", 2, (Target(SPARK, "≤ 1.0 s", 1.0),)),
    Row("burst", "stack", "burst of 200 small files", "s", 1, (Target(SPARK, "≤ 60 s", 60),)),
    Row("release", "release", "size of the job's release", "MB", 1),
)
HEADINGS = {BY_HAND: "hand-written Spark"}
"""By side, where a column is not headed by the side's own name."""


def lines(figures: Figures, rows: Iterable[Row] = ROWS) -> list[str]:
    """The table in columns of equal width."""
    cells = _cells(figures, rows)
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def markdown(figures: Figures, rows: Iterable[Row] = ROWS) -> list[str]:
    """The same as a table of Markdown."""
    head, *rest = (f"| {' | '.join(row)} |" for row in _cells(figures, rows))
    return [head, "|---" * (len(SIDES) + 2) + "|", *rest]


def _cells(figures: Figures, rows: Iterable[Row]) -> list[list[str]]:
    head = ["figure", *(HEADINGS.get(side, side) for side in SIDES), "target"]
    return [head, *([row.label, *_shown(row, figures), _targets(row, figures)] for row in rows)]


def _shown(row: Row, figures: Figures) -> Iterable[str]:
    found = figures.get(row.name, {})
    return (f"{found[side]:.{row.digits}f} {row.unit}".rstrip() if side in found else ABSENT for side in SIDES)


def _targets(row: Row, figures: Figures) -> str:
    return "; ".join(f"{each.text}: {each.outcome(row.name, figures)}" for each in row.targets) or ABSENT
