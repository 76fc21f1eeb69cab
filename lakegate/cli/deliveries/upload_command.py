"""`lakegate upload`: files into the landing bucket, and on request what became of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from lakegate.aws.clients import client
from lakegate.aws.open_stack import DeployedStack
from lakegate.base.errors import AccessDenied, LakegateError, PortError
from lakegate.base.json_codec import select_fields
from lakegate.base.text import plural
from lakegate.cli import terminal
from lakegate.cli.click_commands import Argument, Option
from lakegate.cli.command_runner import CommandResult, stack_command
from lakegate.cli.deliveries.wait_for_verdict import WaitExit, exit_code, print_end
from lakegate.cli.deliveries.wait_for_verdict import wait as wait_for
from lakegate.cli.options import AsJson, Timeout, Wait
from lakegate.cli.terminal import Word
from lakegate.contract.delivery_policy import MergeStrategy, Replaces
from lakegate.gate.datasets.delivery_standing import standing_of
from lakegate.gate.delivery.delivery_row import workload_id
from lakegate.gate.delivery.find_deliveries import at_rest
from lakegate.gate.delivery.protocol import State
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.ledger.blocks import Block, BlockKind
from lakegate.gate.registry.routes import candidates, covering
from lakegate.library.awaited_deliveries import LONGEST_WAIT, Waited
from lakegate.library.described_deliveries import SHORT_ID, DeliveryStatus, OtherDelivery
from lakegate.transfer.upload_files import Local as File
from lakegate.transfer.upload_files import To, destination, read, refuse_ignored, send

if TYPE_CHECKING:
    from rich.console import Console

SEARCHED: Final = 50
"""The latest blocks of a dataset, among which one of the same name is looked for."""


@dataclass(frozen=True, slots=True)
class Sent:
    """Landed files, how long that took, and the end by the monotonic clock."""

    workload: str
    to: To
    file: File
    version: str
    seconds: float
    ended: float


@dataclass(frozen=True, slots=True)
class UploadSeconds:
    """Seconds of the upload, and from its end to the verdict and to the completion."""

    upload: float
    verdict: float | None
    completion: float | None


@dataclass(frozen=True, slots=True)
class LandedFile:
    """A file that has landed."""

    workload: str
    key: str
    bucket: str
    version: str
    size: int
    sha256: str
    waited: UploadSeconds


@dataclass(frozen=True, slots=True)
class LandedDelivery(DeliveryStatus):
    """A file that has landed, and what became of it (`--wait`)."""

    bucket: str
    version: str
    sha256: str
    waited: UploadSeconds


@dataclass(frozen=True, slots=True)
class LandedFiles:
    """Several files that have landed."""

    deliveries: tuple[LandedFile | LandedDelivery, ...]


@stack_command
def upload(  # noqa: PLR0913 - a command has these options
    there: DeployedStack,
    files: Annotated[list[Path], Argument(help="The files to deliver.")],
    *,
    to: Annotated[
        str,
        Option(
            help="Folders of the landing bucket, orders/, or the whole key of one file, orders/day.csv.",
        ),
    ],
    name: Annotated[str | None, Option("--as", help="The object's name, where it is not the file's.")] = None,
    wait: Wait = False,
    timeout: Timeout = LONGEST_WAIT,
    as_json: AsJson = False,
) -> CommandResult[LandedFile | LandedDelivery | LandedFiles]:
    """Deliver files: into the landing bucket, with checksums that S3 verifies; with --wait up to the verdicts.

    Every file is a delivery of its own.

    Example: lakegate upload samples/weather-clean.csv --to weather/ --wait

    Exit code: 0 landed (with --wait: all accepted), 1 one was rejected, 3 one has no verdict (failed, gone, or not in time).
    """
    where = destination(files, to, name)
    dependencies, sent, waited = there.dependencies(), list[Sent](), list[Waited]()
    for each in _sent(there, dependencies, files, where.in_bucket(there.output("LandingBucket"))):
        sent.append(each)
        if not as_json:
            terminal.tell(_in_words(each, alone=not wait))
    if wait:
        waited = [Waited(each.workload, each.to.key, each.file.size, each.ended) for each in sent]
        wait_for(dependencies, waited, timeout)
    found = [each.status(dependencies) for each in waited]
    ends = [(one, end, len(found) > 1) for one, end in zip(found, waited, strict=True)]
    words: list[Word] = [partial(_print_end, one, end, after_blank=several) for one, end, several in ends]
    words += [partial(_tell_beside, other) for one in found for other in _counted_beside(dependencies, one)]
    if len(waited) > 1:
        words += ["", ", ".join(_counted(waited))]
    landed = [_landed(each) for each in sent] if not wait else list(map(_judged, sent, waited, found))
    result = landed[0] if len(landed) == 1 else LandedFiles(tuple(landed))
    return CommandResult(result, words, exit_code(waited) if wait else WaitExit.ACCEPTED)


def _counted(waited: list[Waited]) -> Iterator[str]:
    """How many were accepted, and how many were not, with their names."""
    for words, code in (
        ("accepted", WaitExit.ACCEPTED),
        ("rejected", WaitExit.REJECTED),
        ("no verdict", WaitExit.NO_VERDICT),
    ):
        names = [each.key.rpartition("/")[2] for each in waited if exit_code([each]) is code]
        if names:
            yield f"{len(names):,} {words}" + (f": {' '.join(names)}" if code is not WaitExit.ACCEPTED else "")


def _counted_beside(dependencies: Dependencies, one: DeliveryStatus) -> Iterator[OtherDelivery]:
    """The last accepted delivery of the same name that counts beside an accepted one, where nothing replaces or merges it."""
    if one.state is not State.PUBLISHED or one.contract is None or one.measured is None:
        return
    policy, dataset = one.measured.plan.policy, one.contract.dataset
    if policy.replaces is not Replaces.NOTHING or policy.merge_strategy is not MergeStrategy.APPEND:
        return
    with suppress(AccessDenied):  # a producer need not be allowed to read other deliveries
        for block in islice(dependencies.ledger.newest(dataset, SEARCHED), SEARCHED):
            if (
                isinstance(block, Block)
                and block.kind is BlockKind.PUBLISHED
                and block.workload != one.workload
                and at_rest(dependencies, block).key == one.key
                and standing_of(dependencies, dataset, block.height).not_current is None
            ):
                yield OtherDelivery.of(block)
                return


def _tell_beside(other: OtherDelivery, _console: Console) -> None:
    beside = f"It counts beside {other.in_words}, which was accepted under the same name"
    replaced = "`replaces: delivery` in the contract lets a later one take its place"
    terminal.note(
        f"{beside}: {replaced}, `lakegate recall {other.workload[:SHORT_ID]} --reason …` takes it back.", "yellow"
    )


def _print_end(one: DeliveryStatus, end: Waited, _console: Console, *, after_blank: bool) -> None:
    if after_blank:
        terminal.standard_output().print()
    print_end(one, end, "upload")


def _sent(there: DeployedStack, dependencies: Dependencies, files: list[Path], keys: tuple[str, ...]) -> Iterator[Sent]:
    """Read all, then send one after the other: what cannot be read is refused before anything lands."""
    refuse_ignored(keys, dependencies.places.ignored)
    _warn_if_unrouted(dependencies, keys[0])
    read_files = [read(each) for each in files]
    for landed, (file, key) in enumerate(zip(read_files, keys, strict=True)):
        try:
            sent = _one_sent(file, To(dependencies.places.landing, key, there.account))
        except LakegateError:
            if landed:
                terminal.note(f"{landed} of {plural(len(files), 'file')} had landed before:", "yellow")
            raise
        yield sent


def _one_sent(file: File, to: To) -> Sent:
    began = time.monotonic()
    with terminal.bytes_arriving(file.path.name, file.size) as arrived:
        version = send(client("s3"), file, to, arrived)
    ended = time.monotonic()
    return Sent(workload_id(to.bucket, to.key, version), to, file, version, ended - began, ended)


def _warn_if_unrouted(dependencies: Dependencies, key: str) -> None:
    """Of all keys at once: they share their folders, and routes stand at folders."""
    try:
        route = covering(key, dependencies.registry.routes(dependencies.places.landing, candidates(key)))
    except PortError:
        return  # a producer need not be allowed to read the registry; the gate will say the same
    if route is None:
        text = f"no route covers {key}: without a contract it cannot be accepted (`lakegate route list`)"
        terminal.note(f"warning: {text}", "yellow")


def _landed(sent: Sent) -> LandedFile:
    waited = UploadSeconds(round(sent.seconds, 3), None, None)
    return select_fields(LandedFile, sent, sent.to, sent.file, waited=waited)


def _judged(sent: Sent, waited: Waited, status: DeliveryStatus) -> LandedDelivery:
    return select_fields(
        LandedDelivery,
        status,
        sent.to,
        sent.file,
        size=sent.file.size,
        version=sent.version,
        waited=UploadSeconds(round(sent.seconds, 3), *waited.seconds),
    )


def _in_words(sent: Sent, *, alone: bool) -> Iterator[str]:
    yield f"{sent.file.path} → s3://{sent.to.bucket}/{sent.to.key}"
    yield f"  {plural(sent.file.size, 'byte')} in {sent.seconds:.1f} s, SHA-256 {sent.file.sha256}"
    if alone:
        yield f"  workload {sent.workload}"
