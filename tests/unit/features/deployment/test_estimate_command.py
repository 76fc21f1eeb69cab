"""`lakegate stack estimate`: what a month costs about, by profile."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from lakegate.aws.dataset_metrics import DatasetMetric
from lakegate.base.errors import InputError
from lakegate.base.extension_points import ROOT
from lakegate.cli.main import app
from lakegate.features.deployment.estimate_command import DEFAULTS, monthly_cost, size_of
from lakegate.features.deployment.parameter_values import DeploymentProfile
from lakegate.features.deployment.release_folder import ReleaseFolder


@pytest.mark.parametrize(
    ("text", "size"),
    [("1", 1), ("10MB", 10_000_000), ("10 kb", 10_000), ("5gb", 5_000_000_000), ("7B", 7), ("2TB", 2 * 10**12)],
)
def test_a_size_has_a_unit(text: str, size: int) -> None:
    """A power of ten, as drives and bills have them."""
    assert size_of(text) == size


@pytest.mark.parametrize("text", ["", "MB", "0", "-1MB", "1.5GB", "1EB", "1e9", "٣MB"])
def test_another_form_is_refused(text: str) -> None:
    """With an example."""
    with pytest.raises(InputError, match="such as 10MB"):
        size_of(text)


@pytest.mark.parametrize(
    ("profile", "size", "way"),
    [
        ("small-files", 1_000, "function"),
        ("small-files", 67_108_863, "function"),
        ("small-files", 67_108_864, "a run each"),
        ("large-files", 1_000, "a run each"),
        ("regulated", 10**10, "a run each"),
    ],
)
def test_a_delivery_goes_the_way_that_its_profile_gives_it(profile: str, size: int, way: str) -> None:
    """By its bytes."""
    assert monthly_cost(DeploymentProfile(profile), 1, size).way == way


def test_a_run_costs_what_its_workers_are_billed() -> None:
    """A driver and an executor of 2 vCPU and 7 GB for two minutes: 0.01 USD (docs/deploy.md, Costs)."""
    found = monthly_cost(DeploymentProfile.LARGE_FILES, 1_000, 1_000)

    assert found.evaluation == pytest.approx(30_000 * (4 * 0.052624 + 14 * 0.0057785) * 120 / 3600, abs=0.01)
    assert found.total == found.evaluation + found.others


def test_metrics_of_datasets_are_paid_for_each() -> None:
    """Four metrics of 0.30 USD, as docs/cost.md says."""
    without, ten = (monthly_cost(DeploymentProfile.TRIAL, 1, 1_000, number).others for number in (0, 10))

    assert round(ten - without, 2) == round(10 * len(DatasetMetric) * 0.30, 2) == 12.0


def test_executors_share_large_files_within_the_vcpu_of_the_profile() -> None:
    """Twice the bytes with twice the executors take as long, so they cost less than twice the money with one driver."""
    small, large = (monthly_cost(DeploymentProfile.LARGE_FILES, 1, size << 30).evaluation for size in (10, 20))
    bounded = [monthly_cost(DeploymentProfile.TRIAL, 1, size << 30).evaluation for size in (100, 200)]

    assert small < large < 2 * small
    assert bounded[0] < bounded[1]


def test_the_command_prints_every_profile() -> None:
    """In words and as a document; it asks nothing of AWS."""
    words = ["stack", "estimate", "--deliveries", "20", "--size", "5GB"]
    told, document = (CliRunner().invoke(app, [*words, *more]) for more in ((), ("--json",)))

    assert [line.split()[0] for line in told.stdout.splitlines()] == ["profile", *DeploymentProfile]
    assert [each["profile"] for each in json.loads(document.stdout)["profiles"]] == list(DeploymentProfile)
    assert json.loads(document.stdout)["bytes"] == 5_000_000_000


def test_the_guide_has_the_costs_of_three_sizes() -> None:
    """As the command prints them."""
    guide = (ROOT / "docs/deploy.md").read_text()
    for deliveries, size in ((1_000, "10KB"), (1_000, "10MB"), (20, "5GB")):
        costs = [f"{monthly_cost(each, deliveries, size_of(size)).total:,.0f}" for each in DeploymentProfile]
        assert f"| {deliveries:,} of {size} | {' | '.join(costs)} |" in guide


def test_what_a_profile_does_not_set_is_the_default_of_the_template() -> None:
    """A default that changes there changes here."""
    parameters = ReleaseFolder(ROOT).template["Parameters"]

    assert {name: str(parameters[name]["Default"]) for name in DEFAULTS} == DEFAULTS
