"""`lakegate stack estimate`: what a month costs about, by profile."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from lakegate.aws.dataset_metrics import DatasetMetric
from lakegate.base.errors import InputError
from lakegate.base.extension_points import ROOT
from lakegate.cli.main import app
from lakegate.features.deployment.estimate_command import DEFAULTS, PlannedRun, monthly_cost, size_of
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
    assert found.total == (found.evaluation or 0) + found.others


def test_metrics_of_datasets_are_paid_for_each() -> None:
    """Four metrics of 0.30 USD, as docs/cost.md says."""
    without, ten = (monthly_cost(DeploymentProfile.TRIAL, 1, 1_000, number).others for number in (0, 10))

    assert round(ten - without, 2) == round(10 * len(DatasetMetric) * 0.30, 2) == 12.0


def test_the_overview_is_paid_for_each_dataset() -> None:
    """Some 8 USD a month for 2,000, as docs/deploy.md says."""
    without, many = (monthly_cost(DeploymentProfile.TRIAL, 1, 1_000, 0, number).others for number in (0, 2_000))

    assert round(many - without, 2) == 8
    assert "| 10; 2,000 datasets | 0.04; 8 USD a month |" in (ROOT / "docs/deploy.md").read_text()


def test_executors_share_large_files_within_the_vcpu_of_the_profile() -> None:
    """Twice the bytes with twice the executors take as long, so they cost less than twice the money with one driver."""
    small, large = (monthly_cost(DeploymentProfile.LARGE_FILES, 1, size << 30).evaluation for size in (10, 20))
    bounded = [monthly_cost(DeploymentProfile.TRIAL, 1, size << 30).evaluation for size in (100, 200)]

    assert small is not None
    assert large is not None
    assert small < large < 2 * small
    assert bounded[0] is not None
    assert bounded[1] is not None
    assert bounded[0] < bounded[1]


def test_a_delivery_that_ends_at_its_time_limit_has_no_price_but_what_it_needs() -> None:
    """1 TB with three executors takes 2.6 hours of the 60 minutes; each alternative that is named fits."""
    found = monthly_cost(DeploymentProfile.TRIAL, 1, 10**12)

    assert (found.evaluation, found.total, found.seconds) == (None, None, 9433.2)
    assert found.problem == "a run takes 2.6 h and is ended after 1.0 h"
    assert found.needs == ("JobMinutes=158", "MaxVcpu=40")
    for need in found.needs:
        name, _, value = need.partition("=")
        run = PlannedRun.of({**DEFAULTS, name: value}, 10**12)
        less = PlannedRun.of({**DEFAULTS, name: str(int(value) - 1)}, 10**12)
        assert (run.beyond_time_limit(), less.beyond_time_limit() is None) == (None, False)


def test_the_largest_delivery_that_fits_has_a_price() -> None:
    """348 GiB are three executors for an hour (docs/operator.md, Large files)."""
    fits, not_any_more = (monthly_cost(DeploymentProfile.TRIAL, 1, gib << 30) for gib in (348, 349))

    assert fits.needs == ()
    assert fits.total == pytest.approx(fits.others + 30 * 4 * (2 * 0.052624 + 7 * 0.0057785), abs=0.01)
    assert not_any_more.needs == ("JobMinutes=61", "MaxVcpu=20")


def test_a_run_that_no_time_limit_allows_needs_more_workers() -> None:
    """The template allows a week."""
    assert monthly_cost(DeploymentProfile.TRIAL, 1, 10**14).needs == ("MaxVcpu=3216",)


def test_more_runs_than_a_day_holds_have_no_price() -> None:
    """Two at once would never be done; so many at once are."""
    found = monthly_cost(DeploymentProfile.TRIAL, 2_000, 10**9)

    assert (found.problem, found.evaluation) == ("2,000 runs of 2 min, 2 at once, take longer than a day", None)
    assert found.needs == ("MaxConcurrentRuns=4 with MaxVcpu=16",)
    assert PlannedRun(10**9, 60, 16, 4, 1).beyond_day(2_000) is None
    assert monthly_cost(DeploymentProfile.TRIAL, 10**7, 10**9).needs == ("fewer or smaller deliveries",)


def test_the_command_says_what_does_not_fit() -> None:
    """In the table, with the parameters below it, and as a document without a price."""
    words = ["stack", "estimate", "--deliveries", "1", "--size", "1TB"]
    told, document = (CliRunner().invoke(app, [*words, *more]) for more in ((), ("--json",)))

    assert "trial        a run each         2.6 h  does not fit      17  does not fit" in told.stdout
    need = "trial does not fit: a run takes 2.6 h and is ended after 1.0 h: needs JobMinutes=158, or MaxVcpu=40"
    assert need in " ".join(told.stdout.split())
    first = json.loads(document.stdout)["profiles"][0]
    assert (first["evaluation"], first["needs"]) == (None, ["JobMinutes=158", "MaxVcpu=40"])


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
