"""`lakegate route import`: the routes that a dbt project declares, for one stage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from lakegate.base.errors import InputError
from lakegate.base.text import join_words
from lakegate.cli.click_commands import Option
from lakegate.cli.command_runner import CommandResult, confirm, gate_command
from lakegate.cli.contracts.route_command import FOUND
from lakegate.cli.options import Yes
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.contract.semantic_versions import major, precedence
from lakegate.features.convert.dbt_manifest import MAX_BYTES, DeclaredRoute, declared_routes
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.registry.registry_rows import RegistrySnapshot
from lakegate.gate.registry.routes import PlannedRoute, add_route, effects, leading, plan_route

PUBLIC = (
    "Also public models without a declaration: PROJECT/MODEL/ delivers to the dataset MODEL of the contract PROJECT; for another"
    " stage than prod, STAGE/PROJECT/MODEL/."
)


@dataclass(frozen=True, slots=True)
class Import:
    """One declaration, and what becomes of it."""

    declared: DeclaredRoute
    outcome: str
    """`added`, `unchanged`, `refused`, or `skipped`: it is for another stage."""
    plan: PlannedRoute | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ImportedRoute:
    """A declared route, and its outcome."""

    resource: str
    outcome: str
    prefix: str | None
    dataset: str | None = field(metadata=DATASET_KEY)
    version: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class RouteImport:
    """The declared routes of a stage."""

    stage: str
    dry_run: bool
    routes: tuple[ImportedRoute, ...]


@gate_command
def import_routes(  # noqa: PLR0913 - the options of the command
    dependencies: Dependencies,
    *,
    dbt: Annotated[Path, Option(help="The manifest.json that dbt writes below target/.")],
    stage: Annotated[str, Option(help="Whose prefixes are imported, where a resource declares several.")] = "prod",
    public: Annotated[bool, Option(help=PUBLIC)] = False,
    dry_run: Annotated[bool, Option(help="Show what would be added, and write nothing.")] = False,
    yes: Yes = False,
) -> CommandResult[RouteImport]:
    """Add the routes that models, seeds, snapshots and sources of a dbt project declare in `meta`. No route is removed.

    Example: lakegate route import --dbt target/manifest.json --stage prod --dry-run

    What `route add` has confirmed is confirmed for all routes together. What cannot be added is refused; the others are added.

    Exit code: 0 all are there, 1 some were refused, 2 the manifest cannot be read, or it was not confirmed.
    """
    declared = declared_in(dbt, stage, public=public)
    imports = import_declared(dependencies, declared, dry_run=dry_run, yes=yes)
    is_refused = any(entry.outcome == "refused" for entry in imports)
    result = RouteImport(stage, dry_run, tuple(map(_describe_import, imports)))
    return CommandResult(result, _in_words(result), FOUND if is_refused else 0)


def import_declared(
    dependencies: Dependencies, declared: tuple[DeclaredRoute, ...], *, dry_run: bool, yes: bool
) -> list[Import]:
    """Add the declared routes one by one, after one confirmation for all; with `dry_run`, only what would become of them."""
    imports = [_plan_import(dependencies, route) for route in declared]
    if dry_run:
        return imports
    confirm(
        [
            text
            for entry in imports
            if entry.plan
            for text in effects(dependencies, entry.plan, entry.declared.contract)
        ],
        yes=yes,
    )
    return [_add_route(dependencies, entry) for entry in imports]


def declared_in(path: Path, stage: str, *, public: bool = False) -> tuple[DeclaredRoute, ...]:
    """The declarations of a manifest for a stage. Raises InputError."""
    return declared_routes(_text(path), stage, public=public)


def _text(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"the manifest cannot be read ({error.strerror})") from None


def _plan_import(dependencies: Dependencies, declared: DeclaredRoute) -> Import:
    """The effect of a declaration, as the registry is now."""
    if declared.fault:
        return Import(declared, "refused", reason=declared.fault)
    if not declared.prefix:
        return Import(declared, "skipped")
    try:
        seen = dependencies.registry.contract(declared.contract)
        number = _major_number(seen, declared)
        plan = plan_route(
            dependencies, declared.prefix, declared.contract, _dataset(seen, declared, number), number, seen=seen
        )
    except InputError as error:
        return Import(declared, "refused", reason=str(error))
    return Import(declared, "unchanged" if plan.there else "added", plan)


def _add_route(dependencies: Dependencies, planned: Import) -> Import:
    if planned.outcome != "added" or planned.plan is None:
        return planned
    route = planned.plan.wanted
    try:
        dependencies.run(add_route(dependencies, route.prefix, route.contract, route.dataset, route.major))
    except InputError as error:  # somebody else has changed the registry since
        return Import(planned.declared, "refused", reason=str(error))
    return planned


def _major_number(seen: RegistrySnapshot, declared: DeclaredRoute) -> int:
    if declared.major is not None:
        return declared.major
    newest = max((entry.version for entry in seen.standing), key=precedence, default=None)
    if newest is None:
        raise InputError(f"no version of the contract {declared.contract} is published")
    return major(newest)


def _dataset(seen: RegistrySnapshot, declared: DeclaredRoute, number: int) -> str:
    """The declared dataset, the only one, or the one with the name of the resource."""
    if declared.dataset is not None:
        return declared.dataset
    publication = leading(seen, declared.contract, number)
    names = [name for name, _ in publication.plans] if publication else []
    if len(names) > 1 and declared.name not in names:
        raise InputError(f"declare one of the datasets of {declared.contract}: {join_words(names)}")
    return names[0] if len(names) == 1 else declared.name


def _describe_import(found: Import) -> ImportedRoute:
    declared, route = found.declared, found.plan.wanted if found.plan else None
    return ImportedRoute(
        declared.resource,
        found.outcome,
        declared.prefix or None,
        route.full_name if route else None,
        route.version if route else None,
        found.reason or None,
    )


def _in_words(found: RouteImport) -> Iterator[str]:
    """Each declaration for people, then the counts."""
    for route in found.routes:
        if route.outcome != "skipped":
            words = f"{route.prefix} → {route.dataset} {route.version}" if route.dataset else route.reason
            yield f"{route.outcome:<9}  {route.resource}: {words}"
    counts = Counter(entry.outcome for entry in found.routes)
    numbers = ", ".join(f"{counts[entry]:,} {entry}" for entry in ("added", "unchanged", "refused", "skipped"))
    yield f"Stage {found.stage}: {numbers}{'; nothing was written (--dry-run)' if found.dry_run else ''}."
