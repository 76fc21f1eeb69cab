"""A contract version becomes valid: plans first, then version and routes in one transaction."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING

from functions.ports import Address, ConditionFailed
from functions.usecases.steps import Effect, perform

if TYPE_CHECKING:
    from functions.ports import Publication
    from functions.usecases.gate import Gate
    from functions.usecases.steps import Steps


def publish_contract(gate: Gate, publication: Publication, plans: tuple[bytes, ...]) -> Steps[None]:
    """A route never names a plan that is not there: content-addressed plans are written before the transaction.

    Raises ConditionFailed when the version is published with another content, or a prefix is another line's.
    """
    for plan in plans:
        where = Address(gate.places.lake, f"plans/{hashlib.sha256(plan).hexdigest()}.json")
        try:
            yield from perform(Effect.WRITE_PLAN, partial(gate.objects.put, where, plan, absent=True))
        except ConditionFailed:
            continue  # written before, with the same bytes: that is what the address says
    yield from perform(Effect.PUBLISH, partial(gate.registry.publish, publication))
