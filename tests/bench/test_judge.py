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
    """Each side runs as often as asked, alternating; the ratios and lakegate's own timings are in the report."""
    order: list[str] = []

    def timed(command: list[str]) -> judge.Run:
        side = "by hand" if "check" not in command else "spark" if "--engine" in command else "native"
        order.append(side)
        answer = {"checks": [{"id": "a", "failing_rows": 1}], "timings": {"measure": 4.0}}
        seconds = {"native": 2.5, "spark": 6.0, "by hand": 5.0}[side]
        return judge.Run(seconds, 7.5, judge.MEBIBYTE, {"a": 1} if side == "by hand" else answer)

    monkeypatch.setattr(judge, "CACHE", tmp_path)
    monkeypatch.setattr(judge, "_timed", timed)

    assert judge.main(["--rows", "10", "--runs", "2"]) == 0

    report = capsys.readouterr().out
    assert order == ["native", "spark", "by hand"] * 2
    assert "native                   2.5          0.50                  7.5           1" in report
    assert "measure                    4.0" in report
    assert "all counted the same failing rows for every check" in report


def test_a_side_that_fails_ends_the_race_with_its_own_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No figure is made of a run that broke."""
    monkeypatch.setattr(judge, "java_home", lambda: tmp_path)

    with pytest.raises(SystemExit, match="ended with 3:\nno space left"):
        judge._timed([sys.executable, "-c", "import sys; sys.stderr.write('no space left'); sys.exit(3)"])  # noqa: SLF001 - the unit under test
