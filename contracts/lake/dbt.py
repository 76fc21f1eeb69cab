"""Reads the routes that a dbt project declares from its `manifest.json`: data about stages stays outside of the contract.

A model, seed, snapshot or source declares a route in `meta` (dbt documentation, `meta`)::

    meta: {lakegate: {contract: shop, prefix: {dev: dev/orders/, prod: orders/}, dataset: orders, major: 1}}

`prefix` is a text for every stage, or a mapping from stages to texts. Without `dataset`, it is the contract's only one, or
the one with the name of the resource; without `major`, the newest line. The manifest is text of others: only these keys are
read, and what is not of this form is refused with its place. Schema of a manifest: dbt documentation, Manifest JSON file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.errors import InputError
from lakegate.contracts.words import listed, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSIONS: Final = ("v10", "v11", "v12", "v20")
"""Schemas of manifests that are read; v20, of dbt Fusion, is v12 under another name."""
MAX_BYTES: Final = 256 << 20
MAX_ROUTES: Final = 10_000
KEY: Final = "lakegate"
_SCHEMA: Final = re.compile(r"https://schemas\.getdbt\.com/dbt/manifest/(v[0-9]{1,3})(\.json|/index\.html)?")
_KEYS: Final = frozenset({"contract", "dataset", "major", "prefix"})
_GROUPS: Final = ("nodes", "sources")


@dataclass(frozen=True, slots=True)
class DeclaredRoute:
    """What one resource of the project declares for one stage."""

    resource: str
    """Its unique id, such as `model.shop.orders`."""
    name: str
    """Its name, by which a dataset is chosen where nothing else does."""
    contract: str = ""
    prefix: str = ""
    """Empty where the resource declares none for the stage."""
    dataset: str | None = None
    major: int | None = None
    fault: str = ""
    """Why the declaration cannot be used; then the rest is empty."""


def declared_routes(manifest: bytes, stage: str) -> tuple[DeclaredRoute, ...]:
    """What the resources of a manifest declare for a stage, by their ids. Resources without a declaration are left out.

    Raises InputError for what is no manifest of a known schema, or declares too many routes.
    """
    document = manifest_of(manifest)
    found = [
        _declared(resource, each, declaration, stage)
        for group in _GROUPS
        for resource, each in _mapping(document.get(group), group).items()
        for declaration in _declarations(each)
    ]
    if len(found) > MAX_ROUTES:
        raise InputError(f"the manifest declares {len(found):,} routes, more than {MAX_ROUTES:,}")
    return tuple(_once(sorted(found, key=lambda each: each.resource)))


def manifest_of(manifest: bytes) -> Mapping[str, Any]:
    """The document of a manifest; InputError for what is no manifest of a known schema."""
    if len(manifest) > MAX_BYTES:
        raise InputError(f"the manifest has more than {MAX_BYTES:,} bytes")
    try:
        document = json.loads(manifest)
    except (ValueError, RecursionError):
        raise InputError("the manifest is not JSON: name the `manifest.json` that dbt writes below `target/`") from None
    document = _mapping(document, "the manifest")
    schema = _mapping(document.get("metadata"), "metadata").get("dbt_schema_version")
    known = _SCHEMA.fullmatch(schema) if isinstance(schema, str) else None
    if known is None or known[1] not in VERSIONS:
        raise InputError(
            f"the manifest has the schema {shown(str(schema))}; known are {listed(VERSIONS)} of dbt manifests"
        )
    return document


def _mapping(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"{name} is not an object: name the `manifest.json` that dbt writes below `target/`")
    return value


def _declarations(resource: object) -> Iterator[object]:
    """The declaration of a resource: `config.meta` before `meta`, which dbt fills from it."""
    if isinstance(resource, Mapping):
        config = resource.get("config")
        metas = (config.get("meta") if isinstance(config, Mapping) else None, resource.get("meta"))
        yield from [each[KEY] for each in metas if isinstance(each, Mapping) and KEY in each][:1]


def _declared(resource: str, node: Mapping[str, Any], declaration: object, stage: str) -> DeclaredRoute:
    name = node.get("name")
    route = DeclaredRoute(resource, name if isinstance(name, str) else "")
    fault = _fault(declaration)
    if fault:
        return DeclaredRoute(resource, route.name, fault=fault)
    assert isinstance(declaration, Mapping)
    prefix = declaration["prefix"]
    return DeclaredRoute(
        resource,
        route.name,
        declaration["contract"],
        prefix if isinstance(prefix, str) else prefix.get(stage, ""),
        declaration.get("dataset"),
        declaration.get("major"),
    )


def _fault(declaration: object) -> str:
    """What is wrong with the form of a declaration; empty if nothing is."""
    if not isinstance(declaration, Mapping):
        return f"`{KEY}` is not a mapping"
    if unknown := set(declaration) - _KEYS:
        return f"unknown keys: {listed(sorted(unknown))}"
    texts = [declaration.get("contract"), declaration.get("dataset", "x")]
    if not all(isinstance(each, str) and each and each.isprintable() for each in texts):
        return "`contract` and `dataset` are printable texts, and `contract` is required"
    major = declaration.get("major", 1)
    if not isinstance(major, int) or isinstance(major, bool) or major < 0:
        return "`major` is a whole number from 0"
    prefix = declaration.get("prefix")
    prefixes = list(prefix.values()) if isinstance(prefix, Mapping) else [prefix]
    if not prefixes or not all(isinstance(each, str) and each and each.isprintable() for each in prefixes):
        return "`prefix` is a printable text, or a mapping from stages to such texts"
    return ""


def _once(routes: list[DeclaredRoute]) -> Iterator[DeclaredRoute]:
    """Refuse every route whose prefix two resources declare for different datasets."""
    owners: dict[str, set[tuple[object, ...]]] = {}
    for each in routes:
        target = (each.contract, each.dataset or each.name, each.major)
        owners.setdefault(each.prefix, set()).add(target)
    for each in routes:
        if each.prefix and len(owners[each.prefix]) > 1:
            fault = f"{shown(each.prefix)} is declared by several resources for different datasets"
            yield DeclaredRoute(each.resource, each.name, fault=fault)
        else:
            yield each
