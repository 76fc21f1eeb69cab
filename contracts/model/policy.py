"""The policy of a dataset: what becomes of a delivery that breaks rules."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum


class Additional(Enum):
    """The treatment of a file with columns that its contract does not declare."""

    ALLOW = "allow"
    WARN = "warn"
    FORBID = "forbid"


class Mode(Enum):
    """Whether a bad delivery is rejected or only reported."""

    ENFORCE = "enforce"
    OBSERVE = "observe"


class OnReject(Enum):
    """The unit of rejection: the whole file, or the rows that break a rule."""

    FILE = "file"
    ROWS = "rows"


class Duplicates(Enum):
    """The treatment of a delivery whose content was accepted before."""

    REFUSE = "refuse"
    ACCEPT = "accept"


@dataclass(frozen=True, slots=True)
class Policy:
    """The policy for deliveries of a dataset: the `lakegate` extension of a document."""

    mode: Mode = Mode.ENFORCE
    on_reject: OnReject = OnReject.FILE
    max_rejected_share: Decimal = Decimal(1)
    additional_fields: Additional = Additional.ALLOW
    allow_empty: bool = False
    duplicates: Duplicates = Duplicates.REFUSE
    samples: bool = True
    max_bytes: int | None = None
    """A larger object is refused at the door, in every mode."""
