"""What `make release` does before and after its parts are made: notes of the version, failures, earlier releases."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.packaging import release
from infra.packaging.release import make_release, notes, version_of
from lakegate.base.errors import SetUpError
from lakegate.base.extension_points import ROOT, TOOLS
from lakegate.features.release_check.verify_release_command import files

CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n- new\n\n## [0.1.0] - 2026-01-02\n\n### Added\n\n- first\n\n## [0.0.1]\n\n- old\n"


def test_a_release_that_fails_leaves_the_earlier_one(
    build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder is replaced as a whole or not at all."""
    place = tmp_path / "lakegate-0.1.0"
    place.mkdir()
    (place / "NOTES.md").write_text("earlier")

    def fail(*_: object) -> None:
        raise SetUpError("the disk is full")

    monkeypatch.setattr(release, "build_wheel", fail)
    with pytest.raises(SetUpError, match="the disk is full"):
        make_release(ROOT, TOOLS, build, tmp_path)

    assert files(tmp_path) == ["lakegate-0.1.0/NOTES.md"]


def test_notes_are_the_section_of_the_version() -> None:
    """A version that was prepared has its own section; without one the unreleased changes are shown as such."""
    assert notes(CHANGELOG, "0.1.0") == "# Lakegate 0.1.0\n\n### Added\n\n- first\n"
    assert notes(CHANGELOG, "0.2.0") == "# Lakegate 0.2.0, unreleased\n\n- new\n"


@pytest.mark.parametrize("changelog", ["", "# Changelog\n\n## [Unreleased]\n\n## [0.1.0]\n\n- first\n"])
def test_a_version_without_notes_is_refused(changelog: str) -> None:
    """A release whose changes nobody described is not made."""
    with pytest.raises(SetUpError, match=r"no section for 0\.2\.0, and none for unreleased changes"):
        notes(changelog, "0.2.0")


def test_a_failure_is_one_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, and what to do."""

    def fail(*_: object) -> None:
        raise SetUpError("cyclonedx-py is missing: run `make tools`.")

    monkeypatch.setattr(release, "bundle_functions", fail)

    assert release.main([]) == 2
    assert capsys.readouterr().err == "cyclonedx-py is missing: run `make tools`.\n"


def test_this_version_has_notes() -> None:
    """A release of this repository can be made: CHANGELOG.md has a section for its version, or unreleased changes."""
    version = version_of(ROOT)

    assert notes((ROOT / "CHANGELOG.md").read_text(), version).startswith(f"# Lakegate {version}")
