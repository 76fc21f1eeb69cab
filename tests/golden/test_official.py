"""The official examples that packages hold: each is valid by its schema, so none is refused; every finding is written down."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from infra.setup.schemas import EXAMPLE_PINS, EXAMPLES, pinned_schemas
from lakegate.lints.linter import examine
from lakegate.rules.compile_plan import compile_plan

WARNINGS = {
    "dcs-1.1.0-init": {"no-dataset": 1},
    "dcs-1.2.0-init": {"no-dataset": 1},
    "dcs-1.2.1-init": {"no-dataset": 1},
    "odcs-3.2.0-all-new-fields": {
        "dangling-relationship": 1,
        "nested-fields": 3,
        "no-field": 1,
        "not-a-column": 2,
        "not-measured": 2,
        "unknown-element": 1,
        "variable-kept": 1,
    },
    "odcs-3.2.0-full-example": {
        "dangling-relationship": 1,
        "nested-fields": 1,
        "optional-key": 1,
        "rows-count-twice": 2,
        "unknown-element": 5,
    },
    "odcs-3.2.0-init": {"no-dataset": 1},
}


def _text(name: str) -> bytes:
    path: Path = EXAMPLES / f"{name}.yaml"
    assert path.is_file(), "run `make setup`: it fetches the official examples"
    return path.read_bytes()


def test_every_example_that_is_fetched_is_judged() -> None:
    """A pin without expectations is red."""
    assert set(WARNINGS) == {each.name for each in pinned_schemas(EXAMPLE_PINS)}


@pytest.mark.parametrize("name", WARNINGS)
def test_an_official_example_is_not_refused(name: str) -> None:
    """It has no error, and the warnings that are written down here."""
    examined = examine(_text(name))

    assert examined.errors == ()
    assert Counter(each.code for each in examined.warnings) == WARNINGS[name]


@pytest.mark.parametrize("name", WARNINGS)
def test_every_rule_of_an_official_example_is_measured_or_named(name: str) -> None:
    """Each rule has a check, and a rule that the linter calls unmeasured is skipped."""
    contract = examine(_text(name)).contract
    assert contract is not None
    for dataset in contract.datasets:
        checked = {check.rule for check in compile_plan(contract, dataset).checks}

        assert checked == {rule.id for rule in dataset.rules}
