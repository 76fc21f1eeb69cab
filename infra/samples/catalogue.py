"""The six files: two contracts, and for each a delivery that is clean, one in between and one that is dirty."""

from __future__ import annotations

from infra.samples.flaws import overwritten, repeated
from infra.samples.orders import orders
from infra.samples.weather import weather
from infra.samples.writer import SampleFile

MEASUREMENTS = (
    "pcpn_mm",
    "station_pressure_mb",
    "pressure_max_mb",
    "pressure_min_mb",
    "temp_c",
    "dewpoint_c",
    "temp_max_c",
    "temp_min_c",
    "dewpoint_max_c",
    "dewpoint_min_c",
    "humidity_max_perc",
    "humidity_min_perc",
    "humidity_perc",
    "wind_direct_grad",
    "gust_max_m_s",
    "wind_speed_m_s",
)
"""What the weather contract wants 95 % complete, warning below 90 % and refusing below 85 %."""


HARDLY_MISSING = overwritten(0.015, MEASUREMENTS, None)


IN_BETWEEN = (overwritten(0.12, ("gust_max_m_s", "wind_speed_m_s", "wind_direct_grad"), None),)


DIRTY_WEATHER = (
    overwritten(0.03, MEASUREMENTS, "-9999"),
    overwritten(0.06, ("wind_direct_grad",), "361", "540", "990"),
    overwritten(0.06, ("humidity_perc",), "101", "150", "255"),
    overwritten(0.004, ("date",), "2019-02-30", "01/03/2019", "2019/3/1"),
    overwritten(0.004, ("hour",), "24:00", "0900 UTC", "9h"),
    overwritten(0.002, ("state",), "BA"),
    repeated(0, "index"),
)


DIRTY_ORDERS = (
    overwritten(0.01, ("customer_email",), "nobody", "a@b@example.com", None),
    overwritten(0.02, ("status",), "Shipped", "unknown"),
    overwritten(0.01, ("country",), "Brazil", "br"),
    overwritten(0.01, ("quantity",), "0", "-1", "two"),
    overwritten(0.01, ("total_amount",), "-12.5", "12,50", "1e9"),
    overwritten(0.005, ("placed_on",), "31/12/2025", "2019-12-31", "2025-02-29"),
    overwritten(0.005, ("placed_at",), "yesterday", "2025-01-01T25:00:00Z"),
    overwritten(0.01, ("is_gift",), "yes", "maybe"),
    repeated(0.001, "order_id"),
    repeated(0.002, "channel", "channel_reference"),
)


SAMPLES = {
    "weather-clean.csv": SampleFile(weather, (HARDLY_MISSING,), ",", "keeps every promise: accepted"),
    "weather-warn.csv": SampleFile(
        weather, (HARDLY_MISSING, *IN_BETWEEN), ",", "wind is missing in 12 % of the rows: accepted with warnings"
    ),
    "weather-dirty.csv": SampleFile(
        weather,
        (HARDLY_MISSING, *DIRTY_WEATHER),
        ",",
        "-9999 for missing, impossible winds, dates and states: rejected",
    ),
    "orders-clean.csv": SampleFile(orders, (), ";", "keeps every promise: accepted"),
    "orders-warn.csv": SampleFile(
        orders, (overwritten(0.6, ("delivered_at",), None),), ";", "few delivery times: accepted with warnings"
    ),
    "orders-dirty.csv": SampleFile(
        orders, DIRTY_ORDERS, ";", "unknown statuses, amounts that are none, orders twice: rejected"
    ),
}
