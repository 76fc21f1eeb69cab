"""Rules that this version does not measure are bound to registered validators, when a contract is published.

A rule is bound if its technology is one that a validator answers, and the compiler has named it as not measured. So a rule that
the engines measure stays theirs. A rule that has a problem of its own (a column that is not declared) stays skipped, as does one
with a schedule: it is about all accepted data, of which validators get none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from lakegate.base.json_codec import Bounds, Pattern

ENGINE: Final = "external:"
"""The beginning of a validator's technology among the engines of a result: no engine of the gate has such a name."""


@dataclass(frozen=True, slots=True)
class AnsweredTechnology:
    """A technology, and who answers its rules."""

    name: str
    """As it was registered."""
    validator: str


# ---- Rules of registered validators ----


@dataclass(frozen=True, slots=True)
class ExternalRule:
    """The question of a check of `Metric.EXTERNAL`, and its validator; pinned with the plan."""

    check: Annotated[str, Bounds(1, 8192)]
    """Its id."""
    technology: Annotated[str, Bounds(1, 40)]
    """As the validator was registered for it."""
    validator: Annotated[str, Pattern("[a-z][a-z0-9-]{0,39}")]
    """The name of the validator; its address is that of the stack when an attempt begins."""
    rule: Annotated[str, Bounds(2, 1 << 15)]
    """The rule in DCM's form (`ruleType: custom`), as JSON; its id is that of the check."""
