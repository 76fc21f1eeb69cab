"""Progress: a spinner or a bar on a terminal, elsewhere a line every ten seconds, and never on standard output."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rich.console import Console

from lakegate.cli import terminal

if TYPE_CHECKING:
    import pytest


def clock(monkeypatch: pytest.MonkeyPatch, *seconds: float) -> None:
    """What the clock shows at each look, the beginning included."""
    times = iter(seconds)
    monkeypatch.setattr("lakegate.cli.terminal.time.monotonic", lambda: next(times))


def test_without_a_terminal_work_in_progress_is_a_line_every_ten_seconds(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Anyone who watches a log sees that it goes on, and is not flooded; names of producers cannot write there."""
    clock(monkeypatch, 0, 1, 9.9, 10, 15, 20)
    with terminal.working("working") as progress:
        for number in range(5):
            progress(f"{number} \x1b[31m")

    assert tuple(capfd.readouterr()) == ("", "2 \\x1b[31m\n4 \\x1b[31m\n")


def test_short_work_prints_nothing_without_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    """A command that takes a second writes no progress into a pipe."""
    with terminal.working("working") as progress, terminal.bytes_arriving("file", 0) as arrived:
        progress("still working")
        arrived(0)

    assert tuple(capfd.readouterr()) == ("", "")


def test_without_a_terminal_arriving_bytes_are_a_line_every_ten_seconds(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """How many of how many, as a sum and in percent."""
    clock(monkeypatch, 0, 5, 11, 12)
    with terminal.bytes_arriving("day.csv", 4_000) as arrived:
        for _ in range(3):
            arrived(1_000)

    assert tuple(capfd.readouterr()) == ("", "day.csv: 2,000 of 4,000 bytes (50%)\n")


def test_on_a_terminal_there_is_a_spinner_and_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both show the name with its escapes, as text and not as markup."""
    console = Console(force_terminal=True, record=True, width=80)
    monkeypatch.setattr(terminal, "standard_error", lambda: console)
    with terminal.working("[red]work\x1b") as progress:
        progress("[red]more\x1b")
    with terminal.bytes_arriving("[red]file\x1b", 10) as arrived:
        arrived(10)
    shown = console.export_text()

    assert "[red]file\\x1b" in shown


def test_json_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    """What is not printed is an escape of JSON, and read as it was; letters and line breaks of the document stay."""
    document = {"ü": ["\x1b[2J", "\x9b1A", "\x7f", "\u202e\u2066", "\U000e0001", "日本", "a\nb"]}
    terminal.print_json(document)
    shown = capsys.readouterr().out

    assert json.loads(shown) == document
    assert all(each.isprintable() for line in shown.splitlines() for each in line)
    assert "日本" in shown
