"""Reads DCS, the Data Contract Specification. Each document is validated with the official schema of its version."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from lakegate.contracts.documents.about import about
from lakegate.contracts.documents.advice import advised, merge_by_owner
from lakegate.contracts.documents.dcs_fields import read_field
from lakegate.contracts.documents.dcs_layers import Definitions
from lakegate.contracts.documents.dcs_older import older_quality
from lakegate.contracts.documents.extension import EXTENSION, Extension, inheritance
from lakegate.contracts.documents.quality import Owner, quality_rules
from lakegate.contracts.documents.schemas import schema_problems
from lakegate.contracts.documents.server_format import delimiter_of, served
from lakegate.contracts.documents.service_levels import named_rules, notice_of
from lakegate.contracts.documents.unknown_keys import warn_unknown_keys
from lakegate.contracts.documents.values import rule_id, texts
from lakegate.contracts.model.contract import Contract, Dataset, Rule, separated
from lakegate.contracts.model.policy import Additional, Policy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lakegate.contracts.documents.dcs_layers import Layers
    from lakegate.contracts.documents.document import Document
    from lakegate.contracts.documents.nodes import Place
    from lakegate.contracts.documents.notes import Notes
    from lakegate.contracts.errors import Problem

SCHEMAS = {
    "0.9.3": "official/dcs-1.1.0",
    "1.1.0": "official/dcs-1.1.0",
    "1.2.0": "official/dcs-1.2.1",
    "1.2.1": "official/dcs-1.2.1",
}
VERSIONS = tuple(SCHEMAS)
AS_PUBLISHED = {"1.2.0": "official/dcs-1.2.0"}
"""Versions whose published schema has keys that the next version renamed: a document that matches it is valid too."""
READ_KEYS = ("dataContractSpecification", "id", "models", "definitions", "servicelevels", "quality")
KEYS = ("primaryKey", "primary")
"""The primary key flag of a field, and its name before 1.1.0."""
UNTYPED = "The key `type` is missing: write text, library, sql or custom."


def read(document: Document, notes: Notes, variables: Mapping[str, str]) -> Contract:
    """The contract of a document, as far as it can be read; problems are added to `notes`. DCS has no variables."""
    del variables
    top, info, terms = document.top, document.top["info"], document.top["terms"]
    version = top["dataContractSpecification"].written
    schema, problems = _judged(document, version)
    merged = merge_by_owner(problems, partial(_untyped_rule, document), lambda _: UNTYPED)
    notes.errors.extend(advised(merged, document))
    warn_unknown_keys(document, schema, notes)
    definitions = Definitions(document, notes)
    older = older_quality(top["quality"], top["models"], notes)
    datasets = [_dataset(name, place, definitions, older) for name, place in top["models"].entries.items()]
    _warn_unused(definitions)
    concrete, common = separated(datasets)
    return Contract(
        id=top["id"].text or "",
        version=info["version"].text or "",
        format=f"DCS {version}",
        datasets=concrete,
        name=info["title"].text,
        status=info["status"].text,
        about=about(
            top,
            notes,
            READ_KEYS,
            description=info["description"].text,
            owner=info["owner"].text,
            usage=terms["usage"].text,
            limitations=terms["limitations"].text,
        ),
        common=common,
        **inheritance([top["config"][EXTENSION]], notes),
    )


def _judged(document: Document, version: str) -> tuple[str, list[Problem]]:
    """The schema that a document is validated with, and the problems it reports."""
    problems, published = schema_problems(document, SCHEMAS[version]), AS_PUBLISHED.get(version)
    if problems and published and not schema_problems(document, published):
        return published, []
    return SCHEMAS[version], problems


def _untyped_rule(document: Document, problem: Problem) -> Place | None:
    """A quality rule without `type`, which causes problems for every type at once."""
    place = document.at(problem.path)
    is_untyped = place.steps[-2:-1] == ("quality",) and not place["type"].present
    return place if is_untyped and problem.code == "missing-key" else None


def _dataset(name: str, place: Place, definitions: Definitions, older: Mapping[str, list[Rule]]) -> Dataset:
    ordinals = Counter[str]()
    top = definitions.top
    places = [top["config"][EXTENSION], place["config"][EXTENSION]]
    extension = Extension(places, definitions.notes, served(top["servers"]), delimiter_of(top["servers"]))
    promised = None if "notice_days" in extension.declared else notice_of(top["terms"]["noticePeriod"])
    layered = {path: definitions.layers(each) for path, each in place["fields"].entries.items()}
    found = {path: layers for path, layers in layered.items() if layers is not None}
    fields = [read_field(layers, path, definitions, ordinals) for path, layers in found.items()]
    rules = [
        *(rule for _, field_rules in fields for rule in field_rules),
        *_primary_key(place["primaryKey"], found, ordinals, definitions.notes),
        *quality_rules(Owner(place, name, graded=False), ordinals, definitions.notes),
        *older.get(name, ()),
        *named_rules(top["servicelevels"], name, top["models"].entries),
    ]
    return Dataset(
        name=name,
        fields=tuple(field for field, _ in fields),
        rules=extension.graded(rules),
        origin=place.origin,
        policy=_policy(place["additionalFields"], extension),
        notice_days=extension.notice_days if promised is None else promised,
        csv=extension.csv,
        storage=extension.storage,
        declared=extension.declared
        | (set() if place["additionalFields"].flag is None else {"additional_fields"})
        | (set() if promised is None else {"notice_days"}),
    )


def _primary_key(declared: Place, fields: Mapping[str, Layers], ordinals: Counter[str], notes: Notes) -> Iterator[Rule]:
    """One rule for the whole key: the model's `primaryKey`, else the flagged fields in document order."""
    flagged = {name: key for name, layers in fields.items() if (key := _flagged(layers)) is not None}
    names = texts(declared) or tuple(flagged)
    if declared.items and flagged and set(flagged) != set(names):
        message = f"The fields declare another primary key ({', '.join(flagged)}): keep one of the two."
        notes.error("two-primary-keys", declared, message)
    if names:
        origin = declared.origin if declared.items else flagged[names[0]].origin
        yield Rule(rule_id(ordinals, ",".join(names), "primaryKey"), "primaryKey", origin, names)


def _flagged(layers: Layers) -> Place | None:
    return next((layers[key] for key in KEYS if layers[key].flag), None)


def _policy(declared: Place, extension: Extension) -> Policy:
    """The policy with the model's `additionalFields`, unless the extension sets it. The default of the schema is ignored."""
    if declared.flag is None or "additional_fields" in extension.declared:
        return extension.policy
    return replace(extension.policy, additional_fields=Additional.ALLOW if declared.flag else Additional.FORBID)


def _warn_unused(definitions: Definitions) -> None:
    for place in definitions.top["definitions"].entries.values():
        if place.path not in definitions.used:
            definitions.notes.warning("unused-definition", place, "No field refers to this definition.")
