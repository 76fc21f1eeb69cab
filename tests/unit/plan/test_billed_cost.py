"""Prices, costs, and the calculator of docs/cost.md, which computes what the gate records."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakegate.base.errors import InputError
from lakegate.plan.billed_cost import PRICES, BilledCost, Prices, cost_of_invocation, cost_of_job

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/cost.md").read_text()
RECORDED = json.loads(Path(__file__).with_name("recorded_costs.json").read_text())
EUROS = "2027-01-01 EUR 0.05 0.005 0.00001 0.0000001"


def formula(name: str) -> tuple[list[str], str]:
    """The parameters and the arithmetic expression of a function of the page, which Python reads as JavaScript does."""
    found = re.search(rf"^const {name} = \(([\w, ]+)\) => ([\w .*/+]+);$", PAGE, re.MULTILINE)
    assert found is not None
    return found[1].split(", "), found[2]


@pytest.mark.parametrize("run", RECORDED, ids=[each["what"] for each in RECORDED])
def test_the_calculator_computes_what_was_recorded(run: dict[str, Any]) -> None:
    """For recorded runs, its formula gives the money of result.json, or of the row."""
    names, expression = formula(run["formula"])
    money = eval(expression, {"__builtins__": {}}, {name: run["billed"][name] for name in names})  # noqa: S307 - arithmetic

    assert money == pytest.approx(run["cost"]["money"], abs=1e-8)


def test_the_page_has_the_prices_of_this_version() -> None:
    """The table of the page and its formulas name the default prices, and their day."""
    prices = [PRICES.emr_vcpu_hour, PRICES.emr_gb_hour, PRICES.lambda_gb_second, PRICES.lambda_request]
    listed = re.findall(r"\| ([\d.]+) USD \|", PAGE)
    used = re.findall(r"0\.\d+", formula("job")[1] + formula("invocation")[1])

    assert list(map(float, listed)) == prices
    assert list(map(float, used)) == prices
    assert PRICES.dated in PAGE


def test_a_job_run_costs_what_it_was_billed() -> None:
    """Hours become seconds and money."""
    assert cost_of_job(Prices.read(EUROS), 0.5, 2.0) == BilledCost(1800.0, 7200.0, 0.035, "EUR", "2027-01-01")


def test_an_invocation_costs_its_duration_times_its_memory() -> None:
    """With the price of a request; 1,769 MB are a vCPU."""
    assert cost_of_invocation(Prices.read(EUROS), 10.0, 1769) == BilledCost(
        10.0, 17.275, 0.000172854, "EUR", "2027-01-01"
    )


def test_costs_add_up() -> None:
    """Attempts of one delivery, and deliveries of one line; sums have as many digits as their parts."""
    one, other = BilledCost(1.0, 2.0, 0.1, "USD", "2026-01-01"), BilledCost(0.5, 1.0, 0.2, "EUR", "2027-01-01")

    assert one.plus(other) == BilledCost(1.5, 3.0, 0.3, "EUR", "2027-01-01")
    assert one.plus(None) == one
    assert replace(one, vcpu_seconds=1.0004, gb_seconds=2.0004, money=0.1000000004).plus(other) == one.plus(other)


def test_no_text_means_the_prices_of_this_version() -> None:
    """A stack without a table of its own."""
    assert Prices.read("") == PRICES


@pytest.mark.parametrize("text", ["0.05", "2027-01-01 EUR 1 2 3", "2027-01-01 EUR 1 2 3 -4", f"{EUROS}\n"])
def test_another_text_is_refused(text: str) -> None:
    """Whatever is not a table is not a table of zeros."""
    with pytest.raises(InputError, match="prices are a date"):
        Prices.read(text)
