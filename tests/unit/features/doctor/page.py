"""Generates the rights and causes of docs/doctor.md from probes and causes: `python -m tests.unit.features.doctor.page`."""

from __future__ import annotations

from pathlib import Path

from lakegate.features.doctor.doctor_command import ENTRANCE, PROBES
from lakegate.features.doctor.examination import CAUSES, Level

PAGE = Path(__file__).parents[4] / "docs/doctor.md"
END = "<!-- end -->"


def rights() -> str:
    """What the probes need, each right once."""
    needed = {*ENTRANCE, *(right for each in PROBES for right in each.rights)}
    return ", ".join(f"`{each}`" for each in sorted(needed))


def causes() -> str:
    """Each cause with its meaning; its remedy is what the command prints."""
    rows = [
        (f"`{each.code}`" + (" (warning)" if each.level is Level.WARNING else ""), _plain(each.text))
        for each in CAUSES.values()
    ]
    return _table(("cause", "meaning"), rows)


def generated(page: str) -> str:
    """The page with up-to-date rights and causes."""
    for name, table in (("rights", rights()), ("causes", causes())):
        before, _, rest = page.partition(f"<!-- {name} -->")
        page = f"{before}<!-- {name} -->\n\n{table}\n\n{END}{rest.partition(END)[2]}"
    return page


def _plain(text: str) -> str:
    return text.replace("{{", "{").replace("}}", "}").replace("|", "\\|")


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(generated(PAGE.read_text()))
