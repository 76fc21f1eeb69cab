"""`lakegate demo`: eleven deliveries through the real template on this machine, each with the verdict it deserves; a table."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import click

from infra.local.local_command import interruptible, progress
from infra.local.local_stack import Stack as LocalStack
from infra.local.local_stack import StackOptions
from infra.samples.demo import (
    ANNOUNCED,
    CONTRACTS,
    PARTNER,
    PULLED,
    QUERY,
    SOURCE,
    UPLOADS,
    Upload,
    summary,
    write_uploads,
)
from lakegate.aws.clients import client
from lakegate.aws.open_stack import DeployedStack, ask_service, open_deployed
from lakegate.base.errors import NotFound, SetUpError
from lakegate.base.text import printable as escaped
from lakegate.cli import terminal
from lakegate.cli.click_commands import Option
from lakegate.cli.deliveries.status_command import table
from lakegate.features.announcements.deliver_command import announce, known_id, send
from lakegate.features.http_api.api_client import Api
from lakegate.features.pull.pull_task import PullOutcome, run_now
from lakegate.features.tables.erased_table import table_properties
from lakegate.features.tables.keep_table import HEIGHT, changes_table, table_name
from lakegate.gate.delivery.delivery_row import Workload, workload_id
from lakegate.gate.delivery.find_deliveries import find_delivery
from lakegate.gate.delivery.protocol import END_STATES
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.ports import Address
from lakegate.gate.registry.publish_contract import compile_document, publish, referred_of
from lakegate.gate.registry.registry_rows import Route
from lakegate.gate.registry.routes import add_route
from lakegate.library.described_deliveries import STANDING, DeliveryStatus, delivery_status
from lakegate.library.stack import Refused
from lakegate.transfer.upload_files import To, read
from lakegate.transfer.upload_files import send as put_object

ROWS = 2_000
PATIENCE_SECONDS = 120.0
PAUSE_SECONDS = 0.05
SURPRISED = 1
REFUSED = "refused"
PARAMETERS = {"PullObjects": f"arn:aws:s3:::{PARTNER}/*", "TableDatabase": "accepted"}
"""Of the template."""


def demo(
    rows: Annotated[int, Option(min=100, help="Rows of each file.")] = ROWS,
) -> None:
    """Start the local stack if it is not up, publish three contracts and show what becomes of eleven files.

    Eight are uploaded to S3. Two are announced through the HTTP API: one is refused by its summary, one is sent. One is pulled
    from the bucket of a partner. The accepted rows of one dataset are a table, which a query reads at the end.

    Example: lakegate demo

    Exit code: 0 every delivery got the verdict it deserves, 1 one did not, 2 the stack cannot be started.
    """
    began = time.monotonic()
    with interruptible(), progress() as report:
        state = LocalStack().up(StackOptions(parameters=PARAMETERS), report)
    up = time.monotonic() - began
    with interruptible(), open_deployed(local=True) as there, TemporaryDirectory(prefix="lakegate-demo-") as name:
        dependencies = there.dependencies()
        routes = _publish(dependencies)
        write_uploads(Path(name), rows, seed=int(time.time()))
        ended: dict[Upload, DeliveryStatus | None] = {
            upload: _uploaded(there, dependencies, upload, Path(name, upload.file)) for upload in UPLOADS
        }
        _send_events(there)  # the function that keeps tables starts while other files are delivered
        for each in ANNOUNCED:
            ended[each] = _announced(
                Api(state.api), dependencies, routes[each.prefix].contract, each, Path(name, each.file)
            )
        if (
            pulled := _pulled(there, dependencies, routes[PULLED.prefix].full_name, Path(name, PULLED.file))
        ) is not None:
            ended[PULLED] = pulled
        read_rows = _rows_of_table(there, dependencies, routes[PULLED.prefix].full_name)
    accounts = [one for one in ended.values() if one is not None]
    _show(accounts)
    if read_rows is not None:
        terminal.tell(
            ("Accepted rates are a table. DuckDB reads it:", "", *f"{QUERY};".splitlines(), "", read_rows, "")
        )
    terminal.standard_error().print(
        f"the stack in {up:.0f} s, all of it in {time.monotonic() - began:.0f} s", style="dim"
    )
    _show_commands(next(one for one in accounts if one.verdict == "rejected"), routes[PULLED.prefix].full_name)
    surprises = [upload for upload, one in ended.items() if (REFUSED if one is None else one.verdict) != upload.verdict]
    for surprise in surprises:
        terminal.standard_error().print(
            f"{surprise.key} ({surprise.description}) should have been {surprise.verdict}", style="red", markup=False
        )
    raise click.exceptions.Exit(SURPRISED if surprises else 0)


def _publish(dependencies: Dependencies) -> dict[str, Route]:
    """Publish each contract with its route; the routes by prefix."""
    routes = {}
    for document, prefix in CONTRACTS:
        body = document.read_bytes()
        compiled = compile_document(body, referred_of(dependencies, body))
        published = dependencies.run(publish(dependencies, compiled))
        dataset = published.plans[0][0]
        route = dependencies.run(add_route(dependencies, prefix, published.contract, dataset, 1))
        terminal.note(f"published {published.contract} {published.version}: {prefix} delivers to {route.full_name}")
        routes[prefix] = route
    return routes


def _uploaded(there: DeployedStack, dependencies: Dependencies, upload: Upload, path: Path) -> DeliveryStatus:
    """Upload one file to S3 and wait until it is finished."""
    to, began = To(there.output("LandingBucket"), upload.key, there.account), time.monotonic()
    version = put_object(client("s3"), read(path), to, lambda _: None)
    return _finished(dependencies, upload, workload_id(to.bucket, to.key, version), began)


def _announced(
    api: Api, dependencies: Dependencies, contract: str, upload: Upload, path: Path
) -> DeliveryStatus | None:
    """Announce one file with a summary of it, send it and wait until it is finished; None where the summary is refused."""
    began = time.monotonic()
    try:
        announced = announce(api, contract, path, {"summary": summary(path.read_bytes())})
    except Refused as refused:
        terminal.note(
            f"{upload.key} ({upload.description}): {REFUSED} after {time.monotonic() - began:.1f} s, nothing was sent"
        )
        for error in refused.errors:
            terminal.note(f"    {error['message']}")
        return None
    return _finished(dependencies, upload, known_id(send(api, contract, path, announced)), began)


def _pulled(there: DeployedStack, dependencies: Dependencies, dataset: str, path: Path) -> DeliveryStatus | None:
    """Offer one file in the bucket of a partner, let the stack fetch it, and wait until it is finished; None without pulls."""
    began, s3, function = time.monotonic(), client("s3"), f"{there.name}-pull"
    try:
        ask_service("lambda", "invoke", FunctionName=function)  # it finds the new dataset, which is not due yet
    except NotFound:
        terminal.note(
            f"{PULLED.key} is left out: this stack was started without pulls (`lakegate local down` stops it)"
        )
        return None
    with suppress(s3.exceptions.BucketAlreadyOwnedByYou):
        s3.create_bucket(Bucket=PARTNER, CreateBucketConfiguration={"LocationConstraint": there.region})
    s3.put_object(Bucket=PARTNER, Key=SOURCE, Body=path.read_bytes())
    dependencies.run(run_now(dependencies, dataset))
    ask_service("lambda", "invoke", FunctionName=function)
    end = next(iter(dependencies.rows("pulls").get(dataset).ends), None)
    if end is None or end.outcome is not PullOutcome.FETCHED:
        what = f"ended as {end.outcome} ({end.reason})" if end else "has not ended"
        raise SetUpError(f"the pull {what}: look at `lakegate pull list --local`.")
    bucket = there.output("LandingBucket")
    version = dependencies.objects.head(Address(bucket, end.key)).version
    return _finished(dependencies, PULLED, workload_id(bucket, end.key, version), began)


def _rows_of_table(there: DeployedStack, dependencies: Dependencies, dataset: str) -> terminal.Grid | None:
    """What the query finds in the table of a dataset, once that shows all deliveries; None: the stack keeps no tables."""
    database, began = there.outputs.get("TableDatabase", ""), time.monotonic()
    if not database:
        terminal.note(
            f"the table of {dataset} is left out: this stack was started without tables (`lakegate local down` stops it)"
        )
        return None
    _send_events(there)
    with terminal.standard_error().status(f"the table of {dataset} follows"):
        while _lacks(dependencies, database, dataset):
            if time.monotonic() - began > PATIENCE_SECONDS:
                raise SetUpError(f"the table does not follow: look at `lakegate table {dataset} --local` and the logs.")
            time.sleep(PAUSE_SECONDS)
    from pyiceberg.catalog import load_catalog  # noqa: PLC0415 - the help of `lakegate` needs none of it

    endpoint = os.environ["AWS_ENDPOINT_URL"]
    places = {"glue.endpoint": endpoint, "s3.endpoint": endpoint, "s3.region": there.region}
    catalog = load_catalog("glue", type="glue", **places)
    found = catalog.load_table((database, table_name(dataset))).scan().to_duckdb("rates").sql(QUERY)
    rows = [[str(cell) for cell in row] for row in found.fetchall()]
    terminal.note(f"the table of {dataset}: read after {time.monotonic() - began:.1f} s")
    return terminal.Grid(found.columns, rows, numbers=found.columns[1:])


def _send_events(there: DeployedStack) -> None:
    """Send the stack's events now; the stack does it once a minute."""
    ask_service("lambda", "invoke", FunctionName=there.output("NotifyFunction"))


def _lacks(dependencies: Dependencies, database: str, dataset: str) -> bool:
    """Whether the ledger has deliveries that the table does not show yet."""
    properties = table_properties(dependencies, database, dataset) or {}
    return any(map(changes_table, dependencies.ledger.blocks(dataset, int(properties.get(HEIGHT, -1)))))


def _finished(dependencies: Dependencies, upload: Upload, workload: str, began: float) -> DeliveryStatus:
    """The end of a delivery; SetUpError where that takes too long."""
    with terminal.standard_error().status("") as spinner:
        while (row := _row(dependencies, workload)) is None or row.state not in END_STATES:
            if (spent := time.monotonic() - began) > PATIENCE_SECONDS:
                raise SetUpError(
                    f"no verdict after {PATIENCE_SECONDS:.0f} seconds: look at `lakegate status --local` and the logs."
                )
            spinner.update(f"{upload.key} ({upload.description}): {STANDING[row and row.state]} ({spent:.1f} s)")
            time.sleep(PAUSE_SECONDS)
    one = delivery_status(dependencies, find_delivery(dependencies, row.id, 0))
    terminal.note(f"{upload.key} ({upload.description}): {one.verdict} after {time.monotonic() - began:.1f} s")
    return one


def _row(dependencies: Dependencies, workload: str) -> Workload | None:
    """The workload, of an announcement that of its delivery; None before there is one."""
    try:
        row = dependencies.workloads.get(workload)
        return dependencies.workloads.get(row.joined) if row.joined else row
    except NotFound:
        return None


def _show(accounts: list[DeliveryStatus]) -> None:
    console = terminal.wide()
    console.print()
    table(accounts).print()
    console.print()


def _show_commands(rejected: DeliveryStatus, tabled: str) -> None:
    program = _program()
    console = terminal.standard_output()
    short = rejected.workload[:12]
    for words, command in (
        ("why one was rejected:", f"reasons {short} --local"),
        ("all deliveries:", "status --local"),
        ("the ledger that proves them:", f"log {rejected.contract.dataset if rejected.contract else ''} --local"),
        ("read the table:", f"table {tabled} --local"),
        ("your own file:", "upload FILE --to weather/ --wait --local"),
        ("stop the stack:", "local down"),
    ):
        console.print(escaped(f"{words:>30} {program} {command}"), markup=False, soft_wrap=True)


def _program() -> str:
    """The call of this program, in words that can be typed again."""
    called = Path(sys.argv[0])
    try:
        return str(called.resolve().relative_to(Path.cwd()))
    except ValueError:
        return called.name
