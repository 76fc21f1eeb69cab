"""Reads ODCS, the Open Data Contract Standard, each document judged by the official schema of the version it declares."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from contracts.errors import Problem
from contracts.formats.about import DEPRECATION, about
from contracts.formats.advice import advised
from contracts.formats.extension import Extension
from contracts.formats.odcs_properties import Property, is_column, read_property, read_relationship
from contracts.formats.quality import Owner, quality_rules
from contracts.formats.schemas import breaches
from contracts.formats.service_levels import element_rules
from contracts.formats.unnamed import note_unnamed
from contracts.formats.values import rule_id
from contracts.formats.variables import resolved
from contracts.model import About, Contract, Dataset, Rule, Severity
from contracts.pointers import by_names
from contracts.served import served

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from contracts.document import Document
    from contracts.formats.notes import Notes
    from contracts.nodes import Place

SCHEMAS = {
    "v3.0.0": "official/odcs-3.0.2",
    "v3.0.1": "official/odcs-3.0.2",
    "v3.0.2": "official/odcs-3.0.2",
    "v3.1.0": "official/odcs-3.1.0",
    "v3.2.0": "official/odcs-3.2.0",
}
WITH_VARIABLES = ("v3.2.0",)
VERSIONS = tuple(SCHEMAS)
EXTENSION = "lakegate"
TOLD = ("apiVersion", "kind", "id", "version", "name", "status", "schema", "slaProperties")


def read(document: Document, notes: Notes, variables: Mapping[str, str]) -> Contract:
    """The contract of a document, as far as it can be read; what is wrong with it is noted."""
    version = document.top["apiVersion"].written
    if version in WITH_VARIABLES:
        document = resolved(document, variables, notes)
    top = document.top
    problems = breaches(document.without(DEPRECATION), SCHEMAS[version])
    notes.errors.extend(advised(list(_untyped_once(problems, document)), document))
    note_unnamed(document, SCHEMAS[version], notes)
    return Contract(
        id=top["id"].text or "",
        version=top["version"].text or "",
        format=f"ODCS {version}",
        datasets=tuple(_dataset(each, top, notes) for each in top["schema"].items),
        name=top["name"].text,
        status=top["status"].text,
        about=_about(top, notes),
    )


def _untyped_once(problems: list[Problem], document: Document) -> Iterator[Problem]:
    """Options without a type break the conditions of every type at once: one sentence says so."""
    told: set[str] = set()
    for problem in problems:
        owner, found, _ = problem.path.rpartition(".logicalTypeOptions")
        if not found or document.at(owner)["logicalType"].present:
            yield problem
        elif owner not in told:
            message = "The key `logicalType` is missing: options mean nothing without it."
            yield Problem("missing-key", owner, document.line(owner), message)
            told.add(owner)


def _about(top: Place, notes: Notes) -> About:
    """The team's name stands for its owner."""
    description = top["description"]
    return about(
        top,
        notes,
        TOLD,
        description=description.text,
        owner=top["team"]["name"].text,
        **{key: description[key].text for key in ("purpose", "usage", "limitations")},
    )


def _dataset(place: Place, top: Place, notes: Notes) -> Dataset:
    name, ordinals = place["name"].text or "", Counter[str]()
    extension = Extension([*_extensions(top), *_extensions(place)], notes, served(top["servers"]))
    columns = [each for each in place["properties"].items if is_column(each, notes)]
    properties = [read_property(each, ordinals, notes) for each in columns]
    rules = [
        *(rule for each in properties for rule in each.rules),
        *_primary_key(properties, ordinals),
        *quality_rules(Owner(place, name), ordinals, notes),
        *(read_relationship(each, ordinals, place["properties"], notes) for each in place["relationships"].items),
        *element_rules(top["slaProperties"], name, [each["name"].text or "" for each in top["schema"].items]),
    ]
    rules = [_by_names(rule, top) for rule in rules]
    return Dataset(
        name=name,
        fields=tuple(each.field for each in properties),
        rules=tuple(rules) if extension.critical else tuple(replace(rule, severity=Severity.WARN) for rule in rules),
        origin=place.origin,
        policy=extension.policy,
        csv=extension.csv,
        storage=extension.storage,
        physical=place["physicalName"].text,
    )


def _by_names(rule: Rule, top: Place) -> Rule:
    """A reference may lead to its field by ids: rules know names alone."""
    if rule.kind != "foreignKey":
        return rule
    return replace(rule, arguments={**rule.arguments, "to": by_names(top, str(rule.arguments["to"]))})


def _extensions(owner: Place) -> Iterator[Place]:
    for each in owner["customProperties"].items:
        if each["property"].text == EXTENSION:
            yield each["value"]


def _primary_key(properties: list[Property], ordinals: Counter[str]) -> Iterator[Rule]:
    """One rule for the whole key, its fields in the order of their positions, those without one last."""
    key = sorted(
        (each for each in properties if each.key_position is not None), key=lambda each: each.key_position or 0
    )
    if key:
        names = tuple(each.field.name for each in key)
        yield Rule(rule_id(ordinals, ",".join(names), "primaryKey"), "primaryKey", key[0].key_origin, names)
