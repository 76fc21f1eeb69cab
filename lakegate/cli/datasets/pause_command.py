"""`lakegate pause` and `lakegate resume`: keep the deliveries of one line in landing, and judge them later."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from lakegate.base.json_codec import select_fields
from lakegate.base.text import plural
from lakegate.cli.click_commands import Option
from lakegate.cli.command_runner import CommandResult, gate_command
from lakegate.cli.options import DatasetName
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.gate.datasets import pauses
from lakegate.gate.datasets.dataset_names import dataset_named
from lakegate.gate.delivery_store import Pause
from lakegate.gate.dependencies import Dependencies
from lakegate.library.described_deliveries import in_utc


@dataclass(frozen=True, slots=True)
class PausedDataset:
    """Whether a dataset is paused, and what it holds."""

    dataset: str = field(metadata=DATASET_KEY)
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
    name = dataset_named(dependencies, dataset)
    found = dependencies.run(pauses.pause(dependencies, name, reason))
    words = f"{name} is paused since {in_utc(found.since)}; {_held(found)}. lakegate resume {name}"
    return CommandResult(_paused(name, found), [words])


@gate_command
def resume(dependencies: Dependencies, dataset: DatasetName) -> CommandResult[PausedDataset]:
    """Judge what a paused dataset holds, in order of arrival: the next sweep begins, within five minutes. It is idempotent.

    Example: lakegate resume orders
    """
    name = dataset_named(dependencies, dataset)
    found = dependencies.run(pauses.resume(dependencies, name))
    words = f"{name} is not paused."
    if found is not None:
        words = f"{name} is resumed; {_held(found)}. The next sweep judges them in order of arrival."
    return CommandResult(_paused(name, found), [words])


def _held(found: Pause) -> str:
    return plural(found.held, "delivery is held", "deliveries are held")


def _paused(dataset: str, found: Pause | None) -> PausedDataset:
    is_paused = found is not None and found.resumed is None
    return select_fields(PausedDataset, found, dataset=dataset, paused=is_paused, held=found.held if found else 0)
