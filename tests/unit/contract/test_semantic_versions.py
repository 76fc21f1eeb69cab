from __future__ import annotations

import random

import pytest

from lakegate.base.errors import InputError
from lakegate.contract.semantic_versions import major, precedence

IN_ORDER = [
    "0.9.10",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    "1.0.0",
    "1.2.0",
    "1.10.0",
    "10.0.0",
]


def test_versions_are_ordered_as_semver_orders_them() -> None:
    """Numbers count as numbers, and a pre-release comes before its release: the standard's own example."""
    shuffled = random.Random(11).sample(IN_ORDER, len(IN_ORDER))

    assert sorted(shuffled, key=precedence) == IN_ORDER


def test_a_build_makes_no_difference() -> None:
    """What stands behind a plus is not looked at."""
    assert precedence("1.0.0-rc.1+linux-x") == precedence("1.0.0-rc.1")


def test_the_major_number_is_the_line() -> None:
    """Every version of a line shares its first number."""
    assert [major(version) for version in ("0.1.0", "1.9.9", "12.0.0-rc.1")] == [0, 1, 12]


@pytest.mark.parametrize("text", ["", "1", "1.0", "1.0.0.0", "v1.0.0", "1.0.x", "1..0", "\u0661.0.0"])
def test_what_is_no_version_is_refused(text: str) -> None:
    """A line is never guessed."""
    with pytest.raises(InputError):
        major(text)
