"""Parents of local documents are found beside them, and in the files and folders of `--parents`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import lakegate
from lakegate.base.errors import ContractError
from lakegate.cli.main import app
from tests.unit.inheritance.families import child_of, parent_of

EXAMPLES = Path(__file__).parents[4] / "contracts/examples/inheritance"
VALID, REFUSED = 0, 1
LEVEL = [{"property": "freshness", "value": 1, "unit": "h"}]


@pytest.fixture(autouse=True)
def nobody(fresh_clients: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:  # noqa: ARG001 - its own clients
    """No credentials of AWS are found."""
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "absent"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")


def codes(*arguments: str | Path) -> list[str]:
    answer = CliRunner().invoke(app, ["lint", "--json", *map(str, arguments)])
    return [each["code"] for each in json.loads(answer.stdout)["errors"]]


def test_the_example_of_three_tiers_is_valid_where_it_is() -> None:
    """Enterprise, domain and product are in one folder."""
    answer = CliRunner().invoke(app, ["lint", "--strict", *map(str, sorted(EXAMPLES.glob("*.yaml")))])

    assert (answer.exit_code, answer.stdout.count("valid (0 errors, 0 warnings)")) == (VALID, 3)


def test_parents_elsewhere_are_named(tmp_path: Path) -> None:
    """A folder is searched with those below it; a file is enough for one parent; without them the parent is unknown."""
    product = shutil.copy(EXAMPLES / "purchases.odcs.yaml", tmp_path)

    assert codes(product) == ["unknown-parent"]
    assert codes(product, "--parents", EXAMPLES.parent) == []
    assert codes(product, "--parents", EXAMPLES / "sales.odcs.yaml") == ["broken-parent"]
    assert codes(product, *(f"--parents={EXAMPLES / name}.odcs.yaml" for name in ("sales", "enterprise"))) == []
    assert codes(product, "--parents", tmp_path / "none") == ["unknown-parent"]


def test_without_credentials_a_parent_is_one_error_that_names_them(tmp_path: Path) -> None:
    """The registry is asked last; that it cannot be read is part of the error of the document, and says what to do."""
    product = shutil.copy(EXAMPLES / "purchases.odcs.yaml", tmp_path)
    answer = CliRunner().invoke(app, ["lint", "--json", str(product)])
    (error,) = json.loads(answer.stdout)["errors"]

    assert (answer.exit_code, error["line"], error["message"]) == (
        REFUSED,
        14,
        (
            "`acme-sales@1` cannot be read: no file has it, and the registry of the stack lakegate cannot be read (no AWS"
            " credentials were found: set AWS_PROFILE, or sign in (`aws sso login`)): give its file with --parents, or name"
            " another stack with --stack."
        ),
    )


def test_the_highest_release_of_the_major_number_counts(tmp_path: Path) -> None:
    """Another major number, a pre-release, and files that are no contracts are passed over."""
    strict = {"common": {}, "root": {"slaProperties": LEVEL}}
    lax = {"common": {}}
    versions = {"1.0.0": lax, "1.10.0": strict, "1.9.0": lax, "2.0.0": lax, "1.11.0-rc.1": lax}
    for version, parts in versions.items():
        (tmp_path / f"{version}.json").write_bytes(parent_of(parts, version=version))
    (tmp_path / "other.yaml").write_text("a: [")
    (tmp_path / "list.yaml").write_text("- 1")
    child = tmp_path / "child.json"
    child.write_bytes(child_of({"root": {"slaProperties": [{**LEVEL[0], "value": 2}]}}))

    assert codes(child) == ["weaker-than-parent"]


def test_plan_check_and_python_inherit_too(tmp_path: Path) -> None:
    """The inherited field is in the plan, a file without it is rejected, and the package finds parents in the same way."""
    product = shutil.copy(EXAMPLES / "purchases.odcs.yaml", tmp_path)
    data = tmp_path / "data.csv"
    data.write_text("purchase_id,bought_at,email\n1,2026-01-01T00:00:00Z,\n")
    planned = CliRunner().invoke(app, ["plan", str(product), "--parents", str(EXAMPLES)])
    checked = CliRunner().invoke(app, ["check", "--contract", str(product), "--parents", str(EXAMPLES), str(data)])

    assert "country" in [each["name"] for each in json.loads(planned.stdout)["fields"]]
    assert checked.exit_code == REFUSED
    assert "country" in checked.stdout
    assert lakegate.lint(product, parents=[EXAMPLES]).valid
    assert not lakegate.lint(product).valid
    assert lakegate.check(product, data, parents=[EXAMPLES]).verdict.value == "rejected"
    with pytest.raises(ContractError):
        lakegate.check(product, data)
