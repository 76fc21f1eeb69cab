"""`lakegate route`: which landing keys belong to which contract, dataset and line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from lakegate.aws.open_stack import DeployedStack
from lakegate.cli.command_runner import CommandResult, confirm, stack_command
from lakegate.cli.options import NamedContract, OfDataset, Yes
from lakegate.cli.terminal import Grid
from lakegate.contract.semantic_versions import major
from lakegate.errors import InputError
from lakegate.gate.effects import run
from lakegate.gate.registry.named_contract import chosen
from lakegate.gate.registry.registry_rows import Publication, Route
from lakegate.gate.registry.routes import (
    add_route,
    as_judged,
    effects,
    leading,
    lint_routes,
    planned_route,
    remove_route,
)
from lakegate.text import listed

FOUND = 1
app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Define which landing keys belong to which contract, dataset and line.",
)

Prefix = Annotated[str, typer.Argument(help="Folders of the landing bucket, e.g. weather/se/", show_default=False)]


@dataclass(frozen=True, slots=True)
class DescribedRoute:
    """A route: objects below a prefix belong to a dataset line."""

    bucket: str
    prefix: str
    contract: str
    dataset: str
    line: str
    version: str
    status: str
    plan: str


@dataclass(frozen=True, slots=True)
class Routes:
    """All routes, by prefix."""

    routes: tuple[DescribedRoute, ...]


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
@stack_command
def add(  # noqa: PLR0913 - a command has these options
    there: DeployedStack,
    prefix: Prefix,
    contract: NamedContract,
    *,
    dataset: OfDataset = None,
    line: Annotated[int | None, typer.Option(help="Major version; by default the newest.")] = None,
    yes: Yes = False,
) -> CommandResult[DescribedRoute]:
    """Deliver what lands below a prefix to a dataset line. Where prefixes lie in one another, the longest counts.

    Example: lakegate route add orders/ 5f0c8a52-8f2e-4d07-9a60-0b7c1a3f6d11

    An abbreviated contract id, a prefix that another line receives now, and a retired version or line must be confirmed.

    Exit code: 0 added (twice is once), 2 it cannot be added, or was not confirmed.
    """
    dependencies = there.dependencies()
    snapshot = dependencies.registry.snapshot()
    newest = chosen(snapshot, contract)
    number = major(newest.version) if line is None else line
    first = leading(snapshot, newest.contract, number) or newest
    name = _dataset(first, dataset)
    wanted = (_folders(prefix), newest.contract, name, number)
    confirm(effects(dependencies, planned_route(dependencies, *wanted), contract), yes=yes)
    route = run(add_route(dependencies, *wanted), dependencies.clock)
    return _changed("Added", route)


@app.command("list")
@stack_command
def show(
    there: DeployedStack,
) -> CommandResult[Routes]:
    """List all routes.

    Example: lakegate route list
    """
    routes = sorted(there.dependencies().registry.snapshot().routes, key=lambda each: each.prefix)
    found = Routes(tuple(map(_described, routes)))
    rows = ((each.prefix, each.line, each.version, each.status) for each in found.routes)
    table = Grid(("prefix", "line", "version", "status"), rows, is_wide=False)
    return CommandResult(found, [table if routes else "There is no route yet: lakegate route add PREFIX/ CONTRACT"])


@app.command("remove")
@stack_command
def remove(
    there: DeployedStack,
    prefix: Prefix,
) -> CommandResult[DescribedRoute]:
    """Let what lands below a prefix belong to nobody any more. What was taken in before keeps its contract.

    Example: lakegate route remove weather/
    """
    dependencies = there.dependencies()
    route = run(remove_route(dependencies, _folders(prefix)), dependencies.clock)
    return _changed("Removed", route)


@app.command("lint")
@stack_command
def lint(
    there: DeployedStack,
) -> CommandResult[LintedRoutes]:
    """Report routes that overlap, that no delivery reaches, and that lead to retired versions or lines.

    Example: lakegate route lint

    Exit code: 0 nothing was found, 1 something was found.
    """
    dependencies = there.dependencies()
    routes = as_judged(dependencies, dependencies.registry.snapshot().routes)
    found = lint_routes(routes, dependencies.places)
    findings = tuple(
        FoundFault(
            each.fault.value, _described(each.route), each.message, _described(each.other) if each.other else None
        )
        for each in found
    )
    words = [f"{each.fault:<11}  {each.route.prefix} → {each.route.line}: {each.message}" for each in findings]
    nothing = ["No fault of a route was found."]
    return CommandResult(LintedRoutes(not found, findings), words or nothing, FOUND if found else 0)


def _folders(prefix: str) -> str:
    """The last slash may be left out."""
    return prefix if prefix.endswith("/") else f"{prefix}/"


def _dataset(version: Publication, name: str | None) -> str:
    names = [dataset for dataset, _plan in version.plans]
    if name is None and len(names) == 1:
        return names[0]
    if name not in names:
        raise InputError(f"choose a dataset of {version.contract} {version.version} with --dataset: {listed(names)}")
    return name


def _changed(done: str, route: Route) -> CommandResult[DescribedRoute]:
    words = f"{done}: {route.prefix} → {route.line} {route.version} ({route.status})"
    return CommandResult(_described(route), [words])


def _described(route: Route) -> DescribedRoute:
    return DescribedRoute(
        route.bucket,
        route.prefix,
        route.contract,
        route.dataset,
        route.line,
        route.version,
        route.status,
        route.plan,
    )
