"""Who and where the service is, and the names it gives."""

from __future__ import annotations

import secrets
import string
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

_LETTERS: Final = string.digits + string.ascii_lowercase


@dataclass(frozen=True, slots=True)
class Home:
    """The account and region that this service plays."""

    account: str
    region: str

    def application(self, identity: str) -> str:
        """The ARN of an application."""
        return f"arn:aws:emr-serverless:{self.region}:{self.account}:/applications/{identity}"

    def run(self, application: str, identity: str) -> str:
        """The ARN of a job run."""
        return f"{self.application(application)}/jobruns/{identity}"

    @property
    def caller(self) -> str:
        """Who everything was created by: signatures are not looked at, so it is always the same user."""
        return f"arn:aws:iam::{self.account}:user/local"


def new_id() -> str:
    """An id as EMR Serverless gives them: sixteen digits and small letters, two zeros first."""
    return "00" + "".join(secrets.choice(_LETTERS) for _ in range(14))


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)
