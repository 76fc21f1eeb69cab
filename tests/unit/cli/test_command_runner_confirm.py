"""What a person at a terminal is asked, on a real terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

ASK = "from lakegate.cli.command_runner import confirm; confirm(['an effect \\x1b[2J'], yes=False); print('written')"


def answered(text: bytes) -> str:
    """What a process writes whose terminal is given an answer."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", ASK], stdin=theirs, stdout=theirs, stderr=theirs) as process:  # noqa: S603 - ours
        os.close(theirs)
        os.write(ours, text)
        process.wait(timeout=60)
        result = os.read(ours, 65_536).decode()
    os.close(ours)
    return result


@pytest.mark.parametrize(("text", "is_written"), [(b"y\n", True), (b"n\n", False), (b"\n", False)])
def test_a_person_is_asked_before_anything_is_written(text: bytes, *, is_written: bool) -> None:
    """The effect is shown without any control character, and only yes goes on."""
    result = answered(text)

    assert "  an effect \\x1b[2J" in result
    assert "Continue? [y/N]" in result
    assert ("written" in result, "not confirmed: nothing was changed" in result) == (is_written, not is_written)
