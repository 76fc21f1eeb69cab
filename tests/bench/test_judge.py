from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.bench import judge

if TYPE_CHECKING:
    from pathlib import Path


def test_numbers_that_differ_are_named() -> None:
    """A check that Lakegate counts otherwise than the baseline, or does not have, stands in the report by its id."""
    checks = [{"id": "a", "failing_rows": 0}, {"id": "b", "failing_rows": 3}]

    assert judge.differences(checks, {"a": 0, "b": 3}) == []
    assert judge.differences(checks, {"a": 0, "b": 4, "c": 0}) == [
        "b: baseline 4, lakegate 3",
        "c: baseline 0, lakegate has no such check",
    ]


def test_the_race_is_run_in_turn_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each side runs as often as asked, alternating; the ratio and lakegate's own timings are in the report."""
    order: list[str] = []

    def timed(command: list[str]) -> judge.Run:
        side = "lakegate" if "check" in command else "by hand"
        order.append(side)
        answer = {"checks": [{"id": "a", "failing_rows": 1}], "timings": {"measure": 4.0}}
        return judge.Run(6.0, answer) if side == "lakegate" else judge.Run(5.0, {"a": 1})

    monkeypatch.setattr(judge, "CACHE", tmp_path)
    monkeypatch.setattr(judge, "_timed", timed)

    assert judge.main(["--rows", "10", "--runs", "2"]) == 0

    told = capsys.readouterr().out
    assert order == ["lakegate", "by hand"] * 2
    assert "ratio of the medians: 1.20" in told
    assert "measure                    4.0" in told
    assert "both counted the same failing rows for every check" in told


def test_a_side_that_fails_ends_the_race_with_its_own_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No figure is made of a run that broke."""
    monkeypatch.setattr(judge, "java_home", lambda: tmp_path)

    with pytest.raises(SystemExit, match="ended with 3:\nno space left"):
        judge._timed([sys.executable, "-c", "import sys; sys.stderr.write('no space left'); sys.exit(3)"])  # noqa: SLF001 - the unit under test
