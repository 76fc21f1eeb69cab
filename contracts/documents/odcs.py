"""Reads ODCS, the Open Data Contract Standard. Each document is validated with the official schema of its version."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from lakegate.contracts.documents.about import DEPRECATION, about
from lakegate.contracts.documents.advice import advised, merge_by_owner
from lakegate.contracts.documents.definitions import expanded
from lakegate.contracts.documents.extension import EXTENSION, Extension, inheritance
from lakegate.contracts.documents.odcs_properties import (
    DATES,
    Property,
    is_column,
    read_property,
    read_relationship,
)
from lakegate.contracts.documents.odcs_references import by_names
from lakegate.contracts.documents.quality import Owner, quality_rules
from lakegate.contracts.documents.schemas import schema_problems
from lakegate.contracts.documents.server_format import delimiter_of, served
from lakegate.contracts.documents.service_levels import element_rules
from lakegate.contracts.documents.unknown_keys import warn_unknown_keys
from lakegate.contracts.documents.values import rule_id
from lakegate.contracts.documents.variables import resolved
from lakegate.contracts.model.contract import About, Contract, Dataset, Rule, separated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lakegate.contracts.documents.document import Document
    from lakegate.contracts.documents.nodes import Place
    from lakegate.contracts.documents.notes import Notes
    from lakegate.contracts.errors import Problem

SCHEMAS = {
    "v3.0.0": "official/odcs-3.0.2",
    "v3.0.1": "official/odcs-3.0.2",
    "v3.0.2": "official/odcs-3.0.2",
    "v3.1.0": "official/odcs-3.1.0",
    "v3.2.0": "official/odcs-3.2.0",
}
WITHOUT_MOMENTS = ("v3.0.0", "v3.0.1", "v3.0.2")
"""The versions without logical types for moments and times of day."""
WITH_VARIABLES = ("v3.2.0",)
"""The versions whose documents have variables: in all others the linter warns of them."""
VERSIONS = tuple(SCHEMAS)
UNTYPED = "The key `logicalType` is missing: options have no meaning without it, so add it."
READ_KEYS = ("apiVersion", "kind", "id", "version", "name", "status", "schema", "slaProperties")


def read(document: Document, notes: Notes, variables: Mapping[str, str]) -> Contract:
    """The contract of a document, as far as it can be read; problems are added to `notes`."""
    version = document.top["apiVersion"].written
    if version in WITH_VARIABLES:
        document = resolved(document, variables, notes)
    document = expanded(document, notes)
    top = document.top
    problems = schema_problems(document.without(DEPRECATION), SCHEMAS[version])
    merged = merge_by_owner(problems, partial(_untyped, document), lambda _: UNTYPED)
    notes.errors.extend(advised(merged, document))
    warn_unknown_keys(document, SCHEMAS[version], notes)
    datasets, common = separated(_dataset(each, top, notes) for each in top["schema"].items)
    return Contract(
        id=top["id"].text or "",
        version=top["version"].text or "",
        format=f"ODCS {version}",
        datasets=datasets,
        name=top["name"].text,
        status=top["status"].text,
        about=_about(top, notes),
        common=common,
        **inheritance(_extensions(top), notes),
    )


def _untyped(document: Document, problem: Problem) -> Place | None:
    """A property with options but without a type, which causes problems for every type at once."""
    owner, found, _ = problem.path.rpartition(".logicalTypeOptions")
    return None if not found or document.at(owner)["logicalType"].present else document.at(owner)


def _about(top: Place, notes: Notes) -> About:
    """The descriptions of a contract; the owner is the team's name."""
    description = top["description"]
    return about(
        top,
        notes,
        READ_KEYS,
        description=description.text,
        owner=top["team"]["name"].text,
        **{key: description[key].text for key in ("purpose", "usage", "limitations")},
    )


def _dataset(place: Place, top: Place, notes: Notes) -> Dataset:
    name, ordinals = place["name"].text or "", Counter[str]()
    extension = Extension(
        [*_extensions(top), *_extensions(place)], notes, served(top["servers"]), delimiter_of(top["servers"])
    )
    columns = [each for each in place["properties"].items if is_column(each, notes)]
    dates = DATES if (top["apiVersion"].text or "") in WITHOUT_MOMENTS else frozenset()
    properties = [read_property(each, ordinals, notes, dates) for each in columns]
    rules = [
        *(rule for each in properties for rule in each.rules),
        *_primary_key(properties, ordinals),
        *quality_rules(Owner(place, name), ordinals, notes),
        *(read_relationship(each, ordinals, place["properties"], notes) for each in place["relationships"].items),
        *element_rules(
            top["slaProperties"],
            top["slaDefaultElement"],
            name,
            [each["name"].text or "" for each in top["schema"].items],
        ),
    ]
    rules = [_by_names(rule, top) for rule in rules]
    return Dataset(
        name=name,
        fields=tuple(each.field for each in properties),
        rules=extension.graded(rules),
        origin=place.origin,
        policy=extension.policy,
        notice_days=extension.notice_days,
        csv=extension.csv,
        storage=extension.storage,
        physical=place["physicalName"].text,
        declared=extension.declared,
    )


def _by_names(rule: Rule, top: Place) -> Rule:
    """The rule with the ids in its reference replaced by names."""
    if rule.kind != "foreignKey":
        return rule
    return replace(rule, arguments={**rule.arguments, "to": by_names(top, str(rule.arguments["to"]))})


def _extensions(owner: Place) -> Iterator[Place]:
    for each in owner["customProperties"].items:
        if each["property"].text == EXTENSION:
            yield each["value"]


def _primary_key(properties: list[Property], ordinals: Counter[str]) -> Iterator[Rule]:
    """One rule for the whole key, its fields ordered by `primaryKeyPosition`; fields without a position are last."""
    key = sorted(
        (each for each in properties if each.key_position is not None), key=lambda each: each.key_position or 0
    )
    if key:
        names = tuple(each.field.name for each in key)
        yield Rule(rule_id(ordinals, ",".join(names), "primaryKey"), "primaryKey", key[0].key_origin, names)
