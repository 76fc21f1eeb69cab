"""What pulls may reach: the hosts that the stack's operator lists, with secrets that name who may use them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lakegate.functions.ports.errors import PortError

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.functions.adapters.secrets import Secrets

SCOPE: Final = frozenset({"contract", "host"})
"""Of every secret: the contract that may use it, and the host that it is sent to."""
MAX_ANSWER, MAX_IDLE, RESERVE = 600.0, 30.0, 20.0
"""Seconds: of one answer with its body, without a byte of it, and that are left after it to write how it ended."""


@dataclass(frozen=True, slots=True)
class PullAccess:
    """Hosts, secrets and time of pulls."""

    secrets: Secrets
    hosts: frozenset[str]
    """Names of hosts, in lower case; no other one is asked, also after a redirect."""
    prefix: str
    """Of the names of secrets."""
    remaining: Callable[[], float] = lambda: float("inf")
    """Seconds that this invocation has left."""

    @property
    def seconds(self) -> float:
        """The time for one answer with its body."""
        return max(1.0, min(MAX_ANSWER, self.remaining() - RESERVE))

    def allow(self, host: str | None) -> None:
        """Raise PortError if the host is not listed."""
        if (host or "") not in self.hosts:
            raise PortError("host-refused")

    def secret(self, contract: str, name: str, host: str, keys: frozenset[str]) -> dict[str, str]:
        """A secret without its scope, which has to be this contract and host: else a contract could use that of another one."""
        content = self.secrets.content(f"{self.prefix}{name}", SCOPE | keys)
        if not content.keys() >= SCOPE:
            raise PortError("secret-malformed")
        if (content["contract"], content["host"].lower()) != (contract, host):
            raise PortError("secret-of-another")
        return {key: value for key, value in content.items() if key not in SCOPE}
