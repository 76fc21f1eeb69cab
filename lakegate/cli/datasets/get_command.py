"""`lakegate get`: the accepted data of a dataset line on local disk."""

from __future__ import annotations

import re
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from lakegate.aws.open_stack import DEFAULT_STACK, opened
from lakegate.cli import terminal
from lakegate.cli.command_runner import AsJson, Line, Local, StackName
from lakegate.errors import InputError
from lakegate.gate.datasets.dataset_lines import LineStatus
from lakegate.gate.datasets.readers_manifest import published_since, whole
from lakegate.gate.datasets.slice_projection import NOTHING
from lakegate.gate.delivery.people_decisions import Waiver
from lakegate.text import counted, shown
from lakegate.text import printable as escaped
from lakegate.timestamps import moment
from lakegate.transfer.download_files import Fetch, Folder, bring, deliveries, head_of

DIFFERS = 1
HEIGHT: Final = re.compile(r"-1|[0-9]{1,15}")


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
        fetch = Fetch(manifest, height, folder, deliveries(manifest, height))
        size = sum(file.size for each in fetch.wanted for file in each.files)
        with terminal.bytes_arriving(head["line"], size) as arrived:
            bring(dependencies, fetch, known, arrived, skip_lost=skip_lost)
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
