"""Hourly measurements of automatic stations in Brazil's Southeast, in the shape that the weather contract promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

if TYPE_CHECKING:
    from numpy.random import Generator

    from infra.samples.flaws import Columns

Values = NDArray[np.float64]


Whole = NDArray[np.int64]


SUNRISE, SUNSET = 9, 22
"""Hours, UTC, between which a station measures radiation."""


RAIN = 0.07
"""Share of the hours that are wet."""


START = np.datetime64("2019-01-01T09:00")
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
    moments = START + hours.astype("timedelta64[h]")
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
