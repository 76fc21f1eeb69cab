from __future__ import annotations

import pytest

from lakegate.base.errors import IdempotencyMismatch, NotFound
from tests.contract.conftest import Ports


def request(ports: Ports, name: str = "w1") -> dict[str, object]:
    return {
        "applicationId": ports.application,
        "executionRoleArn": "arn:aws:iam::123456789012:role/job",
        "clientToken": "t" * 64,
        "name": name,
        "jobDriver": {"sparkSubmit": {"entryPoint": "s3://code/validate.py"}},
    }


def test_a_run_is_described_with_its_name(ports: Ports) -> None:
    """Events carry only the run's id: the name leads back to the workload."""
    run = ports.jobs.start(request(ports))

    assert ports.jobs.describe(run).name == "w1"


@pytest.mark.moto_gap("StartJobRun ignores clientToken: a new run each time")
def test_a_repeated_request_starts_one_run(ports: Ports) -> None:
    """clientToken: the stored request, sent again, returns the run it started."""
    runs = {ports.jobs.start(request(ports)) for _ in range(2)}

    assert len(runs) == 1


@pytest.mark.moto_gap("StartJobRun ignores clientToken: no conflict")
def test_a_token_with_another_request_is_refused(ports: Ports) -> None:
    """A token belongs to one request."""
    ports.jobs.start(request(ports))
    with pytest.raises(IdempotencyMismatch):
        ports.jobs.start(request(ports, name="w2"))


def test_an_unknown_run_is_not_found(ports: Ports) -> None:
    """Absence raises NotFound."""
    with pytest.raises(NotFound):
        ports.jobs.describe("00f0000000000000")


def test_an_ended_run_may_be_cancelled(ports: Ports) -> None:
    """Cancelling what has ended, or was never there, is done."""
    run = ports.jobs.start(request(ports))
    for _ in range(2):
        ports.jobs.cancel(run)
    ports.jobs.cancel("00f0000000000000")

    assert ports.jobs.describe(run).name == "w1"
