"""The body that starts a validation: rules in DCM's form, and the data that they are measured over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from lakegate.base.json_codec import DOCUMENT_NAME, Bounds, Pattern, omit_default

Text = Annotated[str, Bounds(None, 1000)]


@dataclass(frozen=True, slots=True)
class RuleTolerance:
    """The tolerance of a severity."""

    tolerance: Annotated[float, Bounds(0)]


@dataclass(frozen=True, slots=True)
class RuleSeverities:
    """The severities of a rule."""

    warn: RuleTolerance | None = omit_default(None)
    fail: RuleTolerance | None = omit_default(None)


@dataclass(frozen=True, slots=True)
class ValidationRule:
    """A quality rule of DCM (table A.3)."""

    id: Annotated[str, Bounds(1, 200)]
    type: Literal["size", "complete", "unique", "min", "max", "mean", "stdev", "allowedValues", "custom"] = field(
        metadata={DOCUMENT_NAME: "ruleType"}
    )
    dimension: Literal["completeness", "validity", "uniqueness"] | None = omit_default(None)
    columns: Annotated[tuple[Text, ...], Bounds(None, 1000)] | None = None
    parameter: float | Text | Annotated[tuple[Text | float | bool, ...], Bounds(None, 1000)] | None = None
    severity: RuleSeverities | None = None
    technology: Annotated[str, Bounds(None, 200)] | None = None
    call: Text | None = None
    args: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class DataAccess:
    """The place of the data."""

    path: Annotated[str, Bounds(1, 1024)]
    """The id of a workload or an announcement, a landing key, or a folder of landing that ends in `/`."""


@dataclass(frozen=True, slots=True)
class ValidationRequest:
    """Rules in DCM's form, and the data that they are measured over."""

    name: Annotated[str, Pattern("[!-~]{1,200}")] = field(metadata={DOCUMENT_NAME: "workloadId"})
    """Chosen by the caller."""
    rules: Annotated[tuple[ValidationRule, ...], Bounds(1, 200)] = field(metadata={DOCUMENT_NAME: "validations"})
    access: DataAccess
