"""A contract as a document of ODCS 3.2: properties, quality rules, and what is about the whole."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from decimal import Context, Decimal
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any

from lakegate.contract.contract_model import (
    NESTED_KIND,
    PLACEHOLDERS,
    VARIABLE,
    Comparison,
    Contract,
    Dataset,
    Field,
    Rule,
    Severity,
    Shape,
    shape_of,
)
from lakegate.contract.delivery_policy import Pull
from lakegate.contract.documents import yaml_writer
from lakegate.contract.documents.document_root import DEPRECATION, DEPRECATION_KEYS
from lakegate.contract.documents.extension_settings import CSV, EXTENSION, POLICY, STORAGE
from lakegate.contract.documents.imported_schema import part
from lakegate.contract.documents.key_table import (
    ABOUT,
    CONSTRAINTS,
    CONTRACT,
    FORMAT,
    MOMENTS,
    ODCS_NAMES,
    ODCS_SHAPES,
    ODCS_TYPES,
    OFFSET,
    constraint_of,
    written_texts,
)
from lakegate.contract.documents.odcs_fields import PERSONAL, TIMEZONE, UNMEASURED_DATE
from lakegate.contract.documents.odcs_quality import BETWEEN, LISTS
from lakegate.contract.documents.schema_validation import load
from lakegate.contract.documents.yaml_writer import Flow, Items, Node, YamlEntry
from lakegate.contract.documents.yaml_writer import write_document as written_yaml
from lakegate.contract.field_paths import column_name
from lakegate.contract.file_formats import Format
from lakegate.contract.logical_types import PRECISION, LogicalType
from lakegate.contract.physical_types import PHYSICAL, scale_of, type_word
from lakegate.contract.schedules import to_cron
from lakegate.contract.service_levels import SECONDS_BY_UNIT, duration
from lakegate.diff.service_level_changes import DeclaredLevel, service_levels
from lakegate.plan.check import Check, Interval, Tier
from lakegate.rules.compile_plan import OF_WHOLE, checks_by_rule
from lakegate.rules.field_constraints import WITHOUT_OFFSET
from lakegate.rules.relationship_rules import ELSEWHERE

if TYPE_CHECKING:
    Rest = Callable[[str, str], Mapping[str, Any]]
    """The keys of an element (`root`, `dataset`, `field`, `rule`, `level`) at an address that ODCS has too."""
    Threshold = Callable[["RuleSite", Check, Tier], "Plain | None"]

# ---- Helpers of all writers of rules ----


DATASET = ""
"""The owner of what belongs to the object itself; all other owners are paths of fields."""
STABLE_ID = re.compile(r"[A-Za-z0-9_-]+")
"""An id that ODCS 3.2 accepts (`StableId` of its schema)."""
NO_ROW = {"mustBe": 0}
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_WRITTEN_AS_INTEGER = Decimal(10) ** 30
Plain = dict[str, Any]
"""A mapping of a document, in the plain types of JSON; numbers with a point are `Decimal`."""
Quality = Iterator[tuple[str, Plain]]
"""Quality rules with their owners."""


@dataclass(slots=True)
class OwnKeys:
    """The keys of a property, or of an object, that rules become."""

    keys: Plain = field(default_factory=dict)
    options: Plain = field(default_factory=dict)
    relationships: list[Plain] = field(default_factory=list)
    quality: list[Plain] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RuleSite:
    """A rule with its checks, and what rules before it became."""

    dataset: Dataset
    rule: Rule
    checks: tuple[Check, ...]
    found: defaultdict[str, OwnKeys]

    def type(self, path: str) -> LogicalType:
        """The type of a field; text, if the dataset does not declare it."""
        declared = self.dataset.field(path)
        return LogicalType.STRING if declared is None else declared.type

    @property
    def owner(self) -> str:
        """The only field of the rule, else the dataset."""
        return self.rule.fields[0] if len(self.rule.fields) == 1 else DATASET


Write = Callable[[RuleSite], Quality]


def own_id(rule: Rule) -> str | None:
    """The id that the document gives a rule, if ODCS accepts it; None if the reader generated it."""
    is_generated = re.fullmatch(rf".*:{re.escape(rule.kind)}:[0-9]+", rule.id, re.DOTALL)
    return rule.id if not is_generated and STABLE_ID.fullmatch(rule.id) else None


def number(value: Decimal) -> int | Decimal:
    """A number as it is written: whole ones without a point."""
    return int(value) if value == value.to_integral_value() and abs(value) < _WRITTEN_AS_INTEGER else value


def list_values(values: object, kind: LogicalType) -> list[Any]:
    """The values of a list: whole numbers as numbers, all others as the texts that they are, since `1.10` is not `1.1`."""
    texts = values if isinstance(values, list | tuple) else ()
    return [int(value) if kind.numeric and value is not None and _WHOLE.fullmatch(value) else value for value in texts]


def own_properties(passed: Mapping[str, Any], name: str, value: object) -> Plain:
    """`customProperties`: those that an element has already, and one more if it has a value."""
    found = [*passed.get("customProperties", []), *([] if value is None else [{"property": name, "value": value}])]
    return {"customProperties": found or None}


# ---- Constraints of fields (ODCS 3.2 §schema) ----


_AS_TYPE = (FORMAT, "binary")
"""The option that is part of the type."""


def flag(site: RuleSite) -> Quality:
    """`required: true`, `unique: true`."""
    for path in site.rule.fields:
        site.found[path].keys[site.rule.kind] = True
    yield from ()


def primary_key(site: RuleSite) -> Quality:
    """The key with its positions; ODCS knows keys of columns alone."""
    if set(site.rule.fields) <= {entry.name for entry in site.dataset.fields}:
        for position, path in enumerate(site.rule.fields, start=1):
            site.found[path].keys |= {"primaryKey": True, "primaryKeyPosition": position}
    yield from ()


def enum(site: RuleSite) -> Quality:
    """The closed list of a property."""
    for path in site.rule.fields:
        values = list_values(site.rule.arguments.get("values"), site.type(path))
        site.found[path].keys["enum"] = [{"value": value} for value in values]
    yield from ()


def option(site: RuleSite) -> Quality:
    """An option of the type; where the property has it already, a quality rule."""
    for path in site.rule.fields:
        options, constraint = site.found[path].options, constraint_of(site.rule, site.type(path))
        if constraint is None or constraint == _AS_TYPE:
            continue
        key, value = constraint
        plain = number(value) if isinstance(value, Decimal) else value
        if key not in options:
            options[key] = plain
        else:
            yield path, {"metric": "invalidValues", "arguments": {key: plain}} | NO_ROW


def of_whole(site: RuleSite) -> Quality:
    """An option of a list, a map, an object or a moment."""
    kind, arguments = site.rule.kind, site.rule.arguments
    for path in site.rule.fields:
        options = site.found[path].options
        if kind == "requiredMember":
            options.setdefault("required", []).append(str(arguments.get("member")))
        else:
            value = arguments.get("value")
            options[kind] = number(value) if isinstance(value, Decimal) else True
    yield from ()


def offset(site: RuleSite) -> Quality:
    """Moments with an offset are an option, those without one a pattern; files with a schema keep neither."""
    for path in site.rule.fields if site.dataset.storage.format.is_text else ():
        if site.rule.arguments.get("value"):
            site.found[path].options[TIMEZONE] = True
        else:
            yield path, library("invalidValues", {"pattern": WITHOUT_OFFSET}) | NO_ROW


def unmeasured_date(site: RuleSite) -> Quality:
    """An option of dates in another format, which are texts for the gate."""
    for path in site.rule.fields:
        if site.type(path) not in MOMENTS:
            value = site.rule.arguments.get("value")
            site.found[path].options[str(site.rule.arguments.get("option"))] = (
                number(value) if isinstance(value, Decimal) else value
            )
    yield from ()


def foreign_key(site: RuleSite) -> Quality:
    """A relationship: of one field at its property, of several at the object."""
    rule = site.rule
    form = r"\g<contract>_v\g<major>.yaml#/schema/\g<dataset>/properties/\g<field>"
    targets = [ELSEWHERE[0].sub(form, target) for target in str(rule.arguments.get("to") or "").split(",")]
    if len(rule.fields) == len(targets) == 1:
        site.found[rule.fields[0]].relationships.append({"to": targets[0]})
    else:
        sources = [f"{site.dataset.name}.{column_name(entry)}" for entry in rule.fields]
        site.found[DATASET].relationships.append({"from": sources, "to": targets})
    yield from ()


OF_FIELDS: dict[str, Write] = {
    "required": flag,
    "unique": flag,
    "primaryKey": primary_key,
    "enum": enum,
    **dict.fromkeys((FORMAT, *(item.rule_kind for item in CONSTRAINTS.values())), option),
    **dict.fromkeys((TIMEZONE, *OF_WHOLE), of_whole),
    OFFSET: offset,
    UNMEASURED_DATE: unmeasured_date,
    "foreignKey": foreign_key,
}
"""The writer of each kind of constraint."""


# ---- Fields as properties ----


def properties_of(dataset: Dataset, found: Mapping[str, OwnKeys], rest: Rest) -> list[Plain]:
    """The properties of a dataset; `found` are the keys that its rules become."""
    typed = frozenset(rule.fields[0] for rule in dataset.rules if rule.kind in {"type", NESTED_KIND} and rule.fields)
    return [{"name": entry.own_name} | _content(entry, typed, found, rest) for entry in dataset.fields]


def _content(entry: Field, typed: frozenset[str], found: Mapping[str, OwnKeys], rest: Rest) -> Plain:
    """A property without its name."""
    own, passed = found.get(entry.name), rest("field", entry.origin.path)
    keys = {
        "physicalName": entry.physical,
        **(
            _types(entry)
            if entry.name in typed
            else {"logicalType" if entry.declared in ODCS_NAMES else "physicalType": entry.declared}
        ),
        "description": entry.description,
        **passed,
        **(own.keys if own else {}),
        "logicalTypeOptions": {**passed.get("logicalTypeOptions", {}), **(own.options if own else {})} or None,
        "classification": entry.classification,
        **own_properties(passed, PERSONAL, entry.personal),
        "examples": [example.written for example in entry.examples] or None,
        **dict(_parts(entry, typed, found, rest)),
        "relationships": (own.relationships or None) if own else None,
        "quality": (own.quality or None) if own else None,
    }
    return without_none(keys)


def _types(entry: Field) -> Plain:
    """The logical type; and the physical one, where it is of the same family or distinguishes a decimal or bytes."""
    shape = shape_of(entry)
    if shape in ODCS_SHAPES:
        return {"logicalType": ODCS_SHAPES[shape]}
    if shape is Shape.ANY:
        return {"physicalType": entry.declared}
    word, physical = ODCS_TYPES[entry.type]
    declared = entry.physical_type or entry.declared
    if PHYSICAL.get(type_word(declared)) is entry.type and (declared or "").lower() != word:
        physical = declared
    if entry.type is LogicalType.DECIMAL and entry.scale != scale_of(physical):
        physical = f"decimal({PRECISION},{entry.scale})"
    return {"logicalType": word} | ({"physicalType": physical} if physical else {})


def _parts(
    entry: Field, typed: frozenset[str], found: Mapping[str, OwnKeys], rest: Rest
) -> Iterator[tuple[str, object]]:
    """The members of a record, the items of a list, the keys and values of a map."""
    match shape_of(entry):
        case Shape.RECORD:
            yield (
                "properties",
                [{"name": one.own_name} | _content(one, typed, found, rest) for one in entry.parts],
            )
        case Shape.LIST:
            items = part(entry, "[]")
            yield "items", None if items is None else _content(items, typed, found, rest)
        case Shape.MAP:
            inner = {step: part(entry, f".{step}") for step in ("key", "value")}
            contents = {step: {} if one is None else _content(one, typed, found, rest) for step, one in inner.items()}
            yield "map", contents
        case _:
            return


# ---- Quality rules (ODCS 3.2 §quality) ----


_NOT_OPERATORS = ("query", "dialect", "percent")
_PAIR = 2


def metric(site: RuleSite) -> Quality:
    """A library metric: of one field at its property, of several at the object; without an operator it is none."""
    rule = site.rule
    is_of_one = len(rule.fields) == 1
    kind = site.type(rule.fields[0]) if is_of_one else LogicalType.STRING
    arguments: Plain = {} if is_of_one or not rule.fields else {"properties": [*map(column_name, rule.fields)]}
    for key, argument in rule.arguments.items():
        arguments[key] = list_values(argument, kind) if key in LISTS else argument
    if rule.comparison is not None:
        yield site.owner, library(rule.kind, arguments) | _write_comparison(rule.comparison)


def library(name: str, arguments: Plain) -> Plain:
    """A metric with its arguments, if it has any."""
    return {"metric": name} | ({"arguments": arguments} if arguments else {})


def _write_comparison(comparison: Comparison) -> Plain:
    values = [number(entry) for entry in comparison.operands]
    operand = values if comparison.operator in BETWEEN else values[0]
    return {comparison.operator: operand} | ({"unit": "percent"} if comparison.percent else {})


def sql(site: RuleSite) -> Quality:
    """A query; a rule of ODCS has one operator."""
    given = site.rule.arguments
    dialect = {"dialect": given["dialect"]} if "dialect" in given else {}
    unit = {"unit": "percent"} if given.get("percent") else {}
    for operator, value in given.items():
        if operator not in _NOT_OPERATORS:
            yield site.owner, {"type": "sql", "query": given["query"]} | dialect | unit | {operator: value}


def custom(site: RuleSite) -> Quality:
    """The call of another engine; where it has a check for each of several fields, once for each of them."""
    rule, given = site.rule, site.rule.arguments.get("args")
    arguments = given if isinstance(given, dict) else {}
    call = str(rule.arguments.get("call") or "")
    if not call.strip():
        return
    if len(rule.fields) > 1 and all(len(check.fields) == 1 for check in site.checks):
        for at, path in enumerate(rule.fields, start=1):
            own = {"id": f"{rule.id}_{at}"} if STABLE_ID.fullmatch(rule.id) else {}
            yield path, own | _call(site, call, arguments)
    else:
        yield site.owner, _call(site, call, _columns(call, tuple(map(column_name, rule.fields))) | arguments)


def _call(site: RuleSite, call: str, arguments: Mapping[str, object]) -> Plain:
    beside = {key: arguments[key] for key in ("severity",) if key in arguments}
    implementation = {"type": call, **beside, "kwargs": {key: arguments[key] for key in arguments if key not in beside}}
    return {"type": "custom", "engine": site.rule.arguments.get("engine"), "implementation": implementation}


def _columns(call: str, fields: tuple[str, ...]) -> Plain:
    """The arguments that name the columns of a call about several."""
    if len(fields) == _PAIR and "pair" in call:
        return {"column_A": fields[0], "column_B": fields[1]}
    return {"column_list": [*fields]} if len(fields) > 1 else {}


def text(site: RuleSite) -> Quality:
    """A rule in words."""
    yield site.owner, {"type": "text"}


QUALITY: dict[str, Write] = {
    **dict.fromkeys(("rowCount", "nullValues", "missingValues", "invalidValues", "duplicateValues"), metric),
    "sql": sql,
    "custom": custom,
    "text": text,
}
"""The writer of each kind of quality rule."""


# ---- Rules of DCM (table A.3): one rule for each threshold ----
# The numbers are those of the compiled check, so that the written rule measures the same by the same bounds.


_HUNDRED = Decimal(100)
_EXACT = Context(prec=1000)
"""Computes without rounding, as the compiler of these rules does."""


def thresholds(check: Check) -> list[tuple[Tier, Severity]]:
    """The thresholds of a check, each with what follows outside of it."""
    if check.tolerate is None:
        return [(check.accept, check.worst)]
    return [(check.accept, Severity.WARN), (check.tolerate, check.worst)]


def _size(_site: RuleSite, _check: Check, tier: Tier) -> Plain:
    low, high = _bounds(tier.interval)
    return library("rowCount", {}) | ({"mustBe": low} if low == high else {"mustBeBetween": [low, high]})


def _complete(_site: RuleSite, _check: Check, tier: Tier) -> Plain:
    """At least a share of values is at most a percentage of nulls."""
    low, _ = _bounds(tier.interval)
    if low == 1:
        return library("nullValues", {}) | NO_ROW
    most = min(_EXACT.multiply(_EXACT.subtract(Decimal(1), low), _HUNDRED), _HUNDRED)
    return library("nullValues", {}) | {"mustBeLessOrEqualTo": number(most), "unit": "percent"}


def _distinct(_site: RuleSite, _check: Check, tier: Tier) -> Plain | None:
    """All values distinct is no duplicate. No metric of ODCS or Great Expectations has a share of no values that is 1."""
    low, _ = _bounds(tier.interval)
    return library("duplicateValues", {}) | NO_ROW if low == 1 else None


def _aggregate(call: str) -> Threshold:
    def write(_site: RuleSite, _check: Check, tier: Tier) -> Plain:
        low, high = _bounds(tier.interval)
        implementation = {"type": call, "kwargs": {"min_value": number(low), "max_value": number(high)}}
        return {"type": "custom", "engine": "great-expectations", "implementation": implementation}

    return write


def _write_bound(key: str, end: str) -> Threshold:
    return lambda _site, _check, tier: (
        library("invalidValues", {key: number(Decimal(getattr(tier.predicate, end)))}) | NO_ROW
    )


def _write_allowed(site: RuleSite, check: Check, _tier: Tier) -> Plain:
    values = list_values(site.rule.arguments["parameter"], site.type(check.fields[0]))
    return library("invalidValues", {"validValues": values}) | NO_ROW


def _bounds(interval: Interval) -> tuple[Decimal, Decimal]:
    return interval.low or Decimal(0), interval.high or Decimal(0)


def _make_writer(write: Threshold, *, together: bool = True) -> Write:
    """The writer of a kind of rule; `together` for one quality rule of all fields."""

    def rules(site: RuleSite) -> Quality:
        measured = [entry for entry in site.checks if entry.skip is None]
        alike = measured[:1] if together else measured
        is_of_several = together and len(measured) > 1
        paths = {"properties": [column_name(entry.fields[0]) for entry in measured]} if is_of_several else {}
        for at, check in enumerate(alike, start=1):
            for tier, severity in thresholds(check):
                plain = write(site, check, tier)
                if plain is None:
                    continue
                arguments = paths | plain.get("arguments", {})
                suffix = f"_{at}" if len(alike) > 1 else ""
                own = site.rule.id + suffix + ("_warn" if severity is not check.worst else "")
                yield (
                    check.fields[0] if check.fields and not is_of_several else DATASET,
                    ({"id": own} if STABLE_ID.fullmatch(own) else {})
                    | ({"severity": "warning"} if severity is Severity.WARN else {})
                    | plain
                    | ({"arguments": arguments} if arguments else {}),
                )

    return rules


THRESHOLDS: dict[str, Write] = {
    "size": _make_writer(_size),
    "complete": _make_writer(_complete),
    "distinct": _make_writer(_distinct, together=False),
    "min": _make_writer(_write_bound("minimum", "low")),
    "max": _make_writer(_write_bound("maximum", "high")),
    "mean": _make_writer(_aggregate("expect_column_mean_to_be_between"), together=False),
    "stdev": _make_writer(_aggregate("expect_column_stdev_to_be_between"), together=False),
    "allowedValues": _make_writer(_write_allowed),
}
"""The writer of each kind of rule of DCM."""


# ---- The document ----
# The model gives what is measured and who answers for it; of the keys that the model leaves out, those that ODCS has too are
# written as they are (`PASSED`), and the others are listed.


VERSION = "v3.2.0"
WRITERS = {**OF_FIELDS, **QUALITY, **THRESHOLDS}
"""The writer of each kind of rule; of `type` and `nested` the types of properties, of service levels the contract."""
DIMENSIONS = ("accuracy", "completeness", "conformity", "consistency", "coverage", "timeliness", "uniqueness")


def document_of(contract: Contract, rest: Rest) -> Plain:
    """The document; `rest` gives what an element has beside the model, by its kind and its place in the old document."""
    about = replace(contract.about, description=None, purpose=contract.about.purpose or contract.about.description)
    whole = [dataset for dataset in contract.datasets if dataset.is_whole_document]
    settings = {
        "inherits": contract.inherits.name if contract.inherits else None,
        "require": [*contract.require] or None,
        "sharedWith": [*contract.shared_with] or None,
        **(_settings(whole[0], is_lenient=_is_lenient(whole[0])) if whole else {}),
    }
    passed, texts = rest("root", "$"), written_texts(ABOUT, about, "odcs")
    root = {
        "apiVersion": VERSION,
        "kind": "DataContract",
        **written_texts(CONTRACT, contract, "odcs"),
        **texts,
        "tags": [tag for tag in about.tags if tag] or None,
        **{key: _with(value, texts.get(key)) for key, value in passed.items()},
        "servers": [
            {"server": server.name, "type": server.type, **server_settings(server.settings)} for server in about.servers
        ]
        or None,
        DEPRECATION: without_none({key: getattr(about.deprecation, key, None) for key in DEPRECATION_KEYS}) or None,
        "schema": [_object(contract, dataset, rest) for dataset in contract.datasets if dataset not in whole] or None,
        "slaProperties": [
            _level(level, rest)
            for level in service_levels(contract)
            if not isinstance(level.rule.arguments.get("value"), Mapping | tuple | list)
        ]
        or None,
    }
    return without_none(root | own_properties(root, EXTENSION, without_none(settings) or None))


def server_settings(settings: Mapping[str, object]) -> Plain:
    """The settings of a server; its roles have the key `role` in ODCS, and keys that no server of ODCS has a list."""
    roles, known = settings.get("roles"), _server_keys()
    own = [{"property": key, "value": setting} for key, setting in settings.items() if key not in known]
    return {
        **{key: setting for key, setting in settings.items() if key in known},
        **({"roles": [_role(role) for role in roles]} if isinstance(roles, list | tuple) else {}),
        **({"customProperties": own} if own else {}),
    }


@cache
def _server_keys() -> frozenset[str]:
    """The keys of every type of server in ODCS."""
    definitions = load(f"official/odcs-{VERSION.removeprefix('v')}")["$defs"]
    sources = (value.get("properties", {}) for value in definitions["ServerSource"].values())
    return frozenset(definitions["Server"]["properties"]).union(*sources)


def _role(role: object) -> object:
    if not isinstance(role, Mapping) or "role" in role or "name" not in role:
        return role
    return {"role": role["name"], **{key: value for key, value in role.items() if key != "name"}}


def _with(passed: object, own: object) -> object:
    """A mapping that is kept, with the keys that the model has; any other value as it is."""
    return {**passed, **own} if isinstance(passed, Mapping) and isinstance(own, Mapping) else passed


def without_none(mapping: Mapping[str, Any]) -> Plain:
    """The keys that have a value."""
    return {key: value for key, value in mapping.items() if value is not None}


def _is_lenient(dataset: Dataset) -> bool:
    return bool(dataset.rules) and {rule.severity for rule in dataset.rules} == {Severity.WARN}


def _object(contract: Contract, dataset: Dataset, rest: Rest) -> Plain:
    is_lenient = _is_lenient(dataset)
    found: defaultdict[str, OwnKeys] = defaultdict(OwnKeys)
    rules = [(rule, checks) for rule, checks in checks_by_rule(contract, dataset) if rule.kind in WRITERS]
    for rule, checks in rules:
        cron = to_cron(rule.schedule)
        about = without_none(
            {
                "id": own_id(rule),
                "name": rule.name,
                **({"scheduler": "cron", "schedule": cron} if cron else {}),
                **rest("rule", rule.origin.path),
                "dimension": rule.dimension if rule.dimension in DIMENSIONS else None,
                "severity": "warning" if not is_lenient and rule.severity is Severity.WARN else None,
            }
        )
        for owner, written in WRITERS[rule.kind](RuleSite(dataset, rule, checks, found)):
            found[owner].quality.append(about | written)
    own, settings = found[DATASET], _settings(dataset, is_lenient=is_lenient)
    passed = rest("dataset", dataset.origin.path)
    return without_none(
        {
            "name": dataset.name,
            "physicalName": dataset.physical,
            "description": dataset.description,
            "logicalType": "object",
            **passed,
            "properties": properties_of(dataset, found, rest) or None,
            "relationships": own.relationships or None,
            "quality": own.quality or None,
            **own_properties(passed, EXTENSION, settings or None),
        }
    )


def _settings(dataset: Dataset, *, is_lenient: bool) -> Plain:
    """The extension: the settings that the document sets, and the format of its files, which servers may have given."""
    found = {
        **_list_declared(dataset, POLICY, dataset.policy),
        **_list_declared(dataset, STORAGE, dataset.storage),
        "critical": False if is_lenient and "critical" in dataset.declared else None,
        "noticePeriod": dataset.notice_days if "notice_days" in dataset.declared else None,
        "csv": _list_declared(dataset, CSV, dataset.csv) or None,
    }
    if dataset.storage.format not in {Format.CSV, Format.UNKNOWN}:
        found["format"] = dataset.storage.format.value
    return without_none(found)


def _list_declared(dataset: Dataset, table: Mapping[str, tuple[str, object]], values: object) -> Plain:
    declared = {key: getattr(values, name) for key, (name, _) in table.items() if name in dataset.declared}
    plain = {key: value.value if isinstance(value, Enum) else value for key, value in declared.items()}
    if isinstance(pull := plain.get("pull"), Pull):
        plain["pull"] = {key: value for key, value in asdict(pull).items() if value}
    return plain


def _level(level: DeclaredLevel, rest: Rest) -> Plain:
    """A service level: a length of time as a number and its unit."""
    value, unit = level.rule.arguments.get("value"), level.rule.arguments.get("unit")
    seconds = duration(value, unit)
    if seconds is not None:
        unit = next(entry for entry in ("d", "h", "m", "s") if seconds % SECONDS_BY_UNIT[entry] == 0 or entry == "s")
        value = number(seconds / SECONDS_BY_UNIT[unit])
    element = ", ".join(level.fields) or None
    optional = without_none({"unit": unit, "element": element})
    return {"property": level.name, "value": value} | optional | dict(rest("level", level.origin.path))


# ---- The text ----


def text_of(document: Plain) -> str:
    """The document in YAML, with its first lines for editors."""
    top = node_of(document)
    assert isinstance(top, yaml_writer.Mapping)
    return written_yaml(yaml_writer.Mapping([*yaml_writer.for_editors(VERSION), *top.entries]))


def without_variables(text: str) -> str:
    """A text in which nothing is a variable of ODCS."""
    return VARIABLE.sub(_literal, text)


def node_of(value: Any, escape: Callable[[str], str] = without_variables) -> Node:  # noqa: ANN401 - what a document holds
    """A value of a document as YAML; `escape` is of its texts."""
    if isinstance(value, Mapping):
        return yaml_writer.Mapping([YamlEntry(str(key), node_of(entry, escape)) for key, entry in value.items()])
    if isinstance(value, list | tuple):
        nodes = [node_of(entry, escape) for entry in value]
        scalars = [node for node in nodes if not isinstance(node, yaml_writer.Mapping | Items | Flow)]
        return Flow(scalars) if len(scalars) == len(nodes) else Items(nodes)
    return escape(value) if isinstance(value, str) else value


def _literal(match: re.Match[str]) -> str:
    """ODCS 3.2 has no escape of `${NAME}`: the default of a variable that nobody has keeps its first characters."""
    return match[0] if match["name"] in PLACEHOLDERS else f"${{_:-$}}{match[0][1:]}"
