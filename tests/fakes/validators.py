"""Validators in memory: services that answer, refuse, are slow and lie."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from lakegate.base.errors import NotFound, PortError, Unanswered
from lakegate.features.external_validators.registered_validators import ValidatorService
from lakegate.features.external_validators.validator_client import ExternalValidation
from tests.fakes.fault_injector import FaultInjector

MAX_RESPONSE_BYTES = 1 << 20


def results_of(validation: ExternalValidation, *, success: bool = True, **more: Any) -> list[dict[str, Any]]:
    """A result of each rule, as a validator of DCM writes it."""
    tier = {"success": success, "exception_info": {"raised_exception": False}}
    return [
        {"id": json.loads(each)["id"], "column": None, "metric": 3, "severity": {"fail": tier, "warn": None}, **more}
        for each in validation.rules
    ]


def answer_of(validation: ExternalValidation, *, success: bool = True, **changes: Any) -> bytes:
    """The answer to a validation; `changes`: of its members."""
    results = results_of(validation, success=success, technology="Probe", version="1.2.3")
    return json.dumps({"workloadId": validation.name, "status": "OK", "result": results, **changes}).encode()


class MemoryValidators:
    """Validators: one service behind all addresses."""

    def __init__(self, faults: FaultInjector) -> None:
        self._faults = faults
        self.started: dict[str, ExternalValidation] = {}
        """By name, in the order in which they were started."""
        self.asked: list[tuple[str, str]] = []
        """Address of the service and name, of each poll."""
        self.refusal: PortError | None = None
        """How it refuses to start."""
        self.is_silent = False
        """Whether it is left out because its requests took too long."""
        self.answer: Callable[[ExternalValidation], bytes | PortError] = answer_of
        """What it answers about a validation that it knows."""

    def start(self, service: ValidatorService, validation: ExternalValidation) -> None:
        """Remember it. The same name always stands for the same rules and the same data."""
        self._faults.pass_or_refuse()
        if not service.url.startswith("https://"):
            raise PortError("address-refused")
        if self.refusal is not None:
            raise self.refusal
        before = self.started.setdefault(validation.name, validation)
        if before != validation:
            raise AssertionError(f"two validations have one name: {before} and {validation}")

    def poll(self, service: ValidatorService, name: str, *, is_last: bool = False) -> bytes:
        """What it says about it."""
        self.asked.append((service.url, name))
        if self.is_silent and not is_last:
            raise Unanswered("silent")
        if name not in self.started:
            raise NotFound("http-404")
        found = self.answer(self.started[name])
        if isinstance(found, PortError):
            raise found
        if len(found) > MAX_RESPONSE_BYTES:
            raise PortError("too-large")
        return found
