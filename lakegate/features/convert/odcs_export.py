"""Any contract as an ODCS document, with a list of what ODCS cannot say."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from lakegate.base.errors import ContractError
from lakegate.contract.contract_model import Contract
from lakegate.contract.documents.dcs import SCHEMAS
from lakegate.contract.documents.document_tree import Notes, Place, steps_of
from lakegate.contract.documents.extension_settings import EXTENSION
from lakegate.contract.documents.imported_schema import Converted
from lakegate.contract.documents.odcs_fields import PERSONAL
from lakegate.contract.documents.odcs_quality import QUARTZ
from lakegate.contract.documents.unknown_keys import KEPT, is_misspelt, warn_unknown_keys
from lakegate.diff.change_kinds import Change
from lakegate.diff.compared_versions import ALIASES, ContractVersion, remainder
from lakegate.diff.diff_contracts import compare
from lakegate.diff.rule_changes import Requirement, requirements
from lakegate.diff.rule_strictness import Order, is_same_measure, rejection, warning
from lakegate.diff.service_level_changes import service_levels
from lakegate.features.convert import dcs_writer
from lakegate.features.convert.odcs_writer import Plain, document_of, server_settings, text_of, thresholds
from lakegate.lints.linter import examine
from lakegate.plan.check import NONE, Check, Interval, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.rules.check_builder import brief
from lakegate.rules.compile_plan import with_parts

if TYPE_CHECKING:
    from lakegate.features.convert.odcs_writer import Rest

# ---- Keys that the model leaves out ----


PASSED = {
    "root": ("price",),
    "dataset": ("description", "businessName", "tags", "physicalType"),
    "field": ("businessName", "tags"),
    "rule": ("description", "scheduler", "schedule"),
    "level": ("description",),
}
"""The keys of each element of DCS and DCM that are written as they are."""
IN_PARTS = ("enum", "relationships", "properties")
"""Keys of ODCS whose remainder is a part of each item: all others are written as they are."""
HAS_LISTS = ("root", "dataset", "field")
"""Elements that have definitions elsewhere and properties of their own in ODCS."""
NAMES = {**ALIASES, "pricing": "price"}
"""Other names of keys of ODCS."""
PROPERTIES = "customProperties"
"""The key of ODCS for what a document adds to the format."""
READ = (EXTENSION, PERSONAL, "lineage")
"""Keys with a meaning, which no custom property gets by chance."""
IN_SECTIONS = ("info", "terms")
"""Mappings at the root of DCS whose own keys the root of ODCS has."""
LINKS, CONFIG = "links", "config"
"""Keys of DCS with an equivalent of another form: `authoritativeDefinitions` and `customProperties`."""
_URL = re.compile(r"[a-z][a-z0-9+.-]*:\S+", re.IGNORECASE)
OF_DATASETS = {"type": "physicalType"}
CARRIED = {
    ("DCS", "root"): {"definitions", "tags"},
    ("DCS", "field"): {"precision", "scale"},
    ("DCM", "root"): {"tags"},
    ("DCM", "field"): {"dataLength"},
}
"""Keys that are rules or texts of the model, which is compared."""
PRICE = {"priceAmount", "priceCurrency", "priceUnit"}


def extension_keys(version: ContractVersion) -> frozenset[str]:
    """The paths of the keys that a document of DCS adds to the specification, but for misspelt ones, and names that are read."""
    if version.family != "DCS":
        return frozenset()
    notes = Notes()
    warn_unknown_keys(version.document, SCHEMAS[version.contract.format.split()[1]], notes)
    added = (entry for entry in notes.warnings if entry.code == KEPT and not is_misspelt(entry))
    return frozenset(entry.path for entry in added if steps_of(entry.path)[-1] not in READ)


def passed_keys(version: ContractVersion) -> Rest:
    """Keys of an element that a version keeps beside the model."""
    extensions = extension_keys(version)

    def rest(element: str, path: str) -> Mapping[str, Any]:
        if element not in PASSED:
            return {}
        found: dict[str, Any] = {}
        for place, key, value in _unread(version, element, path):
            equivalent = _equivalent(version.family, element, key, value)
            if equivalent is None and f"{place}.{key}" in extensions:
                equivalent = _properties({key: value})
            if equivalent is not None:
                name, kept = equivalent
                found[name] = [*found[name], *kept] if name == PROPERTIES and name in found else kept
        return found

    return rest


def _unread(version: ContractVersion, element: str, path: str) -> Iterator[tuple[str, str, Any]]:
    """The keys of an element, and of the definitions of a field, that the model leaves out: owner, key and value."""
    own = version.rest(element, path)
    yield from (entry for entry in _list_defined_keys(version, element, path) if entry[1] not in own)
    yield from ((path, key, value) for key, value in own.items())
    for section in IN_SECTIONS if element == "root" and version.family == "DCS" else ():
        if isinstance(keys := own.get(section), Mapping):
            yield from ((f"{path}.{section}", key, value) for key, value in keys.items())


def _equivalent(family: str, element: str, key: str, value: Any) -> tuple[str, Any] | None:  # noqa: ANN401 - what a document holds
    """The key of ODCS with the meaning of a key, and its value; None if there is none."""
    if family == "ODCS":
        return None if key in IN_PARTS else (key, value)
    if key == LINKS and element in HAS_LISTS and (definitions := definitions_of(value)) is not None:
        return "authoritativeDefinitions", definitions
    if key == CONFIG and element in HAS_LISTS and isinstance(value, Mapping):
        return _properties(value)
    name = (NAMES | (OF_DATASETS if element == "dataset" else {})).get(key, key)
    return (name, value) if _is_passed(element, name, value) else None


def _properties(values: Mapping[str, Any]) -> tuple[str, Any]:
    return PROPERTIES, [{"property": str(name), "value": value} for name, value in values.items()]


def definitions_of(links: object) -> list[dict[str, object]] | None:
    """Links of DCS as `authoritativeDefinitions`; None for what is no mapping of names to addresses."""
    if not isinstance(links, Mapping) or not all(
        isinstance(url, str) and _URL.fullmatch(url) for url in links.values()
    ):
        return None
    return [{"type": str(name), "url": url} for name, url in links.items()]


def _list_defined_keys(version: ContractVersion, element: str, path: str) -> Iterator[tuple[str, str, Any]]:
    """Keys of a field of DCS from the definition that it refers to, and from those that this one refers to."""
    place, found, seen = version.document.at(path), dict[str, tuple[str, str, Any]](), set[str]()
    while element == "field" and version.family == "DCS":
        reference = place["$ref"].text or ""
        if not reference.startswith("#/definitions/") or reference in seen:
            break
        seen.add(reference)
        place = version.document.top["definitions"][reference.removeprefix("#/definitions/")]
        keys = remainder("DCS", "field", place.node.plain()) if place.node else {}
        found = {key: (place.path, key, value) for key, value in keys.items()} | found
    yield from found.values()


def unread_keys(version: ContractVersion) -> Iterator[str]:
    """The keys without an equivalent, by their addresses in the document.

    Schedules that are followed are rules of the model, which is compared.
    """
    followed = {rule.origin.path for dataset in version.contract.datasets for rule in dataset.rules if rule.schedule}
    extensions, passed = extension_keys(version), set[str]()
    for element, path in elements(version):
        passed |= {f"{place}.{key}" for place, key, _ in _list_defined_keys(version, element, path)}
        carried = CARRIED.get((version.family, element), ())
        for key, value in version.rest(element, path).items():
            own = f"{path}.{key}"
            is_followed = key == QUARTZ and path in followed
            is_kept = own in extensions or _equivalent(version.family, element, key, value) is not None
            section = value if element == "root" and key in IN_SECTIONS else None
            in_parts = isinstance(section, Mapping) and {f"{own}.{entry}" for entry in section} <= extensions
            if key not in carried and not (is_followed or is_kept or in_parts):
                yield own
    lost = (f"{path}.{key}" for path, key in _of_definitions(version.document.top["definitions"]))
    yield from (entry for entry in lost if entry not in extensions & passed)


def elements(version: ContractVersion) -> Iterator[tuple[str, str]]:
    """Every element with its address, once."""
    found = [("root", "$")]
    for dataset in version.contract.datasets:
        if not dataset.is_whole_document:
            found.append(("dataset", dataset.origin.path))
        found += [("field", part.origin.path) for part in with_parts(dataset.fields)]
        found += [("rule", rule.origin.path) for rule in dataset.rules if ".quality[" in rule.origin.path]
    found += [("level", level.origin.path) for level in service_levels(version.contract)]
    yield from dict.fromkeys(found)


def _is_passed(element: str, key: str, value: object) -> bool:
    """Whether a key is one of ODCS, with a value that ODCS accepts there."""
    if key not in PASSED[element]:
        return False
    if key == "price":
        return isinstance(value, Mapping) and set(value) <= PRICE
    if key == "tags":
        return isinstance(value, list) and all(isinstance(entry, str) for entry in value)
    return isinstance(value, str)


def _of_definitions(place: Place) -> Iterator[tuple[str, str]]:
    """Keys of definitions beside what fields read through them."""
    for entry in place.entries.values():
        keys = remainder("DCS", "field", entry.node.plain()) if entry.node else {}
        lost = (key for key, value in keys.items() if _equivalent("DCS", "field", key, value) is None)
        yield from ((entry.path, key) for key in lost if key not in CARRIED["DCS", "field"])
        yield from _of_definitions(entry["fields"])


# ---- Rules that another contract has, too ----


@dataclass(frozen=True, slots=True)
class ComparedRules:
    """The rules of two contracts."""

    paths: frozenset[str]
    """The paths of all rules, as changes have them."""
    lost: dict[str, str]
    """The rules of the old contract that the new one does not have with every threshold, by path, in words."""
    added: dict[str, str]
    """The same of the new contract."""


def compared_rules(old: Contract, new: Contract) -> ComparedRules:
    """Rules that are in one of the contracts alone."""
    paths: set[str] = set()
    lost: dict[str, str] = {}
    added: dict[str, str] = {}
    for dataset in old.datasets:
        other = new.dataset(dataset.name)
        sides = requirements(old, dataset), requirements(new, other) if other else []
        paths |= {path for side in sides for entry in side for path in (entry.path, entry.rule_path)}
        lost |= _only_in(*sides)
        added |= _only_in(*sides[::-1])
    return ComparedRules(frozenset(paths), lost, added)


def _only_in(own: list[Requirement], theirs: list[Requirement]) -> dict[str, str]:
    """The rules of which a threshold is not among the others."""
    checks: dict[tuple[str, ...], list[Check]] = defaultdict(list)
    for requirement in theirs:
        checks[tuple(sorted(requirement.check.fields))] += split(requirement.check)
    unmeasured = {item.content for item in theirs if item.check.skip is not None}
    found: dict[str, str] = {}
    for entry in own:
        others = checks[tuple(sorted(entry.check.fields))]
        is_there = all(any(is_same(one, other) for other in others) for one in split(entry.check))
        if not (is_there if entry.check.skip is None else entry.content in unmeasured):
            found[entry.rule_path] = entry.words
    return found


def split(check: Check) -> list[Check]:
    """A check for each threshold, in the form that several ways of writing it have in common."""
    return [_common(replace(check, accept=tier, tolerate=None, worst=worst)) for tier, worst in thresholds(check)]


def _common(check: Check) -> Check:
    """All values distinct is no duplicate; a share below 0 is 0."""
    interval = check.accept.interval
    if check.unit is not Unit.SHARE or interval.low is None:
        return check
    if check.metric is Metric.DISTINCT_SHARE and interval == Interval(low=Decimal(1)):
        return replace(check, metric=Metric.DUPLICATE_ROWS, unit=Unit.ROWS, accept=Tier(NONE))
    return replace(check, accept=replace(check.accept, interval=replace(interval, low=max(interval.low, Decimal(0)))))


def is_same(one: Check, other: Check) -> bool:
    """Whether two checks of one threshold accept the same, and do the same with the rest."""
    return (
        is_same_measure(one, other)
        and one.worst is other.worst
        and rejection(one, other) is warning(one, other) is Order.SAME
    )


# ---- A whole contract, and what is lost ----
# The written document is read again and compared with the contract by `lakegate.diff`, so that nothing is lost without being
# listed: neither a rule, nor a setting, nor a text.


MAX_ROUNDS = 5
"""Rounds in which refused parts are left out; parts that are refused for others are found in the next round."""
LEAVABLE = ("quality", "servers", "relationships", "slaProperties", "examples", "tags")
"""Lists whose items are left out, and listed, where ODCS refuses them."""
NEEDED = frozenset(
    (
        "apiVersion",
        "kind",
        "id",
        "version",
        "schema",
        "name",
        "properties",
        "items",
        "map",
        "key",
        "value",
        "logicalType",
    )
)
"""Keys that are never left out as a whole."""


def odcs(version: ContractVersion) -> Converted:
    """The document of a contract in another format; `omitted` names each key and rule without an equivalent.

    ContractError if no valid document can be written, e.g. because it would be too large.
    """
    lost = list(unread_keys(version))
    text, found = leave_out_refused(document_of(version.contract, passed_keys(version)))
    return Converted(text, tuple(dict.fromkeys([*lost, *_lost(version, found)])))


def odcs_of_schema(contract: Contract) -> Converted:
    """The document of a contract that was read from a schema of another tool; `omitted` names the rules that are lost."""
    text, version = leave_out_refused(document_of(contract, lambda _element, _path: {}))
    return Converted(text, _lost_rules(contract, version))


def dcs(version: ContractVersion) -> Converted:
    """The document of a contract in DCS; `omitted` as `odcs` has it. A document of DCS stays as it is."""
    if version.family == "DCS":
        return Converted(version.document.text.decode(), ())
    text, found, without_place = _settled_dcs(document_of(version.contract, passed_keys(version)))
    lost = [] if version.family == "ODCS" else unread_keys(version)
    return Converted(text, tuple(dict.fromkeys([*lost, *without_place, *_lost(version, found)])))


def dcs_of_schema(contract: Contract) -> Converted:
    """The document in DCS of a contract that was read from a schema of another tool."""
    text, version, without_place = _settled_dcs(document_of(contract, lambda _element, _path: {}), is_schema=True)
    return Converted(text, (*without_place, *_lost_rules(contract, version)))


def _settled_dcs(document: Plain, *, is_schema: bool = False) -> tuple[str, ContractVersion, list[str]]:
    """A document of ODCS in DCS: its text, that text read again, and the keys that have no place there."""
    writer = dcs_writer.DcsWriter(is_schema=is_schema)
    return *leave_out_refused(writer.document(document), dcs_writer.text_of, _leavable_of_dcs), writer.lost


def _lost_rules(contract: Contract, version: ContractVersion) -> tuple[str, ...]:
    rules = compared_rules(contract, version.contract).lost.items()
    return tuple(f"{path} (rule: {brief(words)})" for path, words in rules)


def leave_out_refused(
    document: Plain,
    text_of: Callable[[Plain], str] = text_of,
    leavable: Callable[[str], tuple[str | int, ...] | None] | None = None,
) -> tuple[str, ContractVersion]:
    """The text without parts that its format refuses, and the contract in it. ContractError if something else is refused."""
    rounds = 0
    while True:
        text, rounds = text_of(document), rounds + 1
        # without what parents add: the document still inherits it
        examined = examine(text.encode(), complete=lambda contract, _document, _notes: contract)
        if examined.contract is not None and examined.document is not None and not examined.errors:
            return text, ContractVersion(examined.contract.with_own_common, examined.document)
        refused = {place for error in examined.errors if (place := (leavable or _leavable)(error.path)) is not None}
        if not refused or rounds == MAX_ROUNDS:
            raise ContractError(examined.errors)
        for place in sorted(refused, key=lambda steps: [str(entry).zfill(6) for entry in steps], reverse=True):
            owner: Any = document
            for step in place[:-1]:
                owner = owner[step]
            del owner[place[-1]]


def _leavable(path: str) -> tuple[str | int, ...] | None:
    """The item of a list, the option, or else the key, that a problem lies in; None if the contract needs it."""
    steps = steps_of(path)
    for at in range(len(steps) - 1, 0, -1):
        if (isinstance(steps[at], int) and steps[at - 1] in LEAVABLE) or steps[at - 1] == "logicalTypeOptions":
            return steps[: at + 1]
    own = next((at for at, step in enumerate(steps, 1) if isinstance(step, str) and step not in NEEDED), None)
    return None if own is None else steps[:own]


def _leavable_of_dcs(path: str) -> tuple[str | int, ...] | None:
    """The same in a document of DCS: the rule, the key of a field but its type, or the service level or server."""
    steps = steps_of(path)
    for at in range(len(steps) - 1, 0, -1):
        if isinstance(steps[at], int) and steps[at - 1] in LEAVABLE:
            return steps[: at + 1]
        if steps[at - 1] == "fields" and len(steps) > at + 1 and steps[at + 1] != "type":
            return steps[: at + 2]
    return (
        steps[:2] if steps[0] in {"servers", "servicelevels", "terms", "links", "config"} and len(steps) > 1 else None
    )


def _lost(old: ContractVersion, new: ContractVersion) -> Iterator[str]:
    """Losses in the new version, in words; rules with the same thresholds are kept, however they are written."""
    rules = compared_rules(old.contract, new.contract)
    yield from (f"{path} (rule: {brief(words)})" for path, words in rules.lost.items())
    yield from (f"{path} (another rule: {brief(words)})" for path, words in rules.added.items())
    before, after = old.contract.about, new.contract.about
    is_purpose = (before.purpose is None and before.description is not None) or (
        after.purpose is None and after.description == before.purpose
    )
    for change in compare(old, new).changes:
        is_of_rule = change.path in rules.paths and change.kind != "rule-id"
        is_addition = change.kind == "metadata" and change.before is None
        is_moved = is_purpose and change.path in {"description", "purpose"}
        if not (is_of_rule or is_addition or is_moved or _has_another_form(change)):
            yield _words(change)


def _has_another_form(change: Change) -> bool:
    """Whether ODCS and DCS have the same in another form: links, and the roles of servers."""
    if not all(side is not None and side.startswith(("{", "[")) for side in (change.before, change.after)):
        return False
    before, after = json.loads(change.before or ""), json.loads(change.after or "")
    return after in _forms(before) or before in _forms(after)


def _forms(of_dcs: object) -> tuple[object, ...]:
    """The value that ODCS may have in place of a mapping of DCS."""
    return (definitions_of(of_dcs), server_settings(of_dcs)) if isinstance(of_dcs, Mapping) else ()


def _words(change: Change) -> str:
    sides = " -> ".join("none" if side is None else brief(side) for side in (change.before, change.after))
    return f"{change.path} ({change.kind}: {sides})"
