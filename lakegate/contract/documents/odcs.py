"""Reads ODCS 3.0 to 3.2: variables, datasets, primary keys, references by ids."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from lakegate.base.errors import ContractError, Problem
from lakegate.base.text import quote
from lakegate.contract.contract_model import (
    COMMON,
    PLACEHOLDERS,
    VARIABLE,
    Contract,
    Dataset,
    Rule,
    separate_common,
)
from lakegate.contract.documents.document_root import DEPRECATION, about, delimiter_of, served_format
from lakegate.contract.documents.document_tree import Document, Node, Notes, Place, rule_id
from lakegate.contract.documents.extension_settings import EXTENSION, Extension, inheritance
from lakegate.contract.documents.key_table import DATASET, identity_of, native, texts_at
from lakegate.contract.documents.odcs_fields import DATES, Property, is_column, read_property, read_relationship
from lakegate.contract.documents.odcs_quality import Owner, quality_rules
from lakegate.contract.documents.read_document import MOST_CHARACTERS, too_long
from lakegate.contract.documents.ref_definitions import expand_references
from lakegate.contract.documents.schema_validation import schema_problems
from lakegate.contract.documents.service_level_keys import element_rules
from lakegate.contract.documents.unknown_keys import (
    EDITOR_SCHEMA,
    advise_on_keys,
    merge_by_owner,
    warn_unknown_keys,
)
from lakegate.contract.field_paths import path_of
from lakegate.contract.named_fields import with_paths

# ---- References between fields ----


ANCHOR = "#"


def qualify_target(top: Place, text: str) -> str:
    """The target of a reference as `dataset.field`; empty if a step has no target."""
    names: list[str] = []
    place, steps = top, text.lstrip(ANCHOR).strip("/").split("/")
    for key, wanted in zip(steps[::2], steps[1::2], strict=False):
        found = next((item for item in place[key].items if wanted in {item["id"].text, item["name"].text}), None)
        if found is None:
            return ""
        place = found
        names.append(found["name"].text or "")
    if not names:
        return ""
    table, *path = names
    return f"{table}.{path_of(f'.{entry}' for entry in path)}" if path else table


def by_names(top: Place, to: str) -> str:
    """The targets of a reference, each by names; unresolved or external targets stay as written."""
    return ",".join(
        (qualify_target(top, entry) or entry) if "/" in entry and "://" not in entry else entry
        for entry in to.split(",")
    )


# ---- Variables of ODCS 3.2 ----
# A variable with neither a value nor a default is an error; in parts that do not describe the data it is kept. The placeholders
# of queries (`${table}`, `${column}`, …) are not variables and are kept. The result is always a text, and is not searched for
# variables again.


CONSUMER_KEYS = ("servers", "support", "roles", "team", "price", "authoritativeDefinitions")
"""Parts of a document that do not describe the data: their consumers resolve the variables."""


def resolve_variables(document: Document, values: Mapping[str, str], notes: Notes) -> Document:
    """The document with all variables replaced; a variable without a value is a problem in `notes`.

    ContractError where the texts become too long.
    """
    return replace(document, root=_Resolution(values, notes).of(document.top, document.root))


@dataclass(slots=True)
class _Resolution:
    """The replacement of the variables of one document."""

    values: Mapping[str, str]
    notes: Notes
    characters: int = 0
    """Characters of the texts in which variables were replaced."""

    def of(self, place: Place, node: Node) -> Node:
        """A node with the variables of its texts replaced."""
        match node.content:
            case tuple(items):
                return replace(node, content=tuple(self.of(place[index], item) for index, item in enumerate(items)))
            case Mapping() as entries:
                return replace(node, content={key: self.of(place[key], entry) for key, entry in entries.items()})
            case str() as text if "${" in text:
                replaced = VARIABLE.sub(lambda match: _value(match, place, self.values, self.notes), text)
                self.characters += len(replaced)
                if self.characters > MOST_CHARACTERS:
                    mark = place.mark
                    problem = Problem("document-too-large", place.path, mark.line, too_long("variables"), mark.column)
                    raise ContractError((problem,))
                return replace(node, content=replaced, written=replaced)
            case _:
                return node


def _value(match: re.Match[str], place: Place, values: Mapping[str, str], notes: Notes) -> str:
    name, default = match["name"], match["default"]
    if name in PLACEHOLDERS:
        return match[0]
    if name not in values and default is None:
        form = f"write `${{{name}:-default}}`, or give it one"
        if place.steps[0] in CONSUMER_KEYS:
            notes.warning(
                "variable-kept", place, f"The variable {quote(name)} is left for the consumer to resolve: {form}."
            )
        else:
            notes.error(
                "unresolved-variable", place, f"The variable {quote(name)} has no value and no default: {form}."
            )
        return match[0]
    return values.get(name, default or "")


# ---- The document ----


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
READ_KEYS = (EDITOR_SCHEMA, "apiVersion", "kind", "id", "version", "name", "status", "schema", "slaProperties")


def read(document: Document, notes: Notes, variables: Mapping[str, str]) -> Contract:
    """The contract of a document, as far as it can be read; problems are added to `notes`."""
    version = document.top["apiVersion"].written
    if version in WITH_VARIABLES:
        document = resolve_variables(document, variables, notes)
    document = expand_references(document, notes)
    top = document.top
    problems = schema_problems(document.without(DEPRECATION).without(EDITOR_SCHEMA), SCHEMAS[version])
    merged = merge_by_owner(problems, partial(_find_untyped_property, document), lambda _: UNTYPED)
    notes.errors.extend(advise_on_keys(merged, document))
    warn_unknown_keys(document, SCHEMAS[version], notes)
    described = [_dataset(item, item["name"].text or "", top, notes) for item in top["schema"].items]
    policies = replace(_dataset(top["schema"], COMMON, top, notes), origin=top.origin) if not described else None
    datasets, common = separate_common(described) if policies is None else ((), policies)
    return Contract(
        format=f"ODCS {version}",
        datasets=datasets,
        about=about(top, notes, READ_KEYS, "odcs"),
        common=common,
        **identity_of(top, "odcs"),
        **inheritance(_extensions(top), notes),
    )


def _find_untyped_property(document: Document, problem: Problem) -> Place | None:
    """A property with options but without a type, which causes problems for every type at once."""
    owner, found, _ = problem.path.rpartition(".logicalTypeOptions")
    return None if not found or document.at(owner)["logicalType"].present else document.at(owner)


def _dataset(place: Place, name: str, top: Place, notes: Notes) -> Dataset:
    ordinals = Counter[str]()
    extension = Extension(
        [*_extensions(top), *_extensions(place)], notes, served_format(top["servers"]), delimiter_of(top["servers"])
    )
    columns = [item for item in place["properties"].items if is_column(item, notes)]
    dates = DATES if (top["apiVersion"].text or "") in WITHOUT_MOMENTS else frozenset()
    properties = [read_property(column, ordinals, notes, dates) for column in columns]
    named = Dataset(name, tuple(property_.field for property_ in properties), (), place.origin)
    rules = [
        *(rule for property_ in properties for rule in property_.rules),
        *_primary_key(properties, ordinals),
        *quality_rules(Owner(place, name), ordinals, notes),
        *(read_relationship(item, ordinals, place["properties"], notes) for item in place["relationships"].items),
        *element_rules(
            top["slaProperties"],
            top["slaDefaultElement"],
            name,
            [item["name"].text or "" for item in top["schema"].items],
        ),
    ]
    rules = [_with_names(rule, top) for rule in with_paths(rules, named, notes.errors)]
    return Dataset(
        name=name,
        fields=named.fields,
        rules=extension.graded(rules),
        origin=place.origin,
        policy=extension.policy,
        notice_days=extension.notice_days,
        csv=extension.csv,
        storage=extension.storage,
        declared=extension.declared,
        native=native(place["customProperties"]),
        stable_id=place["id"].text or None,
        **texts_at(place, DATASET, "odcs"),
    )


def _with_names(rule: Rule, top: Place) -> Rule:
    """The rule with the ids in its reference replaced by names."""
    if rule.kind != "foreignKey":
        return rule
    return replace(rule, arguments={**rule.arguments, "to": by_names(top, str(rule.arguments["to"]))})


def _extensions(owner: Place) -> Iterator[Place]:
    for item in owner["customProperties"].items:
        if item["property"].text == EXTENSION:
            yield item["value"]


def _primary_key(properties: list[Property], ordinals: Counter[str]) -> Iterator[Rule]:
    """One rule for the whole key, its fields ordered by `primaryKeyPosition`; fields without a position are last."""
    key = sorted(
        (property_ for property_ in properties if property_.key_position is not None),
        key=lambda entry: entry.key_position or 0,
    )
    if key:
        names = tuple(entry.field.name for entry in key)
        yield Rule(rule_id(ordinals, ",".join(names), "primaryKey"), "primaryKey", key[0].key_origin, names)
