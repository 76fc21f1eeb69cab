"""What is written as ODCS is read as the same contract: the writer and the readers share one table of keys."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from lakegate.base.errors import LakegateError
from lakegate.contract.documents.key_table import CONSTRAINTS, MOMENTS, NUMBERS, ODCS_TYPES, TEXTS
from lakegate.contract.logical_types import LogicalType
from lakegate.diff.compared_versions import ContractVersion, read_version
from lakegate.features.convert.odcs_export import odcs
from tests.golden.cases import FILES, Golden, golden

FULL = 5_000 if os.environ.get("LAKEGATE_FULL") else 40
NOT_COMPARED = ("origin", "format", "sections")
"""Places, the format, and keys that are kept as they are written."""
WORDS = st.sampled_from(["a", "Yes", "1.10", "null", "é: x", "a b", "${NAME}", "- #"])
PATHS = st.sampled_from(["^[a-z]*$", "A|B"])
MOMENT = {
    LogicalType.DATE: st.sampled_from(["2026-01-01", "2026-12-31"]),
    LogicalType.TIME: st.sampled_from(["09:30", "23:59:59"]),
    LogicalType.TIMESTAMP: st.sampled_from(["2026-01-01T00:00:00Z", "2026-12-31T09:30:00+02:00"]),
}
SETTINGS: dict[str, st.SearchStrategy[Any]] = {
    "mode": st.sampled_from(["enforce", "observe"]),
    "onReject": st.sampled_from(["file", "rows"]),
    "maxRejectedShare": st.sampled_from([0, 0.25, 1]),
    "additionalFields": st.sampled_from(["allow", "warn", "forbid"]),
    "allowEmpty": st.booleans(),
    "maxBytes": st.integers(1, 1 << 40),
    "quarantineDays": st.just(30),
    "critical": st.just(value=False),
    "noticePeriod": st.integers(1, 90),
    "format": st.just("csv"),
    "csv": st.fixed_dictionaries(
        {}, optional={"delimiter": st.sampled_from(";\t"), "header": st.booleans(), "nullValues": st.just(["NA", ""])}
    ),
}
SCHEDULED = {"scheduler": "cron", "schedule": "0 6 * * *"}
METRICS: tuple[dict[str, Any], ...] = (
    {"metric": "rowCount", "mustBeGreaterOrEqualTo": 1},
    {"metric": "nullValues", "mustBeLessThan": 5, "unit": "percent"},
    {"metric": "invalidValues", "arguments": {"validValues": ["1", "2", None]}, "mustBe": 0},
    {"metric": "missingValues", "arguments": {"missingValues": ["", "0"]}, "mustBeBetween": [0, 3]},
    {"metric": "duplicateValues", "mustNotBe": 7},
    {"type": "sql", "query": "SELECT COUNT(*) FROM {table}", "mustBeGreaterThan": 2.5},
    {"type": "custom", "engine": "soda", "implementation": {"type": "row_count > 0", "kwargs": {}}},
    {
        "type": "custom",
        "engine": "gx",
        "implementation": {
            "type": "expect_table_row_count_to_equal",
            "severity": "warning",
            "kwargs": {"value": 3},
        },
    },
    {"type": "text"},
)


def options_of(draw: st.DrawFn, logical: LogicalType) -> dict[str, Any]:
    """Some options that a type has; lower bounds are below upper ones."""
    known = [key for key, each in CONSTRAINTS.items() if logical in each.types]
    found: dict[str, Any] = {}
    for key in draw(st.lists(st.sampled_from(known), unique=True, max_size=3)) if known else ():
        upper = 100 if key.lower().endswith(("maximum", "maxlength")) else 0
        if logical in MOMENT:
            low, high = ("2000", "2040") if logical is not LogicalType.TIME else ("", "")
            value = draw(MOMENT[logical])
            found[key] = value.replace("2026", high if upper else low) if low else value
        else:
            found[key] = draw(PATHS) if key == "pattern" else upper + draw(st.integers(1, 9))
    if logical in MOMENTS:  # one side each, as times of day have no order here
        found = dict(list(found.items())[:1])
    return found


@st.composite
def contents(draw: st.DrawFn, level: int = 0) -> dict[str, Any]:
    """A property without its name."""
    kind = draw(st.sampled_from(["scalar", "scalar", "object", "array", "map"] if level < 2 else ["scalar"]))
    found: dict[str, Any] = {
        key: draw(WORDS)
        for key in draw(st.sets(st.sampled_from(["physicalName", "description", "classification", "businessName"])))
    }
    if draw(st.booleans()):
        found["customProperties"] = [{"property": "pii", "value": draw(st.booleans())}]
    if draw(st.booleans()):
        found |= {"criticalDataElement": draw(st.booleans()), "encryptedName": draw(WORDS)}
    for flag in draw(st.sets(st.sampled_from(["required", "unique"] if kind == "scalar" else ["required"]))):
        found[flag] = True
    if kind == "scalar":
        logical = draw(st.sampled_from(LogicalType))
        word, physical = ODCS_TYPES[logical]
        digits = "(30,20)" if logical is LogicalType.DECIMAL and draw(st.booleans()) else ""
        found |= {"logicalType": word} | ({"physicalType": f"{physical}{digits}"} if physical else {})
        if options := options_of(draw, logical):
            found["logicalTypeOptions"] = options
        elif logical in TEXTS | NUMBERS and draw(st.booleans()):
            found["enum"] = [{"value": each} for each in draw(st.sets(st.sampled_from(["7", "12", "0"]), min_size=1))]
        if draw(st.booleans()):
            found["examples"] = draw(st.lists(WORDS, min_size=1, max_size=2))
        return found
    found["logicalType"] = kind
    if kind == "object":
        found["properties"] = draw(properties(level + 1))
    elif kind == "array":
        found |= {"items": draw(contents(level + 1)), "logicalTypeOptions": {"minItems": 1, "uniqueItems": True}}
    else:
        found["map"] = {"key": {"logicalType": "string"}, "value": draw(contents(level + 1))}
    return found


@st.composite
def properties(draw: st.DrawFn, level: int = 0) -> list[dict[str, Any]]:
    """Properties with names of their own."""
    names = draw(st.lists(st.sampled_from(["a", "b b", "c.d", "é", "Yes"]), unique=True, min_size=1, max_size=3))
    return [{"name": each, **draw(contents(level))} for each in names]


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A document of ODCS 3.2."""
    columns = draw(properties())
    scalars = [each for each in columns if "properties" not in each and "items" not in each and "map" not in each]
    for position, each in enumerate(draw(st.permutations(scalars))[:2] if draw(st.booleans()) else [], 1):
        each |= {"primaryKey": True, "primaryKeyPosition": position}
    rules = []
    for number, rule in enumerate(draw(st.lists(st.sampled_from(METRICS), unique_by=repr, max_size=4))):
        about: dict[str, Any] = {"id": f"rule_{number}", "name": draw(WORDS), "dimension": "accuracy"}
        about |= {"severity": "warning"} if draw(st.booleans()) else {}
        rules.append(about | rule | (SCHEDULED if "metric" in rule and draw(st.booleans()) else {}))
    extension = draw(st.fixed_dictionaries({}, optional=SETTINGS))
    table = {
        "name": "orders",
        "logicalType": "object",
        "physicalName": draw(WORDS),
        "dataGranularityDescription": draw(WORDS),
        "properties": columns,
        "quality": [each for each in rules if each.get("metric") in {None, "rowCount"}],
        "customProperties": [{"property": "lakegate", "value": extension}] if extension else [],
    }
    free = (
        each for each in scalars if each["logicalType"] == "string" and not {"logicalTypeOptions", "enum"} & set(each)
    )
    for each in [*free][:1]:
        each["quality"] = [rule for rule in rules if rule not in table["quality"]]
    for each in (table, *scalars):
        for key in ("quality", "customProperties"):
            if not each.get(key, True):
                del each[key]
    return {
        "apiVersion": "v3.2.0",
        "kind": "DataContract",
        "id": "shop",
        "version": "1.0.0",
        "status": draw(WORDS),
        "name": draw(WORDS),
        "description": draw(st.fixed_dictionaries({"purpose": WORDS}, optional={"usage": WORDS, "limitations": WORDS})),
        "team": {"name": draw(WORDS), "members": [{"username": draw(WORDS)}]},
        "domain": draw(WORDS),
        "tags": draw(st.lists(WORDS, unique=True, min_size=1, max_size=2)),
        "deprecation": {"reason": draw(WORDS), "sunset_date": "2027-01-01"},
        "schema": [table],
        "slaProperties": [{"property": "latency", "value": draw(st.integers(1, 9)), "unit": "d", "element": "orders"}],
    }


def version_of(text: bytes) -> ContractVersion:
    return read_version(text, complete=lambda contract, _document, _notes: contract)


def model(value: Any) -> Any:
    """A part of a contract without places, to compare; rules in any order."""
    if is_dataclass(value):
        names = [each.name for each in fields(value) if each.name not in NOT_COMPARED]
        found = {name: model(getattr(value, name)) for name in names if not name.startswith("_")}
        return found | {"rules": sorted(found["rules"], key=repr)} if "rules" in found else found
    if isinstance(value, Mapping):
        return {key: model(each) for key, each in value.items()}
    return [model(each) for each in value] if isinstance(value, tuple | list) else value


@settings(max_examples=FULL, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(documents())
def test_a_contract_of_odcs_is_read_as_it_was_before_it_was_written(document: dict[str, Any]) -> None:
    """Nothing is lost, and nothing is another value."""
    text = json.dumps(document).replace("${NAME}", "${table}").encode()
    old = version_of(text)
    converted = odcs(old)

    assert converted.omitted == ()
    assert model(version_of(converted.text.encode()).contract) == model(old.contract)


def valid(each: Golden) -> bool:
    try:
        version_of(each.text)
    except LakegateError:
        return False
    return True


@pytest.mark.parametrize("family", FILES)
def test_what_was_written_once_is_written_again_as_it_is(family: str) -> None:
    """Of golden documents in any format, per commit each fourth: the written one has the model of what is written of it."""
    for each in list(golden(family))[:: 1 if "LAKEGATE_FULL" in os.environ else 4]:
        if not valid(each):
            continue
        try:
            once = odcs(version_of(each.text)).text.encode()
        except LakegateError:  # what ODCS refuses as a whole
            continue
        again = odcs(version_of(once))

        assert again.omitted == (), each.id
        assert model(version_of(again.text.encode()).contract) == model(version_of(once).contract), each.id
