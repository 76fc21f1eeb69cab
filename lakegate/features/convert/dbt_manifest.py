"""dbt source of a dataset; contract and routes of a dbt project."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from lakegate.base.errors import InputError
from lakegate.base.text import dataset_name, join_words, quote
from lakegate.contract.contract_model import Contract, Dataset, Field, Rule, Severity
from lakegate.contract.documents import yaml_writer
from lakegate.contract.documents.imported_schema import (
    PLAIN,
    Converted,
    ExpressedRequirements,
    ImportedSchema,
    contract_of,
)
from lakegate.contract.documents.odcs_quality import NO_ROW
from lakegate.contract.documents.yaml_writer import Flow, Items, Node, YamlEntry, write_document
from lakegate.contract.field_paths import column_path
from lakegate.features.convert.dbt_test_config import AllowedFailures, UnreadConfigError, allowed_failures
from lakegate.features.convert.ddl_dialect import DUCKDB
from lakegate.features.convert.sql_ddl import data_type, field_of

# ---- A dataset as a source of dbt ----
# dbt renders the texts of a source as templates of Jinja: what begins a tag in a text of the contract is written as a literal,
# so that dbt reads the text itself.


_TAG = re.compile(r"\{[{%#]")
"""The beginning of an expression, a statement or a comment of Jinja."""


def dbt(contract: Contract, dataset: Dataset) -> Converted:
    """`sources` of a dbt project, of version 1.8 or later (`data_tests`)."""
    requirements = ExpressedRequirements.in_contract(contract, dataset)
    name = contract.name or contract.id
    key = (
        requirements.key() if sum(len(rule.fields) for rule in dataset.rules if rule.kind == "primaryKey") == 1 else ()
    )
    columns = [yaml_writer.Mapping(list(_column(requirements, name, field, key))) for field in dataset.fields]
    table = yaml_writer.Mapping([YamlEntry("name", text_of(dataset.name)), YamlEntry("columns", Items(columns))])
    source = yaml_writer.Mapping([YamlEntry("name", text_of(name)), YamlEntry("tables", Items([table]))])
    top = yaml_writer.Mapping([YamlEntry("version", 2), YamlEntry("sources", Items([source]))])
    return Converted(write_document(top), (*DUCKDB.lost(dataset.fields, requirements), *requirements.omitted()))


def text_of(text: str) -> str:
    """A template of Jinja whose text is the given one."""
    return _TAG.sub(lambda match: f"{{{{ '{match[0]}' }}}}", text)


def _column(
    requirements: ExpressedRequirements, source: str, field: Field, key: tuple[str, ...]
) -> Iterator[YamlEntry]:
    yield YamlEntry("name", text_of(field.own_name))
    if field.description:
        yield YamlEntry("description", text_of(field.description))
    yield YamlEntry("data_type", text_of(DUCKDB.type(field, requirements)))
    tests: list[Node] = []
    if requirements.is_present(field.name):
        tests.append("not_null")
    if requirements.has(field.name, "unique") or field.name in key:
        tests.append("unique")
    words = requirements.words(field.name)
    if words:
        tests.append(_test("accepted_values", YamlEntry("values", Flow([text_of(word) for word in words]))))
    for table, column in requirements.references(field.name) if PLAIN.fullmatch(source) else ():
        to = YamlEntry("to", f"source('{source}', '{table}')")
        tests.append(_test("relationships", to, YamlEntry("field", text_of(column))))
    if tests:
        yield YamlEntry("data_tests", Items(tests))


def _test(name: str, *arguments: YamlEntry) -> yaml_writer.Mapping:
    return yaml_writer.Mapping([YamlEntry(name, yaml_writer.Mapping(arguments))])


# ---- Routes of a dbt project ----
# A model, seed, snapshot or source declares a route in `meta` (dbt documentation, `meta`)::
#
#     meta: {lakegate: {contract: shop, prefix: {dev: dev/orders/, prod: orders/}, dataset: orders, major: 1}}
#
# `prefix` is a text for every stage, or a mapping from stages to texts. Without `dataset`, it is the contract's only one, or
# the one with the name of the resource; without `major`, the newest line. The manifest is text of others: only these keys are
# read, and what is not of this form is refused with its place. Schema of a manifest: dbt documentation, Manifest JSON file.


VERSIONS: Final = ("v10", "v11", "v12", "v20")
"""Schemas of manifests that are read; v20, of dbt Fusion, is v12 under another name."""
MAX_BYTES: Final = 256 << 20
MAX_ROUTES: Final = 10_000
PUBLIC: Final = "public"
UNNAMED_STAGE: Final = "prod"
"""The stage whose prefixes do not begin with its name, by the convention."""
KEY: Final = "lakegate"
_SCHEMA: Final = re.compile(r"https://schemas\.getdbt\.com/dbt/manifest/(v[0-9]{1,3})(\.json|/index\.html)?")
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_KEYS: Final = frozenset({"contract", "dataset", "major", "prefix"})
_GROUPS: Final = ("nodes", "sources")


@dataclass(frozen=True, slots=True)
class DeclaredRoute:
    """The declaration of one resource of the project for one stage."""

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
    """The reason why the declaration cannot be used; then the rest is empty."""


def declared_routes(manifest: bytes, stage: str, *, public: bool = False) -> tuple[DeclaredRoute, ...]:
    """The declarations of the resources of a manifest for a stage, by their ids. Resources without a declaration are left out.

    With `public`, public models without one have the route of the convention.

    Raises InputError for what is no manifest of a known schema, or declares too many routes.
    """
    document = manifest_of(manifest)
    routes = [
        _declare_route(resource, value, declaration, stage)
        for group in _GROUPS
        for resource, value in _mapping(document.get(group), group).items()
        for declaration in _declarations(value)
        or ([_by_convention(value, stage)] if public and is_public(value) else [])
    ]
    if len(routes) > MAX_ROUTES:
        raise InputError(f"the manifest declares {len(routes):,} routes, more than {MAX_ROUTES:,}")
    return tuple(_once(sorted(routes, key=lambda entry: entry.resource)))


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
            f"the manifest has the schema {quote(str(schema))}; known are {join_words(VERSIONS)} of dbt manifests"
        )
    return document


def _mapping(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"{name} is not an object: name the `manifest.json` that dbt writes below `target/`")
    return value


def _declarations(resource: object) -> list[object]:
    """The declaration of a resource: `config.meta` before `meta`, which dbt fills from it."""
    node = _mapping_or_empty(resource)
    metas = (_mapping_or_empty(node.get("config")).get("meta"), node.get("meta"))
    return [meta[KEY] for meta in metas if isinstance(meta, Mapping) and KEY in meta][:1]


def is_public(resource: object) -> bool:
    """Whether a resource is a model that other projects may refer to (`access: public`)."""
    node = _mapping_or_empty(resource)
    access = node.get("access") or _mapping_or_empty(node.get("config")).get("access")
    return node.get("resource_type") == "model" and access == PUBLIC


def _by_convention(model: object, stage: str) -> object:
    """The declaration of a public model that has none: project, model and version are contract, dataset and major number."""
    node = _mapping_or_empty(model)
    project, name, version = node.get("package_name"), node.get("name"), node.get("version")
    numbered = {"major": int(str(version))} if _NUMBER.fullmatch(str(version)) else {}
    folders = [*([] if stage == UNNAMED_STAGE else [stage]), project, f"{name}_v{version}" if numbered else name]
    return {"contract": project, "dataset": name, "prefix": "".join(f"{folder}/" for folder in folders), **numbered}


def _declare_route(resource: str, node: Mapping[str, Any], declaration: object, stage: str) -> DeclaredRoute:
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
    """The fault in the form of a declaration; empty if there is none."""
    if not isinstance(declaration, Mapping):
        return f"`{KEY}` is not a mapping"
    if unknown := set(declaration) - _KEYS:
        return f"unknown keys: {join_words(sorted(unknown))}"
    texts = [declaration.get("contract"), declaration.get("dataset", "x")]
    if not all(isinstance(text, str) and text and text.isprintable() for text in texts):
        return "`contract` and `dataset` are printable texts, and `contract` is required"
    major = declaration.get("major", 1)
    if not isinstance(major, int) or isinstance(major, bool) or major < 0:
        return "`major` is a whole number from 0"
    prefix = declaration.get("prefix")
    prefixes = list(prefix.values()) if isinstance(prefix, Mapping) else [prefix]
    if not prefixes or not all(isinstance(value, str) and value and value.isprintable() for value in prefixes):
        return "`prefix` is a printable text, or a mapping from stages to such texts"
    return ""


def _once(routes: list[DeclaredRoute]) -> Iterator[DeclaredRoute]:
    """Refuse every route whose prefix two resources declare for different datasets."""
    owners: dict[str, set[tuple[object, ...]]] = {}
    for route in routes:
        target = (route.contract, route.dataset or route.name, route.major)
        owners.setdefault(route.prefix, set()).add(target)
    for entry in routes:
        if entry.prefix and len(owners[entry.prefix]) > 1:
            fault = f"{quote(entry.prefix)} is declared by several resources for different datasets"
            yield DeclaredRoute(entry.resource, entry.name, fault=fault)
        else:
            yield entry


# ---- Contracts from a dbt project ----
# Read are descriptions, types, constraints, and dbt's own generic tests (dbt documentation, Manifest JSON file). A column
# without `data_type` is left out: a contract declares the type of each field.


RESOURCES = ("model", "seed", "snapshot", "source")
CONSTRAINTS = {"not_null": "required", "unique": "unique", "primary_key": "primaryKey"}
"""Constraints of dbt with their kinds of rules."""
TESTS = {"not_null": "required", "unique": "unique", "accepted_values": "enum", "relationships": "foreignKey"}
"""Generic tests of dbt with their kinds of rules."""
_NAME = re.compile(r"[^\s()'\".,`]+")
_VERSION = re.compile(r",\s*v(?:ersion)?\s*=\s*['\"]?([\w.]+)['\"]?")
"""The version in a reference to a model."""
_METRICS = {"required": "nullValues", "unique": "duplicateValues", "enum": "invalidValues"}
"""Metrics for tests that warn, or that allow failures: constraints of ODCS have no severity.

dbt counts the values that fail `unique` and `accepted_values`, these metrics count rows: only that none fails is the same.
"""
_OF_TESTS = frozenset({"model", "column_name", "values", "quote", "to", "field", "arguments"})
"""Arguments of the generic tests."""


def read_public(text: bytes, name: str, dialect: str = "") -> tuple[Contract, tuple[str, ...]]:
    """The draft of the public models alone, with the name of the project where there is no other."""
    manifest = manifest_of(text)
    project = _mapping_or_empty(manifest.get("metadata")).get("project_name")
    nodes = _mapping_or_empty(manifest.get("nodes"))
    kept = {
        resource: node
        for resource, node in nodes.items()
        if is_public(node) or _mapping_or_empty(node).get("resource_type") == "test"
    }
    if not any(map(is_public, kept.values())):
        raise InputError("no model of the manifest is public: set `access: public`")
    newest = {_versions(value): resource for resource, value in kept.items() if _is_latest(value)}
    older = [
        resource
        for resource, value in kept.items()
        if _versions(value) in newest and not _is_latest(value) and "version" in value
    ]
    latest = {resource: value for resource, value in kept.items() if resource not in older}
    contract, lost = _contract({"nodes": latest}, name or str(project or "dbt"), dialect, is_named_by_alias=False)
    return contract, (*(f"{resource}: left out: a later version of the model is there" for resource in older), *lost)


def _versions(node: Mapping[str, Any]) -> tuple[object, object]:
    """What the versions of a model have in common."""
    return node.get("package_name"), node.get("name")


def _is_latest(node: Mapping[str, Any]) -> bool:
    """Whether a model is the version that a reference without one leads to."""
    return node.get("version") is not None and str(node.get("version")) == str(node.get("latest_version"))


def _table_name(node: Mapping[str, Any], *, is_by_alias: bool) -> str:
    """The name of a resource; of a version of a model its alias, by default `NAME_vVERSION` (dbt, Model versions)."""
    name, version, alias = str(node.get("name")), node.get("version"), node.get("alias")
    if version is None or not is_by_alias:
        return name
    return alias if isinstance(alias, str) and alias else f"{name}_v{version}"


def read(text: bytes, name: str, dialect: str = "") -> tuple[Contract, tuple[str, ...]]:
    """A draft with a dataset for each resource that has typed columns, and what is not in it. InputError if none has."""
    return _contract(manifest_of(text), name or "dbt", dialect)


def _other_names(nodes: Iterable[tuple[str, Any]], *, is_by_alias: bool) -> Iterator[tuple[str, str]]:
    """Names by which references know the versions of models, each with that of the table."""
    for _, node in nodes:
        if isinstance(node, Mapping) and node.get("version") is not None:
            name, own = node.get("name"), _table_name(node, is_by_alias=is_by_alias)
            yield dataset_name(f"{name}_v{node['version']}"), own
            if _is_latest(node):
                yield dataset_name(str(name)), own


def _contract(
    manifest: Mapping[str, Any], name: str, dialect: str, *, is_named_by_alias: bool = True
) -> tuple[Contract, tuple[str, ...]]:
    nodes = [value for group in ("nodes", "sources") for value in _mapping_or_empty(manifest.get(group)).items()]
    tests: defaultdict[str, list[tuple[str, Mapping[str, Any]]]] = defaultdict(list)
    for resource, node in nodes:
        if isinstance(node, Mapping) and node.get("resource_type") == "test":
            tests[str(node.get("attached_node"))].append((resource, node))
    tables: list[tuple[str, ImportedSchema, list[Field]]] = []
    lost: list[str] = []
    for resource, entry in nodes:
        if isinstance(entry, Mapping) and entry.get("resource_type") in RESOURCES:
            columns = [one for one in _mapping_or_empty(entry.get("columns")).values() if isinstance(one, Mapping)]
            schema = ImportedSchema(_table_name(entry, is_by_alias=is_named_by_alias))
            fields = list(_fields(schema, columns, dialect))
            _table_constraints(schema, entry)
            for test, one in tests[resource]:
                _read_test(schema, test, one)
            if fields:
                tables.append((resource, schema, fields))
            else:
                lost += _lost(resource, schema) if columns else [f"{resource}: it describes no columns"]
    if not tables:
        raise InputError(
            "no resource of the manifest has columns with `data_type`: add them, or run `dbt docs generate`"
        )
    targets = {dataset_name(schema.name): {field.own_name for field in fields} for _, schema, fields in tables}
    others = dict(_other_names(nodes, is_by_alias=is_named_by_alias))
    for resource, schema, _ in tables:
        rules = [_with_target(rule, targets, others) for rule in schema.rules]
        schema.rules = [item for item in rules if _is_found(schema, item, targets)]
        lost += _lost(resource, schema)
    return contract_of(name, [schema.dataset(fields) for _, schema, fields in tables], lost)


def _lost(resource: str, schema: ImportedSchema) -> list[str]:
    return [f"{resource}.{entry}" for entry in schema.lost]


def _with_target(rule: Rule, targets: Mapping[str, set[str]], others: Mapping[str, str]) -> Rule:
    """A rule whose references lead to the resources by their names here, where they name a version of a model otherwise."""
    if rule.kind != "foreignKey":
        return rule
    pairs = (entry.partition(".") for entry in str(rule.arguments["to"]).split(","))
    named = [
        (table if table in targets else dataset_name(others.get(table, table)), column) for table, _, column in pairs
    ]
    return replace(rule, arguments={"to": ",".join(f"{table}.{column}" for table, column in named)})


def _is_found(schema: ImportedSchema, rule: Rule, targets: Mapping[str, set[str]]) -> bool:
    """Whether a rule is no reference, or one to columns of a resource of the manifest; the others are listed."""
    if rule.kind != "foreignKey":
        return True
    to = str(rule.arguments["to"])
    is_known = all(
        column in targets.get(table, ()) for table, _, column in (entry.partition(".") for entry in to.split(","))
    )
    if not is_known:
        schema.lose(", ".join(rule.fields), f"a reference to {quote(to)}, which the manifest does not describe")
    return is_known


def _to(target: object, columns: Iterable[object]) -> str:
    """The target of a reference: `ref('orders', v=1)`, `source('shop', 'orders')` or a name, and its columns."""
    version = _VERSION.search(str(target))
    words = _NAME.findall(_VERSION.sub("", str(target))) or [""]
    name = f"{words[-1]}_v{version[1]}" if version else words[-1]
    return ",".join(f"{dataset_name(name)}.{column}" for column in columns)


def _mapping_or_empty(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _items(value: object) -> list[Mapping[str, Any]]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def _fields(schema: ImportedSchema, columns: list[Mapping[str, Any]], dialect: str) -> Iterator[Field]:
    for column in columns:
        name, declared = str(column.get("name")), column.get("data_type")
        kind = data_type(declared, dialect) if isinstance(declared, str) else None
        description = column.get("description")
        text = description if isinstance(description, str) and description else None
        field = field_of(schema, column_path(name), kind, text) if kind is not None else None
        if field is None:
            what = f"no logical type has values of {quote(str(declared))}" if declared else "it has no `data_type`"
            schema.lose(name, f"left out: {what}")
            continue
        yield field
        for item in _items(column.get("constraints")):
            _constraint(schema, item, (name,))


def _table_constraints(schema: ImportedSchema, resource: Mapping[str, Any]) -> None:
    for item in _items(resource.get("constraints")):
        columns = item.get("columns")
        _constraint(schema, item, tuple(map(str, columns)) if isinstance(columns, list) else ())


def _constraint(schema: ImportedSchema, constraint: Mapping[str, Any], names: tuple[str, ...]) -> None:
    kind = CONSTRAINTS.get(str(constraint.get("type")))
    columns = constraint.get("to_columns")
    if constraint.get("type") == "foreign_key" and isinstance(columns, list) and len(columns) == len(names) > 0:
        schema.rule("foreignKey", *map(column_path, names), to=_to(constraint.get("to"), columns))
    elif kind is not None and names and (len(names) == 1 or kind == "primaryKey"):
        schema.rule(kind, *map(column_path, names))
    elif kind == "unique" and names:
        schema.metric("duplicateValues", *map(column_path, names))
    else:
        schema.lose(", ".join(names) or "constraints", f"the constraint {quote(str(constraint.get('type')))}")


def _read_test(schema: ImportedSchema, resource: str, test: Mapping[str, Any]) -> None:
    """A generic test of dbt itself, about all rows; all others are listed."""
    about = _mapping_or_empty(test.get("test_metadata"))
    written = _mapping_or_empty(about.get("kwargs"))
    given = {**written, **_mapping_or_empty(written.get("arguments"))}
    column, kind = test.get("column_name"), TESTS.get(str(about.get("name")))
    if kind is None or about.get("namespace") or not isinstance(column, str) or set(given) - _OF_TESTS:
        schema.lose(resource, "the test has no equivalent")
        return
    try:
        wanted = allowed_failures(_mapping_or_empty(test.get("config")))
    except UnreadConfigError as error:
        schema.lose(resource, f"the test has no equivalent: {error}")
        return
    for failure in wanted:
        if (failure.good != NO_ROW and kind != "required") or (
            kind == "foreignKey" and failure.severity is Severity.WARN
        ):
            schema.lose(
                resource, f"the test has no equivalent: {failure.written} with the severity {failure.severity.value}"
            )
        elif not _add(schema, kind, column, given, failure):
            schema.lose(resource, "the test has no equivalent")


def _add(schema: ImportedSchema, kind: str, column: str, given: Mapping[str, Any], wanted: AllowedFailures) -> bool:
    """Add the rule of a test; False if its arguments cannot be read."""
    values = given.get("values")
    arguments: dict[str, object] = {}
    if kind == "foreignKey":
        if not isinstance(given.get("to"), str) or not isinstance(given.get("field"), str):
            return False
        arguments = {"to": _to(given["to"], [given["field"]])}
    elif kind == "enum":
        if not isinstance(values, list) or not all(
            isinstance(value, str | int) and not isinstance(value, bool) for value in values
        ):
            return False
        arguments = {"values": tuple(map(str, values))}
    if wanted == AllowedFailures(Severity.FAIL, NO_ROW, wanted.written):
        schema.rule(kind, column_path(column), **arguments)
    else:
        named = {"validValues": arguments["values"]} if arguments else {}
        schema.metric(_METRICS[kind], column_path(column), severity=wanted.severity, good=wanted.good, **named)
    return True
