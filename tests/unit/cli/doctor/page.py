"""Generates the tables of docs/doctor.md from probes and causes: `python -m tests.unit.cli.doctor.page`."""

from __future__ import annotations

import re
from pathlib import Path

from lakegate.features.doctor.doctor_command import ENTRANCE, PROBES
from lakegate.features.doctor.examination import CAUSES

PAGE = Path(__file__).parents[4] / "docs/doctor.md"
END = "<!-- end -->"
REPAIR = re.compile(
    r"create it again from the template, .* --change-set-name repair \(docs/doctor\.md, Changed by hand\)"
)
"""The commands that a section of the page has, in many remedies."""
LINK = "[create it again from the template](#changed-by-hand)"


def rights() -> str:
    """Each probe with its rights."""
    rows = [("every examination", ENTRANCE), *((each.name, each.rights) for each in PROBES)]
    return _table(("probe", "rights"), [(name, ", ".join(f"`{each}`" for each in of)) for name, of in rows])


def causes() -> str:
    """Each cause with its meaning and its remedy."""
    rows = [
        (f"`{each.code}`", each.level.value, _plain(each.text), REPAIR.sub(LINK, _plain(each.remedy)))
        for each in CAUSES.values()
    ]
    return _table(("cause", "level", "meaning", "remedy"), rows)


def generated(page: str) -> str:
    """The page with up-to-date tables."""
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
