"""Limits of StartJobRun that the service model of AWS does not contain."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from infra.local.emr.errors import Invalid
from infra.local.emr.parameters import read_parameters

if TYPE_CHECKING:
    from infra.local.emr.listing import Members

MIN_MINUTES: Final = 5


MAX_ATTEMPTS: Final = 10


def refuse_unsupported(request: Members) -> None:
    """Invalid for a request that AWS refuses beyond its model, or that this service does not support."""
    if request.get("mode", "BATCH") != "BATCH":
        raise Invalid("Value at 'mode': only BATCH is played by the local EMR Serverless")
    if "sparkSubmit" not in request.get("jobDriver", {}):
        raise Invalid("Value at 'jobDriver': only sparkSubmit is played by the local EMR Serverless")
    if request.get("executionTimeoutMinutes", MIN_MINUTES) < MIN_MINUTES:
        raise Invalid(f"RunTimeout must be at least {MIN_MINUTES} minutes")
    if request.get("retryPolicy", {}).get("maxAttempts", 1) > MAX_ATTEMPTS:
        raise Invalid(f"Value at 'retryPolicy.maxAttempts': at most {MAX_ATTEMPTS}")
    _refuse_policy(request.get("executionIamPolicy", {}).get("policy"))
    read_parameters(request["jobDriver"]["sparkSubmit"].get("sparkSubmitParameters", ""))


def _refuse_policy(text: str | None) -> None:
    try:
        document = json.loads(text) if text is not None else {"Statement": []}
    except ValueError:
        document = None
    if not isinstance(document, dict) or "Statement" not in document:
        raise Invalid("Value at 'executionIamPolicy.policy': not a policy document")
