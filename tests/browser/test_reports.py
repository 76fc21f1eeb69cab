"""Reports as a browser shows them: accessible, within the window, and nothing in them is executed or requested."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.looking import look
from tests.browser.pages import PAGES
from tests.unit.report.test_delivery_report import HOSTILE

pytestmark = pytest.mark.full  # it needs Chromium; tests/unit/report reads the same pages without it
NOTHING = {"violations": [], "overflow": 0, "happened": []}


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_and_nothing_overflows(name: str, tmp_path: Path) -> None:
    """From 400 to 1,600 pixels, light, dark and printed."""
    file = tmp_path / "page.html"
    file.write_text(PAGES[name](), encoding="utf-8")
    pages = [
        {"file": str(file), "width": width, "scheme": scheme, "media": media}
        for width in (400, 800, 1_600)
        for scheme, media in (("light", "screen"), ("dark", "screen"), ("dark", "print"))
    ]

    assert look(pages) == [NOTHING] * len(pages)


def test_hostile_texts_execute_and_request_nothing(tmp_path: Path) -> None:
    """In every position of every page, without the policy that would forbid it besides; long words are broken."""
    pages = []
    texts = [each.encode(errors="replace").decode() for each in HOSTILE]
    for number, text in enumerate((*texts, "x" * 300)):
        for name, page in PAGES.items():
            file = tmp_path / f"{name}{number}.html"
            file.write_text(page(text), encoding="utf-8")
            pages.append({"file": str(file), "width": 400, "scheme": "light", "media": "screen"})

    assert look(pages) == [NOTHING] * len(pages)


def test_a_page_with_mistakes_is_found(tmp_path: Path) -> None:
    """What the tests above find nothing of would be found."""
    file = tmp_path / "page.html"
    body = (
        '<img src="missing.png"><p style="color: #eee">pale</p><p style="width: 900px">x</p><script>alert(1)</script>'
    )
    file.write_text(f"<!doctype html><html><head><title>x</title></head><body>{body}</body></html>")
    (found,) = look([{"file": str(file), "width": 400, "scheme": "light", "media": "screen"}])

    assert {each.partition(":")[0] for each in found["violations"]} >= {"html-has-lang", "image-alt", "color-contrast"}
    assert found["overflow"] > 0
    assert "dialog 1" in found["happened"]
    assert any(each.endswith("missing.png") for each in found["happened"])
