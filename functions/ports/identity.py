"""The identity of the caller, which records of the ledger name."""

from __future__ import annotations

from typing import Protocol


class Identity(Protocol):
    """Who calls, by AWS: never by a contract, an argument or a variable."""

    def caller(self) -> str:
        """The ARN of the caller's user or assumed role. Raises PortError."""
        ...
