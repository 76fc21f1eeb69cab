"""The environment is read once, and every mistake in it is reported at once."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from lakegate.aws.lambda_events import RefusalReason
from lakegate.aws.settings import DEFAULTS, PATTERNS, Settings, read
from lakegate.base.errors import SetUpError
from lakegate.features.revalidation.revalidation import RevalidationEnd
from lakegate.gate.delivery.protocol import END_STATES

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs/functions.md").read_text()
WHOLE = {
    "LAKEGATE_STACK": "lakegate",
    "LAKEGATE_ACCOUNT": "123456789012",
    "LAKEGATE_LANDING": "landing",
    "LAKEGATE_LAKE": "lake",
    "LAKEGATE_REGISTRY_TABLE": "registry",
    "LAKEGATE_WORKLOADS_TABLE": "workloads",
    "LAKEGATE_LEDGER_TABLE": "ledger",
    "LAKEGATE_APPLICATION": "00f1982r1uukb925",
    "LAKEGATE_JOB_ROLE": "arn:aws:iam::123456789012:role/job",
    "LAKEGATE_ENTRY_POINT": "s3://code/validate.py",
}


def test_what_is_not_said_has_its_default() -> None:
    """Some settings are required; the others have defaults, and an empty variable is as good as none."""
    settings = read({**WHOLE, "LAKEGATE_JOB_MINUTES": ""})

    assert (
        settings.landing,
        settings.job_minutes,
        settings.bus,
        settings.unrouted,
        settings.job_parameters,
        settings.ignored.split(",")[0],
    ) == ("landing", 60, "default", "quarantine", "--conf spark.sql.runSQLOnFiles=false", "_temporary")


def test_every_mistake_is_told_at_once() -> None:
    """Missing and misspelt variables are named together, and no value of them is repeated."""
    with pytest.raises(SetUpError) as raised:
        read({**WHOLE, "LAKEGATE_ACCOUNT": "canary", "LAKEGATE_LAKE": "", "LAKEGATE_JOB_MINUTES": "0"})
    named = re.findall(r"LAKEGATE_[A-Z_]+", str(raised.value))

    assert named == ["LAKEGATE_ACCOUNT", "LAKEGATE_LAKE", "LAKEGATE_JOB_MINUTES"]
    assert "canary" not in str(raised.value)


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_what_has_no_default_must_be_said(name: str) -> None:
    """Each variable without a default is required."""
    with pytest.raises(SetUpError, match=f"{name} is missing"):
        read({key: value for key, value in WHOLE.items() if key != name})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LANDING", "s3://landing"),
        ("JOB_ROLE", "job"),
        ("ENTRY_POINT", "validate.py"),
        ("UNROUTED", "delete"),
        ("JOB_PARAMETERS", "--conf a=b\n--conf c=d"),
        ("ACCOUNT", "١٢٣٤٥٦٧٨٩٠١٢"),
    ],
)
def test_a_value_of_another_form_is_refused(name: str, value: str) -> None:
    """A value that cannot be right is refused at cold start, not at the first delivery."""
    with pytest.raises(SetUpError, match=name):
        read({**WHOLE, f"LAKEGATE_{name}": value})


def test_the_two_buckets_are_two() -> None:
    """A stack whose landing is its lake would take in what it has published."""
    with pytest.raises(SetUpError, match="two buckets"):
        read({**WHOLE, "LAKEGATE_LAKE": "landing"})


def test_the_guide_names_every_variable_with_its_default() -> None:
    """docs/functions.md lists exactly the variables that are read, and the defaults they have."""
    rows = re.findall(r"^\| `LAKEGATE_(\w+)` \| .* \| (?:`(.*)`)? ?\|$", GUIDE, re.MULTILINE)

    assert {name.upper(): DEFAULTS.get(name, "") for name in PATTERNS} == dict(rows)


def test_the_guide_names_every_reason() -> None:
    """An operator finds every reason of a dead letter in docs/functions.md."""
    paragraph = GUIDE.partition("`reason` is one of")[2].partition("\n\n")[0]

    assert set(RefusalReason) == set(re.findall(r"`([a-z-]+)`", paragraph))


def test_the_guide_names_every_metric() -> None:
    """The metrics of docs/functions.md are those that the code counts."""
    handlers = (ROOT / f"functions/{name}_handler.py" for name in ("sweep", "notify", "api", "anchor"))
    code = "".join(path.read_text() for path in (ROOT / "lakegate/aws/lambda_runtime.py", *handlers))
    counted = set(re.findall(r'(?:add_metric|log_failures|count_once)\("(\w+)"', code))
    counted |= {
        f"{name}{state.capitalize()}" for name in re.findall(r'add_metric\(f"(\w+){', code) for state in END_STATES
    }
    counted |= {end.metric for end in RevalidationEnd}

    assert counted == set(
        re.findall(r"`([A-Z][A-Za-z]+)`", GUIDE.partition("## Metrics")[2].partition("\n\n##")[0])
    ) - {"Lakegate"}


def test_the_table_names_every_setting() -> None:
    """Each field of the settings has its form, and each default a field."""
    assert {field.name for field in fields(Settings)} == PATTERNS.keys()
    assert PATTERNS.keys() >= DEFAULTS.keys()
