"""What validators answer to an attempt: all of them, merged with its own result and kept as one document before it is judged.

The kept document is written only if it is absent. Everybody computes the verdict from it, whatever a service answers later, and
its digest is part of the decision.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from lakegate.contracts.errors import InputError, LakegateError
from lakegate.contracts.judge.validations import ValidationFailed, merged, read_answer
from lakegate.contracts.lake.failures import FailureCause
from lakegate.contracts.plan.plan import Plan
from lakegate.contracts.plan.result import Result
from lakegate.functions.ports.errors import ConditionFailed, NotFound, PortError
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases import layout
from lakegate.functions.usecases.external import TRANSIENT, groups_of, service_of, validation_id
from lakegate.functions.usecases.steps import ConcurrentUpdate, Effect, perform

if TYPE_CHECKING:
    from lakegate.contracts.judge.validations import ExternalAnswer
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.external import RuleGroup
    from lakegate.functions.usecases.steps import Steps
    from lakegate.functions.workload import Workload


class Lost(LakegateError):  # noqa: N818 - the name is what happened
    """There will be no answer to the attempt."""

    def __init__(self, cause: FailureCause) -> None:
        super().__init__(cause)
        self.cause = cause


def kept(dependencies: Dependencies, workload: Workload) -> bytes | None:
    """The result with the answers that were kept for the current attempt; None before they are."""
    try:
        return dependencies.objects.read(_where(dependencies, workload))
    except NotFound:
        return None


def answered(dependencies: Dependencies, workload: Workload, body: bytes) -> bytes | None:
    """The result of the attempt's run with what the services answer now; None: one of them has not answered yet.

    What could not be read is measured by nobody, and asked of nobody. Raises Lost.
    """
    plan, result = Plan.from_validated(dependencies.plan(workload)), Result.from_validated(body)
    answers: dict[str, ExternalAnswer] = {}
    for group in groups_of(plan) if result.unreadable is None else ():
        answer = _answer(dependencies, workload, group)
        if answer is None:
            return None
        answers[group.technology] = answer
    return merged(plan, result, answers).to_bytes()


def keep(dependencies: Dependencies, workload: Workload, body: bytes) -> Steps[None]:
    """Keep a result with answers, unless one is kept: that one counts, whichever worker wrote it."""
    put = partial(dependencies.objects.put, _where(dependencies, workload), body, absent=True)
    with suppress(ConditionFailed):
        yield from perform(Effect.KEEP_ANSWERS, put)


def _answer(dependencies: Dependencies, workload: Workload, group: RuleGroup) -> ExternalAnswer | None:
    """What a service answers; None: nothing yet. Raises Lost, and ConcurrentUpdate where the caller may not ask."""
    if not dependencies.asks_validators:
        raise ConcurrentUpdate
    service, name = service_of(dependencies, group), validation_id(workload, group.technology)
    if service is None:
        raise Lost(FailureCause.NO_VALIDATOR)
    is_late = workload.deadline is not None and dependencies.clock.now() >= workload.deadline
    try:
        body = dependencies.validators.poll(service, name, is_last=is_late)
        answer = read_answer(body, name, group.technology, group.checks)
    except TRANSIENT:
        if is_late:
            raise Lost(FailureCause.VALIDATOR_UNREACHABLE) from None
        return None
    except (PortError, ValidationFailed):
        raise Lost(FailureCause.VALIDATOR_REFUSED) from None
    except InputError:
        raise Lost(FailureCause.WRONG_ANSWER) from None
    if answer is None and is_late:
        raise Lost(FailureCause.VALIDATOR_LATE)
    return answer


def _where(dependencies: Dependencies, workload: Workload) -> Address:
    return Address(dependencies.places.lake, layout.answers_key(workload.id, workload.attempt))
