"""`lakegate pause` and `lakegate resume`: keep the deliveries of one line in landing, and judge them later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from lakegate.base.json_codec import select_fields
from lakegate.base.text import counted
from lakegate.cli.click_commands import Option
from lakegate.cli.command_runner import CommandResult, gate_command
from lakegate.cli.options import DatasetName
from lakegate.gate.datasets import pauses
from lakegate.gate.datasets.dataset_names import dataset_named
from lakegate.gate.delivery_store import Pause
from lakegate.gate.dependencies import Dependencies
from lakegate.library.described_deliveries import in_utc


@dataclass(frozen=True, slots=True)
class PausedDataset:
    """Whether a dataset is paused, and what it holds."""

    line: str
    paused: bool
    held: int
    """Deliveries in landing."""
    since: str | None
    by: str | None
    reason: str | None
    resumed: str | None


@gate_command
def pause(
    dependencies: Dependencies,
    dataset: DatasetName,
    *,
    reason: Annotated[str, Option(help="Why: `lakegate status` and `lakegate doctor` show it.")] = "",
) -> CommandResult[PausedDataset]:
    """Keep what is delivered to one dataset in landing, unjudged, until `lakegate resume`. It is idempotent.

    Deliveries that are being judged finish. `lakegate stack pause` is for the whole stack, before an update.

    Example: lakegate pause orders --reason "the new version is published on Monday"
    """
    line = dataset_named(dependencies, dataset)
    found = dependencies.run(pauses.pause(dependencies, line, reason))
    words = f"{line} is paused since {in_utc(found.since)}; {_held(found)}. lakegate resume {line}"
    return CommandResult(_paused(line, found), [words])


@gate_command
def resume(dependencies: Dependencies, dataset: DatasetName) -> CommandResult[PausedDataset]:
    """Judge what a paused dataset holds, in order of arrival: the next sweep begins, within five minutes. It is idempotent.

    Example: lakegate resume orders
    """
    line = dataset_named(dependencies, dataset)
    found = dependencies.run(pauses.resume(dependencies, line))
    words = f"{line} is not paused."
    if found is not None:
        words = f"{line} is resumed; {_held(found)}. The next sweep judges them in order of arrival."
    return CommandResult(_paused(line, found), [words])


def _held(found: Pause) -> str:
    return counted(found.held, "delivery is held", "deliveries are held")


def _paused(line: str, found: Pause | None) -> PausedDataset:
    is_paused = found is not None and found.resumed is None
    return select_fields(PausedDataset, found, line=line, paused=is_paused, held=found.held if found else 0)
