"""The ODCS 3.2 document of a contract, in the plain types of JSON.

The model gives what is measured and who answers for it; of the keys that the model leaves out, those that ODCS has too are
written as they are (`PASSED`), and the others are listed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict
from enum import Enum
from typing import TYPE_CHECKING, Any

from lakegate.contracts.compare.service_levels import service_levels
from lakegate.contracts.compile.dataset import checks_by_rule
from lakegate.contracts.compile.rules.service_levels import SECONDS, duration
from lakegate.contracts.convert.odcs_constraints import CONSTRAINTS
from lakegate.contracts.convert.odcs_properties import properties_of
from lakegate.contracts.convert.odcs_quality import QUALITY
from lakegate.contracts.convert.odcs_site import DATASET, OwnKeys, RuleSite, number, own_id, own_properties
from lakegate.contracts.convert.odcs_thresholds import THRESHOLDS
from lakegate.contracts.documents.about import DEPRECATION, DEPRECATION_KEYS
from lakegate.contracts.documents.extension import CSV, EXTENSION, POLICY, STORAGE
from lakegate.contracts.model.contract import Severity
from lakegate.contracts.model.policy import Pull
from lakegate.contracts.model.schedules import to_cron
from lakegate.contracts.model.storage import Format

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.contracts.compare.service_levels import PromisedLevel
    from lakegate.contracts.convert.odcs_site import Plain
    from lakegate.contracts.model.contract import Contract, Dataset, Rule, Server

    Rest = Callable[[str, str], Mapping[str, Any]]
    """The keys of an element (`root`, `dataset`, `field`, `rule`, `level`) at an address that ODCS has too."""

VERSION = "v3.2.0"
WRITERS = {**CONSTRAINTS, **QUALITY, **THRESHOLDS}
"""The writer of each kind of rule; of `type` and `nested` the types of properties, of service levels the contract."""
DIMENSIONS = ("accuracy", "completeness", "conformity", "consistency", "coverage", "timeliness", "uniqueness")
ABOUT = ("purpose", "usage", "limitations")


def document_of(contract: Contract, rest: Rest) -> Plain:
    """The document; `rest` gives what an element has beside the model, by its kind and its place in the old document."""
    about = contract.about
    described = {key: getattr(about, key) for key in ABOUT}
    described["purpose"] = described["purpose"] or about.description
    settings = {
        "inherits": contract.inherits.name if contract.inherits else None,
        "require": [*contract.require] or None,
        "sharedWith": [*contract.shared_with] or None,
    }
    root = {
        "apiVersion": VERSION,
        "kind": "DataContract",
        "id": contract.id,
        "name": contract.name,
        "version": contract.version,
        "status": contract.status,
        "description": _known(described) or None,
        "team": None if about.owner is None else {"name": about.owner},
        "tags": [each for each in about.tags if each] or None,
        **rest("root", "$"),
        "servers": [_server(each) for each in about.servers] or None,
        DEPRECATION: _known({key: getattr(about.deprecation, key, None) for key in DEPRECATION_KEYS}) or None,
        "schema": [_object(contract, each, rest) for each in contract.datasets] or None,
        "slaProperties": [_level(each, rest) for each in service_levels(contract) if _is_plain(each)] or None,
    }
    return _known(root | own_properties(root, EXTENSION, _known(settings) or None))


def _server(server: Server) -> Plain:
    return {"server": server.name, "type": server.type, **server_settings(server.settings)}


def server_settings(settings: Mapping[str, object]) -> Plain:
    """The settings of a server; its roles have the key `role` in ODCS."""
    roles = settings.get("roles")
    return {**settings, **({"roles": [_role(each) for each in roles]} if isinstance(roles, list | tuple) else {})}


def _role(role: object) -> object:
    if not isinstance(role, Mapping) or "role" in role or "name" not in role:
        return role
    return {"role": role["name"], **{key: each for key, each in role.items() if key != "name"}}


def _known(mapping: Mapping[str, Any]) -> Plain:
    return {key: each for key, each in mapping.items() if each is not None}


def _object(contract: Contract, dataset: Dataset, rest: Rest) -> Plain:
    is_lenient = bool(dataset.rules) and {each.severity for each in dataset.rules} == {Severity.WARN}
    found: defaultdict[str, OwnKeys] = defaultdict(OwnKeys)
    rules = [(rule, checks) for rule, checks in checks_by_rule(contract, dataset) if rule.kind in WRITERS]
    for rule, checks in rules:
        about = _about(rule, rest, is_graded=not is_lenient)
        for owner, written in WRITERS[rule.kind](RuleSite(dataset, rule, checks, found)):
            found[owner].quality.append(about | written)
    own, settings = found[DATASET], _settings(dataset, is_lenient=is_lenient)
    passed = rest("dataset", dataset.origin.path)
    return _known(
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


def _about(rule: Rule, rest: Rest, *, is_graded: bool) -> Plain:
    """What a quality rule has beside its requirement."""
    cron = to_cron(rule.schedule)
    return _known(
        {
            "id": own_id(rule),
            "name": rule.name,
            **({"scheduler": "cron", "schedule": cron} if cron else {}),
            **rest("rule", rule.origin.path),
            "dimension": rule.dimension if rule.dimension in DIMENSIONS else None,
            "severity": "warning" if is_graded and rule.severity is Severity.WARN else None,
        }
    )


def _settings(dataset: Dataset, *, is_lenient: bool) -> Plain:
    """The extension: the settings that the document sets, and the format of its files, which servers may have given."""
    found = {
        **_declared(dataset, POLICY, dataset.policy),
        **_declared(dataset, STORAGE, dataset.storage),
        "critical": False if is_lenient and "critical" in dataset.declared else None,
        "noticePeriod": dataset.notice_days if "notice_days" in dataset.declared else None,
        "csv": _declared(dataset, CSV, dataset.csv) or None,
    }
    if dataset.storage.format not in {Format.CSV, Format.UNKNOWN}:
        found["format"] = dataset.storage.format.value
    return _known(found)


def _declared(dataset: Dataset, table: Mapping[str, tuple[str, object]], values: object) -> Plain:
    declared = {key: getattr(values, name) for key, (name, _) in table.items() if name in dataset.declared}
    plain = {key: each.value if isinstance(each, Enum) else each for key, each in declared.items()}
    if isinstance(pull := plain.get("pull"), Pull):
        plain["pull"] = {key: each for key, each in asdict(pull).items() if each}
    return plain


def _is_plain(level: PromisedLevel) -> bool:
    """Whether a level has one value: ODCS has no mappings there."""
    return not isinstance(level.rule.arguments.get("value"), Mapping | tuple | list)


def _level(level: PromisedLevel, rest: Rest) -> Plain:
    """A service level: a length of time as a number and its unit."""
    value, unit = level.rule.arguments.get("value"), level.rule.arguments.get("unit")
    seconds = duration(value, unit)
    if seconds is not None:
        unit = next(each for each in ("d", "h", "m", "s") if seconds % SECONDS[each] == 0 or each == "s")
        value = number(seconds / SECONDS[unit])
    element = ", ".join(level.fields) or None
    optional = _known({"unit": unit, "element": element})
    return {"property": level.name, "value": value} | optional | dict(rest("level", level.origin.path))
