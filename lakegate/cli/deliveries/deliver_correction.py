"""`lakegate deliver --corrects`: the corrected rows of a rejected delivery, with all that was right of it, as a new delivery."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lakegate.aws.clients import client
from lakegate.aws.open_stack import DeployedStack
from lakegate.base.errors import InputError
from lakegate.base.text import plural
from lakegate.cli import terminal
from lakegate.cli.command_runner import CommandResult, interruptible_folder
from lakegate.cli.deliveries.wait_for_verdict import WaitExit, exit_code, print_end
from lakegate.cli.deliveries.wait_for_verdict import wait as wait_for
from lakegate.cli.terminal import Word
from lakegate.gate.delivery.delivery_row import workload_id
from lakegate.gate.delivery.find_deliveries import find_delivery
from lakegate.gate.ports import CORRECTS
from lakegate.library.awaited_deliveries import Waited
from lakegate.library.described_deliveries import LATEST, SHORT_ID, DeliveryStatus
from lakegate.transfer.upload_files import To, read, send


@dataclass(frozen=True, slots=True)
class DeliveredCorrection:
    """A correction that has landed."""

    workload: str | None
    """None where nothing but time completes a delivery of the dataset."""
    corrects: str
    """The rejected delivery."""
    keys: tuple[str, ...]
    """In the landing bucket."""
    corrected: int
    """Rows."""
    left_out: int
    """Failing rows that are not in it."""
    status: DeliveryStatus | None
    """With `--wait`."""


def deliver_correction(  # noqa: PLR0913 - a command has these options
    there: DeployedStack, name: str, fixed: Path, *, leave_out: bool, again: bool, wait: bool, timeout: int
) -> CommandResult[DeliveredCorrection]:
    """Deliver a rejected delivery again, with its corrected rows. Raises InputError where it cannot be: then nothing is sent."""
    from lakegate.local_check.corrected_delivery import correct_delivery  # noqa: PLC0415 - the engine

    dependencies = there.dependencies()
    delivery = find_delivery(dependencies, name, LATEST)
    with interruptible_folder() as folder:
        made = correct_delivery(
            dependencies, delivery, fixed, folder, terminal.bytes_arriving, leave_out=leave_out, again=again
        )
        if wait and not made.is_completed:
            raise InputError(
                "a delivery of this dataset is complete when no more objects arrive: leave out --wait, and see `lakegate status`"
            )
        landed, about = "", {CORRECTS: made.workload}
        for each in made.files:
            local, to = read(each.path), To(dependencies.places.landing, each.key, there.account, about)
            with terminal.bytes_arriving(each.key, local.size) as arrived:
                version = send(client("s3"), local, to, arrived)
            landed = workload_id(to.bucket, to.key, version)
    last, ended = made.files[-1], time.monotonic()
    waited = [Waited(landed, last.key, local.size, ended)] if wait else []
    wait_for(dependencies, waited, timeout)
    status = waited[0].status(dependencies) if waited else None
    found = DeliveredCorrection(
        landed if made.is_completed else None,
        made.workload,
        tuple(each.key for each in made.files),
        made.corrected,
        made.left_out,
        status,
    )
    words: list[Word] = [*_in_words(found)]
    if status is not None:
        words.append(lambda _: print_end(status, waited[0], "upload"))
    return CommandResult(found, words, exit_code(waited) if waited else WaitExit.ACCEPTED)


def _in_words(found: DeliveredCorrection) -> Iterator[str]:
    rest = f", {found.left_out:,} left out" if found.left_out else ""
    yield f"{plural(found.corrected, 'corrected row')}{rest}, to {found.keys[-1]}: it corrects {found.corrects[:SHORT_ID]}"
    if found.workload is not None and found.status is None:
        yield f"  workload {found.workload}"
