"""Data Contract Specification: models, fields, older checks, service levels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import partial

from lakegate.base.errors import ContractError, Problem
from lakegate.base.text import did_you_mean, quote
from lakegate.contract.contract_model import (
    COMMON,
    NESTED_KIND,
    Contract,
    Dataset,
    Field,
    FieldSource,
    Rule,
    Transformation,
    separate_common,
)
from lakegate.contract.delivery_policy import FieldTreatment, Policy
from lakegate.contract.documents.document_root import about, delimiter_of, served_format
from lakegate.contract.documents.document_tree import Document, Notes, Place, examples, rule_id, texts
from lakegate.contract.documents.extension_settings import EXTENSION, Extension, inheritance
from lakegate.contract.documents.key_table import (
    DOES_NOT_APPLY,
    FIELD,
    FORMAT,
    MOMENTS,
    OF_DCS,
    OFFSET,
    TEXTS,
    KindAndArguments,
    identity_of,
    native,
    texts_at,
)
from lakegate.contract.documents.odcs_fields import RANGES, UNMEASURED_DATE
from lakegate.contract.documents.odcs_quality import (
    CHECKS_FOR,
    Owner,
    implementation_of,
    quality_rules,
)
from lakegate.contract.documents.read_document import parse
from lakegate.contract.documents.ref_definitions import Definitions, Layers, is_aliased
from lakegate.contract.documents.schema_validation import schema_problems
from lakegate.contract.documents.service_level_keys import named_rules, notice_of
from lakegate.contract.documents.unknown_keys import EDITOR_SCHEMA, advise_on_keys, merge_by_owner, warn_unknown_keys
from lakegate.contract.field_paths import KEY, VALUE, FieldPath, column_path, element_path, member_path
from lakegate.contract.logical_types import PRECISION, SCALE, TOO_MANY_DIGITS, LogicalType, decimal_scale
from lakegate.contract.named_fields import with_paths
from lakegate.contract.physical_types import digit_bounds

# ---- Fields ----


TYPES = {
    **dict.fromkeys(("string", "text", "varchar"), LogicalType.STRING),
    **dict.fromkeys(("int", "integer", "long", "bigint"), LogicalType.INTEGER),
    **dict.fromkeys(("number", "float", "double"), LogicalType.NUMBER),
    **dict.fromkeys(("decimal", "numeric"), LogicalType.DECIMAL),
    "boolean": LogicalType.BOOLEAN,
    **dict.fromkeys(("timestamp", "timestamp_tz", "timestamp_ntz"), LogicalType.TIMESTAMP),
    "date": LogicalType.DATE,
    "time": LogicalType.TIME,
    "bytes": LogicalType.BINARY,
}

NESTED = ("array", "map", "object", "record", "struct", "variant", "json")
"""Types with nested fields."""
WIDTHS = {"int": "i32", "integer": "i32", "float": "f32"}
"""The types that the specification defines with 32 bits."""
OFFSETS = {"timestamp_tz": True, "timestamp_ntz": False}
"""The types that say whether their values are written with an offset from UTC; a `timestamp` may have one or none."""
NULL = "null"
MAX_LONG = 18
"""The most digits that bounds of whole numbers are made of; a wider precision has no effect."""


def read_field(
    layers: Layers, path: FieldPath, definitions: Definitions, ordinals: Counter[str]
) -> tuple[Field, list[Rule]]:
    """A field with all its rules, including those of nested fields."""
    notes = definitions.notes
    inner = [read_field(entry, name, definitions, ordinals) for name, entry in _inner(layers, path, definitions)]
    nested = [rule for _, rules in inner for rule in rules]
    # the logical type of the values; a number with a precision or a scale is a decimal
    logical = TYPES.get(layers["type"].text or "")
    is_exact = layers["precision"].present or layers["scale"].present
    logical = LogicalType.DECIMAL if logical is LogicalType.NUMBER and is_exact else logical
    if layers["type"].text is None and not notes.blames(layers.own):
        notes.warning("no-type", layers.own, "The field has no type: add `type`.")
    precision, scale = _declared_digits(layers)
    if logical is LogicalType.DECIMAL and max(precision, scale) > PRECISION:
        notes.warning("too-many-digits", layers["precision" if precision > PRECISION else "scale"], TOO_MANY_DIGITS)
    if logical in MOMENTS and layers["format"].present:
        message = "Dates and times are read as ISO 8601 alone: remove the `format`, or declare the type `string`."
        notes.warning("date-format", layers["format"], message)
    _warn_idle(layers, logical, notes)
    field = Field(
        name=path,
        type=logical or LogicalType.STRING,
        origin=layers.own.origin,
        personal=layers["pii"].flag,
        declared=layers["type"].text,
        parts=tuple(entry for entry, _ in inner),
        examples=examples(layers["examples"], layers["example"]),
        sources=tuple(_sources(layers["lineage"]["inputFields"])),
        scale=_scale(layers) if logical is LogicalType.DECIMAL else SCALE,
        physical_type=_physical_type(layers, logical),
        native=native(layers["config"]),
        **texts_at(layers, FIELD, "dcs"),
    )
    return field, [*_rules(layers, path, logical, ordinals, notes), *nested]


def _sources(inputs: Place) -> Iterator[FieldSource]:
    for item in inputs.items:
        steps = (
            Transformation(
                step["type"].text or "", step["subtype"].text, step["description"].text, step["masking"].flag
            )
            for step in item["transformations"].items
        )
        yield FieldSource(item["namespace"].text or "", item["name"].text or "", item["field"].text or "", tuple(steps))


def _scale(layers: Layers) -> int:
    """The digits after the point of a decimal's values, by its precision and scale."""
    return decimal_scale(*_declared_digits(layers))


def _physical_type(layers: Layers, logical: LogicalType | None) -> str | None:
    """The digits of a decimal, of which DCS has a key each; the scale is 0 if only the precision is given."""
    if logical is not LogicalType.DECIMAL or not (layers["precision"].present or layers["scale"].present):
        return None
    precision, scale = _declared_digits(layers)
    return f"decimal({precision or PRECISION},{scale})"


def _declared_digits(layers: Layers) -> tuple[int, int]:
    """Precision and scale, 0 where there are none."""
    return int(layers["precision"].number or 0), int(layers["scale"].number or 0)


def _rules(
    layers: Layers, path: FieldPath, logical: LogicalType | None, ordinals: Counter[str], notes: Notes
) -> Iterator[Rule]:
    for at, (kind, arguments) in _declared_rules(layers, logical):
        yield Rule(rule_id(ordinals, path, kind), kind, at.origin, (path,), arguments)
    for place in layers.places:
        yield from quality_rules(Owner(place, path, path, graded=False), ordinals, notes)


def _declared_rules(layers: Layers, logical: LogicalType | None) -> Iterator[tuple[Place, KindAndArguments]]:
    yield from ((layers["type"], rule) for rule in _type(layers, logical))
    for key in ("required", "unique"):
        if layers[key].flag:
            yield layers[key], (key, {})
    for key, constraint in OF_DCS.items():
        yield from ((layers[key], rule) for rule in constraint.rules(layers[key]) if layers[key].present)
    if layers["enum"].present:
        yield layers["enum"], ("enum", {"values": texts(layers["enum"])})
    if layers["references"].present:
        yield layers["references"], ("foreignKey", {"to": layers["references"].text or ""})
    if layers["format"].present:
        yield layers["format"], _format(layers["format"], logical)
    if logical is LogicalType.DECIMAL:
        yield from _digits(layers["precision"], layers["scale"], _scale(layers))
    if logical is LogicalType.INTEGER:
        yield from _bounds(layers["precision"], Decimal(0), most=MAX_LONG)


def _warn_idle(layers: Layers, logical: LogicalType | None, notes: Notes) -> None:
    """Name the keys that have no meaning for the type of their field (DCS 1.1.0, "Only applies to"): their rules are skipped."""
    if logical is None and layers["type"].text not in NESTED:
        return
    for key, types in {**{key: known.types for key, known in OF_DCS.items()}, FORMAT: TEXTS | MOMENTS}.items():
        if layers[key].present and logical not in types:
            declared, words = quote(layers["type"].text or ""), "texts" if LogicalType.STRING in types else "numbers"
            message = f"`{key}` is for {words}, and has no effect on the type {declared}: remove it."
            notes.warning(DOES_NOT_APPLY, layers[key], message)


def _type(layers: Layers, logical: LogicalType | None) -> Iterator[KindAndArguments]:
    declared = layers["type"].text or ""
    if logical is not None:
        yield "type", {}
    if declared in WIDTHS:
        low, high = RANGES[WIDTHS[declared]]
        yield "minimum", {"value": low, "exclusive": False}
        yield "maximum", {"value": high, "exclusive": False}
    if declared in OFFSETS:
        yield OFFSET, {"value": OFFSETS[declared]}
    if declared == NULL:
        yield "custom", {"engine": "great-expectations", "call": "expect_column_values_to_be_null", "args": {}}
    if declared in NESTED:
        yield NESTED_KIND, {}


def _format(place: Place, logical: LogicalType | None) -> KindAndArguments:
    """The `format` of texts. The specification defines none for dates and times."""
    if logical in MOMENTS:
        return UNMEASURED_DATE, {"option": "format", "value": place.written}
    return "format", {"value": place.written}


def _digits(precision: Place, scale: Place, read: int) -> Iterator[tuple[Place, KindAndArguments]]:
    """The bounds that precision and scale set; the scale is 0 if only the precision is given.

    `read` is the scale of the values that are read: wider bounds have no effect.
    """
    after = scale.number if scale.present else Decimal(0)
    is_given = scale.present or precision.present
    if not is_given or after is None or not 0 <= after <= read:
        return
    step = Decimal(1).scaleb(-int(after))
    yield scale if scale.present else precision, ("multipleOf", {"value": step})
    yield from _bounds(precision, after, most=after + PRECISION - read - 1)


def _bounds(precision: Place, after: Decimal, most: Decimal | int) -> Iterator[tuple[Place, KindAndArguments]]:
    """The largest number of so many digits, `after` of which follow the point."""
    digits = precision.number
    if digits is not None and 0 < digits <= most:
        bound, _ = digit_bounds(int(digits), int(after))
        yield precision, ("minimum", {"value": bound.copy_negate(), "exclusive": False})
        yield precision, ("maximum", {"value": bound, "exclusive": False})


def _inner(layers: Layers, path: FieldPath, definitions: Definitions) -> Iterator[tuple[FieldPath, Layers]]:
    """The nested fields: of a record, of an array's items, of a map's keys and values."""
    own = {"items": element_path(path), "keys": member_path(path, KEY), "values": member_path(path, VALUE)}
    parts = [(member_path(path, name), entry) for name, entry in layers["fields"].entries.items()]
    parts += [(inner, layers[key]) for key, inner in own.items() if layers[key].entries]
    for name, place in parts:
        inner = definitions.layers(place, layers)
        if inner is not None:
            yield name, inner


# ---- Checks at the root, before DCS 1.1.0 ----
#     quality:
#       type: SodaCL                                   quality:
#       specification:                                   type: great-expectations
#         checks for orders:                             specification:
#           - row_count > 5                                orders: '[{"expectation_type": …, "kwargs": …}]'


ENGINES = {"sodacl": "soda", "soda": "soda", "great-expectations": "great-expectations"}
EVERY_MODEL = ""


def older_quality(place: Place, models: Place, notes: Notes) -> dict[str, list[Rule]]:
    """The rules of each model."""
    rules: dict[str, list[Rule]] = {name: [] for name in models.entries}
    if not place.present:
        return rules
    declared, ordinals = place["type"].text or "", Counter[str]()
    engine = ENGINES.get(declared.casefold(), declared)
    for name, check, arguments in _checks(place["specification"], engine, notes):
        if name not in {*rules, EVERY_MODEL}:
            hint = did_you_mean(name, rules)
            notes.warning("unknown-model", check, f"{quote(name)} is not a model of this contract.{hint}")
            arguments |= {"call": ""}
        for model in rules.keys() & {name} or rules:
            rule = Rule(rule_id(ordinals, model, "custom"), "custom", check.origin, (), arguments)
            rules[model].append(rule)
    return rules


def _checks(specification: Place, engine: str, notes: Notes) -> Iterator[tuple[str, Place, dict[str, object]]]:
    """Each check with its model, its place in the document and its arguments."""
    inner = _parse_place(specification, notes)
    if not inner.entries:
        yield EVERY_MODEL, specification, {"engine": engine, "call": "", "args": {}}
    for name, place in inner.entries.items():
        checks = _parse_place(place, notes)
        for item in checks.items or [checks]:
            at = item if specification.text is None and place.text is None else specification
            yield name.removeprefix(CHECKS_FOR), at, implementation_of(engine, item)


def _parse_place(place: Place, notes: Notes) -> Place:
    """The value of a place; a text is parsed as YAML or JSON."""
    if place.text is None:
        return place
    try:
        return parse(place.text.encode()).top
    except ContractError as error:
        notes.warning("unread-checks", place, f"The checks in this text cannot be read: {error.problems[0].message}")
        return place


# ---- The document ----


SCHEMAS = {
    "0.9.3": "official/dcs-1.1.0",
    "1.1.0": "official/dcs-1.1.0",
    "1.2.0": "official/dcs-1.2.1",
    "1.2.1": "official/dcs-1.2.1",
}

VERSIONS = tuple(SCHEMAS)
AS_PUBLISHED = {"1.2.0": "official/dcs-1.2.0"}
"""Versions whose published schema has keys that the next version renamed: a document that matches it is valid too."""
READ_KEYS = (EDITOR_SCHEMA, "dataContractSpecification", "id", "models", "definitions", "servicelevels", "quality")
KEYS = ("primaryKey", "primary")
"""The primary key flag of a field, and its name before 1.1.0."""
UNTYPED = "The key `type` is missing: write text, library, sql or custom."


def read(document: Document, notes: Notes, variables: Mapping[str, str]) -> Contract:
    """The contract of a document, as far as it can be read; problems are added to `notes`. DCS has no variables."""
    del variables
    top = document.top
    version = top["dataContractSpecification"].written
    schema, problems = _validate_document(document, version)
    merged = merge_by_owner(problems, partial(_find_untyped_rule, document), lambda _: UNTYPED)
    notes.errors.extend(advise_on_keys(merged, document))
    warn_unknown_keys(document, schema, notes)
    definitions = Definitions(document, notes)
    older = older_quality(top["quality"], top["models"], notes)
    datasets = [_dataset(name, place, definitions, older) for name, place in top["models"].entries.items()]
    for definition in definitions.top["definitions"].entries.values():
        is_used = any(
            entry == definition.path or entry.startswith((f"{definition.path}.", f"{definition.path}["))
            for entry in definitions.used
        )
        if not is_used and not is_aliased(definition, definitions.document):
            definitions.notes.warning("unused-definition", definition, "No field refers to this definition.")
    policies = replace(_dataset(COMMON, top["models"], definitions, older), origin=top.origin) if not datasets else None
    concrete, common = separate_common(datasets) if policies is None else ((), policies)
    return Contract(
        format=f"DCS {version}",
        datasets=concrete,
        about=about(top, notes, READ_KEYS, "dcs"),
        common=common,
        **identity_of(top, "dcs"),
        **inheritance([top["config"][EXTENSION]], notes),
    )


def _validate_document(document: Document, version: str) -> tuple[str, list[Problem]]:
    """The schema that a document is validated with, and the problems it reports."""
    document = document.without(EDITOR_SCHEMA)
    problems, published = schema_problems(document, SCHEMAS[version]), AS_PUBLISHED.get(version)
    if problems and published and not schema_problems(document, published):
        return published, []
    return SCHEMAS[version], problems


def _find_untyped_rule(document: Document, problem: Problem) -> Place | None:
    """A quality rule without `type`, which causes problems for every type at once."""
    place = document.at(problem.path)
    is_untyped = place.steps[-2:-1] == ("quality",) and not place["type"].present
    return place if is_untyped and problem.code == "missing-key" else None


def _dataset(name: str, place: Place, definitions: Definitions, older: Mapping[str, list[Rule]]) -> Dataset:
    ordinals = Counter[str]()
    top = definitions.top
    places = [top["config"][EXTENSION], place["config"][EXTENSION]]
    extension = Extension(places, definitions.notes, served_format(top["servers"]), delimiter_of(top["servers"]))
    notice_days = None if "notice_days" in extension.declared else notice_of(top["terms"]["noticePeriod"])
    layered = {column_path(key): definitions.layers(entry) for key, entry in place["fields"].entries.items()}
    found = {path: layers for path, layers in layered.items() if layers is not None}
    fields = [read_field(layers, path, definitions, ordinals) for path, layers in found.items()]
    named = Dataset(name, tuple(field for field, _ in fields), (), place.origin)
    rules = [
        *(rule for _, field_rules in fields for rule in field_rules),
        *_primary_key(place["primaryKey"], found, ordinals, definitions.notes),
        *quality_rules(Owner(place, name, graded=False), ordinals, definitions.notes),
        *older.get(name, ()),
        *named_rules(top["servicelevels"], name, top["models"].entries),
    ]
    return Dataset(
        name=name,
        fields=named.fields,
        rules=extension.graded(list(with_paths(rules, named, definitions.notes.errors))),
        origin=place.origin,
        policy=_policy(place["additionalFields"], extension),
        notice_days=extension.notice_days if notice_days is None else notice_days,
        native=native(place["config"]),
        csv=extension.csv,
        storage=extension.storage,
        declared=extension.declared
        | (set() if place["additionalFields"].flag is None else {"additional_fields"})
        | (set() if notice_days is None else {"notice_days"}),
    )


def _primary_key(
    declared: Place, fields: Mapping[FieldPath, Layers], ordinals: Counter[str], notes: Notes
) -> Iterator[Rule]:
    """One rule for the whole key: the model's `primaryKey`, else the flagged fields in document order."""
    flagged = {
        name: key
        for name, layers in fields.items()
        if (key := next((layers[key] for key in KEYS if layers[key].flag), None)) is not None
    }
    names = tuple(map(column_path, texts(declared))) or tuple(flagged)
    if declared.items and flagged and set(flagged) != set(names):
        message = f"The fields declare another primary key ({', '.join(flagged)}): keep one of the two."
        notes.error("two-primary-keys", declared, message)
    if names:
        origin = declared.origin if declared.items else flagged[names[0]].origin
        yield Rule(rule_id(ordinals, ",".join(names), "primaryKey"), "primaryKey", origin, names)


def _policy(declared: Place, extension: Extension) -> Policy:
    """The policy with the model's `additionalFields`, unless the extension sets it. The default of the schema is ignored."""
    if declared.flag is None or "additional_fields" in extension.declared:
        return extension.policy
    return replace(extension.policy, additional_fields=FieldTreatment.ALLOW if declared.flag else FieldTreatment.FORBID)
