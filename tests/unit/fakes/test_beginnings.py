"""What tests begin with is restored only where making it again would give the same."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lakegate.gate.registry import publish_contract
from tests.fakes import beginnings
from tests.fakes.beginnings import Beginning, Snapshot
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LANDING


class Stage:
    """Tests that take the same two steps on an empty stack."""

    def __init__(self, lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Beginning, "made", {})
        self.lakegate, self.taken = lakegate, list[str]()
        self.empty = Snapshot.of(lakegate)

    def test(self, *, changed: bool = False) -> tuple[str, list[str], dict[str, bytes]]:
        """What the second step returns, the versions in the bucket, the files: with a change between the steps or without."""
        assert self.empty is not None
        self.empty.restore(self.lakegate)
        for each in self.lakegate.folder.iterdir():
            each.unlink()
        beginning = Beginning(self.lakegate)
        beginning.step(self.lakegate, "one", lambda: self.take("one"))
        if changed:
            self.lakegate.file(b"", "another.csv")
        returned = beginning.step(self.lakegate, "two", lambda: self.take("two"))
        versions = self.lakegate.clients["s3"].list_object_versions(Bucket=LANDING)["Versions"]
        files = {each.name: each.read_bytes() for each in self.lakegate.folder.iterdir()}
        return returned, [each["VersionId"] for each in versions], files

    def take(self, name: str) -> str:
        self.taken.append(name)
        self.lakegate.file(name.encode(), name)
        put = self.lakegate.clients["s3"].put_object(Bucket=LANDING, Key=name, Body=name.encode())
        return str(put["VersionId"])


@pytest.fixture
def stage(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(lakegate, monkeypatch)


def test_steps_are_taken_by_the_first_test(stage: Stage) -> None:
    """The next one has what they left and returned: objects with their versions, files of the folder."""
    expected = stage.test()
    found = stage.test()

    assert stage.taken == ["one", "two"]
    assert found == expected


def test_after_a_change_a_step_is_taken(stage: Stage) -> None:
    """Also by a test that changes the same; and what it made is not restored for others."""
    expected, *_ = stage.test()
    changed = [stage.test(changed=True)[0] for _ in range(2)]

    assert stage.taken == ["one", "two", "two", "two"]
    assert stage.test()[0] == expected
    assert len({expected, *changed}) == 3


def test_what_is_not_fresh_is_made_again(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that is slow does not make those after it see old times."""
    stage.test()
    monkeypatch.setattr(beginnings, "FRESH", timedelta(0))
    stage.test()

    assert stage.taken == ["one", "two"] * 2


@pytest.mark.parametrize("replaced", ["a function", "a variable", "the ports"])
def test_a_test_that_replaces_something_shares_no_step(
    lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch, replaced: str
) -> None:
    """Neither does it begin with a step of others, nor would others begin with its own."""
    before = dict(Beginning.made)
    if replaced == "a function":
        monkeypatch.setattr(publish_contract, "publish", publish_contract.publish)
    elif replaced == "a variable":
        monkeypatch.setenv("NAME", "value")
    else:
        lakegate.dependencies = replace(lakegate.dependencies)
    lakegate.routed()
    lakegate.delivered()

    assert Beginning.made == before


def test_other_tests_share_their_steps(lakegate: Lakegate) -> None:
    """Each step by all that were taken before it."""
    lakegate.routed()
    lakegate.delivered()

    assert (("routed",), ("delivered", 0)) in Beginning.made
