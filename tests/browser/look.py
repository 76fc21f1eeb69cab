"""Looks at pages in headless Chromium: what axe-core finds, what overflows, what was requested or executed; pictures.

Run by the environment `browser` (infra/setup/browser.in), which has no Lakegate. Standard input is JSON: `executable` (a
Chromium of the machine, or null for Playwright's own) and `pages`, each with `file`, `width`, `scheme` (`light`, `dark`),
`media` (`screen`, `print`) and, for a picture, `picture` and `height`. Standard output is one JSON list of what was found, in
the same order.
"""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
FOUND = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
  .flatMap(each => each.nodes.map(node => `${each.id}: ${node.target}`))"""


def look(browser: Browser, page: dict[str, Any]) -> dict[str, Any]:
    """What one page shows in one window."""
    # without the page's own policy: what would be executed or requested must not be there in the first place
    context = browser.new_context(
        viewport={"width": page["width"], "height": page.get("height", 900)},
        color_scheme=page["scheme"],
        bypass_csp=True,
    )
    happened: list[str] = []
    shown = context.new_page()
    shown.emulate_media(media=page["media"], color_scheme=page["scheme"])
    shown.on("dialog", lambda dialog: (happened.append(f"dialog {dialog.message}"), dialog.dismiss()))
    shown.on("console", lambda message: happened.append(f"console {message.text}"))
    shown.on("pageerror", lambda error: happened.append(f"error {error}"))
    shown.on("request", lambda request: happened.append(f"request {request.url}"))
    address = Path(page["file"]).resolve().as_uri()
    shown.goto(address)
    overflow = shown.evaluate(OVERFLOW)
    if page.get("picture"):
        shown.screenshot(path=page["picture"])
    shown.evaluate(AXE)
    found = shown.evaluate(FOUND)
    context.close()
    happened.remove(f"request {address}")
    return {"violations": found, "overflow": overflow, "happened": happened}


def main() -> None:
    """Look at all pages."""
    asked = json.load(sys.stdin)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=asked["executable"], args=["--no-sandbox"])
        json.dump([look(browser, each) for each in asked["pages"]], sys.stdout)
        browser.close()


if __name__ == "__main__":
    main()
