"""The name by which an accepted delivery is replaced: a later one of the same name, or period, comes in its place (`replaces`).

The commit writes the height of the delivery at its name, and reads there, after the head of the chain, which one it supersedes.
Both hold on the condition of that head, so of two deliveries at once the later one supersedes the other. It supersedes the last
one of the name alone, also where that is recalled: `current_deliveries` follows the chain of those before. The order is that of
acceptance. A dataset that begins to replace has no names of deliveries from before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from lakegate.base.extension_points import load_extensions
from lakegate.base.json_codec import sha256_of
from lakegate.contract.delivery_policy import Policy, Replaces
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.plan.result import Result

if TYPE_CHECKING:
    from lakegate.gate.dependencies import Dependencies

    NameOfDelivery = Callable[[Dependencies, str], str | None]
    """A row of the extension point `delivery names`: the name behind a landing key that a feature made; None: the key itself."""


def replaceable_name(dependencies: Dependencies, row: Workload, policy: Policy, result: Result | None) -> str:
    """The digest of the name of a delivery, or of its period; empty where it replaces nothing, and nothing replaces it.

    A delivery that was accepted without one period (observed, waived or empty) has no name.
    """
    if policy.replaces is Replaces.NOTHING:
        return ""
    if policy.replaces is Replaces.PERIOD:
        period = result.period.digest if result is not None and result.period is not None else None
        return sha256_of(json.dumps([policy.replaces.value, policy.period, period])) if period else ""
    key = row.landing_key
    if policy.derive is not None:
        name = "derived"
    elif row.parts is not None:
        name = f"{key.rpartition('/')[0]}/"
    else:
        made: Iterator[NameOfDelivery] = load_extensions("delivery names")
        name = next((found for name_of in made if (found := name_of(dependencies, key)) is not None), key)
    return sha256_of(json.dumps([policy.replaces.value, name]))
