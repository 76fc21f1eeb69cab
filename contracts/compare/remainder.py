"""The keys of a document that describe data without being measured: everything that the other comparisons leave out.

Each element of a document has keys that are read into the model, and compared there. The remainder is compared as it is written,
so that no edit is overlooked. Between documents of different formats only keys that both have are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from lakegate.contracts.documents.about import DEPRECATION
from lakegate.contracts.documents.extension import EXTENSION
from lakegate.contracts.documents.odcs_options import OPTIONS, RANGES
from lakegate.contracts.documents.odcs_properties import COLUMN, FORMATTED, PERSONAL, TYPES
from lakegate.contracts.documents.quality import SPELLINGS
from lakegate.contracts.documents.service_levels import MAIN, TIMESTAMPS

if TYPE_CHECKING:
    from lakegate.contracts.documents.nodes import Plain

    Part = Callable[[Plain, Mapping[str, Plain]], Plain]

Element = str
"""`root`, `dataset`, `field`, `rule` or `level`."""
QUALITY = {
    "id",
    "name",
    "metric",
    "rule",
    "type",
    "arguments",
    "query",
    "engine",
    "implementation",
    "dimension",
    "unit",
}
RULE = {
    *("id", "name", "metric", "rule", "type", "arguments", "query", "engine", "implementation", "dimension", "unit"),
    *("dialect", "severity", "validValues", "missingValues", *SPELLINGS),
}
READ: dict[tuple[str, Element], set[str]] = {
    ("ODCS", "root"): {"apiVersion", "kind", "id", "version", "name", "status", "schema", "servers", DEPRECATION},
    ("ODCS", "dataset"): {"name", "quality", "relationships", "physicalName"},
    ("ODCS", "field"): {
        *("name", "logicalType", "physicalName", "required", "unique", "primaryKey", "primaryKeyPosition", "quality"),
        *("properties", "items", "map", "description", "classification", "examples"),
    },
    ("ODCS", "rule"): RULE,
    ("ODCS", "level"): {"property", "value", "unit", "element"},
    ("DCS", "root"): {"dataContractSpecification", "id", "models", "servicelevels", "quality", "servers", DEPRECATION},
    ("DCS", "dataset"): {"fields", "quality", "primaryKey", "additionalFields"},
    ("DCS", "field"): {
        *("type", "required", "unique", "primaryKey", "primary", "references", "enum", "format", "pattern", "quality"),
        *(
            "minLength",
            "maxLength",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "example",
            "examples",
        ),
        *("pii", "classification", "description", "fields", "items", "keys", "values", "$ref"),
    },
    ("DCS", "rule"): RULE - {"severity"},
    ("DCS", "level"): set(TIMESTAMPS),
    ("DCM", "root"): {
        *("specVersion", "kind", "id", "name", "version", "description", "ownerGroup", "dataset", "quality"),
        *("serviceLevelAgreements", "servers", DEPRECATION),
    },
    ("DCM", "dataset"): {"name", "schema"},
    ("DCM", "field"): {"name", "dataType", "description", "constraint", "children", "arrayDataType"},
    ("DCM", "rule"): {
        *("id", "name", "type", "dimension", "columns", "parameter", "severity", "technology", "call", "args")
    },
    ("DCM", "level"): set(),
}
"""The keys that are compared in the model, by format and element."""
ALIASES = {"title": "businessName", "links": "authoritativeDefinitions"}
"""Keys of DCS with the keys of ODCS."""


def remainder(family: str, element: Element, plain: Plain) -> dict[str, Plain]:
    """The keys of an element that no other comparison reads, with their values."""
    if not isinstance(plain, dict):
        return {}
    rest: dict[str, Plain] = {}
    for key, value in plain.items():
        part = PARTS.get((family, element, key))
        unread = value if part is None else part(value, plain)
        if key not in READ[family, element] and (part is None or unread not in (None, [], {})):
            rest[key] = unread
    return rest


def _without(*keys: str) -> Part:
    """A mapping without keys that are read; any other value is read as a whole."""

    def part(value: Plain, _owner: Mapping[str, Plain]) -> Plain:
        return {key: each for key, each in value.items() if key not in keys} if isinstance(value, dict) else None

    return part


def _properties_without(*names: str) -> Part:
    """Custom properties without those that are read."""

    def part(value: Plain, _owner: Mapping[str, Plain]) -> Plain:
        items = value if isinstance(value, list) else []
        return [each for each in items if not (isinstance(each, dict) and each.get("property") in names)]

    return part


def _members(value: Plain, _owner: Mapping[str, Plain]) -> Plain:
    """A team without its name; in ODCS 3.0 a list of members."""
    return {key: each for key, each in value.items() if key != "name"} if isinstance(value, dict) else value


def _levels(value: Plain, owner: Mapping[str, Plain]) -> Plain:
    """Service levels belong to datasets: without any they are only text."""
    return None if owner.get("schema") else value


def _not_columns(value: Plain, _owner: Mapping[str, Plain]) -> Plain:
    """Measures and dimensions, which are not delivered."""
    items = value if isinstance(value, list) else []
    return [each for each in items if isinstance(each, dict) and each.get("semanticType", COLUMN) != COLUMN]


def _other_tags(value: Plain, _owner: Mapping[str, Plain]) -> Plain:
    items = value if isinstance(value, list) else []
    return [each for each in items if str(each).casefold() != PERSONAL]


def _labels(value: Plain, _owner: Mapping[str, Plain]) -> Plain:
    """What is written beside the values of an `enum`."""
    items = value if isinstance(value, list) else []
    labels: list[Plain] = [_without("value")(each, {}) for each in items]
    return labels if any(labels) else None


def _options(value: Plain, owner: Mapping[str, Plain]) -> Plain:
    """The options that become no rule: time zones, and formats that decide the type or do not constrain the value."""
    options = value if isinstance(value, dict) else {}
    declared = TYPES.get(str(owner.get("logicalType")))
    if declared is None:
        return None
    form = options.get("format")
    is_rule = form in RANGES if declared.numeric else declared not in FORMATTED
    read = {*OPTIONS, *(("format",) if is_rule else ())}
    return {key: each for key, each in options.items() if key not in read}


def _relationships(value: Plain, _owner: Mapping[str, Plain]) -> Plain:
    items = value if isinstance(value, list) else []
    rest: list[Plain] = [_without("from", "to")(each, {}) for each in items]
    return rest if any(rest) else None


def _description(value: Plain, owner: Mapping[str, Plain]) -> Plain:
    """The description of a rule is its name, if it has none."""
    return value if owner.get("name") else None


def _level_value(name: str) -> Part:
    """A key of a service level of DCS; the first of its value keys is read."""

    def part(value: Plain, owner: Mapping[str, Plain]) -> Plain:
        levels = (keys for keys in MAIN.values() if name in keys)
        is_read = any(name == next(key for key in keys if key in owner) for keys in levels)
        return None if is_read else value

    return part


PARTS: dict[tuple[str, Element, str], Part] = {
    ("ODCS", "root", "description"): _without("purpose", "usage", "limitations"),
    ("ODCS", "root", "team"): _members,
    ("ODCS", "root", "customProperties"): _properties_without(EXTENSION),
    ("ODCS", "root", "slaProperties"): _levels,
    ("ODCS", "dataset", "customProperties"): _properties_without(EXTENSION),
    ("ODCS", "dataset", "properties"): _not_columns,
    ("ODCS", "field", "customProperties"): _properties_without(PERSONAL),
    ("ODCS", "field", "tags"): _other_tags,
    ("ODCS", "field", "enum"): _labels,
    ("ODCS", "field", "logicalTypeOptions"): _options,
    ("ODCS", "field", "relationships"): _relationships,
    ("ODCS", "rule", "description"): _description,
    ("DCS", "root", "info"): _without("title", "version", "status", "description", "owner"),
    ("DCS", "root", "terms"): _without("usage", "limitations", "noticePeriod"),
    ("DCS", "root", "config"): _without(EXTENSION),
    ("DCS", "dataset", "config"): _without(EXTENSION),
    ("DCS", "rule", "description"): _description,
    **{("DCS", "level", key): _level_value(key) for keys in MAIN.values() for key in keys},
    ("DCM", "root", "dataSharingAgreements"): _without("purpose", "intendedUsage", "limitations"),
    ("DCM", "root", "specific"): _without(EXTENSION),
}
"""Keys of which a part is read, with the function of the other part."""
