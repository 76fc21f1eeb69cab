"""`AWS::EMRServerless::Application` for the embedded AWS: CloudFormation's handler, over the local EMR Serverless.

It makes the calls that AWS's own handler has permissions for, by the registry's schema of the type, and no others: an update is
one UpdateApplication with every property, a deletion one DeleteApplication. Neither stops the application first, so that both
fail while it is started, as in AWS (https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/2370).

Started by the Python of `.tools/ministack`: it imports nothing of this project.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

TYPE = "AWS::EMRServerless::Application"
CREATE_ONLY = ("Name", "Type")
NOT_UPDATED = {"name", "type", "tags"}


def handlers(address: Path, region: str) -> dict[str, Callable[..., Any]]:
    """Create, update and delete, over the service whose address a file holds as soon as it runs."""

    def client() -> Any:  # noqa: ANN401 - botocore makes its clients' classes as it goes
        session = import_module("botocore.session").Session()
        return session.create_client(
            "emr-serverless",
            region_name=region,
            endpoint_url=json.loads(address.read_text())["endpoint"],
            aws_access_key_id="local",
            aws_secret_access_key=os.environ["AWS_SECRET_ACCESS_KEY"],
        )

    def create(_logical: str, properties: dict[str, Any], _stack: str) -> tuple[str, dict[str, str]]:
        made = client().create_application(**members(properties))
        return made["applicationId"], {"ApplicationId": made["applicationId"], "Arn": made["arn"]}

    def update(identity: str, old: dict[str, Any], new: dict[str, Any], stack: str) -> tuple[str, dict[str, str]]:
        if any(old.get(name) != new.get(name) for name in CREATE_ONLY):
            return create("", new, stack)
        changed = {name: value for name, value in members(new).items() if name not in NOT_UPDATED}
        application = client().update_application(applicationId=identity, **changed)["application"]
        return identity, {"ApplicationId": identity, "Arn": application["arn"]}

    def delete(identity: str, _properties: dict[str, Any]) -> None:
        client().delete_application(applicationId=identity)

    return {"create": create, "update": update, "delete": delete}


def members(properties: dict[str, Any]) -> dict[str, Any]:
    """The members of a request for a template's properties: other capitals, and maps for lists of pairs."""
    request = {_small(name): _value(value) for name, value in properties.items()}
    for name in ("initialCapacity", "tags", "workerTypeSpecifications"):
        if name in request:
            request[name] = {each["key"]: each["value"] for each in request[name]}
    return request


def _value(value: Any) -> Any:  # noqa: ANN401 - whatever a template holds
    if isinstance(value, dict):
        return {_small(name): _value(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_value(each) for each in value]
    return _typed(value)


def _typed(value: Any) -> Any:  # noqa: ANN401 - as above
    """CloudFormation gives numbers and truth values of parameters as text."""
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


def _small(name: str) -> str:
    return name[:1].lower() + name[1:]
