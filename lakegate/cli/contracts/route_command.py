"""`lakegate route`: which landing keys belong to which contract, dataset and line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from lakegate.aws.open_stack import DEFAULT_STACK, opened
from lakegate.cli import terminal
from lakegate.cli.command_runner import confirm
from lakegate.cli.options import AsJson, Local, StackName, Yes
from lakegate.contract.semantic_versions import major
from lakegate.contract_files import chosen
from lakegate.errors import InputError
from lakegate.gate.effects import run
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
from lakegate.text import printable as escaped

if TYPE_CHECKING:
    from lakegate.gate.registry.registry_rows import Publication, Route
    from lakegate.gate.registry.routes import RouteFinding

FOUND = 1
app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Define which landing keys belong to which contract, dataset and line.",
)

Prefix = Annotated[str, typer.Argument(help="Folders of the landing bucket, e.g. weather/se/", show_default=False)]


@app.command("add")
def add(  # noqa: PLR0913 - a command has these options
    prefix: Prefix,
    contract: Annotated[str, typer.Argument(help="The contract's id, or the beginning of it.", show_default=False)],
    *,
    dataset: Annotated[str | None, typer.Option(help="Which dataset, where the contract has several.")] = None,
    line: Annotated[int | None, typer.Option(help="Major version; by default the newest.")] = None,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Deliver what lands below a prefix to a dataset line. Where prefixes lie in one another, the longest counts.

    Example: lakegate route add orders/ 5f0c8a52-8f2e-4d07-9a60-0b7c1a3f6d11

    An abbreviated contract id, a prefix that another line receives now, and a retired version or line must be confirmed.

    Exit code: 0 added (twice is once), 2 it cannot be added, or was not confirmed.
    """
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        snapshot = dependencies.registry.snapshot()
        newest = chosen(snapshot, contract)
        number = major(newest.version) if line is None else line
        first = leading(snapshot, newest.contract, number) or newest
        name = _dataset(first, dataset)
        wanted = (_folders(prefix), newest.contract, name, number)
        confirm(effects(dependencies, planned_route(dependencies, *wanted), contract), yes=yes)
        route = run(add_route(dependencies, *wanted), dependencies.clock)
    _answer("Added", route, as_json=as_json)


@app.command("list")
def show(stack: StackName = DEFAULT_STACK, local: Local = False, as_json: AsJson = False) -> None:
    """List all routes.

    Example: lakegate route list
    """
    with opened(stack, local=local) as there:
        routes = sorted(there.dependencies().registry.snapshot().routes, key=lambda each: each.prefix)
    if as_json:
        terminal.print_json({"routes": [_as_document(each) for each in routes]})
    elif routes:
        terminal.answers().print(_table(routes))
    else:
        terminal.answers().print("There is no route yet: lakegate route add PREFIX/ CONTRACT")


@app.command("remove")
def remove(prefix: Prefix, stack: StackName = DEFAULT_STACK, local: Local = False, as_json: AsJson = False) -> None:
    """Let what lands below a prefix belong to nobody any more. What was taken in before keeps its contract.

    Example: lakegate route remove weather/
    """
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        route = run(remove_route(dependencies, _folders(prefix)), dependencies.clock)
    _answer("Removed", route, as_json=as_json)


@app.command("lint")
def lint(stack: StackName = DEFAULT_STACK, local: Local = False, as_json: AsJson = False) -> None:
    """Report routes that overlap, that no delivery reaches, and that lead to retired versions or lines.

    Example: lakegate route lint

    Exit code: 0 nothing was found, 1 something was found.
    """
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        routes = as_judged(dependencies, dependencies.registry.snapshot().routes)
        found = lint_routes(routes, dependencies.places)
    if as_json:
        terminal.print_json({"valid": not found, "findings": [_as_finding(each) for each in found]})
    for each in () if as_json else found:
        line = f"{each.fault:<11}  {each.route.prefix} → {each.route.line}: {each.message}"
        terminal.answers().print(escaped(line), markup=False, soft_wrap=True)
    if not found and not as_json:
        terminal.answers().print("No fault of a route was found.")
    if found:
        raise typer.Exit(FOUND)


def _as_finding(finding: RouteFinding) -> dict[str, object]:
    other = finding.other
    return {
        "fault": finding.fault.value,
        "route": _as_document(finding.route),
        "message": finding.message,
        "other": None if other is None else _as_document(other),
    }


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


def _answer(done: str, route: Route, *, as_json: bool) -> None:
    if as_json:
        terminal.print_json(_as_document(route))
    else:
        text = f"{done}: {route.prefix} → {route.line} {route.version} ({route.status})"
        terminal.answers().print(escaped(text), markup=False, soft_wrap=True)


def _as_document(route: Route) -> dict[str, object]:
    return {
        "bucket": route.bucket,
        "prefix": route.prefix,
        "contract": route.contract,
        "dataset": route.dataset,
        "line": route.line,
        "version": route.version,
        "status": route.status,
        "plan": route.plan,
    }


def _table(routes: list[Route]) -> Table:
    grid = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("prefix", "line", "version", "status"):
        grid.add_column(name, overflow="fold")
    for each in routes:
        grid.add_row(*(Text(escaped(cell)) for cell in (each.prefix, each.line, each.version, each.status)))
    return grid
