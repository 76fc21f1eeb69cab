"""Which Chromium tests look at pages with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from infra.setup import browser

if TYPE_CHECKING:
    import pytest


def test_the_browser_of_the_machine_is_used_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is installed then."""
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}" if name == "google-chrome" else None)

    assert browser.machines_own() == "/usr/bin/google-chrome"
    assert browser.main(tmp_path) == 0
    assert list(tmp_path.iterdir()) == []


def test_without_one_playwright_installs_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Into .tools/browsers; what is missing, or fails, is one sentence."""
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert browser.main(tmp_path) == 2
    assert "playwright is missing: run `make tools`." in capsys.readouterr().err

    installer = tmp_path / "browser/bin/playwright"
    installer.parent.mkdir(parents=True)
    installer.write_text('#!/bin/sh\nmkdir "$PLAYWRIGHT_BROWSERS_PATH"\n')
    installer.chmod(0o700)
    assert browser.main(tmp_path) == 0
    assert (tmp_path / "browsers").is_dir()

    installer.write_text("#!/bin/sh\nexit 1\n")
    assert browser.main(tmp_path) == 2
    assert "Chromium could not be installed: fix the network" in capsys.readouterr().err
