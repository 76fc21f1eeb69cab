"""`lakegate route`: which landing keys belong to which contract and dataset."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

from lakegate.base.errors import InputError
from lakegate.base.json_codec import select_fields
from lakegate.base.text import quote
from lakegate.cli.click_commands import Argument, CommandGroup, Option
from lakegate.cli.command_runner import CommandResult, confirm, facade_command, gate_command
from lakegate.cli.options import CONTRACT_NAME, ApiContract, OfDataset, Yes
from lakegate.cli.terminal import Grid
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.registry.routes import as_judged, lint_routes
from lakegate.library.published_routes import DescribedRoute, Routes, WantedRoute

if TYPE_CHECKING:
    from lakegate.library.stack import StackFacade

FOUND = 1
VERSIONED = re.compile(r"(?P<dataset>.+)_v(?P<major>[0-9]{1,9})", re.ASCII | re.DOTALL)
"""The name of a dataset with its major version."""
app = CommandGroup(help="Define which landing keys belong to which contract and dataset.")

Prefix = Annotated[str, Argument(help="Folders of the landing bucket, e.g. weather/se/")]


@dataclass(frozen=True, slots=True)
class FoundFault:
    """A fault of a route."""

    fault: str
    route: DescribedRoute
    message: str
    other: DescribedRoute | None
    """The route that overlaps."""


@dataclass(frozen=True, slots=True)
class LintedRoutes:
    """Faults of all routes."""

    valid: bool
    findings: tuple[FoundFault, ...]


@app.command("add")
@facade_command
def add(  # noqa: PLR0913 - a command has these options
    there: StackFacade,
    prefix: Prefix,
    contract: Annotated[
        str, Argument(metavar="CONTRACT|DATASET", help=f"{CONTRACT_NAME} Or a dataset: shop/orders, shop/orders_v1.")
    ],
    *,
    dataset: OfDataset = None,
    line: Annotated[int | None, Option(help="Major version; by default the newest.")] = None,
    yes: Yes = False,
) -> CommandResult[DescribedRoute]:
    """Deliver what lands below a prefix to a dataset. Where prefixes lie in one another, the longest counts.

    Example: lakegate route add orders/ 5f0c8a52-8f2e-4d07-9a60-0b7c1a3f6d11

    Example: lakegate route add orders/ shop/orders

    An abbreviated contract id, a prefix that another dataset receives now, and a retired version or dataset must be confirmed.

    Exit code: 0 added (twice is once), 2 it cannot be added, or was not confirmed.
    """
    own, slash, name = contract.partition("/")
    if slash and (dataset is not None or line is not None):
        raise InputError(f"{quote(contract)} names the dataset: leave out --dataset and --line")
    found = VERSIONED.fullmatch(name)
    if found:
        name, line = found["dataset"], int(found["major"])
    wanted = WantedRoute(prefix, own, name if slash else dataset, line)
    return _changed("Added", there.add_route(wanted, partial(confirm, yes=yes)))


@app.command("list")
@facade_command
def show(
    there: StackFacade,
) -> CommandResult[Routes]:
    """List all routes.

    Example: lakegate route list
    """
    routes = there.routes()
    rows = ((route.prefix, route.full_name, route.version, route.status) for route in routes.routes)
    table = Grid(("prefix", "line", "version", "status"), rows, unbroken=("line", "version"))
    return CommandResult(
        routes, [table if routes.routes else "There is no route yet: lakegate route add PREFIX/ CONTRACT"]
    )


@app.command("remove")
@facade_command
def remove(
    there: StackFacade,
    prefix: Prefix,
    *,
    contract: ApiContract = None,
) -> CommandResult[DescribedRoute]:
    """Let what lands below a prefix belong to nobody any more. What was taken in before keeps its contract.

    Example: lakegate route remove weather/
    """
    return _changed("Removed", there.remove_route(prefix, contract))


@app.command("lint")
@gate_command
def lint(
    dependencies: Dependencies,
) -> CommandResult[LintedRoutes]:
    """Report routes that overlap, that no delivery reaches, and that lead to retired versions or datasets.

    Example: lakegate route lint

    Exit code: 0 nothing was found, 1 something was found.
    """
    routes = as_judged(dependencies, dependencies.registry.snapshot().routes)
    found = lint_routes(routes, dependencies.places)
    findings = tuple(select_fields(FoundFault, finding) for finding in found)
    words = [
        f"{finding.fault:<11}  {finding.route.prefix} → {finding.route.full_name}: {finding.message}"
        for finding in findings
    ]
    nothing = ["No fault of a route was found."]
    return CommandResult(LintedRoutes(not found, findings), words or nothing, FOUND if found else 0)


def _changed(done: str, route: DescribedRoute) -> CommandResult[DescribedRoute]:
    words = f"{done}: {route.prefix} → {route.full_name} {route.version} ({route.status})"
    return CommandResult(route, [words])
