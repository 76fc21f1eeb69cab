"""The accepted data that queries refer to: exactly the objects that the request lists, each read by the plan that accepted it."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from lakegate.contracts.errors import InputError
from lakegate.contracts.plan.plan import Plan
from lakegate.contracts.plan.request import StagedPart
from lakegate.engine.read.open import open_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.plan.request import AcceptedPart, Reference
    from lakegate.engine.read.chunk import Source, Store


def accepted_sources(reference: Reference, store: Store) -> Iterator[tuple[Plan, Source]]:
    """The accepted objects of a line as sources, one for each plan. InputError where an object or plan is not as requested."""
    for (uri, digest), parts in groupby(sorted(reference.parts, key=_plan_of), key=_plan_of):
        plan = Plan.from_bytes(store.part(uri, 0, store.size(uri)))
        if plan.digest != digest:
            raise InputError("the plan of accepted data is not the one the request names")
        plan = plan.current
        yield plan, open_source(plan, tuple(StagedPart(each.uri, each.size) for each in parts), store)


def _plan_of(part: AcceptedPart) -> tuple[str, str]:
    return part.plan_uri, part.plan_digest
