"""template.yaml and tenant.yaml, judged by three tools: where one of them, a tool or its settings was changed, and nightly."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.setup.environments import program
from lakegate.base.errors import SetUpError
from tests.sam.built import run, sam


def test_sam_finds_no_mistake(built: Path) -> None:
    """`sam validate --lint` passes without network and credentials."""
    sam("validate", folder=built.parents[2])


def test_cfn_lint_finds_no_mistake(built: Path) -> None:
    """So does cfn-lint with the rules for serverless stacks."""
    assert run(program("sam/cfn-lint"), folder=built.parents[2]) == ""


def test_checkov_finds_nothing_unsafe(built: Path) -> None:
    """So does checkov."""
    try:
        tool = program("checkov/checkov")
    except SetUpError as error:
        pytest.skip(str(error))

    output = run(tool, "--config-file", ".checkov.yaml", folder=built.parents[2])

    assert "Failed checks: 0" in output
