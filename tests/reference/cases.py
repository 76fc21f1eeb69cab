"""The cases of every kind of rule, as data: a rule, rows of text, and what must be measured and decided.

Read by the reference evaluator's tests and by those of the real engine. A file holds one kind::

    kind: minimum
    cases:
      - case: a value below the bound fails its row
        fields: {a: integer}              # name: type, also decimal(38,10) or decimal(38,0); default {a: string}
        rule: {value: 3}                  # arguments; fields, comparison, tolerance and severity have keys of their own
        rows: [["1"], ["3"], [null]]      # null is not a value, "" an empty text
        checks: [{fail: 1/3}]             # status: failing/of (row counts: of; means: number/of; skip: its reason)

With `declared: array` (or `object`, `map`) the field `a` has parts, those of `parts`, and each row is the JSON text of its value.

A case with `refused: code` in place of `rows` and `checks` is a rule that cannot mean anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import yaml

from lakegate.contract.contract_model import Comparison, Contract, Dataset, Field, Origin, Rule, Severity, Tolerance
from lakegate.contract.file_formats import Csv, Format, Storage
from lakegate.contract.logical_types import LogicalType
from lakegate.plan.plan import Plan
from lakegate.rules.compile_plan import compile_plan, with_parts
from tests.reference.queries import remember

FOLDER = Path(__file__).parents[1] / "unit" / "rules" / "cases"
_OWN_KEYS = {"fields", "tolerance", "severity", "percent", "name"}
_OPERATOR = "must"


@dataclass(frozen=True)
class Case:
    """One case of one kind of rule."""

    id: str
    kind: str
    contract: Contract
    rows: tuple[tuple[str | None, ...], ...]
    checks: tuple[dict[str, Any], ...]
    refused: str | None = None

    @cached_property
    def plan(self) -> Plan:
        """The rule compiled, once; ContractError where it is one that is refused."""
        compiled = compile_plan(self.contract, self.contract.datasets[0])
        remember(self.contract, compiled.checks)
        return compiled

    @property
    def has_parts(self) -> bool:
        """Whether its values have parts: they are JSON texts."""
        return self.contract.datasets[0].storage.format is Format.JSONL

    @property
    def header(self) -> tuple[str, ...]:
        """The columns of the rows."""
        return tuple(each.name for each in with_parts(self.contract.datasets[0].fields))


@cache
def cases() -> list[Case]:
    """Every case of every kind, in the order of their files."""
    return [case for path in sorted(FOLDER.glob("*.yaml")) for case in _read(path)]


def good_cases() -> list[Case]:
    """The cases that can be measured in every format."""
    return [case for case in cases() if case.refused is None and not case.has_parts]


def cases_of_parts() -> list[Case]:
    """Those of values with parts, which CSV does not have."""
    return [case for case in cases() if case.refused is None and case.has_parts]


def good_cases_by_kind() -> dict[str, list[tuple[int, Case]]]:
    """They, with their places in that list, by kind: one test each, because pytest takes longer for a test than for a case."""
    found: dict[str, list[tuple[int, Case]]] = {}
    for number, case in enumerate(good_cases()):
        found.setdefault(case.kind, []).append((number, case))
    return found


def refused_cases() -> list[Case]:
    """The cases that must not compile."""
    return [case for case in cases() if case.refused is not None]


def rule_of(kind: str, written: dict[str, Any], fields: tuple[str, ...]) -> Rule:
    """A rule as a reader would build it."""
    arguments = {key: value for key, value in written.items() if key not in _OWN_KEYS and not key.startswith(_OPERATOR)}
    tolerance = written.get("tolerance", {})
    return Rule(
        id="r",
        kind=kind,
        origin=Origin("$.rule", 1),
        fields=tuple(written.get("fields", fields)),
        arguments=_decimals(arguments),
        comparison=_comparison(written),
        tolerance=Tolerance(*(_decimals(tolerance.get(name)) for name in ("warn", "fail"))),
        severity=Severity(written.get("severity", "fail")),
        name=written.get("name"),
    )


def contract_of(fields: dict[str, str], *rules: Rule, csv: Csv | None = None) -> Contract:
    """A contract of one dataset with these fields and rules."""
    columns = tuple(field_of(name, written) for name, written in fields.items())
    dataset = Dataset("rows", columns, rules, Origin("$"), csv=csv or Csv())
    return Contract("cases", "1.0.0", "case", (dataset,))


def field_of(name: str, written: str) -> Field:
    """A field of a type: `integer`, `decimal`, `decimal(38,10)`."""
    logical, _, digits = written.removesuffix(")").partition("(38,")
    field = Field(name, LogicalType(logical), Origin("$.field"))
    return replace(field, scale=int(digits)) if digits else field


def _members(text: str | None, written: dict[str, Any]) -> Iterator[str | None]:
    """The values of the declared parts of an object."""
    value = json.loads(text or "null") if "parts" in written else None
    for name in written.get("parts", ()):
        yield value.get(name) if isinstance(value, dict) else None


def _contract_of_parts(written: dict[str, Any], rule: Rule) -> Contract:
    """A contract of JSON lines with one field."""
    parts = (Field(f"a.{name}", LogicalType.STRING, Origin("$.part")) for name in written.get("parts", ()))
    field = Field("a", LogicalType.STRING, Origin("$.field"), declared=written["declared"], parts=tuple(parts))
    dataset = Dataset("rows", (field,), (rule,), Origin("$"), storage=Storage(Format.JSONL))
    return Contract("cases", "1.0.0", "case", (dataset,))


def only_plan(contract: Contract) -> Plan:
    """The plan of a contract of one dataset."""
    (dataset,) = contract.datasets
    return compile_plan(contract, dataset)


def _read(path: Path) -> list[Case]:
    document = yaml.load(path.read_text(), yaml.CSafeLoader)
    return [_case(path.stem, document["kind"], each) for each in document["cases"]]


def _case(stem: str, kind: str, written: dict[str, Any]) -> Case:
    fields = written.get("fields", {"a": "string"})
    csv = Csv(multi_line=True) if written.get("multi_line") else None
    rule = rule_of(kind, written.get("rule", {}), tuple(fields))
    return Case(
        id=f"{stem}: {written['case']}",
        kind=kind,
        contract=_contract_of_parts(written, rule) if "declared" in written else contract_of(fields, rule, csv=csv),
        rows=tuple((*row, *_members(row[0], written)) for row in written.get("rows", [])),
        checks=tuple(written.get("checks", [])),
        refused=written.get("refused"),
    )


def _comparison(written: dict[str, Any]) -> Comparison | None:
    for key, value in written.items():
        if key.startswith(_OPERATOR):
            operands = value if isinstance(value, list) else [value]
            return Comparison(key, tuple(map(_decimals, operands)), written.get("percent", False))
    return None


def _decimals(value: Any) -> Any:
    """Numbers of YAML as readers give them: exact."""
    match value:
        case bool():
            return value
        case int() | float():
            return Decimal(str(value))
        case list():
            return [_decimals(each) for each in value]
        case dict():
            return {key: _decimals(each) for key, each in value.items()}
        case _:
            return value
