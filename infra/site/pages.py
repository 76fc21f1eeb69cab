"""Pages of the site that lie outside docs/, and links that lead there: a hook of MkDocs (mkdocs.yml).

The Markdown files link to each other by their places in the repository, so that links work in an editor and on a code host.
The site holds the pages of docs/ at its root, README.md as its start page, and a copy of every other linked file below `source/`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).parents[2]
DOCS = "docs/"
OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "SECURITY.md": "SECURITY.md",
    "integrations/local_emr/README.md": "local-emr-serverless.md",
}
"""Pages outside docs/, and their places in the site."""
ASSETS = Path(__file__).parent / "assets"
_CODE_OR_LINK = re.compile(r"^ *```.*?^ *```|`[^`\n]*`|\]\((?P<target>[^)\s]+)\)", re.DOTALL | re.MULTILINE)


class SitePage(Protocol):
    """The part of MkDocs' page that is used here."""

    @property
    def file(self) -> SourceFile:
        """The file it is made of."""


class SourceFile(Protocol):
    """The part of MkDocs' file that is used here."""

    @property
    def src_uri(self) -> str:
        """Its place in the site's sources, such as `decisions/README.md`."""


def place_of(path: str) -> str:
    """The place of a file of the repository among the site's sources."""
    return OUTSIDE.get(path) or (path.removeprefix(DOCS) if path.startswith(DOCS) else f"source/{path}")


def relinked(text: str, path: str) -> tuple[str, set[str]]:
    """A page with its links as the site needs them, and the files of the repository that it links to.

    `path`: the page's place in the repository. Links in code, to other hosts and within the page stay as they are.
    """
    members: set[str] = set()

    def link(match: re.Match[str]) -> str:
        target = match["target"]
        if target is None or ":" in target or target.startswith("#"):
            return match[0]
        file, sign, anchor = target.partition("#")
        linked = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
        members.add(linked)
        moved = posixpath.relpath(place_of(linked), posixpath.dirname(place_of(path)) or ".")
        return f"]({moved}{sign}{anchor})"

    return _CODE_OR_LINK.sub(link, text), members


def copied(pages: Iterable[Path]) -> list[str]:
    """The files outside docs/ that pages link to, beside `OUTSIDE`, by their places in the repository."""
    linked = set[str]().union(*(relinked(page.read_text(), page.relative_to(ROOT).as_posix())[1] for page in pages))
    return sorted(each for each in linked if not each.startswith(DOCS) and each not in OUTSIDE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages outside docs/, and what pages link to."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - MkDocs is there only while the site is built

    pages = [*(ROOT / name for name in OUTSIDE), *(ROOT / DOCS).rglob("*.md")]
    for name in (*OUTSIDE, *copied(pages)):
        files.append(File.generated(config, place_of(name), abs_src_path=str(ROOT / name)))
    for asset in ASSETS.iterdir():
        files.append(File.generated(config, f"assets/lakegate/{asset.name}", abs_src_path=str(asset)))
    return files


def on_page_markdown(markdown: str, page: SitePage, **_: object) -> str:
    """Rewrites the links of one page."""
    source = page.file.src_uri
    path = next((name for name, place in OUTSIDE.items() if place == source), f"{DOCS}{source}")
    return relinked(markdown, path)[0]
