"""What IAM would decide: the policy evaluator of ministack, in its own environment. It shares no code with Lakegate."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pytest

from infra.setup.environments import program
from lakegate.base.errors import SetUpError

PROGRAM = """
import json, sys
from ministack.core.iam_evaluator import EvalContext, evaluate, parse_policy_document as parsed
document = json.load(sys.stdin)
limits = [parsed(each) for each in document["limits"]]
contexts = [
    EvalContext("arn:aws:iam::123456789012:user/one", "User", "123456789012", action, resource, "eu-west-1", "192.0.2.1", True,
                service_context={name.lower(): value for name, value in keys.items()})
    for action, resource, keys in document["requests"]
]
answers = []
for policies in document["holders"]:
    own = [parsed(each) for each in policies]
    answers.append([evaluate(each, own, *([limits] if limits else [])).decision == "Allow" for each in contexts])
json.dump(answers, sys.stdout)
"""
TIME_LIMIT = 60


class Call(NamedTuple):
    """One request to AWS."""

    action: str
    resource: str
    keys: Mapping[str, Any] = {}
    """Condition keys of the request, such as `s3:prefix`."""


def allowed(
    policies: Sequence[Mapping[str, Any]], calls: Sequence[Call], limits: Sequence[Mapping[str, Any]] = ()
) -> list[bool]:
    """Whether somebody with these policies may make each call; `limits` are session policies."""
    return allowed_to_each([policies], calls, limits)[0]


def allowed_to_each(
    holders: Sequence[Sequence[Mapping[str, Any]]], calls: Sequence[Call], limits: Sequence[Mapping[str, Any]] = ()
) -> list[list[bool]]:
    """The same of several people, of each what policies it has."""
    try:
        python = program("ministack/python")
    except SetUpError as error:
        pytest.skip(str(error))
    asked = json.dumps({"holders": holders, "limits": limits, "requests": calls})
    ended = subprocess.run(  # noqa: S603 - from the lock file
        [python, "-c", PROGRAM], input=asked, capture_output=True, text=True, timeout=TIME_LIMIT, check=False
    )
    assert ended.returncode == 0, ended.stderr
    answers: list[list[bool]] = json.loads(ended.stdout)
    return answers
