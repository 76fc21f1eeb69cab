"""Events: those that SAM generates, and those that were recorded."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from tests.sam.built import sam

RECORDED = Path(__file__).parents[1] / "unit/aws/events"


@cache
def generated(*words: str) -> str:
    """What `sam local generate-event` prints."""
    return sam("local", "generate-event", *words)


def by_queue(*bodies: str) -> dict[str, Any]:
    """Messages of SQS with these bodies, as SAM generates them."""
    record = json.loads(generated("sqs", "receive-message"))["Records"][0]
    return {"Records": [record | {"messageId": f"m{n}", "body": body} for n, body in enumerate(bodies)]}


def recorded(file: str, name: str, **changes: Any) -> str:
    """A recorded document, some members of its detail changed."""
    documents = json.loads((RECORDED / f"{file}.json").read_text())
    document = next(each["document"] for each in documents if each["name"] == name)
    return json.dumps(document | {"detail": document["detail"] | changes})


def landed(key: str) -> str:
    """EventBridge's document of an object that landed."""
    return recorded("s3-eventbridge", "a plain key", bucket={"name": "landing"}, object={"key": key})


def moved(run: str, application: str, state: str = "SUCCESS") -> str:
    """EventBridge's document of a job run that ended."""
    return recorded("emr-serverless", f"a job run is {state}", jobRunId=run, applicationId=application)


def scheduled() -> Any:
    """A schedule's turn."""
    return json.loads(generated("cloudwatch", "scheduled-event"))
