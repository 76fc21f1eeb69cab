"""Reads the `quality` block at the root of DCS before 1.1.0: checks of one engine, sorted by model.

::

    quality:
      type: SodaCL                                   quality:
      specification:                                   type: great-expectations
        checks for orders:                             specification:
          - row_count > 5                                orders: '[{"expectation_type": …, "kwargs": …}]'
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lakegate.contracts.documents.document import parse
from lakegate.contracts.documents.quality import CHECKS_FOR, implementation_of
from lakegate.contracts.documents.values import rule_id
from lakegate.contracts.errors import ContractError
from lakegate.contracts.model.contract import Rule
from lakegate.contracts.words import did_you_mean, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.documents.nodes import Place
    from lakegate.contracts.documents.notes import Notes

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
            notes.warning("unknown-model", check, f"{shown(name)} is not a model of this contract.{hint}")
            arguments |= {"call": ""}
        for model in rules.keys() & {name} or rules:
            rule = Rule(rule_id(ordinals, model, "custom"), "custom", check.origin, (), arguments)
            rules[model].append(rule)
    return rules


def _checks(specification: Place, engine: str, notes: Notes) -> Iterator[tuple[str, Place, dict[str, object]]]:
    """Each check with its model, its place in the document and its arguments."""
    inner = _read(specification, notes)
    if not inner.entries:
        yield EVERY_MODEL, specification, {"engine": engine, "call": "", "args": {}}
    for name, place in inner.entries.items():
        checks = _read(place, notes)
        for each in checks.items or [checks]:
            at = each if specification.text is None and place.text is None else specification
            yield name.removeprefix(CHECKS_FOR), at, implementation_of(engine, each)


def _read(place: Place, notes: Notes) -> Place:
    """The value of a place; a text is parsed as YAML or JSON."""
    if place.text is None:
        return place
    try:
        return parse(place.text.encode()).top
    except ContractError as error:
        notes.warning("unread-checks", place, f"The checks in this text cannot be read: {error.problems[0].message}")
        return place
