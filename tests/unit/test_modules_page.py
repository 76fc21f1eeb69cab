"""docs/modules.md lists every module with what it contains."""

from __future__ import annotations

from tests.unit.modules_page import PACKAGES, PAGE, first_line, generated, modules

ALL = [path for package in PACKAGES for path in modules(package)]


def test_the_page_is_generated() -> None:
    """docs/modules.md is what `python -m tests.unit.modules_page` writes."""
    assert PAGE.read_text() == generated(PAGE.read_text())


def test_every_first_line_is_a_sentence_of_its_own() -> None:
    """A docstring begins with a line that can stand alone in the table: it ends, and is not cut by a line break."""
    assert len(ALL) > 600
    assert [path.as_posix() for path in ALL if not first_line(path).endswith(".")] == []
