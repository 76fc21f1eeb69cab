"""`lakegate withdraw`: a version that was published by mistake is taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lakegate.aws.open_stack import DEFAULT_STACK, opened
from lakegate.cli import terminal
from lakegate.cli.command_runner import confirm
from lakegate.cli.options import AsJson, Local, StackName, Yes
from lakegate.contract.semantic_versions import major
from lakegate.contract_files import chosen, snapshot_of
from lakegate.errors import InputError
from lakegate.extension_points import loaded
from lakegate.gate.effects import run
from lakegate.gate.registry.registry_rows import PROPOSALS, RETIRED
from lakegate.gate.registry.withdraw_version import planned_withdrawal
from lakegate.gate.registry.withdraw_version import withdraw as take_back
from lakegate.text import printable as escaped
from lakegate.text import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.gate.registry.withdraw_version import Withdrawal


def withdraw(
    name: Annotated[
        str,
        typer.Argument(
            metavar="CONTRACT@VERSION",
            help="The contract's id, or the beginning of it, and the version.",
            show_default=False,
        ),
    ],
    *,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Take back a version that was published by mistake: its line goes on with the version before.

    Example: lakegate withdraw 5f0c8a52@1.2.0

    The next version is compared with the version before. A version that allows more than that one, or has more fields, is only
    withdrawn while no delivery was accepted under it. A delivery that was taken in before is judged by the withdrawn version.
    The number is not used again. The ledger records who withdrew it.

    Where the stack requires approval (RequireApproval), this leaves a proposal, which another person approves
    (`lakegate approve`).

    Exit code: 0 withdrawn or proposed (twice is once), 2 it cannot be withdrawn, or was not confirmed.
    """
    written, _, version = name.rpartition("@")
    if not written:
        raise InputError(f"{shown(name)} names no version: write CONTRACT@VERSION")
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        found = chosen(snapshot_of(dependencies.registry, written), written, version)
        contract = found.contract
        planned = planned_withdrawal(dependencies, dependencies.registry.contract(contract), contract, version)
        confirm(_effects(planned, written), yes=yes)
        if there.requires_approval and not planned.is_done:
            loaded(PROPOSALS, "withdraw")(dependencies, contract, version, as_json=as_json)
            return
        done = run(take_back(dependencies, contract, version), dependencies.clock)
    print_withdrawal(done, as_json=as_json)


def print_withdrawal(done: Withdrawal, *, as_json: bool) -> None:
    """The version that is taken back, and by which one deliveries are judged now."""
    of, current = done.publication, done.current
    prefixes = sorted(each.prefix for each in done.publication.routes)
    if as_json:
        names = {"contract": of.contract, "version": of.version, "status": of.status}
        terminal.print_json({**names, "current": current.version, "prefixes": prefixes})
        return
    lines = [f"Withdrawn: {of.contract} {of.version}. Deliveries are judged by {current.version} ({current.status})."]
    lines += [f"  {prefix} → {current.version}" for prefix in prefixes]
    lines += [
        f"What it rejected: lakegate replay --state QUARANTINED --line {of.contract}/{dataset}_v{major(of.version)}"
        for dataset, _plan in of.plans
    ]
    for line in lines:
        terminal.answers().print(escaped(line), markup=False, soft_wrap=True)


def _effects(planned: Withdrawal, written: str) -> Iterator[str]:
    """Effects that the person may not expect."""
    of, current = planned.publication, planned.current
    if written != of.contract:
        yield f"{shown(written)} is the beginning of one contract id: {of.contract} {of.version} would be withdrawn"
    if current.status == RETIRED:
        yield f"{current.version} is retired: every delivery to the line would be refused"
