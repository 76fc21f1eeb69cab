"""`lakegate plan`: what a contract compiles to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import click

from lakegate.aws.open_stack import DEFAULT_STACK
from lakegate.base.errors import ContractError
from lakegate.base.text import plural
from lakegate.cli import terminal
from lakegate.cli.click_commands import Argument, Option
from lakegate.cli.command_runner import CommandResult, command
from lakegate.cli.options import AsJson, DefinitionRoot, Local, OfDataset, ParentPaths, StackName
from lakegate.cli.terminal import Grid, Word
from lakegate.contract.delivery_policy import OnReject
from lakegate.library.contract_files import ParentPlaces, load_named, plan_of
from lakegate.plan.check import Check
from lakegate.plan.plan import Plan

REFUSED = 1


@command
def plan(  # noqa: PLR0913, PLR0917 - a command has these options
    contract: Annotated[
        str,
        Argument(
            metavar="FILE|CONTRACT",
            help="The contract document (ODCS, DCS or DCM), or what is published: CONTRACT for its version in use,"
            " CONTRACT@VERSION.",
        ),
    ],
    dataset: OfDataset = None,
    parents: ParentPaths = None,
    root: DefinitionRoot = None,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    explain: Annotated[bool, Option(help="Rule by rule, in words.")] = False,
    as_json: AsJson = False,
) -> CommandResult[Plan]:
    """Print the plan that a contract compiles to, as a JSON document: all the job will know of it.

    With --explain it is printed rule by rule, in words, of every dataset.

    Example: lakegate plan contracts/examples/orders.odcs.yaml --explain
    """
    explains = explain and not as_json
    try:
        places = ParentPlaces.of(parents, stack, local=local, root=root)
        loaded = load_named(contract, places, stack, local=local, api=None)
        document = loaded.contract
        every = [each.name for each in document.datasets] if explains and dataset is None else None
        plans = [plan_of(document, name) for name in every or (dataset,)]
    except ContractError as error:
        terminal.say_refused(error)
        raise click.exceptions.Exit(REFUSED) from None
    for note in loaded.found.notes() if loaded.found else ():
        terminal.note(f"lakegate: {contract} is {document.version}; {note}")
    words = _explained(plans) if explains else terminal.json_words(plans[0].to_json())
    return CommandResult(plans[0], words)


def _explained(plans: list[Plan]) -> Iterator[Word]:
    for at, compiled in enumerate(plans):
        if len(plans) > 1:
            yield from [""] * bool(at)
            yield ((compiled.dataset, "bold"),)
        yield from plan_in_words(compiled)
        yield from ("", f"{plural(len(compiled.checks), 'check')}; plan {compiled.digest}")


def plan_in_words(compiled: Plan) -> Iterator[Word]:
    """The checks of a plan, rule by rule, and what rejects a whole file."""
    from lakegate.verdict.verdict import percent  # noqa: PLC0415 - results of measurements, for words alone

    yield Grid(
        ("rule", "field", "wanted", "measured as", "if broken"),
        (_in_words(compiled, check) for check in compiled.checks),
        unbroken=("rule", "field"),
    )
    if compiled.policy.on_reject is OnReject.ROWS:
        most = compiled.policy.max_rejected_share
        share = f", more than {percent(most)} % of the rows that break a rule (`maxRejectedShare`)" if most < 1 else ""
        yield ""
        yield f"The whole file is rejected by a rule of the file that fails{share}, and where every row breaks a rule."


def _in_words(compiled: Plan, check: Check) -> tuple[str, ...]:
    from lakegate.verdict.verdict import blames_rows  # noqa: PLC0415 - likewise

    broken = (
        "only named"
        if check.skip
        else check.worst.value
        if check.tolerate is None
        else f"warn, then {check.worst.value}"
    )
    measured = check.skip or check.metric.value.replace("_", " ")
    if compiled.policy.on_reject is OnReject.ROWS and not check.skip:
        broken += " (its rows)" if blames_rows(check) else " (the file)"
    return check.rule, ", ".join(check.fields), check.wanted, measured, broken
