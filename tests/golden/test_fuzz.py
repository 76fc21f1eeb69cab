"""Damaged documents, from a printed seed, end in located problems."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

from tests.golden.fuzz import damaged, judge, main

if TYPE_CHECKING:
    import pytest

FULL = bool(os.environ.get("LAKEGATE_FULL"))
DOCUMENTS = 1_000_000 if FULL else 250
SEED = random.randrange(10**9)


def test_only_contract_errors_escape() -> None:
    """Whatever is damaged, every problem has a known code, a line and a path; `read` refuses exactly what has errors."""
    print(f"seed {SEED}: python -m tests.golden.fuzz {DOCUMENTS} {SEED}")  # noqa: T201 -- shown where the test fails
    for number in range(DOCUMENTS):
        judge(damaged(random.Random(f"{SEED}:{number}")))


def test_damage_repeats_from_its_seed() -> None:
    """A document that broke the promise can be made again."""
    assert damaged(random.Random("1:2")) == damaged(random.Random("1:2"))


def test_the_command_ends_in_zero_and_says_its_seed(capsys: pytest.CaptureFixture[str]) -> None:
    """The run of a night begins with what repeats it."""
    assert main(5, 3) == 0
    assert "5 documents from seed 3" in capsys.readouterr().out


def test_the_command_shows_the_document_that_broke_the_promise(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stops there, with an exit code of its own."""

    def broken(text: bytes) -> None:
        raise ValueError(len(text))

    monkeypatch.setattr("tests.golden.fuzz.judge", broken)

    assert main(5, 3) == 1
    assert "document 0: ValueError" in capsys.readouterr().out
