"""Validations that other managers asked for (DCM's Validator API): each one run of the judge function, and no workload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Validation:
    """What was asked, and the run that answers it. Times are RFC 3339, UTC, six decimals."""

    id: str
    """A digest of the caller and of the id that the caller chose: nobody finds another's."""
    fingerprint: str
    """Of what was asked."""
    contract: str
    """Of the data."""
    run: str
    """Random: names the folder of request and result, so that no earlier result is taken for this one."""
    plan: str
    """Digest of the plan that the caller's rules were compiled to."""
    source: str
    """Identity of the object versions that are read."""
    request: str
    """The whole request of Invoke, as JSON."""
    lease: str
    """Until when it is being started; empty once it was."""
    deadline: str
    """From when on no result is waited for."""
    expires: str
    """When it is forgotten."""


class Validations(Protocol):
    """Validations by id. `get` is strongly consistent."""

    def create(self, validation: Validation) -> None:
        """Put if absent. Raises ConditionFailed when the id is taken."""
        ...

    def get(self, validation: str) -> Validation | None:
        """The validation with this id; an expired one may still be there."""
        ...

    def replace(self, before: Validation, after: Validation) -> None:
        """Put if it is still as it was read. Raises ConditionFailed where somebody was first."""
        ...
