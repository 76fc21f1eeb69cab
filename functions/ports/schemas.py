"""The schemas of accepted objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from lakegate.contracts.judge.drift import SchemaDifference
    from lakegate.functions.ports.objects import ObjectVersion


class SchemaReader(Protocol):
    """Reads what an object says of itself: its head or footer, and no more."""

    def differences(self, plan: bytes, accepted_by: bytes, data: ObjectVersion) -> tuple[SchemaDifference, ...]:
        """What an object lacks of a plan; it is read in the form that the plan which accepted it declares.

        An object that cannot be read in this form is one difference, `unreadable`. Raises what the object store raises.
        """
        ...
