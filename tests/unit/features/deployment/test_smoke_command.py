"""`lakegate stack smoke`: what it tries, and how it says which step has another result."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lakegate.aws.open_stack import DeployedStack
from lakegate.base.errors import SetUpError
from lakegate.features.deployment import deploy_command, smoke_command
from lakegate.features.deployment.smoke_command import SmokeTest, smoke_test
from tests.unit.features.deployment.test_deploy_command import Deployer, deployer

__all__ = ["deployer"]


def stack(**outputs: str) -> DeployedStack:
    return DeployedStack("ours", "123456789012", "us-east-1", outputs)


class Commands:
    """The command line of a stack that is in order, but for what a test changes."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.routes: list[dict[str, str]] = []
        self.codes: dict[str, int] = {}
        self.faults: list[dict[str, str]] = []
        self.uploads = 0
        self.good = ""

    def run(self, command: list[str], **_: object) -> SimpleNamespace:
        words = command[3:]
        self.calls.append(words)
        code, document = self.codes.get(words[0], 0), self.document(words)
        if words[0] == "upload" and self.uploads > 1:
            code = self.codes.get("upload", 1)
        return SimpleNamespace(returncode=code, stdout=json.dumps(document), stderr="lakegate: what is wrong\n")

    def document(self, words: list[str]) -> Any:
        match words[0]:
            case "route":
                return {"routes": self.routes}
            case "upload":
                self.uploads += 1
                verdict = "accepted" if self.uploads == 1 else "rejected"
                reasons = [] if self.uploads == 1 else ["why"]
                if self.uploads == 1:
                    self.good = Path(words[1]).read_text()
                return {"state": "PUBLISHED", "verdict": verdict, "reasons": reasons, "attempt": self.uploads != 3}
            case "get":
                Path(words[2]).mkdir()
                (Path(words[2]) / "a.csv").write_text(self.good)
                return {}
            case "doctor":
                return {"findings": self.faults, "unknown": ["quota"]}
        return {}


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Commands:
    """Without a process."""
    made = Commands()
    monkeypatch.setattr(subprocess, "run", made.run)
    return made


def test_four_deliveries_are_tried_below_the_landing_prefix(commands: Commands) -> None:
    """By commands of the stack that is asked for."""
    found = smoke_test(stack(LandingPrefix="incoming/"), local=True)

    assert [each.partition(":")[0] for each in found.steps] == [
        "lakegate-smoke/readings_v1 is published, and incoming/lakegate-smoke/ delivers to it",
        *("good", "bad", "header", "duplicate"),
        "the ledger and its objects are as recorded",
        "what was accepted is read as it was uploaded",
        "doctor finds no fault; probes that could not look",
    ]
    assert all(each[-3:] == ["--stack", "ours", "--local"] for each in commands.calls)
    assert [each[:3] for each in commands.calls if each[0] == "route"] == [["route", "add", "incoming/lakegate-smoke/"]]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (
            lambda each: each.codes.update(verify=1),
            "lakegate verify lakegate-smoke/readings_v1 --objects: exit code 1: lakegate:",
        ),
        (lambda each: setattr(each, "uploads", 1), "lakegate upload"),
        (
            lambda each: each.faults.append({"level": "fault", "cause": "rule-disabled", "text": "no events"}),
            "doctor finds rule-disabled: no events",
        ),
    ],
)
def test_a_step_with_another_result_is_named(
    commands: Commands, change: Callable[[Commands], None], fault: str
) -> None:
    """Nothing is tried behind it."""
    change(commands)
    with pytest.raises(SetUpError, match="the smoke test failed after") as raised:
        smoke_test(stack(), local=False)

    assert fault in str(raised.value)


def test_a_stack_with_approvals_is_tried_once_people_have_approved(commands: Commands) -> None:
    """One person alone publishes nothing there."""
    skipped = smoke_test(stack(RequireApproval="yes"), local=False)
    commands.routes = [{"prefix": "lakegate-smoke/"}]
    tried = smoke_test(stack(RequireApproval="yes"), local=False)

    assert len(skipped.steps) == 1
    assert skipped.steps[0].startswith("skipped: somebody has to propose, approve and route ")
    assert len(tried.steps) == 8
    assert "publish" not in {each[0] for each in commands.calls}


def test_a_deployment_ends_with_the_smoke_test(deployer: Deployer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the stack as it is then; not of one that stays paused, whose deliveries would wait."""
    tried: list[str] = []

    def smoke(there: DeployedStack, *, local: bool) -> SmokeTest:
        tried.append(f"{there.output('LedgerTable')} {local}")
        return SmokeTest(there.name, there.region, 1, ("good: accepted",))

    monkeypatch.setattr(deploy_command, "smoke_test", smoke)
    folder = str(deployer.folder)
    first = deployer.lakegate("stack", "deploy", "--from", folder, "--yes", "--json")
    deployer.account.enabled = False
    second = deployer.lakegate("stack", "deploy", "--from", folder, "--yes", "--json")

    assert json.loads(first.stdout)["smoke"] == ["good: accepted"]
    assert json.loads(second.stdout)["smoke"] == []
    assert tried == ["ledger False"]


def test_the_contract_is_beside_the_command() -> None:
    """It travels in the wheel."""
    assert "lakegate-smoke" in smoke_command.CONTRACT.read_text()
