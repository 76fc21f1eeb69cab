"""`python -m infra.site.llms`: docs/llms.txt, the list of pages for programs around language models (llmstxt.org).

Of each page of the navigation its title there and its question, which is its first sentence. Decisions are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from infra.site.pages import OUTSIDE

ROOT: Final = Path(__file__).parents[2]
FILE: Final = ROOT / "docs/llms.txt"
DECISIONS: Final = "decisions/"
ENTRY: Final = re.compile(r'^ +- "?([^":]+)"?:(?: (\S+\.md))?$', re.MULTILINE)
"""A heading, or a page with its place, in the navigation of mkdocs.yml."""
LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")
SENTENCE: Final = re.compile(r"(?<=[.?!]) ")


def llms_text(root: Path = ROOT) -> str:
    """The text of the file."""
    site = (root / "mkdocs.yml").read_text()
    places = {place: name for name, place in OUTSIDE.items()}
    lines, heading = ["# Lakegate", "", "> Data contracts enforced at the door of a data lake", ""], ""
    for title, place in ENTRY.findall(site.partition("\nnav:\n")[2]):
        if not place:
            heading = title
        elif not place.startswith(DECISIONS):
            lines += ["", f"## {heading}", ""] if heading else []
            heading = ""
            about = _about((root / places.get(place, f"docs/{place}")).read_text())
            lines.append(f"- [{title}]({place.removesuffix('.md')}.html): {about}")
    return "\n".join([*lines, ""])


def _about(text: str) -> str:
    """The first sentence below the title, without links."""
    parts = [part for part in text.split("\n\n")[1:] if part.strip() and not part.startswith(("```", "|", "#", "    "))]
    return SENTENCE.split(LINK.sub(r"\1", " ".join(parts[0].split())))[0] if parts else ""


def main() -> None:
    """Write the file."""
    FILE.write_text(llms_text())


if __name__ == "__main__":
    main()
