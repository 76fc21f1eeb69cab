"""Faults of a file: each flaw changes a share of its rows, exactly that share, chosen by the seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

# ---- Flaws of a share of rows ----


Columns = dict[str, pa.StringArray]
"""Cells as they are written, by field; None is a missing value."""
Flaw = Callable[[Generator, Columns], Columns]


def overwritten(share: float, fields: tuple[str, ...], *texts: str | None) -> Flaw:
    """In each of the fields, a `share` of the rows (at least one) has one of the texts instead of its value."""

    def flaw(random: Generator, columns: Columns) -> Columns:
        return columns | {field: _overwrite(random, columns[field], share, texts) for field in fields}

    return flaw


def missing_as(text: str, fields: tuple[str, ...]) -> Flaw:
    """In each of the fields, what is missing is written as a text."""

    def flaw(_random: Generator, columns: Columns) -> Columns:
        return columns | {field: pc.fill_null(columns[field], text) for field in fields}

    return flaw


def repeated(share: float, *fields: str) -> Flaw:
    """A `share` of the rows (at least one) has the values of the row before it in all of the fields."""

    def flaw(random: Generator, columns: Columns) -> Columns:
        size = len(columns[fields[0]])
        sources = np.arange(size)
        chosen = _chosen(random, size - 1, share) + 1
        sources[chosen] = chosen - 1
        return columns | {field: columns[field].take(pa.array(sources)) for field in fields}

    return flaw


def _overwrite(
    random: Generator, column: pa.StringArray, share: float, texts: tuple[str | None, ...]
) -> pa.StringArray:
    chosen = _chosen(random, len(column), share)
    which = np.full(len(column), -1)
    which[chosen] = np.arange(len(chosen)) % len(texts)
    replacements = pa.array(texts, pa.string()).take(pa.array(which, mask=which < 0))
    return pc.if_else(pa.array(which >= 0), replacements, column)


def _chosen(random: Generator, size: int, share: float) -> NDArray[np.int64]:
    return random.permutation(size)[: max(1, round(share * size))]


# ---- Orders of a web shop ----


ORDERS_START = np.datetime64("2025-01-01T00:00:00")
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
    placed = ORDERS_START + (ordinals * SECONDS_BETWEEN).astype("timedelta64[s]")
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


# ---- Hourly weather of Brazil's Southeast ----


Values = NDArray[np.float64]
Whole = NDArray[np.int64]
SUNRISE, SUNSET = 9, 22
"""Hours, UTC, between which a station measures radiation."""
RAIN = 0.07
"""Share of the hours that are wet."""
WEATHER_START = np.datetime64("2019-01-01T09:00")
"""Sunrise: radiation is there from the first row on, however short the file."""

STATIONS = (
    ("SP", "SAO PAULO - MIRANTE", "A701", "-23.49638888", "-46.61999999", 785.64),
    ("SP", "CAMPOS DO JORDAO", "A706", "-22.75027777", "-45.60388888", 1662.92),
    ("SP", "FRANCA", "A708", "-20.58444444", "-47.38249999", 1003.36),
    ("SP", "PRESIDENTE PRUDENTE", "A707", "-22.11972222", "-51.40861111", 431.92),
    ("RJ", "RIO DE JANEIRO - FORTE DE COPACABANA", "A652", "-22.98833333", "-43.19055555", 25.59),
    ("RJ", "PETROPOLIS - PICO DO COUTO", "A610", "-22.46472222", "-43.29138888", 1777.13),
    ("RJ", "ARRAIAL DO CABO", "A606", "-22.97527777", "-42.02138888", 4.55),
    ("RJ", "RESENDE", "A609", "-22.45083333", "-44.44499999", 438.72),
    ("MG", "BELO HORIZONTE - PAMPULHA", "A521", "-19.88388888", "-43.96944444", 854.49),
    ("MG", "JUIZ DE FORA", "A518", "-21.76999999", "-43.36416666", 936.88),
    ("MG", "UBERLANDIA", "A507", "-18.91694444", "-48.25555555", 874.76),
    ("MG", "MONTES CLAROS", "A506", "-16.68638888", "-43.84388888", 645.87),
    ("ES", "VITORIA", "A612", "-20.31555555", "-40.31722222", 9.48),
    ("ES", "ALEGRE", "A617", "-20.75055555", "-41.48888888", 129.36),
    ("ES", "LINHARES", "A614", "-19.35694444", "-40.06861111", 38.69),
    ("ES", "SAO MATEUS", "A616", "-18.67611111", "-39.86388888", 29.03),
)
"""State, name, code, latitude, longitude and elevation in metres."""


def weather(random: Generator, ordinals: Whole) -> Columns:
    """The 27 fields of the rows with these ordinals: every station reports once an hour."""
    hours, stations = ordinals // len(STATIONS), ordinals % len(STATIONS)
    moments = WEATHER_START + hours.astype("timedelta64[h]")
    state, station, code, latitude, longitude, elevation = (pa.array(column) for column in zip(*STATIONS, strict=True))
    measured = _measured(random, moments, np.asarray(elevation)[stations])
    return {
        "index": pa.array(ordinals).cast(pa.string()),
        "date": pa.array(np.datetime_as_string(moments, unit="D")),
        "hour": pa.array([f"{hour:02}:00" for hour in range(24)]).take(pa.array(_hour_of_day(moments))),
        **{field: _text(values) for field, values in measured.items()},
        "region": pa.repeat("SE", len(ordinals)),
        "state": state.take(pa.array(stations)),
        "station": station.take(pa.array(stations)),
        "station_code": code.take(pa.array(stations)),
        "lat": latitude.take(pa.array(stations)),
        "lon": longitude.take(pa.array(stations)),
        "elev": elevation.cast(pa.string()).take(pa.array(stations)),
    }


def _measured(random: Generator, moments: NDArray[np.datetime64], elevation: Values) -> dict[str, Values]:
    """The measurements in the order of the contract; NaN where the station measures nothing (radiation at night)."""
    size = len(moments)

    def normal(width: float) -> Values:
        return random.normal(0, width, size)

    def step(width: float) -> Values:
        return np.abs(normal(width))

    hour = _hour_of_day(moments)
    summer = np.cos(2 * np.pi * (_day_of_year(moments) - 20) / 365.25)
    warmth = np.cos(2 * np.pi * (hour - 18) / 24)
    temperature = 24 - elevation / 180 + 3.5 * summer + 4.5 * warmth + normal(1.5)
    dryness = np.clip(6 + 5 * warmth + normal(2), 0.2, None)
    humidity = np.clip(np.round(100 - 4.5 * dryness), 5, 100)
    pressure = 1013.2 * np.exp(-elevation / 8430) - 3 * summer + normal(1.2)
    wind = random.gamma(2, 1.1, size)
    return {
        "pcpn_mm": np.where(random.random(size) < RAIN, random.exponential(2.5, size), 0),
        "station_pressure_mb": pressure,
        "pressure_max_mb": pressure + step(0.3),
        "pressure_min_mb": pressure - step(0.3),
        "radiation_kj_m2": _radiation(hour, random.uniform(0.3, 1, size)),
        "temp_c": temperature,
        "dewpoint_c": temperature - dryness,
        "temp_max_c": temperature + step(0.6),
        "temp_min_c": temperature - step(0.6),
        "dewpoint_max_c": temperature - dryness + step(0.5),
        "dewpoint_min_c": temperature - dryness - step(0.5),
        "humidity_max_perc": np.clip(humidity + np.round(step(3)), None, 100),
        "humidity_min_perc": np.clip(humidity - np.round(step(3)), 1, None),
        "humidity_perc": humidity,
        "wind_direct_grad": random.integers(1, 361, size).astype(np.float64),
        "gust_max_m_s": wind + random.gamma(2, 1.3, size),
        "wind_speed_m_s": wind,
    }


def _radiation(hour: Whole, clearness: Values) -> Values:
    sun = np.sin(np.pi * (hour - SUNRISE + 1) / (SUNSET - SUNRISE + 2))
    return np.where((hour >= SUNRISE) & (hour <= SUNSET), 3900 * sun * clearness, np.nan)


def _hour_of_day(moments: NDArray[np.datetime64]) -> Whole:
    hours: Whole = moments.astype("datetime64[h]").astype(np.int64)
    return hours % 24


def _day_of_year(moments: NDArray[np.datetime64]) -> Whole:
    days: Whole = (moments.astype("datetime64[D]") - moments.astype("datetime64[Y]")).astype(np.int64)
    return days


def _text(values: Values) -> pa.StringArray:
    tidy = np.round(values, 1) + 0.0  # adding zero turns -0.0 into 0.0
    return pa.array(tidy, mask=np.isnan(tidy)).cast(pa.string())


# ---- CSV in batches ----


BATCH = 100_000


@dataclass(frozen=True, slots=True)
class SampleFile:
    """One kind of file: how its rows are made, and what is wrong with them."""

    columns: Callable[[Generator, NDArray[np.int64]], Columns]
    """The cells of the rows with these ordinals, from 0."""
    flaws: tuple[Flaw, ...]
    delimiter: str
    description: str
    """The content and its verdict, in a few words."""


def write(sample: SampleFile, path: Path, rows: int, seed: int) -> None:
    """Write `rows` rows; the bytes depend on the sample, `rows` and `seed` alone."""
    with path.open("wb") as file:
        for number, columns in enumerate(_batches(sample, rows, seed)):
            if number == 0:
                file.write((sample.delimiter.join(columns) + "\n").encode())
            file.write(_lines(columns, sample.delimiter))


def _batches(sample: SampleFile, rows: int, seed: int) -> Iterator[Columns]:
    for number, start in enumerate(range(0, rows, BATCH)):
        columns = sample.columns(default_rng([seed, number]), np.arange(start, min(start + BATCH, rows)))
        flaws = default_rng([seed, number, 1])  # its own source: the files of one seed differ by their flaws only
        for flaw in sample.flaws:
            columns = flaw(flaws, columns)
        yield columns


def _lines(columns: Columns, delimiter: str) -> bytes:
    cells = [_quoted(column, delimiter) for column in columns.values()]
    joined = pc.binary_join_element_wise(*cells, delimiter, null_handling="replace", null_replacement="")
    whole = pc.binary_join(pa.ListArray.from_arrays([0, len(joined)], joined), "\n")
    return bytes(whole[0].as_buffer()) + b"\n"


def _quoted(column: pa.StringArray, delimiter: str) -> pa.StringArray:
    special = pc.match_substring_regex(column, f'[{delimiter}"\n]')
    if not pc.any(special).as_py():
        return column
    doubled = pc.replace_substring(column, '"', '""')
    return pc.if_else(special, pc.binary_join_element_wise('"', doubled, '"', ""), column)


# ---- The six files ----


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
"""Columns that the weather contract wants 95 % complete, warning below 90 % and refusing below 85 %."""
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


# ---- The experiment of the DCM thesis (chapter 4) ----
# In 6 % of the rows the wind's direction, and in 6 % the humidity, lie outside of what is possible. Some measurements are
# missing, those of the wind's speed and gusts in more rows than the contract tolerates without a warning, and radiation at
# night. As the stations deliver it, a missing measurement is the number -9999; in the corrected file it is an empty value.


SENTINEL = "-9999"
INJECTED = 0.06
FAULTS = (
    overwritten(0.015, MEASUREMENTS, None),
    overwritten(0.12, ("gust_max_m_s", "wind_speed_m_s"), None),
    overwritten(INJECTED, ("wind_direct_grad",), "361", "540", "990"),
    overwritten(INJECTED, ("humidity_perc",), "101", "150", "255"),
)

DELIVERED = SampleFile(
    weather, (*FAULTS, missing_as(SENTINEL, (*MEASUREMENTS, "radiation_kj_m2"))), ",", "-9999 for missing: rejected"
)
CORRECTED = SampleFile(weather, FAULTS, ",", "missing values are empty, impossible ones are not corrected: rejected")
