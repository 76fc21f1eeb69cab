"""Tools with pins of their own: made once, made again when their lock file changes, and one sentence when they cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.setup.environments import install, main, program, ready
from lakegate.base.errors import SetUpError


def test_an_environment_is_made_once_for_each_lock_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first run makes it, the second looks, and another lock file makes it again."""
    lock, tools = tmp_path / "tool.lock", tmp_path / "tools"
    lock.write_text("# nothing\n")

    assert main(["tool"], tools, tmp_path) == 0
    (tools / "tool" / "trace").touch()
    assert main(["tool"], tools, tmp_path) == 0
    assert (tools / "tool" / "trace").exists()
    assert program("tool/python", tools).is_file()
    assert len(capsys.readouterr().err.splitlines()) == 3

    lock.write_text("# nothing else\n")
    install("tool", tools, tmp_path)

    assert not (tools / "tool" / "trace").exists()


def test_what_cannot_be_installed_is_one_sentence_and_stays_unready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without network a person reads where the log is, and the next run tries again."""
    (tmp_path / "tool.lock").write_text("six==1.17.0 --hash=sha256:" + "0" * 64)
    monkeypatch.setenv("PIP_NO_INDEX", "1")

    assert main(["tool"], tmp_path / "tools", tmp_path) == 2

    assert capsys.readouterr().err.splitlines()[-1].startswith("The tool tool could not be installed (see ")
    assert (tmp_path / "tools/tool.log").read_text()
    assert not ready("tool", tmp_path / "tools", tmp_path)


def test_a_missing_program_is_one_sentence(tmp_path: Path) -> None:
    """A missing tool is reported with the command that installs it."""
    with pytest.raises(SetUpError, match="cfn-lint is missing: run `make tools`"):
        program("sam/cfn-lint", tmp_path)
