"""The caller's identity, by STS."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lakegate.functions.adapters.errors import port_errors


@dataclass(frozen=True, slots=True)
class StsIdentity:
    """Identity: GetCallerIdentity, which needs no permission and cannot be denied by a policy.

    https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html
    """

    client: Any
    _known: list[str] = field(default_factory=list, repr=False, compare=False)

    def caller(self) -> str:
        """Asked once; the credentials of a command do not change."""
        if not self._known:
            with port_errors():
                self._known.append(self.client.get_caller_identity()["Arn"])
        return self._known[0]
