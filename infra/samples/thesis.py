"""The experiment of the DCM thesis (its chapter 4) on data of that shape: hourly weather with faults put in on purpose.

In 6 % of the rows the wind's direction, and in 6 % the humidity, lie outside of what is possible. Some measurements are missing,
those of the wind's speed and gusts in more rows than the contract tolerates without a warning, and radiation at night. As the
stations deliver it, a missing measurement is the number -9999; in the corrected file it is an empty value.
"""

from __future__ import annotations

from infra.samples.catalogue import MEASUREMENTS
from infra.samples.flaws import missing_as, overwritten
from infra.samples.weather import weather
from infra.samples.writer import SampleFile

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
