"""`lakegate get`: the accepted data of a dataset line on local disk."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path  # noqa: TC003 - typer reads the annotation
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from lakegate.cli import terminal
from lakegate.cli.aws import opened
from lakegate.cli.download import DiffersError, Folder, LostError, deliveries, fetched
from lakegate.cli.escape import escaped
from lakegate.cli.options import DEFAULT_STACK, AsJson, Line, Local, StackName
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.block import BlockKind
from lakegate.contracts.lake.block import deliveries as listed_deliveries
from lakegate.contracts.lake.lifecycle import LineStatus, moment
from lakegate.contracts.lake.projection import NOTHING
from lakegate.contracts.lake.waiver import Waiver
from lakegate.contracts.words import counted, shown
from lakegate.functions.ports.errors import NotFound
from lakegate.functions.usecases.layout import manifest_key
from lakegate.functions.usecases.lines import line_named
from lakegate.functions.usecases.readers import published_since, read_manifest, whole

if TYPE_CHECKING:
    from lakegate.cli.download import ListedDelivery
    from lakegate.functions.usecases.dependencies import Dependencies

DIFFERS = 1
HEIGHT: Final = re.compile(r"-1|[0-9]{1,15}")


@dataclass(slots=True)
class Fetch:
    """What a run is to bring, and what it has brought."""

    manifest: dict[str, Any]
    since: int
    folder: Path
    wanted: tuple[ListedDelivery, ...] = ()
    done: list[tuple[ListedDelivery, tuple[bool, ...]]] = field(default_factory=list)
    """Each delivery that is there whole, and which of its files were fetched now."""
    lost: list[tuple[ListedDelivery, str]] = field(default_factory=list)
    """Deliveries that were left out because an object of them is lost, and which."""
    problem: str = ""
    """Why the run stopped; empty where everything is there."""

    @property
    def height(self) -> int:
        """What to give as --since next time: everything up to here is there."""
        if len(self.done) + len(self.lost) == len(self.wanted):
            return max(int(self.manifest["height"]), self.since)
        return self.done[-1][0].height if self.done else self.since


def get(  # noqa: PLR0913 - a command has these options
    line: Line,
    folder: Annotated[Path, typer.Argument(help="The target folder; created if missing.", show_default=False)],
    *,
    since: Annotated[
        str,
        typer.Option(help="Only deliveries above this height, or accepted since this time (UTC), such as 2026-11-26."),
    ] = str(NOTHING),
    skip_lost: Annotated[
        bool, typer.Option("--skip-lost", help="Leave out deliveries with an object that was deleted, and name them.")
    ] = False,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Download the accepted data of a line by its manifest. What is there already is verified and not fetched again.

    Example: lakegate get orders_v1 data/ --since 4

    A line that is deprecated, in sunset or retired is named with its replacement.

    Exit code: 0 everything is there, 1 an object is not what the manifest lists, 2 it cannot be fetched.
    """
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        head = head_of(dependencies, line)
        known = Folder(folder).known(head["line"])
        is_current = "segments" in known or not known["deliveries"]  # else all that it lists gets the current form
        height = int(since) if HEIGHT.fullmatch(since) else None
        if height is None:
            begin = _time(since)
            manifest = head if is_current else whole(dependencies, head, NOTHING)
            manifest, height = published_since(dependencies, manifest, begin)
        else:
            manifest = whole(dependencies, head, height if is_current else NOTHING)
        fetch = Fetch(manifest, height, folder)
        _fetch(dependencies, fetch, known, skip_lost=skip_lost)
    if as_json:
        terminal.print_json(_as_document(fetch))
    else:
        if line != head["line"]:  # a part of a name is what one line has today, and may be another one's tomorrow
            terminal.answers().print(escaped(f"line  {head['line']}"), markup=False, soft_wrap=True)
        _print(fetch, " --local" if local else "")
    if text := _ending(head.get("lifecycle"), moment(datetime.now(UTC))):
        terminal.errors().print(escaped(f"lakegate: warning: {head['line']} {text}"), markup=False, soft_wrap=True)
    if fetch.problem:
        terminal.errors().print(escaped(f"lakegate: {fetch.problem}"), markup=False)
        raise typer.Exit(DIFFERS)


def _time(since: str) -> datetime:
    """A time, of UTC where it has no zone. Raises InputError for a text that is none."""
    try:
        time = datetime.fromisoformat(since)
    except ValueError:
        raise InputError(f"--since {shown(since)} is neither a height nor a time such as 2026-11-26T08:00") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _ending(lifecycle: dict[str, Any] | None, now: str) -> str:
    """What a reader has to know of the end of a line; empty where it has none."""
    if lifecycle is None:
        return ""
    passed = [each["status"] for each in lifecycle["planned"] if each["at"] <= now]
    status = passed[-1] if passed else lifecycle["status"]
    if status not in {LineStatus.DEPRECATED, LineStatus.SUNSET, LineStatus.RETIRED}:
        return ""
    ahead = "".join(f", {each['status']} from {each['at'][:10]}" for each in lifecycle["planned"] if each["at"] > now)
    use = f": use {lifecycle['replacement']}" if lifecycle["replacement"] else ""
    guide = f" ({lifecycle['guide']})" if lifecycle["guide"] else ""
    return f"is {'in sunset' if status == LineStatus.SUNSET else status}{ahead}{use}{guide}"


def head_of(dependencies: Dependencies, name: str) -> dict[str, Any]:
    """The head of the manifest of the line that a person means; a whole name is looked up in the lake bucket alone."""
    found = _read(dependencies, name) if "/" in name else None
    if found is None:
        line = line_named(dependencies, name)
        found = _read(dependencies, line) or _empty(dependencies, line)
    return found


def _empty(dependencies: Dependencies, line: str) -> dict[str, Any]:
    """The head of a line without deliveries. Raises InputError where it has some: its head is lost."""
    if any(each.kind is BlockKind.PUBLISHED for each in listed_deliveries(dependencies.ledger.blocks(line))):
        where = f"s3://{dependencies.places.lake}/{manifest_key(line)}"
        raise InputError(f"the manifest of {line} is lost ({where}): the next sweep writes it again from the ledger")
    return {"line": line, "height": NOTHING, "deliveries": []}


def _read(dependencies: Dependencies, line: str) -> dict[str, Any] | None:
    try:
        return read_manifest(dependencies, manifest_key(line), line)
    except NotFound:
        return None


def _fetch(dependencies: Dependencies, fetch: Fetch, known: dict[str, Any], *, skip_lost: bool) -> None:
    """Delivery by delivery. Whatever ends it early, the folder's manifest lists what is there."""
    fetch.wanted = deliveries(fetch.manifest, fetch.since)
    folder = Folder(fetch.folder)
    size = sum(file.size for each in fetch.wanted for file in each.files)
    try:
        with terminal.bytes_arriving(fetch.manifest["line"], size) as arrived:
            for each in fetch.wanted:
                try:
                    fetch.done.append((each, fetched(dependencies, fetch.folder, each, arrived)))
                except LostError as error:
                    if not skip_lost:
                        hint = "--skip-lost leaves such deliveries out, `lakegate restore` puts the object back"
                        raise DiffersError(f"{error}: {hint}") from None
                    fetch.lost.append((each, str(error)))
    except DiffersError as error:
        fetch.problem = str(error)
    finally:
        if fetch.done or _is_marked_otherwise(known, fetch):
            folder.write(_merged(known, fetch))


def _is_marked_otherwise(known: dict[str, Any], fetch: Fetch) -> bool:
    """Whether the folder has deliveries, and its manifest states other rules that do not hold."""
    return bool(known["deliveries"]) and known.get("stale") != fetch.manifest.get("stale")


def _merged(known: dict[str, Any], fetch: Fetch) -> dict[str, Any]:
    """The manifest of the folder: what it listed before, and what is there since."""
    there = {each["height"]: each for each in known["deliveries"]}
    done = there.keys() | {each.height for each, _ in fetch.done}
    listed = there | {each["height"]: each for each in fetch.manifest["deliveries"] if each["height"] in done}
    height = max(known["height"], fetch.height)
    return {**fetch.manifest, "height": height, "deliveries": [listed[each] for each in sorted(listed)]}


def _as_document(fetch: Fetch) -> dict[str, object]:
    return {
        "line": fetch.manifest["line"],
        "folder": str(fetch.folder),
        "since": fetch.since,
        "height": fetch.height,
        "complete": not fetch.problem and not fetch.lost,
        "lost": [
            {"height": each.height, "workload": each.listed["workload"], "reason": why} for each, why in fetch.lost
        ],
        "deliveries": [
            {
                "height": delivery.height,
                "workload": delivery.listed["workload"],
                "waiver": delivery.listed.get("waiver"),
                "files": [
                    {"path": each.place, "size": each.size, "checksum": each.checksum or None, "fetched": was_fetched}
                    for each, was_fetched in zip(delivery.files, which, strict=True)
                ],
            }
            for delivery, which in fetch.done
        ],
        **({"stale": fetch.manifest["stale"]} if "stale" in fetch.manifest else {}),
    }


def _print(fetch: Fetch, stack: str) -> None:
    console = terminal.answers()
    for delivery, which in fetch.done:
        for each, was_fetched in zip(delivery.files, which, strict=True):
            verified = each.checksum.partition(":")[0] or "size only"
            did = "fetched" if was_fetched else "present"
            text = f"{did}  {each.place}  {counted(each.size, 'byte')}, {verified}"
            console.print(escaped(text), markup=False, soft_wrap=True)
        if "waiver" in delivery.listed:
            text = f"waived  height {delivery.height}: {_in_words(Waiver(**delivery.listed['waiver']))}"
            console.print(escaped(text), markup=False, soft_wrap=True)
    for delivery, why in fetch.lost:
        console.print(escaped(f"lost  height {delivery.height}: {why}"), markup=False, soft_wrap=True)
    line = fetch.manifest["line"]
    if not fetch.done and not fetch.lost and not fetch.problem:
        console.print(
            escaped(f"Nothing of {line} was accepted above height {fetch.since}."), markup=False, soft_wrap=True
        )
    for each in fetch.manifest.get("stale", {}).get("rules", ()):
        text = f"stale    {each['rule']} does not hold for all accepted data since {each['since'][:19]} UTC"
        console.print(escaped(text), markup=False, soft_wrap=True)
    words = shlex.join(("lakegate", "get", line, str(fetch.folder), "--since", str(fetch.height)))
    next_time = f"What is accepted later: {words}{stack}"
    console.print(escaped(next_time), markup=False, soft_wrap=True)


def _in_words(waiver: Waiver) -> str:
    end = "expired" if waiver.has_expired(datetime.now(UTC).isoformat()) else "until"
    return f"{waiver.reason} ({end} {waiver.expires[:10]}, by {waiver.actor})"
