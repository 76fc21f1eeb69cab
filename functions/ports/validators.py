"""Other services that measure rules: registered validators, which speak DCM's Validator API (DCM 3.3.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.contracts.lake.validators import ValidatorService
    from lakegate.functions.ports.objects import Address


class ExternalValidation(NamedTuple):
    """The rules of one technology, for one attempt."""

    name: str
    """Its id for the service: of the workload, the attempt and the technology. 64 letters and digits."""
    rules: tuple[str, ...]
    """In DCM's form, as JSON."""
    data: Address
    """The very version that is judged."""
    format: Mapping[str, object]
    """How it is read: format, compression and, of CSV, its dialect."""
    seconds: int
    """How long the service may read it."""


class Validators(Protocol):
    """Services behind addresses that people registered. DCM's API has no operation that ends a validation.

    Errors contain no address, no secret and nothing of an answer.
    """

    def start(self, service: ValidatorService, validation: ExternalValidation) -> None:
        """Start a validation; one that was started before by the same name goes on.

        Raises Unanswered and Throttled where calling again is right, and PortError where it is refused, by the service or because
        it may not be reached.
        """
        ...

    def poll(self, service: ValidatorService, name: str, *, is_last: bool = False) -> bytes:
        """What the service answers about a validation, as it came; at most 1 MiB.

        A service that takes long may be Unanswered without being asked, unless nobody will ask after this (`is_last`).
        Raises NotFound (it knows none of this name), and as `start` does.
        """
        ...
