"""Generates the table of the extension in docs/contracts.md: `python -m tests.unit.contract.documents.extension_page`."""

from __future__ import annotations

from pathlib import Path

from lakegate.cli.contracts.explain_command import SettingExplanation, settings

PAGE = Path(__file__).parents[4] / "docs/contracts.md"
BEGIN, END = "<!-- contracts.md#extension -->", "<!-- end -->"


def generated(page: str) -> str:
    """The page with an up-to-date table."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{_table()}\n{END}{rest.partition(END)[2]}"


def _table() -> str:
    rows = [("key", "values", "default", "means"), ("---",) * 4, *map(_row, settings())]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(each: SettingExplanation) -> tuple[str, ...]:
    default = f"`{each.default.replace('|', '¦')}`" if each.default else ""
    return (f"`{each.setting}`", each.values, default, each.words)


if __name__ == "__main__":
    PAGE.write_text(generated(PAGE.read_text()))
