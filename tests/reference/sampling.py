"""The number of random examples of a property: a sample each time, the full number in `make nightly`."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

FULL = bool(os.environ.get("LAKEGATE_FULL"))


def sampled(sample: int, full: int) -> settings:
    """Settings of a property: `sample` examples, or `full` where LAKEGATE_FULL is set."""
    return settings(
        max_examples=full if FULL else sample,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
