"""Starts look.py in the environment `browser`; `python -m tests.browser.looking` takes the pictures of docs/."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from infra.setup.browser import environment, machines_own
from infra.setup.environments import program
from lakegate.base.extension_points import ROOT
from tests.browser.pages import dataset_report_of, report_of

PICTURES = ROOT / "docs/assets"


def look(pages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was found on each page: `violations` of axe-core, `overflow` in pixels, and what `happened`."""
    asked = json.dumps({"executable": machines_own(), "pages": pages})
    ended = subprocess.run(  # noqa: S603 - our own environment
        [program("browser/python"), Path(__file__).with_name("look.py")],
        input=asked,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert not ended.returncode, ended.stderr
    found: list[dict[str, Any]] = json.loads(ended.stdout)
    return found


def main() -> None:
    """Write docs/assets/<page>-<scheme>.png."""
    with tempfile.TemporaryDirectory() as folder:
        pages = []
        for name, text in {"report": report_of(gate=()), "line": dataset_report_of()}.items():
            (Path(folder) / f"{name}.html").write_text(text, encoding="utf-8")
            pages += [
                {
                    "file": f"{folder}/{name}.html",
                    "width": 1000,
                    "height": 750,
                    "scheme": scheme,
                    "media": "screen",
                    "picture": str(PICTURES / f"{name}-{scheme}.png"),
                }
                for scheme in ("light", "dark")
            ]
        look(pages)


if __name__ == "__main__":
    sys.exit(main())
