"""A stack in a VPC without internet: it works with the endpoints of docs/deploy.md, and not without one of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lakegate.aws.clients import client
from lakegate.aws.vpc_endpoints import OF_THE_JOB, endpoints_of
from lakegate.gate.delivery.protocol import END_STATES, State
from tests.e2e.deployed import SMALL, Deployed, until
from tests.e2e.running import lakegate

pytestmark = pytest.mark.e2e

FUNCTIONS = ("IntakeFunction", "CompletionFunction", "SweepFunction", "NotifyFunction", "ApiFunction")


@contextmanager
def without(stack: Deployed, service: str) -> Iterator[None]:
    """The VPC has no endpoint of a service. Functions start anew, because processes keep the addresses that they began with."""
    ec2 = client("ec2")
    (found,) = [
        each
        for each in ec2.describe_vpc_endpoints()["VpcEndpoints"]
        if each["ServiceName"].rpartition(".")[2] == service
    ]
    ec2.delete_vpc_endpoints(VpcEndpointIds=[found["VpcEndpointId"]])
    for each in FUNCTIONS:
        stack.kill_function(each)
    try:
        yield
    finally:
        kept = {name: found[name] for name in ("VpcId", "ServiceName", "VpcEndpointType")}
        ec2.create_vpc_endpoint(**kept)
        for each in FUNCTIONS:
            stack.kill_function(each)


def test_the_stack_of_these_tests_has_exactly_the_endpoints_of_the_guide(stack: Deployed) -> None:
    """So that each test of this folder shows that no function calls anything else."""
    there = [each["ServiceName"].rpartition(".")[2] for each in client("ec2").describe_vpc_endpoints()["VpcEndpoints"]]
    listed = endpoints_of({"SigningKey": "own", "SmallFileBytes": str(SMALL), "TableDatabase": "accepted"})
    settings = client("lambda").get_function_configuration(FunctionName=stack.resources["IntakeFunction"])

    assert sorted(there) == sorted(each.service for each in listed)
    assert settings["VpcConfig"]["VpcId"] != ""


@pytest.mark.parametrize("service", ["emr-serverless", pytest.param("kms", marks=pytest.mark.full)])
def test_without_an_endpoint_a_delivery_waits_and_doctor_names_it(stack: Deployed, service: str) -> None:
    """Nothing of it is lost: with the endpoint it gets its verdict."""
    assert service not in OF_THE_JOB
    earlier = stack.report("").count("ConnectTimeoutError")
    with without(stack, service):
        landed = stack.upload(stack.larger())
        until("a function that gets no answer", lambda: stack.report("").count("ConnectTimeoutError") > earlier, 180)
        found = lakegate("doctor", "--local", "--timeout", "60")
        row = until("the claim of the delivery", lambda: stack.row(landed))

    assert f"nor an endpoint for {service}" in found.output
    assert row.state not in END_STATES
    stack.sweep_later(minutes=20)
    assert stack.finished(landed).state is State.PUBLISHED
