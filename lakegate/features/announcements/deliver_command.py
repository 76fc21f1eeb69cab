"""`lakegate deliver`: one file through the HTTP API, without any right in the account of the stack."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Annotated, Any, Final
from urllib.parse import urlsplit
from urllib.request import Request

from lakegate.aws.https_client import send_request
from lakegate.aws.open_stack import DeployedStack
from lakegate.base.errors import InputError
from lakegate.cli.click_commands import Argument, Option
from lakegate.cli.command_runner import CommandResult, next_command, stack_command
from lakegate.cli.deliveries.deliver_correction import DeliveredCorrection, deliver_correction
from lakegate.cli.deliveries.wait_for_verdict import WaitExit
from lakegate.cli.options import Timeout, Wait
from lakegate.library.awaited_deliveries import LONGEST_WAIT, pauses
from lakegate.library.stack import Refused, RemoteStack, contract_path, known_form, remote_stack, workload_path
from lakegate.transfer.upload_files import read

ENDS: Final = {"Accepted": WaitExit.ACCEPTED, "Rejected": WaitExit.REJECTED}
IN_GLUE: Final = re.compile(r"[a-z0-9_-]{1,255}\.[a-z0-9_-]{1,255}", re.ASCII)
"""`DATABASE.TABLE`"""
OVER: Final = frozenset({*ENDS, "Failed", "Gone", "Expired"})


@stack_command
def deliver(  # noqa: PLR0913 - a command has these options
    there: DeployedStack,
    file: Annotated[Path | None, Argument(help="The file to deliver.")] = None,
    *,
    table: Annotated[
        str | None,
        Option(
            help="Instead of a file a table: DATABASE.TABLE, an Iceberg table in Glue; or as `check --table` has it."
        ),
    ] = None,
    branch: Annotated[str, Option(help="With --table: its branch.")] = "audit",
    staged: Annotated[
        bool, Option("--staged", help="With --table: the snapshots that are staged (spark.wap.id), and no branch.")
    ] = False,
    snapshot: Annotated[
        str | None,
        Option(help="Of a table that is read here: of Delta a version, of Iceberg a snapshot, branch or tag."),
    ] = None,
    api: Annotated[
        str | None, Option(envvar="LAKEGATE_API", help="The address of the HTTP API, by default that of the stack.")
    ] = None,
    contract: Annotated[str | None, Option(help="The contract's id.")] = None,
    dataset: Annotated[str, Option(help="The dataset, if the contract has several.")] = "",
    summary: Annotated[Path | None, Option(help="A JSON file with what is known of the data (docs/api.md).")] = None,
    corrects: Annotated[
        str | None, Option(help="A rejected delivery, by workload or landing key: the file has its corrected rows.")
    ] = None,
    leave_out: Annotated[
        bool, Option("--leave-out", help="With --corrects: without the failing rows that the file does not have.")
    ] = False,
    again: Annotated[
        bool, Option("--again", help="With --corrects: also where an accepted delivery corrects it already.")
    ] = False,
    wait: Wait = False,
    timeout: Timeout = LONGEST_WAIT,
) -> CommandResult[dict[str, Any] | DeliveredCorrection]:
    """Deliver a file through the HTTP API: announced, sent by an upload URL, and with --wait followed to its verdict.

    It needs a token of the API in LAKEGATE_TOKEN, or in the file that LAKEGATE_TOKEN_FILE names, or credentials of AWS that may
    call the API; no right on a bucket.

    Example: lakegate deliver day.csv --api https://a1b2c3.execute-api.eu-west-1.amazonaws.com --contract orders --wait

    Without --api it is that of the stack (--stack, --local), whose address takes the right to describe the stack.

    With --corrects a rejected delivery is delivered again: what was right of it from the quarantine, and the rows that you
    corrected in the file that `lakegate reasons --rows` wrote. That asks the stack itself, with your rights on its buckets.

    Example: lakegate deliver --corrects orders/day.csv bad.csv --wait

    With --table the newest snapshot of a branch of a table of Iceberg is judged, and becomes main when it is accepted.

    Example: lakegate deliver --table sales.orders --branch audit --contract orders

    Any other table, such as one of Delta, is read here, and all rows of one version are delivered as a Parquet file. The table
    itself stays as it is.

    Example: lakegate deliver --table s3://lake/orders --snapshot 12 --contract orders --wait

    Exit code: 0 sent (with --wait: accepted), 1 refused by its summary or rejected, 3 no verdict (failed, gone, or not in time).
    """
    if table is not None:
        if file is not None or contract is None or corrects is not None:
            raise InputError("--table takes --contract, and no file")
        remote, is_alone = (
            remote_stack(api or there.output("ApiUrl")),
            summary is None and snapshot is None and not wait,
        )
        if IN_GLUE.fullmatch(table):
            source = f"iceberg://{table.replace('.', '/')}?{'wap=*' if staged else f'branch={branch}'}"
            return _deliver_branch(remote, contract, dataset, source, is_alone=is_alone)
        with _rows_of(table, snapshot) as rows:
            known = _known(dataset, summary)
            return _deliver_file(remote, contract, rows, known, wait=wait, timeout=timeout, is_named=api is not None)
    if file is None or snapshot is not None:
        raise InputError("name the file to deliver, or a table with --table")
    if corrects is not None:
        if contract is not None or dataset or summary is not None:
            raise InputError("--corrects names a delivery: leave out --contract, --dataset and --summary")
        return deliver_correction(there, corrects, file, leave_out=leave_out, again=again, wait=wait, timeout=timeout)
    if contract is None or leave_out or again:
        raise InputError("name the contract with --contract, or a rejected delivery with --corrects")
    remote, known = remote_stack(api or there.output("ApiUrl")), _known(dataset, summary)
    return _deliver_file(remote, contract, file, known, wait=wait, timeout=timeout, is_named=api is not None)


def _deliver_file(  # noqa: PLR0913 - what a file is delivered with
    remote: RemoteStack,
    contract: str,
    file: Path,
    known: Mapping[str, Any],
    *,
    wait: bool,
    timeout: float,
    is_named: bool,
) -> CommandResult[dict[str, Any] | DeliveredCorrection]:
    """Announce a file, send it, and follow it. `is_named`: the address of the API was given."""
    try:
        made = announce(remote, contract, file, known)
    except Refused as refused:
        if refused.kind != "summary-refused":
            raise
        return _refused(refused)
    with known_form():
        workload = str(made["workloadId"])
        found = send(remote, contract, file, made)
        if wait:
            found = _followed(remote, workload, contract, found, timeout)
        code = ENDS.get(found["status"], WaitExit.NO_VERDICT) if wait else WaitExit.ACCEPTED
        found = {**found, "workloadId": known_id(found), "announced": workload}
        words = [*_in_words(file, found)]
        if code is WaitExit.REJECTED:
            # `reasons` asks the stack itself, which somebody with nothing but its address cannot
            asks, of = ("status", ("api", "contract")) if is_named else ("reasons", ("stack", "local"))
            words.append(next_command("lakegate", asks, known_id(found), of=of))
        return CommandResult(found, words, code)


@contextmanager
def _rows_of(table: str, snapshot: str | None) -> Iterator[Path]:
    """The rows of a table as a Parquet file, which is named by table and version. Raises InputError, SetUpError."""
    from lakegate.local_check.table_data import table_name, write_table  # noqa: PLC0415 - for tables alone

    with TemporaryDirectory() as folder:
        made = Path(folder, "rows.parquet")
        version = write_table(table, snapshot, made).written.snapshot
        name = re.sub(r"[^A-Za-z0-9._-]", "_", f"{table_name(table)}-{version}")
        yield made.rename(made.with_name(f"{name}.parquet"))


def _deliver_branch(
    api: RemoteStack, contract: str, dataset: str, source: str, *, is_alone: bool
) -> CommandResult[dict[str, Any] | DeliveredCorrection]:
    """Let the gate look at a branch of a table in Glue, or at what is staged, now. `is_alone`: nothing else is asked for."""
    if not is_alone:
        raise InputError(
            "--table DATABASE.TABLE takes --branch or --staged alone: `lakegate status` follows the delivery"
        )
    query = {"object": source} | ({"line": dataset} if dataset else {})
    (found,) = api.ask("POST", f"{contract_path(contract)}/pull", query=query)["pulls"]
    words = f"{source} is looked at within five minutes, for {found['line']}. lakegate pull list"
    return CommandResult(dict(found), [words])


def announce(api: RemoteStack, contract: str, file: Path, known: Mapping[str, Any]) -> Mapping[str, Any]:
    """The announcement of a file, with its upload URL. `known`: more members of the request, such as `summary`.

    Raises Refused, of the kind `summary-refused` where the summary breaks a rule: then there is no announcement.
    """
    local = read(file)
    checksum = base64.b64encode(bytes.fromhex(local.sha256)).decode()
    wanted = {"name": file.name, "size": local.size, "checksum": f"sha256:{checksum}", **known}
    made: dict[str, Any] = api.ask("POST", f"{contract_path(contract)}/workload", wanted)
    return made


def send(api: RemoteStack, contract: str, file: Path, announced: Mapping[str, Any]) -> Mapping[str, Any]:
    """Upload the announced file by its URL; the workload, once the API has been notified."""
    upload = announced["upload"]
    with file.open("rb") as body:
        put(upload["url"], upload["headers"], body)
    found: dict[str, Any] = api.ask("POST", f"{workload_path(str(announced['workloadId']), contract)}/notify")
    return found


def put(url: str, headers: Mapping[str, str], file: IO[bytes]) -> None:
    """Send a file to an upload URL: of HTTPS, or of this machine. Raises InputError for another one, and where S3 refuses it."""
    parts = urlsplit(url)
    if (parts.scheme, parts.hostname) not in {("http", "127.0.0.1"), ("http", "localhost")} and parts.scheme != "https":
        raise InputError("the API named an upload address that is not of HTTPS: the file was not sent")
    request = Request(url, data=file, headers=dict(headers), method="PUT")  # noqa: S310 - of the API's response
    status, _ = send_request(request, "S3")
    if status != 200:  # noqa: PLR2004 - HTTP
        raise InputError(f"S3 refused the file with status {status}: has it changed, or is the URL's time over?")


def known_id(found: Mapping[str, Any]) -> str:
    """The id by which other commands find a delivery; of an announcement that nothing has landed for, its own."""
    return str(found["deliveryId"] or found["workloadId"])


def _known(dataset: str, summary: Path | None) -> Mapping[str, Any]:
    """What is said of a file when it is announced."""
    known: dict[str, Any] = {"dataset": dataset} if dataset else {}
    return known if summary is None else known | {"summary": _summary(summary)}


def _summary(place: Path) -> object:
    try:
        return json.loads(place.read_text())
    except (OSError, ValueError):
        raise InputError(f"{place} is not a JSON document") from None


def _followed(
    api: RemoteStack, workload: str, contract: str, found: Mapping[str, Any], timeout: float
) -> Mapping[str, Any]:
    """The workload when it is finished, or as it is when the time is over."""
    end, seconds = time.monotonic() + timeout, pauses()
    while found["status"] not in OVER and time.monotonic() < end:
        time.sleep(next(seconds))
        found = api.ask("GET", workload_path(workload, contract))
    return found


def _refused(refused: Refused) -> CommandResult[dict[str, Any]]:
    words = [f"  {error.get('path')}: {error.get('message')} ({error.get('code')})" for error in refused.errors]
    result = {"status": "Refused", "errors": refused.errors}
    return CommandResult(result, ["refused by its summary, nothing was sent", *words], WaitExit.REJECTED)


def _in_words(file: Path, found: Mapping[str, Any]) -> Iterator[str]:
    info = found["result"]["info"]
    yield f"{file} was sent: {found['status']}"
    yield f"  workload {found['workloadId']}"
    yield from (f"  {reason}" for reason in (info["errors"] if info else ()))
