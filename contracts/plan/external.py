"""Rules that another service measures: a registered validator of DCM's Validator API."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExternalRule:
    """What a check of `Metric.EXTERNAL` asks, and of whom; pinned with the plan."""

    check: str
    """Its id."""
    technology: str
    """As the validator was registered for it."""
    validator: str
    """The name of the validator; its address is that of the stack when an attempt begins."""
    rule: str
    """The rule in DCM's form (`ruleType: custom`), as JSON; its id is that of the check."""
