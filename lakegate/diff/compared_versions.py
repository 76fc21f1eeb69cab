"""A version of a contract with its document, and the keys of a document that no comparison of the model reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakegate.base.errors import ContractError
from lakegate.contract.contract_model import Contract
from lakegate.contract.documents.document_root import DEPRECATION
from lakegate.contract.documents.document_tree import Document, Plain
from lakegate.contract.documents.extension_settings import EXTENSION
from lakegate.contract.documents.key_table import (
    ABOUT,
    CONSTRAINTS,
    CONTRACT,
    DATASET,
    FIELD,
    FORMAT,
    MOMENTS,
    ODCS_NAMES,
    OF_DCS,
    keys_of,
    parts_of,
)
from lakegate.contract.documents.odcs_fields import COLUMN, PERSONAL, RANGES, TIMEZONE
from lakegate.contract.documents.odcs_quality import SPELLINGS
from lakegate.contract.documents.service_level_keys import MAIN, TIMESTAMPS
from lakegate.contract.semantic_versions import precedence
from lakegate.lints.linter import Complete, examine, without_parents

if TYPE_CHECKING:
    Part = Callable[[Plain, Mapping[str, Plain]], Plain]

# ---- Keys that no other comparison reads ----
# Each element of a document has keys that are read into the model, and compared there. The remainder is compared as it is
# written, so that no edit is overlooked. Between documents of different formats only keys that both have are compared.


Element = str
"""`root`, `dataset`, `field`, `rule` or `level`."""

RULE = {
    *("id", "name", "metric", "rule", "type", "arguments", "query", "engine", "implementation", "dimension", "unit"),
    *("dialect", "severity", "validValues", "missingValues", *SPELLINGS),
}
ROOT = (*CONTRACT, *ABOUT)
READ: dict[tuple[str, Element], set[str]] = {
    ("ODCS", "root"): {
        *("apiVersion", "kind", "schema", "slaProperties", "servers", DEPRECATION),
        *keys_of(CONTRACT, "odcs"),
    },
    ("ODCS", "dataset"): {"name", "quality", "relationships", *keys_of(DATASET, "odcs")},
    ("ODCS", "field"): {
        *("name", "logicalType", "required", "unique", "primaryKey", "primaryKeyPosition", "quality"),
        *("properties", "items", "map", "examples", *keys_of(FIELD, "odcs")),
    },
    ("ODCS", "rule"): RULE,
    ("ODCS", "level"): {"property", "value", "unit", "element"},
    ("DCS", "root"): {
        *("dataContractSpecification", "models", "servicelevels", "quality", "servers", DEPRECATION),
        *keys_of(ROOT, "dcs"),
    },
    ("DCS", "dataset"): {"fields", "quality", "primaryKey", "additionalFields"},
    ("DCS", "field"): {
        *("type", "required", "unique", "primaryKey", "primary", "references", "enum", FORMAT, "quality", *OF_DCS),
        *("example", "examples", "pii", "fields", "items", "keys", "values", "$ref", *keys_of(FIELD, "dcs")),
    },
    ("DCS", "rule"): RULE - {"severity"},
    ("DCS", "level"): set(TIMESTAMPS),
    ("DCM", "root"): {
        *("specVersion", "kind", "dataset", "quality", "serviceLevelAgreements", "servers", DEPRECATION),
        *keys_of(ROOT, "dcm"),
    },
    ("DCM", "dataset"): {"name", "schema"},
    ("DCM", "field"): {"name", "dataType", "constraint", "children", "arrayDataType", *keys_of(FIELD, "dcm")},
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
        return {key: entry for key, entry in value.items() if key not in keys} if isinstance(value, dict) else None

    return part


def _items_where(is_rest: Callable[[Any], bool]) -> Part:
    """The items of a list that are not read."""
    return lambda value, _: [item for item in value if is_rest(item)] if isinstance(value, list) else []


def _properties_without(name: str) -> Part:
    """Custom properties without the one that is read."""
    return _items_where(lambda item: not isinstance(item, dict) or item.get("property") != name)


def _items_without(*keys: str) -> Part:
    """The items of a list without keys that are read."""
    part = _without(*keys)

    def rest(value: Plain, owner: Mapping[str, Plain]) -> Plain:
        items = [part(item, owner) for item in value] if isinstance(value, list) else []
        return items if any(items) else None

    return rest


def _options(value: Plain, owner: Mapping[str, Plain]) -> Plain:
    """The options that become no rule: time zones, and formats that decide the type or do not constrain the value."""
    options = value if isinstance(value, dict) else {}
    declared = ODCS_NAMES.get(str(owner.get("logicalType")))
    if declared is None:
        return None
    form = options.get("format")
    is_rule = form in RANGES if declared.numeric else declared not in MOMENTS
    read = {*CONSTRAINTS, TIMEZONE, *((FORMAT,) if is_rule else ())}
    return {key: option for key, option in options.items() if key not in read}


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
    ("ODCS", "root", "description"): _without(*parts_of(ABOUT, "odcs", "description")),
    # in ODCS 3.0 a list of members
    ("ODCS", "root", "team"): lambda team, owner: _without("name")(team, owner) if isinstance(team, dict) else team,
    ("ODCS", "root", "customProperties"): _properties_without(EXTENSION),
    ("ODCS", "dataset", "customProperties"): _properties_without(EXTENSION),
    # measures and dimensions, which are not delivered
    ("ODCS", "dataset", "properties"): _items_where(
        lambda item: isinstance(item, dict) and item.get("semanticType", COLUMN) != COLUMN
    ),
    ("ODCS", "field", "customProperties"): _properties_without(PERSONAL),
    ("ODCS", "field", "tags"): _items_where(lambda tag: str(tag).casefold() != PERSONAL),
    ("ODCS", "field", "enum"): _items_without("value"),
    ("ODCS", "field", "logicalTypeOptions"): _options,
    ("ODCS", "field", "relationships"): _items_without("from", "to"),
    ("ODCS", "rule", "description"): _description,
    ("DCS", "root", "info"): _without(*parts_of(ROOT, "dcs", "info")),
    ("DCS", "root", "terms"): _without("noticePeriod", *parts_of(ABOUT, "dcs", "terms")),
    ("DCS", "root", "config"): _without(EXTENSION),
    ("DCS", "dataset", "config"): _without(EXTENSION),
    ("DCS", "rule", "description"): _description,
    **{("DCS", "level", key): _level_value(key) for keys in MAIN.values() for key in keys},
    ("DCM", "root", "dataSharingAgreements"): _without(*parts_of(ABOUT, "dcm", "dataSharingAgreements")),
    ("DCM", "root", "specific"): _without(EXTENSION),
}
"""Keys of which a part is read, with the function of the other part."""


# ---- A version of a contract ----


@dataclass(frozen=True, slots=True)
class ContractVersion:
    """A contract with its document."""

    contract: Contract
    document: Document

    @property
    def family(self) -> str:
        """The format without its version: `ODCS`, `DCS` or `DCM`."""
        return self.contract.format.partition(" ")[0]

    def rest(self, element: str, path: str) -> dict[str, Plain]:
        """The keys at an address that no comparison of the model reads."""
        node = self.document.at(path).node
        return {} if node is None else remainder(self.family, element, node.plain())


def read_version(text: bytes, *, published: bool = False, complete: Complete = without_parents) -> ContractVersion:
    """The version in a document; ContractError with every error at once, InputError if its number is not semantic.

    A published document is read as far as possible: it may have been valid under the checks of an older Lakegate.
    `complete` adds what the contract inherits.
    """
    examined = examine(text, complete=complete)
    if examined.contract is None or (examined.errors and not published):
        raise ContractError(examined.errors)
    precedence(examined.contract.version)
    assert examined.document is not None
    return ContractVersion(examined.contract.with_own_common, examined.document)
