"""The documentation site (`make docs`): its navigation is complete, and links are rewritten to the places of the site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.site.pages import OUTSIDE, copied, place_of, relinked
from lakegate.base.extension_points import ROOT


class Loader(yaml.SafeLoader):
    """YAML in which names of Python are nothing."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
SITE = yaml.load((ROOT / "mkdocs.yml").read_text(), Loader)  # noqa: S506 - a safe loader


PAGES = [*(ROOT / name for name in OUTSIDE), *sorted((ROOT / "docs").rglob("*.md"))]


def entries(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    return [each for part in (nav.values() if isinstance(nav, dict) else nav) for each in entries(part)]


def test_the_navigation_has_every_page_once() -> None:
    """A page that nobody can reach from the navigation, and an entry without a page, are mistakes."""
    pages = [place_of(path.relative_to(ROOT).as_posix()) for path in (ROOT / "docs").rglob("*.md")]

    assert sorted(entries(SITE["nav"])) == sorted([*pages, *OUTSIDE.values()])


def test_the_site_asks_no_other_host() -> None:
    """Fonts are off, no analytics are set, and the one extra script is our own file."""
    assert SITE["theme"]["font"] is False
    assert set(SITE["extra"]) == {"generator", "polyfills"}
    for path in (*SITE["extra"]["polyfills"], *SITE["extra_css"]):
        assert (ROOT / "infra/site/assets" / path.removeprefix("assets/lakegate/")).is_file()


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("README.md", "[a](docs/producer.md)", "[a](producer.md)"),
        ("docs/producer.md", "[a](../README.md#documentation)", "[a](index.md#documentation)"),
        ("docs/producer.md", "[a](../lakegate/schemas/check.json)", "[a](source/lakegate/schemas/check.json)"),
        (
            "docs/decisions/README.md",
            "[a](../../CHANGELOG.md) [b](../rules.md)",
            "[a](../CHANGELOG.md) [b](../rules.md)",
        ),
        ("docs/rules.md", "[a](#here) [b](https://bitol.io) `[c](../README.md)`", None),
        ("docs/rules.md", "```\n[a](../README.md)\n```", None),
    ],
)
def test_links_lead_to_the_places_of_the_site(path: str, text: str, expected: str | None) -> None:
    """A link of the repository is one of the site; code, anchors and other hosts stay as they are."""
    assert relinked(text, path)[0] == (expected or text)


def test_what_pages_link_to_outside_docs_is_copied_and_exists() -> None:
    """The site holds every file that a page links to."""
    assert "lakegate/schemas/check.json" in copied(PAGES)
    assert [path for path in copied(PAGES) if not (ROOT / path).is_file()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lists_are_the_same_on_a_code_host_and_on_the_site(page: Path) -> None:
    """A list follows a blank line, and what belongs to an entry is indented by four: Python's Markdown needs both."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    joined = re.findall(r"^(?! *(?:\*|-|\d+\.) | {2}).+\n(?:\*|-|\d+\.) .*", text, re.MULTILINE)
    nested = re.findall(r"^(?:\n {1,3}\S| {1,3}(?:(?:\*|-|\d+\.) |```)).*", text, re.MULTILINE)

    assert joined + nested == []
