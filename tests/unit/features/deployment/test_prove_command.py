"""`lakegate stack prove`: what is planned, asked, tried and told, and that nothing of the scratch stack stays unnamed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from lakegate.base.errors import AccessDenied, InputError
from lakegate.cli.main import app
from lakegate.features.deployment import account_steps, prove_command, trial_steps
from lakegate.features.deployment import trial as trial_module
from lakegate.features.deployment.account_steps import STEPS
from lakegate.features.deployment.prove_report import (
    FORMAT,
    LONGEST,
    SEND,
    ProveReport,
    ReportedStep,
    contradictions,
    read_report,
    without_secrets,
    write_report,
)
from lakegate.features.deployment.smoke_command import SmokeError
from lakegate.features.deployment.trial import (
    INITIAL,
    NETWORK,
    STACK,
    AccountStep,
    StepObservation,
    StepSkipped,
    Trial,
)
from tests.unit.features.deployment.test_account_steps import STORES, ScratchAccount, ScratchCommands, account

if TYPE_CHECKING:
    from click.testing import Result

__all__ = ["account"]


class Prover:
    """Who tries three steps in an account without a scratch stack: one is ok, one is not, one is skipped."""

    def __init__(self, account: ScratchAccount, monkeypatch: pytest.MonkeyPatch, report: Path) -> None:
        self.report = report
        self.account, self.commands = account, ScratchCommands(account)
        self.deleted: list[str] = []
        self.failing: tuple[str, ...] = ()
        self.denied = ""
        account.is_there = False
        monkeypatch.setattr(prove_command, "STEPS", tuple(AccountStep(*each) for each in self.steps()))
        monkeypatch.setattr(prove_command, "Commands", lambda _options, _end: self)
        monkeypatch.setattr(
            prove_command, "client", lambda _: SimpleNamespace(meta=SimpleNamespace(region_name="here"))
        )
        monkeypatch.setattr(prove_command, "delete_bucket", self.delete)
        monkeypatch.setattr(prove_command, "protect_table", lambda *_, **__: None)
        for name, answer in {
            "get_caller_identity": {"Account": "123456789012"},
            "schedule_key_deletion": {"DeletionDate": datetime(2026, 12, 4, tzinfo=UTC)},
        }.items():
            setattr(account, name, lambda *, answer=answer, **_: answer)
        account.delete_table = lambda **named: self.delete(*named.values())  # type: ignore[attr-defined]

    def steps(self) -> Sequence[tuple[Any, ...]]:
        def fails(_: Trial) -> str:
            raise SmokeError("it is not so")

        def skips(_: Trial) -> str:
            raise StepSkipped("name a VPC")

        return (
            ("first", "one", "do this", 2, 0.1, lambda _: "it is so"),
            ("second", "two", "do that", 3, 0.2, fails),
            ("third", "three", "do it", 20, 0.5, skips, NETWORK),
        )

    def __call__(self, *words: str, codes: Sequence[int] = (0,)) -> Any:
        if words[:2] in {each[:2] for each in self.failing}:
            raise SmokeError("lakegate stack: exit code 2: no right")
        if words[:2] == ("stack", "deploy"):
            self.account.is_there = True
        if words[:2] == ("stack", "delete"):
            self.account.is_there = False
        return self.commands(*words, codes=codes)

    def delete(self, name: str) -> None:
        if name == self.denied:
            raise AccessDenied("DeleteTable: AccessDenied")
        self.deleted.append(name)

    def prove(self, *words: str) -> Result:
        return CliRunner().invoke(app, ["stack", "prove", "--report", str(self.report), *words])


@pytest.fixture
def prover(account: ScratchAccount, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Prover:
    return Prover(account, monkeypatch, tmp_path / "prove-report.json")


def test_each_step_says_what_it_proves_and_what_it_found(prover: Prover) -> None:
    """One that is not so has its remedy, ends in exit code 1, and keeps none of the others from being tried."""
    result = prover.prove("--yes", "--json")
    document = json.loads(result.stdout)

    assert result.exit_code == 1
    assert [(each["number"], each["outcome"], each["found"], each["remedy"]) for each in document["steps"]] == [
        (1, "ok", "it is so", ""),
        (2, "not ok", "it is not so", "do that"),
        (3, "skipped", "name a VPC", ""),
    ]
    assert document["left"] == [
        "the key arn:key, until KMS deletes it on 2026-12-04",
        "the bucket of artifacts, which all stacks of the region share",
    ]
    assert prover.deleted == [f"{STACK}-{each.lower()}-1" for each in STORES]
    assert not prover.account.is_there
    (deploy,) = [each for each in prover.commands.calls if each[:2] == ("stack", "deploy")]
    assert {f"{name}={value}" for name, value in INITIAL.items()} < set(deploy)


def test_words_name_the_outcome_of_each_step(prover: Prover) -> None:
    """And what is left."""
    result = prover.prove("--yes", "--step", "1")

    assert result.exit_code == 0
    assert "1. ok (0 minutes): first\n   proves that one\n   it is so\n" in result.stdout
    assert "second" not in result.output
    assert "left: the bucket of artifacts" in result.stdout


def test_a_plan_has_time_and_cost_and_asks_nothing(prover: Prover) -> None:
    """Of the chosen steps; what is skipped costs nothing."""
    whole = json.loads(prover.prove("--plan", "--json").stdout)
    network = ("--parameter", "SubnetIds=subnet-1", "--parameter", "SecurityGroupIds=sg-1")
    with_network = json.loads(prover.prove("--plan", "--json", *network).stdout)
    words = prover.prove("--plan", "--step", "2").stdout

    assert (whole["minutes"], whole["dollars"]) == (15, 2.5)
    assert whole["steps"][2]["found"] == "skipped: it needs --parameter SubnetIds=… and SecurityGroupIds=…"
    assert (with_network["minutes"], with_network["dollars"]) == (35, 3.0)
    assert words.splitlines() == [
        "2. planned (3 minutes, 0.20 USD): second",
        "   proves that two",
        "13 minutes with deployment and deletion, about 2.40 USD",
    ]
    assert prover.account.calls == []


def test_nothing_is_spent_that_nobody_confirmed(prover: Prover) -> None:
    """The question has account, region, time and cost."""
    result = prover.prove()

    assert isinstance(result.exception, InputError)
    assert str(result.exception) == (
        f"the stack {STACK} is deployed in here of account 123456789012, and deleted with its data: about 15 minutes and "
        "2.50 USD. Nothing was changed: confirm it with --yes"
    )
    assert prover.commands.calls == []


def test_a_report_that_cannot_be_written_is_refused_before_the_trial(prover: Prover) -> None:
    """Not after hours."""
    prover.report = prover.report.parent / "nowhere" / "report.json"
    result = prover.prove("--yes")

    assert str(result.exception).endswith(f"there is no folder {prover.report.parent}")
    assert prover.commands.calls == []


@pytest.mark.parametrize("text", ["ExistingLakeBucket=lake", "KmsKey=arn:key", "MaxVcpu=8", "SubnetIds"])
def test_a_scratch_stack_is_given_nothing_that_exists(prover: Prover, text: str) -> None:
    """Its data is deleted."""
    result = prover.prove("--yes", "--parameter", text)

    assert f"--parameter {text}: write NAME=VALUE with one of SubnetIds, SecurityGroupIds" in str(result.exception)
    assert prover.commands.calls == []


def test_parameters_that_an_account_needs_are_deployed(prover: Prover) -> None:
    """Subnets are not, before their step."""
    boundary = "PermissionsBoundary=arn:aws:iam::123456789012:policy/b"
    prover.prove("--yes", "--parameter", boundary, "--parameter", "SubnetIds=subnet-1")
    (deploy,) = [each for each in prover.commands.calls if each[:2] == ("stack", "deploy")]

    assert boundary in deploy
    assert "SubnetIds=subnet-1" not in deploy


def test_a_stack_that_cannot_be_deployed_ends_it(prover: Prover) -> None:
    """With the reason; what it may have made is deleted."""
    prover.failing = (("stack", "deploy"),)
    result = prover.prove("--yes")

    assert str(result.exception) == ("the scratch stack could not be deployed: lakegate stack: exit code 2: no right")
    assert "left: the bucket of artifacts" in result.stderr


def test_a_stack_of_an_earlier_call_is_used_and_deleted(prover: Prover) -> None:
    """A key that was not made by this call is named."""
    prover.account.is_there = True
    prover.account.parameters["KmsKey"] = "arn:key"
    document = json.loads(prover.prove("--yes", "--json", "--step", "1").stdout)

    assert "the key arn:key of an earlier call: schedule its deletion" in document["left"]
    assert len(prover.deleted) == len(STORES)
    assert not [each for each in prover.commands.calls if each[:2] == ("stack", "deploy")]


def test_what_cannot_be_deleted_is_named(prover: Prover) -> None:
    """The stack with all that it has, or one store."""
    prover.failing = (("stack", "delete"),)
    stack = json.loads(prover.prove("--yes", "--json", "--step", "1").stdout)
    deleted = list(prover.deleted)
    prover.failing, prover.denied = (), f"{STACK}-ledgertable-1"
    store = json.loads(prover.prove("--yes", "--json", "--step", "1").stdout)

    assert stack["left"] == [f"the stack {STACK}: lakegate stack: exit code 2: no right"]
    assert deleted == []
    assert store["left"][0] == f"{STACK}-ledgertable-1: DeleteTable: AccessDenied"


def test_a_stack_that_is_kept_is_named(prover: Prover) -> None:
    """The next call goes on with it."""
    document = json.loads(prover.prove("--yes", "--json", "--step", "1", "--keep").stdout)

    assert document["left"] == [f"the stack {STACK}, as --keep wants it"]
    assert prover.account.is_there


SECRETS = {
    "key": "AKIAIOSFODNN7EXAMPLE",
    "secret": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "account": "arn:aws:iam::210987654321:role/x",
    "url": "https://b.s3.amazonaws.com/k?X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F2026&X-Amz-Signature=0f0f0f0f0f",
    "token": "Authorization: Bearer eyJhbGciOi",
    "person": "jo@example.com",
}
HIDDEN = ("IOSFODNN7", "wJalrXUt", "210987654321", "0f0f0f0f0f", "eyJhbGciOi", "jo@example")


def comparing(seen: object, found: str = "") -> AccountStep:
    """A step that expects three executors."""

    def run(_: Trial) -> StepObservation:
        return StepObservation({"executors": 3}, {"executors": seen}, found, {"ms": 7.5})

    return AccountStep("sizes", "it starts three", "give it less", 1, 0.1, run)


def test_a_difference_is_written_into_a_report_that_can_be_replayed(
    prover: Prover, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was expected, by which parameters, what was seen, and what to send; a fake that does not behave so is named."""
    monkeypatch.setattr(prove_command, "STEPS", (comparing(2),))
    result = prover.prove("--yes", "--step", "1")
    recorded = read_report(prover.report)
    monkeypatch.setattr(prove_command, "STEPS", (comparing(3),))
    quiet = prover.prove("--yes", "--step", "1")
    local = read_report(prover.report)

    assert (result.exit_code, quiet.exit_code) == (1, 0)
    assert "1. not ok" in result.stdout
    assert "   executors: 2, expected 3\n   give it less\n" in result.stdout
    assert SEND in result.stdout
    assert SEND not in quiet.stdout
    assert recorded.parameters["MaxConcurrentRuns"] == INITIAL["MaxConcurrentRuns"]
    (step,) = recorded.differing.values()
    assert (step.expected, step.seen, step.measured, step.send) == (
        {"executors": 3},
        {"executors": 2},
        {"ms": 7.5},
        SEND,
    )
    assert local.differing == {}
    assert list(contradictions(recorded, local)) == ["sizes: executors is 2 in the account, and 3 here"]
    assert list(contradictions(recorded, recorded)) == []


def test_a_report_has_no_secrets(prover: Prover, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a step has seen: keys, tokens, signatures, accounts, people; also in what is printed."""
    monkeypatch.setattr(prove_command, "STEPS", (comparing(dict(SECRETS), " ".join(SECRETS.values())),))
    result = prover.prove("--yes", "--step", "1")
    written = prover.report.read_text()

    assert [each for each in HIDDEN if each in written] == []
    assert [each for each in HIDDEN if each in result.stdout] == []
    assert without_secrets("x " * LONGEST) == "x " * (LONGEST // 2)
    assert without_secrets({"digest": "0f" * 32, "n": 3}) == {"digest": "0f" * 32, "n": 3}


RECORDED = sorted(Path(__file__).with_name("recorded").glob("*.json"))
"""Reports of accounts: each is a case of the fakes."""


@pytest.fixture
def replay(
    prover: Prover, monkeypatch: pytest.MonkeyPatch, account: ScratchAccount
) -> Callable[[ProveReport], list[str]]:
    """Plays the steps of a report on the fakes, with its parameters; where these behave otherwise."""
    monkeypatch.setattr(prove_command, "STEPS", STEPS)
    monkeypatch.setattr(account_steps, "KEY_REUSE_SECONDS", 0)
    for name in ("TICK_SECONDS", "SLOW_SECONDS", "ROLE_SECONDS"):
        monkeypatch.setattr(trial_steps, name, 0)
    monkeypatch.setattr(trial_module, "workload_id", lambda _bucket, _key, version: version)

    def played(recorded: ProveReport) -> list[str]:
        account.parameters |= recorded.parameters
        account.is_there = True
        titles = {each.title for each in recorded.steps if each.outcome != "skipped"}
        numbers = [str(number) for number, step in enumerate(STEPS, 1) if step.title in titles]
        prover.prove("--yes", *(word for number in numbers for word in ("--step", number)))
        return list(contradictions(recorded, read_report(prover.report)))

    return played


@pytest.mark.parametrize("path", RECORDED, ids=[path.stem for path in RECORDED])
def test_the_fakes_behave_as_accounts_did(path: Path, replay: Callable[[ProveReport], list[str]]) -> None:
    """Every step of a report that somebody has sent."""
    assert replay(read_report(path)) == []


def test_a_recorded_difference_fails_until_the_fake_has_it(
    tmp_path: Path, replay: Callable[[ProveReport], list[str]], account: ScratchAccount
) -> None:
    """An account that started two executors for 10 GiB: the fake, which starts three, is named, and then does so, too."""
    title = next(step.title for step in STEPS if step.title.startswith("10 GiB"))
    seen = {"verdict": "accepted", "executors": 2}
    step = ReportedStep(title, "not ok", {"verdict": "accepted", "executors": 3}, seen, send=SEND)
    write_report(ProveReport(FORMAT, "1.0", "here", dict(INITIAL), (step,)), tmp_path / "sent.json")
    sent = read_report(tmp_path / "sent.json")

    assert replay(sent) == ["10 GiB by Spark: executors is 2 in the account, and 3 here"]
    account.executors = lambda _: 2
    assert replay(sent) == []


def test_each_step_says_what_it_proves_and_otherwise_means() -> None:
    """By one title each."""
    assert len(STEPS) == len({each.title for each in STEPS})
    assert all(each.proves and each.otherwise for each in STEPS)
