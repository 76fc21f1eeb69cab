"""The region of every client of this process, resolved in one place."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import MutableMapping


def settle_region(environment: MutableMapping[str, str] = os.environ) -> None:
    """Let `AWS_REGION` win over `AWS_DEFAULT_REGION` and the profile, as in the AWS command line and other SDKs.

    boto3 does not read it
    (https://boto3.amazonaws.com/v1/documentation/api/latest/guide/configuration.html#using-environment-variables).
    """
    if environment.get("AWS_REGION"):
        environment["AWS_DEFAULT_REGION"] = environment["AWS_REGION"]
