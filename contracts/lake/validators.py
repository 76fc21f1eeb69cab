"""Validators of the stack: services that measure rules of a technology, and speak DCM's Validator API (DCM 3.3.3)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lakegate.contracts.errors import InputError
from lakegate.contracts.plan.serialization import canonical

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,39}", re.ASCII)
TECHNOLOGY: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9 _.-]{0,38}[A-Za-z0-9])?", re.ASCII)
SECRET: Final = re.compile(r"[\w-]{1,64}", re.ASCII)
MAX_TECHNOLOGIES: Final = 10
"""Of a stack. Each is a validation of its own for a delivery, and a name in its result."""
LONGEST_URL: Final = 500
ADDRESS: Final = re.compile(
    r"https://[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(:[1-9][0-9]{0,4})?(/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class ValidatorService:
    """A registered validator."""

    name: str
    url: str
    """Its base address; `/v1/validation/start` follows."""
    technologies: tuple[str, ...]
    """Whose rules it measures."""
    secret: str = ""
    """The name of the secret with its credentials, behind the prefix of the stack; empty: requests are signed by IAM (SigV4)."""

    @property
    def document(self) -> bytes:
        """As it is kept."""
        return canonical(self)


def service_of(name: str, url: str, technologies: Sequence[str], secret: str = "") -> ValidatorService:
    """A validator to register. Raises InputError for what cannot be one."""
    if not NAME.fullmatch(name):
        raise InputError(
            "the name of a validator has small letters, digits and hyphens, at most 40, and begins with a letter"
        )
    if len(url) > LONGEST_URL or not ADDRESS.fullmatch(url):
        raise InputError("the address of a validator is https://HOST[:PORT][/PATH], without user, query and fragment")
    if not technologies or not all(map(TECHNOLOGY.fullmatch, technologies)):
        raise InputError(
            "name each technology as contracts do: at most 40 letters, digits, spaces and _.- (--technology GreatExpectations)"
        )
    if len({folded(each) for each in technologies}) != len(technologies):
        raise InputError("a technology is named twice")
    if secret and not SECRET.fullmatch(secret):
        raise InputError("the name of a secret has letters, digits, _ and -, at most 64")
    return ValidatorService(name, url.rstrip("/"), tuple(technologies), secret)


def read_service(body: bytes) -> ValidatorService:
    """A validator as it was kept."""
    document = json.loads(body)
    return ValidatorService(document["name"], document["url"], tuple(document["technologies"]), document["secret"])


def folded(technology: str) -> str:
    """A technology without the differences of spelling that contracts have: `great-expectations` is `GreatExpectations`."""
    return "".join(filter(str.isalnum, technology.lower()))
