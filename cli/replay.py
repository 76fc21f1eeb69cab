"""`lakegate replay`: judge again, under the contract that is valid now."""

from __future__ import annotations

from typing import Annotated

import typer

from cli import terminal
from cli.aws import opened
from cli.options import DEFAULT_STACK, AsJson, Local, StackName
from cli.status import LATEST
from functions.usecases.deliveries import named
from functions.usecases.replay import replay as start_again
from functions.usecases.steps import run


def replay(
    workload: Annotated[
        str, typer.Argument(help="A workload's id, the beginning of one, or a landing key.", show_default=False)
    ],
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Judge a failed delivery again, or a quarantined one from its copy in quarantine. Twice is once.

    Example: lakegate replay 3f2a91c0d7e4
    """
    with opened(stack, local=local) as there:
        gate = there.working_gate()
        before = named(gate, workload, LATEST)
        judged = run(start_again(gate, before.id), gate.clock)
        state = gate.workloads.get(judged).state
    if as_json:
        terminal.print_json(
            {"workload": judged, "replay_of": before.id if judged != before.id else None, "state": state}
        )
    else:
        terminal.answers().print(f"{judged} is being judged ({state}).\nlakegate status {judged[:12]}", soft_wrap=True)
