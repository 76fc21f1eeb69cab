"""What commands say of themselves, and of what is missing."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from lakegate.cli.main import COMMANDS, GROUPS, app


def usage_error(*words: str) -> str:
    found = CliRunner().invoke(app, list(words))
    assert found.exit_code == 2
    return found.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("waive",), "Error: Missing: 'WORKLOAD', '--reason', '--expires'."),
        (("waive", "orders/day.csv"), "Error: Missing: '--reason', '--expires'."),
        (("waive", "orders/day.csv", "--expires", "2027-01-31"), "Error: Missing option '--reason'."),
        (("route", "add"), "Error: Missing: 'PREFIX', 'CONTRACT|DATASET'."),
    ],
)
def test_everything_that_is_missing_is_named_at_once(words: tuple[str, ...], message: str) -> None:
    """Nobody runs a command once for each option."""
    assert usage_error(*words) == message


def test_the_help_begins_with_six_commands_and_has_a_group_for_readers() -> None:
    """A first-time reader wants these; each command stands in one group, and `stack` names its first command."""
    shown = CliRunner().invoke(app, ["--help"]).stdout

    assert list(GROUPS["Start here"]) == ["init", "check", "publish", "route", "upload", "get"]
    assert {"dataset", "subscribe", "subscribers", "acknowledge"} <= set(GROUPS["Read data"])
    assert sum(map(len, GROUPS.values())) == len(COMMANDS)
    assert "Deploy, estimate, prove," in shown
