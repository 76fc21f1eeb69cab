"""The rules of an attempt that other services measure: a validation of each technology is started before the attempt's run.

The id of a validation is derived from workload, attempt and technology: started again, it is the same one, and an answer to
another attempt has another id. `lakegate.functions.usecases.external_answers` asks when the attempt has its own result.
"""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from lakegate.contracts.lake.failures import FailureCause
from lakegate.contracts.lake.states import Outcome
from lakegate.contracts.lake.validators import folded
from lakegate.functions.ports.errors import PortError, Throttled, Unanswered
from lakegate.functions.ports.objects import Address
from lakegate.functions.ports.validators import ExternalValidation
from lakegate.functions.usecases.moves import OutcomeChanged
from lakegate.functions.usecases.steps import ConcurrentUpdate, Effect, perform
from lakegate.functions.usecases.validators import validator_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.lake.validators import ValidatorService
    from lakegate.contracts.plan.check import Check
    from lakegate.contracts.plan.plan import Plan
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps
    from lakegate.functions.workload import Workload

TRANSIENT: Final = (Unanswered, Throttled)


class RuleGroup(NamedTuple):
    """The rules of one technology."""

    technology: str
    validator: str
    rules: tuple[str, ...]
    checks: tuple[Check, ...]


def start_validations(dependencies: Dependencies, workload: Workload) -> Steps[None]:
    """Start the validations of an attempt. Raises OutcomeChanged where one of them cannot be started.

    Raises ConcurrentUpdate where the caller may start none: nothing changes, and the next sweep continues.
    """
    if not dependencies.terms(workload).has_external:
        return
    if not dependencies.asks_validators:
        raise ConcurrentUpdate
    from lakegate.contracts.plan.plan import Plan  # noqa: PLC0415 - intake of other deliveries starts without it

    for group in groups_of(Plan.from_validated(dependencies.plan(workload))):
        service = service_of(dependencies, group)
        if service is None:
            raise OutcomeChanged(Outcome.CONFLICT, FailureCause.NO_VALIDATOR)
        start = partial(dependencies.validators.start, service, _validation(dependencies, workload, group))
        try:
            yield from perform(Effect.START_VALIDATION, start)
        except TRANSIENT:
            raise OutcomeChanged(Outcome.CONFLICT, FailureCause.VALIDATOR_UNREACHABLE) from None
        except PortError:
            raise OutcomeChanged(Outcome.CONFLICT, FailureCause.VALIDATOR_REFUSED) from None


def groups_of(plan: Plan) -> Iterator[RuleGroup]:
    """The external rules by technology, in the order of their names."""
    checks = {each.id: each for each in plan.checks}
    for technology, validator in sorted({(each.technology, each.validator) for each in plan.external}):
        own = [each for each in plan.external if (each.technology, each.validator) == (technology, validator)]
        rules, asked = tuple(each.rule for each in own), tuple(checks[each.check] for each in own)
        yield RuleGroup(technology, validator, rules, asked)


def service_of(dependencies: Dependencies, group: RuleGroup) -> ValidatorService | None:
    """The service as it is registered now; None if it is not, or not for this technology."""
    found = validator_named(dependencies, group.validator)
    return found if found is not None and folded(group.technology) in map(folded, found.technologies) else None


def validation_id(workload: Workload, technology: str) -> str:
    """The id of a validation of the current attempt."""
    return hashlib.sha256(f"{workload.id}:{workload.attempt}:{technology}".encode()).hexdigest()


def _validation(dependencies: Dependencies, workload: Workload, group: RuleGroup) -> ExternalValidation:
    staged = workload.staged
    assert staged is not None
    return ExternalValidation(
        validation_id(workload, group.technology),
        group.rules,
        Address(staged.bucket, staged.key, staged.version),
        dependencies.terms(workload).dialect,
        int(dependencies.timing.validation.total_seconds()),
    )
