"""The cost of attempts: a dated table of prices, and what each platform bills by.

EMR Serverless bills vCPU-hours and GB-hours of workers, Lambda GB-seconds and requests (aws.amazon.com/emr/pricing,
aws.amazon.com/lambda/pricing). Requests to other services, storage and transfer are not part of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Final

from lakegate.base.errors import InputError
from lakegate.base.json_codec import Bounds, Pattern

FORM: Final = r"\d{4}-\d{2}-\d{2} [A-Z]{3}( \d{1,9}(\.\d{1,12})?){4}"
"""A table of prices as one text: its date, the currency, and the four prices in the order of `Prices`."""
HOUR: Final = 3_600
MEGABYTES_OF_A_VCPU: Final = 1_769
"""Lambda developer guide, Configure Lambda function memory: a function of 1,769 MB has the equivalent of one vCPU."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of AWS; the default is that of us-east-1, x86."""

    dated: str = "2026-11-22"
    """The day on which the prices were read."""
    currency: str = "USD"
    emr_vcpu_hour: float = 0.052624
    emr_gb_hour: float = 0.0057785
    lambda_gb_second: float = 0.0000166667
    lambda_request: float = 0.0000002

    @staticmethod
    def read(text: str) -> Prices:
        """The prices of a text; the default for an empty one. InputError for any other form."""
        if not text:
            return PRICES
        if not re.fullmatch(FORM, text, re.ASCII):
            raise InputError(
                "prices are a date, a currency, and the prices of vCPU-hour, GB-hour, GB-second and request"
            )
        dated, currency, *numbers = text.split()
        return Prices(dated, currency, *map(float, numbers))


PRICES: Final = Prices()
Amount = Annotated[float, Bounds(0)]


@dataclass(frozen=True, slots=True)
class BilledCost:
    """Billed amounts, and their price."""

    vcpu_seconds: Amount
    gb_seconds: Amount
    money: Amount
    currency: Annotated[str, Pattern("[A-Z]{3}")]
    dated: Annotated[str, Pattern("[0-9]{4}-[0-9]{2}-[0-9]{2}")]
    """Of the prices."""

    def plus(self, other: BilledCost | None) -> BilledCost:
        """Both together, in the currency and by the date of the later one."""
        if other is None:
            return self
        return BilledCost(
            round(self.vcpu_seconds + other.vcpu_seconds, 3),
            round(self.gb_seconds + other.gb_seconds, 3),
            round(self.money + other.money, 9),
            other.currency,
            other.dated,
        )


def cost_of_job(prices: Prices, vcpu_hours: float, gb_hours: float) -> BilledCost:
    """Of a job run, from its billed utilisation (GetJobRun, `billedResourceUtilization`)."""
    money = vcpu_hours * prices.emr_vcpu_hour + gb_hours * prices.emr_gb_hour
    return BilledCost(
        round(vcpu_hours * HOUR, 3), round(gb_hours * HOUR, 3), round(money, 9), prices.currency, prices.dated
    )


def cost_of_invocation(prices: Prices, seconds: float, megabytes: int) -> BilledCost:
    """Of an invocation, from its duration and the memory of its function."""
    gb_seconds = seconds * megabytes / 1024
    money = gb_seconds * prices.lambda_gb_second + prices.lambda_request
    vcpu_seconds = seconds * megabytes / MEGABYTES_OF_A_VCPU
    return BilledCost(round(vcpu_seconds, 3), round(gb_seconds, 3), round(money, 9), prices.currency, prices.dated)
