"""Orders of an invented web shop, in the shape that the orders contract promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    from infra.samples.flaws import Columns

START = np.datetime64("2025-01-01T00:00:00")


SECONDS_BETWEEN = 97


STATUSES = ("delivered", "shipped", "paid", "placed", "cancelled", "returned")


STATUS_SHARES = (0.62, 0.12, 0.1, 0.08, 0.05, 0.03)


ARRIVED = ("delivered", "returned")


COUNTRIES = ("BR", "PT", "DE", "FR", "US", "AR")


CHANNELS = ("web", "app", "store")


NOTES = ('Leave it at the "blue" door', "Ring twice; then wait", "Gift wrap, please", "Portão ao lado")


def orders(random: Generator, ordinals: NDArray[np.int64]) -> Columns:
    """The 15 fields of the rows with these ordinals, one order every 97 seconds."""
    size = len(ordinals)
    placed = START + (ordinals * SECONDS_BETWEEN).astype("timedelta64[s]")
    customers = random.integers(1, 50_000, size)
    status = pa.array(random.choice(STATUSES, size, p=STATUS_SHARES))
    delivered = placed + random.integers(86_400, 900_000, size).astype("timedelta64[s]")
    arrived = pc.is_in(status, pa.array(ARRIVED))
    return {
        "order_id": _numbered("ORD-", ordinals + 1),
        "customer_id": pa.array(customers).cast(pa.string()),
        "customer_email": pc.binary_join_element_wise(_numbered("customer", customers), "@example.com", ""),
        "channel": pa.array(CHANNELS).take(pa.array(ordinals % len(CHANNELS))),
        "channel_reference": _numbered("R", ordinals // len(CHANNELS) + 1),
        "status": status,
        "country": pa.array(random.choice(COUNTRIES, size)),
        "placed_on": pa.array(np.datetime_as_string(placed, unit="D")),
        "placed_at": _instant(placed),
        "delivered_at": pc.if_else(arrived, _instant(delivered), None),
        "quantity": pa.array(random.integers(1, 9, size)).cast(pa.string()),
        "total_amount": pa.array(np.round(random.gamma(2, 40, size) + 1, 2)).cast(pa.string()),
        "discount_percent": _now_and_then(random, pa.array(random.integers(1, 41, size)).cast(pa.string()), 0.5),
        "is_gift": pa.array(random.choice(("true", "false"), size, p=(0.06, 0.94))),
        "note": _now_and_then(random, pa.array(random.choice(NOTES, size)), 0.1),
    }


def _numbered(prefix: str, numbers: NDArray[np.int64]) -> pa.StringArray:
    digits = pc.utf8_lpad(pa.array(numbers).cast(pa.string()), 8, "0")
    return pc.binary_join_element_wise(prefix, digits, "")


def _instant(moments: NDArray[np.datetime64]) -> pa.StringArray:
    return pc.binary_join_element_wise(pa.array(np.datetime_as_string(moments, unit="s")), "Z", "")


def _now_and_then(random: Generator, column: pa.StringArray, share: float) -> pa.StringArray:
    return pc.if_else(pa.array(random.random(len(column)) < share), column, None)
