"""Endpoints that a VPC without a way to the internet needs; docs/deploy.md has them in a table.

Names are those of AWS PrivateLink ("AWS services that integrate with AWS PrivateLink": `com.amazonaws.REGION.SERVICE`) and of the
two gateway endpoints ("Gateway endpoints"). Preflight and `doctor` look for them, and a local stack in a VPC closes all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class VpcEndpoint:
    """An endpoint that functions of a stack call."""

    service: str
    kind: str
    """`Gateway` or `Interface`."""
    without: str
    """The part of the stack that does not work without it."""
    parameter: str = ""
    """It is needed only with this parameter."""
    caller: str = ""
    """The function that calls it; empty: all that judge and announce deliveries."""
    is_optional: bool = False
    """Deliveries are judged without it."""


ENDPOINTS: Final = (
    VpcEndpoint("s3", "Gateway", "nothing is judged"),
    VpcEndpoint("dynamodb", "Gateway", "nothing is judged"),
    VpcEndpoint("emr-serverless", "Interface", "no job run starts"),
    VpcEndpoint("events", "Interface", "no message reaches the bus"),
    VpcEndpoint("kms", "Interface", "nothing is committed", "SigningKey"),
    VpcEndpoint("lambda", "Interface", "small deliveries are not judged", "SmallFileBytes"),
    VpcEndpoint("glue", "Interface", "no table shows what is accepted", "TableDatabase", "TableFunction"),
    VpcEndpoint("sqs", "Interface", "uploads that a producer announces wait for the next sweep", caller="ApiFunction"),
    VpcEndpoint("sns", "Interface", "no message reaches channels", is_optional=True),
    VpcEndpoint("secretsmanager", "Interface", "no message reaches channels", is_optional=True),
    VpcEndpoint("sts", "Interface", "changes by date have no author", is_optional=True),
    VpcEndpoint("xray", "Interface", "traces are lost", is_optional=True),
)
OF_THE_JOB: Final = ("s3",)
"""The services that a job run calls."""


def endpoints_of(parameters: Mapping[str, str]) -> tuple[VpcEndpoint, ...]:
    """The endpoints of a stack with these parameters; absent, empty and 0 turn a part off."""
    return tuple(
        endpoint
        for endpoint in ENDPOINTS
        if not endpoint.parameter or parameters.get(endpoint.parameter, "") not in {"", "0"}
    )
