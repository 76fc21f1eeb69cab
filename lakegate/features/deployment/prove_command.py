"""`lakegate stack prove`: try on a scratch stack what only a real account shows, and delete the stack again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final

from lakegate.aws.clients import client
from lakegate.aws.open_stack import ask_service, enter_stack, find_stack, parameters_of, readable_errors
from lakegate.aws.stack_operations import BUCKETS, delete_bucket, protect_table
from lakegate.base.errors import InputError, LakegateError, NotFound
from lakegate.base.text import plural
from lakegate.cli import terminal
from lakegate.cli.click_commands import Option
from lakegate.cli.command_runner import CommandResult, command, confirm
from lakegate.cli.options import Local, Yes
from lakegate.cli.terminal import Word
from lakegate.features.deployment.account_steps import DELETE_MINUTES, DEPLOY_MINUTES, DOLLARS_BESIDE, STEPS
from lakegate.features.deployment.prove_report import (
    FORMAT,
    REPORT_FILE,
    SEND,
    ProveReport,
    ReportedStep,
    without_secrets,
    write_report,
)
from lakegate.features.deployment.release_folder import FromFolder
from lakegate.features.deployment.smoke_command import Commands, SmokeError
from lakegate.features.deployment.trial import (
    HOUR,
    INITIAL,
    NETWORK,
    STACK,
    AccountStep,
    StepObservation,
    StepSkipped,
    Trial,
)

PERMITTED: Final = (*NETWORK, "PermissionsBoundary", "ServiceEndpoint", "EmrEndpoint")
"""Parameters that an account may need. Nothing is named that exists: the data of this stack is deleted."""
LONGEST_PROOF: Final = 5 * HOUR
KEY_DAYS: Final = 7
"""The shortest wait of KMS before it deletes a key (API reference, ScheduleKeyDeletion)."""
OK: Final = "ok"
NOT_OK: Final = "not ok"
SKIPPED: Final = "skipped"
PLANNED: Final = "planned"
FAILED: Final = 1


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """A step, and what came of it."""

    number: int
    title: str
    proves: str
    outcome: str
    """`ok`, `not ok`, `skipped` or `planned`."""
    found: str
    """The observation, or why the step was skipped."""
    remedy: str
    """The meaning or the remedy; empty where nothing is to be done."""
    minutes: float
    """Expected of a plan, else taken."""
    dollars: float
    """Expected."""
    expected: Mapping[str, Any] = field(default_factory=dict)
    """Of a step that compares: by the parameters of the stack."""
    seen: Mapping[str, Any] = field(default_factory=dict)
    """Of a step that compares, under the same names."""
    measured: Mapping[str, float] = field(default_factory=dict)
    """Numbers that are compared with nothing."""


@dataclass(frozen=True, slots=True)
class AccountProof:
    """The results of the steps in an account."""

    stack: str
    region: str
    """Empty of a plan."""
    minutes: float
    """Of all, with the stack that is made and deleted: expected of a plan, else taken."""
    dollars: float
    """Expected."""
    steps: tuple[StepOutcome, ...]
    left: tuple[str, ...] = ()
    """Resources that stay in the account."""


@command
def prove(  # noqa: PLR0913 - its options
    *,
    plan: Annotated[bool, Option(help="List the steps with their time and cost; ask nothing.")] = False,
    step: Annotated[
        list[int] | None,
        Option(min=1, max=len(STEPS), help="Only this step; may be repeated."),
    ] = None,
    folder: FromFolder = Path(),
    parameter: Annotated[
        list[str] | None,
        Option(help=f"NAME=VALUE of {', '.join(PERMITTED)}; may be repeated."),
    ] = None,
    report: Annotated[Path, Option(help="File for what each step expected and saw, without secrets.")] = Path(
        REPORT_FILE
    ),
    keep: Annotated[bool, Option(help="Leave the scratch stack, for the next call.")] = False,
    local: Local = False,
    yes: Yes = False,
) -> CommandResult[AccountProof]:
    """Try in this account what AWS's documents and an emulator leave open, on a scratch stack lakegate-day-one.

    The stack is deployed, each step is tried, and the stack is deleted with its data: at most three hours and 7 USD (--plan).
    What stays is named. Credentials have to last as long; --step tries some.

    Example: lakegate stack prove --from dist/lakegate-0.1.0

    Exit code: 0 every step is as expected or was skipped, 1 one is not, 2 the steps could not be tried.
    """
    values = _values(parameter or ())
    numbers = sorted(set(step or range(1, len(STEPS) + 1)))
    chosen = [(number, STEPS[number - 1]) for number in numbers]
    if plan:
        found = _planned(chosen, values)
        return CommandResult(found, _words(found))
    if not report.parent.is_dir():  # before hours are spent
        raise InputError(f"--report {report}: there is no folder {report.parent}")
    with readable_errors():
        enter_stack(STACK, local=local)
        account, region = ask_service("sts", "get_caller_identity")["Account"], str(client("sts").meta.region_name)
        expected = _planned(chosen, values)
        cost = f"about {expected.minutes:.0f} minutes and {expected.dollars:.2f} USD"
        confirm(
            [f"the stack {STACK} is deployed in {region} of account {account}, and deleted with its data: {cost}"],
            yes=yes,
        )
        began = time.monotonic()

        def commands(stack: str) -> Commands:
            return Commands(("--stack", stack, *(("--local",) if local else ())), began + LONGEST_PROOF)

        with TemporaryDirectory(prefix="lakegate-prove-") as scratch:
            options = [
                word for name in values if name not in NETWORK for word in ("--parameter", f"{name}={values[name]}")
            ]
            network = {name: value for name, value in values.items() if name in NETWORK}
            trial = Trial(commands(STACK), Path(scratch), ("--from", str(folder), *options), network, commands=commands)
            left: tuple[str, ...] = (f"the stack {STACK}, as --keep wants it",)
            try:
                _prepare(trial)
                given = parameters_of(trial.there)
                outcomes = tuple(_tried(trial, number, each) for number, each in chosen)
            finally:
                if not keep:
                    left = tuple(_cleaned(trial))
                    for each in left:
                        terminal.note(f"left: {each}")
        taken = round((time.monotonic() - began) / 60, 1)
        proof = AccountProof(STACK, region, taken, expected.dollars, outcomes, left)
        write_report(reported(proof, given), report)
        terminal.note(f"report: {report}")
        failed = any(outcome.outcome == NOT_OK for outcome in outcomes)
        return CommandResult(proof, _words(proof), FAILED if failed else 0)


def _values(texts: Sequence[str]) -> dict[str, str]:
    """The values of `--parameter`. Raises InputError for a parameter that a scratch stack does not get."""
    values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if name not in PERMITTED or not equals:
            raise InputError(f"--parameter {text}: write NAME=VALUE with one of {', '.join(PERMITTED)}")
        values[name] = value
    return values


def _planned(chosen: Sequence[tuple[int, AccountStep]], values: dict[str, str]) -> AccountProof:
    """The steps with their expected time and cost."""
    steps = []
    minutes, dollars = DEPLOY_MINUTES + DELETE_MINUTES, DOLLARS_BESIDE
    for number, step in chosen:
        is_skipped = not set(step.needs) <= values.keys()
        words = "skipped: it needs --parameter SubnetIds=… and SecurityGroupIds=…" if is_skipped else ""
        steps.append(StepOutcome(number, step.title, step.proves, PLANNED, words, "", step.minutes, step.dollars))
        minutes += 0 if is_skipped else step.minutes
        dollars += 0 if is_skipped else step.dollars
    return AccountProof(STACK, "", minutes, round(dollars, 2), tuple(steps))


def _prepare(trial: Trial) -> None:
    """Deploy the scratch stack, unless one is left of an earlier call."""
    there = find_stack(STACK, ask_service)
    if there:
        terminal.note(f"the stack {STACK} is there already")
        trial.note_stores(there)
        return
    terminal.note(f"deploying the stack {STACK}, about {DEPLOY_MINUTES} minutes")
    try:
        trial.deploy(**INITIAL)
    except SmokeError as error:
        raise InputError(f"the scratch stack could not be deployed: {error}") from None


def _tried(trial: Trial, number: int, step: AccountStep) -> StepOutcome:
    """Try a step, whatever came of those before it."""
    terminal.note(f"{number}. {step.title}: about {plural(step.minutes, 'minute')}")
    began, remedy, observed = time.monotonic(), "", StepObservation({}, {})
    try:
        outcome, found = OK, step.run(trial)
        if isinstance(found, StepObservation):
            observed, outcome = found, NOT_OK if found.difference else OK
            found, remedy = observed.difference or observed.words, step.otherwise if observed.difference else ""
    except StepSkipped as reason:
        outcome, found = SKIPPED, str(reason)
    except (SmokeError, LakegateError) as error:
        outcome, found, remedy = NOT_OK, str(error), step.otherwise
    terminal.note(f"   {outcome}: {found}")
    taken = round((time.monotonic() - began) / 60, 1)
    compared = observed.expected, observed.seen, observed.measured
    return StepOutcome(number, step.title, step.proves, outcome, found, remedy, taken, step.dollars, *compared)


def _cleaned(trial: Trial) -> Iterator[str]:
    """Delete the scratch stack and everything that it made; yields what stays."""
    terminal.note(f"deleting the stack {STACK} with its data")
    key = ""
    try:
        if there := find_stack(STACK, ask_service):
            trial.note_stores(there)
            key = there.outputs.get("KeyArn", "")
            trial.lakegate("stack", "protect", "--off")
            trial.lakegate("stack", "delete", "--yes", "--timeout", str(HOUR))
    except (SmokeError, LakegateError) as error:
        yield f"the stack {STACK}: {error}"
        return  # it still has its buckets and tables: the next call deletes them with it
    for store, output in trial.stores.items():
        try:
            _delete_store(store, output)
        except NotFound:
            continue
        except LakegateError as error:
            yield f"{store}: {error}"
    for made in trial.keys.values():
        try:
            found = ask_service("kms", "schedule_key_deletion", KeyId=made, PendingWindowInDays=KEY_DAYS)
        except LakegateError as error:
            yield f"the key {made}: {error}"
        else:
            day: datetime = found["DeletionDate"]
            yield f"the key {made}, until KMS deletes it on {day.date().isoformat()}"
    if key and not trial.keys:
        yield f"the key {key} of an earlier call: schedule its deletion"
    yield from trial.kept
    yield "the bucket of artifacts, which all stacks of the region share"


def reported(proof: AccountProof, parameters: Mapping[str, str]) -> ProveReport:
    """The report of a trial. Of a step that compares nothing its outcome is what it expected and saw."""
    steps = []
    for each in proof.steps:
        expected, seen = (each.expected, each.seen) if each.expected else ({"outcome": OK}, {"outcome": each.outcome})
        seen = seen if each.outcome != SKIPPED else {}
        send = SEND if each.outcome == NOT_OK else ""
        steps.append(ReportedStep(each.title, each.outcome, expected, seen, each.measured, each.found, send))
    return ProveReport(FORMAT, parameters.get("JobCode", ""), proof.region, dict(parameters), tuple(steps))


def _delete_store(store: str, output: str) -> None:
    """Delete a bucket or table with all data."""
    if output in BUCKETS:
        delete_bucket(store)
        return
    protect_table(store, enabled=False)
    ask_service("dynamodb", "delete_table", TableName=store)


def _words(proof: AccountProof) -> Iterator[Word]:
    """The steps with what they prove and what was found, and the total."""
    for step in proof.steps:
        cost = f", {step.dollars:.2f} USD" if step.outcome == PLANNED else ""
        yield f"{step.number}. {step.outcome} ({step.minutes:g} minutes{cost}): {step.title}"
        yield f"   proves that {step.proves}"
        yield from (f"   {without_secrets(text)}" for text in (step.found, step.remedy) if text)
        if step.outcome == NOT_OK:
            yield f"   {SEND}"
    yield f"{proof.minutes:g} minutes with deployment and deletion, about {proof.dollars:.2f} USD"
    for left in proof.left:
        yield f"left: {left}"
