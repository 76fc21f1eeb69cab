"""A contract as a document of DCS 1.2.1, made of its document in ODCS 3.2; what DCS has no place for is listed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lakegate.base.text import quote
from lakegate.contract.documents.dcs import NESTED, TYPES
from lakegate.contract.documents.key_table import OF_DCS
from lakegate.contract.documents.odcs_fields import PERSONAL, TIMEZONE
from lakegate.contract.documents.yaml_writer import Mapping as YamlMapping
from lakegate.contract.documents.yaml_writer import write_document
from lakegate.contract.logical_types import LogicalType, number_of
from lakegate.contract.physical_types import digit_bounds, digits_of, length_of, type_word, zone_of
from lakegate.features.convert.odcs_writer import Plain, node_of, without_none

VERSION: Final = "1.2.1"
_TYPES: Final = {
    "string": "string",
    "integer": "long",
    "number": "number",
    "boolean": "boolean",
    "date": "date",
    "time": "time",
    "timestamp": "timestamp",
    "object": "record",
    "array": "array",
    "map": "map",
}
"""The type of DCS for each logical type of ODCS."""
_STATUSES: Final = {"draft": "in development"}
"""The status of DCS for one of ODCS that DCS does not know."""
_SAID: Final = frozenset(
    (
        *(
            "varchar",
            "nvarchar",
            "char",
            "character",
            "text",
            "string",
            "clob",
            "binary",
            "varbinary",
            "bytes",
            "bytea",
        ),
        *(
            "blob",
            "bigint",
            "long",
            "double",
            "number",
            "boolean",
            "bool",
            "date",
            "time",
            "timestamp",
            "object",
            "struct",
        ),
        *("record", "array", "map", "json", "variant"),
    )
)
"""The physical types that say no more than a type of DCS."""
_LEVELS: Final = {
    "availability": ("percentage",),
    "retention": ("period", "timestampField"),
    "latency": ("threshold", "sourceTimestampField", "processedTimestampField"),
    "freshness": ("threshold", "timestampField"),
    "frequency": ("interval",),
    "support": ("responseTime",),
    "backup": ("interval",),
}
"""The keys of a service level: of its value, and of its elements in order."""
_UNITS: Final = {"d": "d", "h": "h", "m": "m", "s": "s", "percent": "%"}


@dataclass(slots=True)
class DcsWriter:
    """Moves the keys of a document to their places in DCS."""

    lost: list[str] = field(default_factory=list)
    """Keys without a place, by their owner."""
    is_schema: bool = False
    """Whether the document is the draft of a schema: then its physical types say which moments have an offset."""

    def document(self, odcs: Plain) -> Plain:
        """The whole document."""
        own = {**odcs}
        description = {**own.pop("description", {})}
        properties = _properties(own)
        info = {
            "title": own.pop("name", None) or own["id"],
            "version": own.pop("version"),
            "status": _STATUSES.get(status := own.pop("status", None), status),
            "description": description.pop("purpose", None),
            "owner": own.get("team", {}).get("name") if isinstance(own.get("team"), Mapping) else None,
        }
        terms = {key: description.pop(key, None) for key in ("usage", "limitations")}
        document = {
            "dataContractSpecification": VERSION,
            "id": own.pop("id"),
            "info": without_none(info),
            "tags": own.pop("tags", None),
            "links": self._links("the root", own),
            "servers": {server["server"]: self._server(server) for server in own.pop("servers", ())} or None,
            "terms": without_none(terms) or None,
            "deprecation": own.pop("deprecation", None),
            "models": {entry["name"]: self._model(entry) for entry in own.pop("schema", ())} or None,
            "servicelevels": dict(self._levels(own.pop("slaProperties", ()))) or None,
            "config": properties or None,
        }
        for key in ("apiVersion", "kind"):
            own.pop(key, None)
        if isinstance(team := own.pop("team", None), Mapping) and set(team) - {"name"}:
            self.lost.append("team")
        self._lose("", own)
        self._lose("description.", description)
        return without_none(document)

    def _lose(self, owner: str, rest: Mapping[str, Any]) -> None:
        self.lost.extend(f"{owner}{key}" for key, value in rest.items() if value not in (None, [], {}))

    def _links(self, owner: str, element: Plain) -> Plain | None:
        """The definitions elsewhere by their types; of several with one type the first."""
        found: Plain = {}
        for definition in element.pop("authoritativeDefinitions", None) or ():
            if definition.get("type") in found or not definition.get("url"):
                self.lost.append(f"{owner}: another link {quote(str(definition.get('type')))}")
            else:
                found[str(definition.get("type"))] = definition["url"]
        return found or None

    def _server(self, server: Plain) -> Plain:
        own = {key: value for key, value in server.items() if key not in {"server", "customProperties", "id"}}
        roles = [
            {"name": role["role"], **_without(role, "role")} if "role" in role else role
            for role in own.pop("roles", ())
        ]
        return own | _properties({**server}) | ({"roles": roles} if roles else {})

    def _model(self, dataset: Plain) -> Plain:
        own, name = {**dataset}, dataset["name"]
        properties = _properties(own)
        fields = own.pop("properties", None) or ()
        keys = sorted(
            (entry for entry in fields if entry.get("primaryKey")), key=lambda entry: entry["primaryKeyPosition"]
        )
        kind = own.pop("physicalType", None)
        if links := self._links(name, own):
            properties["links"] = links
        if tags := own.pop("tags", None):
            properties["tags"] = tags
        model = {
            "type": kind if kind in {"table", "view", "object"} else "table",
            "title": own.pop("businessName", None),
            "description": own.pop("description", None),
            "fields": {entry["name"]: self._field(entry, f"{name}.{entry['name']}") for entry in fields},
            "primaryKey": [key["name"] for key in keys] or None,
            "quality": self._quality(own.pop("quality", None)),
            "config": properties or None,
        }
        self._lose(f"{name}.", _without(own, "name", "logicalType"))
        return without_none(model)

    def _field(self, property_: Plain, path: str) -> Plain:
        own = _without(property_, "name", "primaryKey", "primaryKeyPosition")
        options = {**(own.pop("logicalTypeOptions", None) or {})}
        properties = _properties(own)
        references, parts = own.pop("relationships", None) or [], own.pop("map", None) or {}
        if own.get("logicalType") != "string":
            options.pop("format", None)  # of numbers bounds say it, of dates and times the type
        physical = own.get("physicalType")
        declared = _type(own, options, zone_of(physical) if self.is_schema else None)
        if not _is_said(physical, declared["type"] if declared else None, options.get("maxLength")):
            self.lost.append(f"{path}.physicalType")
        found = {
            **declared,
            "title": own.pop("businessName", None),
            "description": own.pop("description", None),
            **{key: own.pop(key, None) for key in ("required", "unique", "classification", "tags")},
            "enum": [str(entry["value"]) for entry in own.pop("enum", None) or ()] or None,
            **{key: options.pop(key, None) for key in (*OF_DCS, "format")},
            "examples": own.pop("examples", None),
            PERSONAL: properties.pop(PERSONAL, None),
            "references": references[0]["to"] if references else None,
            "links": self._links(path, own),
            "fields": {
                entry["name"]: self._field(entry, f"{path}.{entry['name']}") for entry in own.pop("properties", ())
            }
            or None,
            "items": self._field(items, f"{path}[]") if (items := own.pop("items", None)) else None,
            **{
                key: self._field(part, f"{path}.{step}") if part else None
                for key, step in (("keys", "key"), ("values", "value"))
                for part in (parts.get(step),)
            },
            "quality": self._quality(own.pop("quality", None)),
            "config": properties or None,
        }
        self._lose(f"{path}.", own)
        self._lose(f"{path}.logicalTypeOptions.", options)
        self.lost.extend(f"{path}: another relationship" for _ in references[1:])
        return without_none(found)

    def _quality(self, rules: list[Plain] | None) -> list[Plain] | None:
        """Rules, each with its type; DCS has no severities, so that a rule that only warns is listed by the comparison."""
        found = []
        for rule in rules or ():
            own = _without(rule, "severity", "customProperties")
            if own.get("type") == "text" and "description" not in own and "name" in own:
                own["description"] = own.pop("name")
            kind = {"type": "library"} if "metric" in own and "type" not in own else {}
            found.append({**kind, **own, **_properties({**rule})})
        return found or None

    def _levels(self, levels: Any) -> Iterator[tuple[str, Plain]]:  # noqa: ANN401 - a list of a document
        """Service levels by name; of several with one name the first."""
        seen: set[str] = set()
        for level in levels:
            name, own = level["property"], _without(level, "property", "customProperties")
            value, unit, elements = own.pop("value", None), own.pop("unit", None), own.pop("element", None)
            if name in seen:
                self.lost.append(f"slaProperties: another {quote(name)}")
                continue
            seen.add(name)
            main, *fields = _LEVELS.get(name, ("value",))
            written_value = f"{value}{_UNITS.get(unit, unit)}" if unit else str(value)
            share = number_of(value) if name == "availability" and not unit else None
            if share is not None:
                written_value = f"{(share * 100 if share <= 1 else share).normalize():f}%"
            if name == "frequency" and isinstance(value, str) and len(value.split()) > 1 and unit is None:
                main = "cron"
            paths = [part.strip() for part in elements.split(",")] if elements else []
            kept = dict(zip(fields, [part for part in paths if "." in part], strict=False))
            yield name, {main: written_value, **kept, **own, **_properties({**level})}


def _properties(element: Plain) -> Plain:
    """The custom properties of an element by name, which are taken out of it."""
    found = element.pop("customProperties", None) or ()
    return {entry["property"]: entry.get("value") for entry in found if "property" in entry}


def _type(own: Plain, options: Plain, zone: bool | None) -> Plain:  # noqa: FBT001 - of three values
    """The type of values: of exact numbers with their digits, which say what their bounds and their step say."""
    logical, physical = own.pop("logicalType", None), own.pop("physicalType", None)
    word = type_word(physical)
    if logical in {None, "string"} and word in {"binary", "bytes", "varbinary"}:
        return {"type": "bytes"}
    if logical is None:
        known = word in NESTED or word in TYPES
        return {"type": word} if known else {}
    if logical == "number" and TYPES.get(word) is LogicalType.DECIMAL:
        digits = digits_of(physical)
        high, step = digit_bounds(*digits) if digits else (None, None)
        for key, bound in {"minimum": high and high.copy_negate(), "maximum": high, "multipleOf": step}.items():
            if bound is not None and options.get(key) == bound:
                del options[key]
        return {"type": "decimal", **(dict(zip(("precision", "scale"), digits, strict=True)) if digits else {})}
    if logical == "timestamp":
        by_zone = {True: "timestamp_tz", False: "timestamp_ntz", None: "timestamp"}
        return {"type": by_zone[True if options.pop(TIMEZONE, None) else zone]}
    return {"type": _TYPES.get(logical, logical)}


def _is_said(physical: str | None, written: str | None, length: object) -> bool:
    """Whether a type and a length of DCS say what a physical type says."""
    zone, own_length = zone_of(physical), length_of(physical)
    if written == "decimal" or physical is None:
        return True
    if zone is not None:
        return written == ("timestamp_tz" if zone else "timestamp_ntz")
    return type_word(physical) in _SAID and own_length in {None, length}


def _without(mapping: Plain, *keys: str) -> Plain:
    return {key: value for key, value in mapping.items() if key not in keys}


def text_of(document: Plain) -> str:
    """The document in YAML. DCS has no variables: every text is written as it is."""
    top = node_of(document, escape=str)
    assert isinstance(top, YamlMapping)
    return write_document(top)
