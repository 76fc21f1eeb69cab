"""Generates the table of changes in docs/compatibility.md: `python -m tests.unit.diff.page`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lakegate.diff.change_kinds import KINDS, Bump, Change
from tests.unit.diff.builder import CASES

PAGE = Path(__file__).parents[3] / "docs/compatibility.md"
BEGIN, END = "<!-- begin of the generated table -->", "<!-- end of the generated table -->"
HEAD = ("kind", "needs", "affects", "example")


def generated(page: str) -> str:
    """The page with an up-to-date table."""
    before, _, rest = page.partition(BEGIN)
    rows = [HEAD, ("---",) * len(HEAD), *_rows()]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}"


def _rows() -> Iterator[tuple[str, ...]]:
    """A row for each kind that affects somebody, then one for all others."""
    unfelt = []
    for kind, effect in sorted(KINDS.items(), key=lambda pair: (-pair[1].bump.rank, pair[0])):
        name = f"`{kind}`{'*' if effect.adr else ''}"
        affected = Change("", kind, None, None).affected.value
        if effect.bump is Bump.PATCH and affected == "nobody":
            unfelt.append(name)
        else:
            yield name, effect.bump.value.upper(), affected, _example(kind)
    yield ", ".join(unfelt), "PATCH", "nobody", ""


def _example(kind: str) -> str:
    """The first case with the change, or its inverse in the opposite direction."""
    for wanted in (kind, KINDS[kind].inverse):
        for case in CASES:
            for change in case["changes"]:
                _, found, rest = change.split(" ", 2)
                if found == wanted:
                    path, _, values = rest.partition(": ")
                    before, _, after = values.partition(" -> ")
                    pair = (before, after) if wanted == kind else (after, before)
                    return f"`{path}`: {' → '.join(f'`{each}`' for each in pair)}"
    raise ValueError(kind)


if __name__ == "__main__":
    PAGE.write_text(generated(PAGE.read_text()))
