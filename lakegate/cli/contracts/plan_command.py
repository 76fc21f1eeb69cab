"""`lakegate plan`: what a contract compiles to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from lakegate.aws.open_stack import DEFAULT_STACK
from lakegate.cli import terminal
from lakegate.cli.options import Local, OfDataset, StackName
from lakegate.contract.delivery_policy import OnReject
from lakegate.contract_files import ParentPaths, ParentPlaces, load, plan_of
from lakegate.errors import ContractError
from lakegate.text import counted
from lakegate.text import printable as escaped
from lakegate.verdict.verdict import blames_rows, percent

if TYPE_CHECKING:
    from lakegate.plan.check import Check
    from lakegate.plan.plan import Plan

REFUSED = 1


def plan(  # noqa: PLR0913, PLR0917 - a command has these options
    file: Annotated[Path, typer.Argument(help="The contract document (ODCS, DCS or DCM).", show_default=False)],
    dataset: OfDataset = None,
    parents: ParentPaths = None,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    explain: Annotated[bool, typer.Option("--explain", help="Rule by rule, in words.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The plan as a document (the default).")] = False,
) -> None:
    """Print the plan that a contract compiles to: all the job will know of it. With --explain, of every dataset.

    Example: lakegate plan contracts/examples/orders.odcs.yaml --explain
    """
    explains = explain and not as_json
    try:
        contract = load(file, ParentPlaces.of(parents, stack, local=local))
        names = [each.name for each in contract.datasets] if explains and dataset is None else [dataset]
        plans = [plan_of(contract, name) for name in names]
    except ContractError as error:
        terminal.say_refused(error)
        raise typer.Exit(REFUSED) from None
    if not explains:
        terminal.print_json(plans[0].to_json())
        return
    for at, compiled in enumerate(plans):
        if len(plans) > 1:
            terminal.answers().print(
                "\n" * bool(at) + escaped(compiled.dataset), style="bold", markup=False, soft_wrap=True
            )
        print_explained(compiled)
        terminal.answers().print(f"\n{counted(len(compiled.checks), 'check')}; plan {compiled.digest}", markup=False)


def print_explained(compiled: Plan) -> None:
    """Print the checks of a plan, rule by rule, and what rejects a whole file, in words."""
    terminal.wide().print(_explained(compiled))
    if compiled.policy.on_reject is OnReject.ROWS:
        most = compiled.policy.max_rejected_share
        share = f", more than {percent(most)} % of the rows that break a rule (`maxRejectedShare`)" if most < 1 else ""
        line = f"The whole file is rejected by a rule of the file that fails{share}, and where every row breaks a rule."
        terminal.answers().print(f"\n{line}", markup=False)


def _explained(compiled: Plan) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("rule", "field"):
        table.add_column(name, no_wrap=True)
    for name in ("wanted", "measured as", "if broken"):
        table.add_column(name, overflow="fold")
    for check in compiled.checks:
        table.add_row(*(Text(escaped(cell)) for cell in _in_words(compiled, check)))
    return table


def _in_words(compiled: Plan, check: Check) -> tuple[str, ...]:
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
