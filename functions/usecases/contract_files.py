"""The files of a contract version in the lake: its document and plans, each at the digest of its bytes."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING

from lakegate.functions.ports.errors import ConditionFailed
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases.names import refuse_unusable
from lakegate.functions.usecases.parents import document_key
from lakegate.functions.usecases.steps import Effect, perform

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.publish_contract import CompiledContract
    from lakegate.functions.usecases.steps import Steps


def store(dependencies: Dependencies, compiled: CompiledContract) -> Steps[None]:
    """Write document and plans, each at the digest of its bytes. Raises InputError for a name that cannot be a folder."""
    for name in (compiled.contract, *compiled.plans):
        refuse_unusable(name)
    yield from store_document(dependencies, compiled.document)
    for plan in compiled.plans.values():
        where = Address(dependencies.places.lake, f"plans/{hashlib.sha256(plan).hexdigest()}.json")
        yield from _once(Effect.WRITE_PLAN, partial(dependencies.objects.put, where, plan, absent=True))


def store_document(dependencies: Dependencies, text: bytes) -> Steps[None]:
    """Write a document at the digest of its bytes."""
    where = Address(dependencies.places.lake, document_key(text))
    yield from _once(Effect.WRITE_DOCUMENT, partial(dependencies.objects.put, where, text, absent=True))


def _once(effect: Effect, put: Callable[[], object]) -> Steps[None]:
    """Write what is addressed by its content; being there before, with the same bytes, is being written."""
    try:
        yield from perform(effect, put)
    except ConditionFailed:
        return
