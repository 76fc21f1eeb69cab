"""The session policy of a job run: of what the job's role may do, only what this attempt needs.

EMR Serverless gives a run the intersection of its role and this policy
(https://docs.aws.amazon.com/emr/latest/EMR-Serverless-UserGuide/jobs-cli-execution.html), so that whatever a file makes the job
do concerns the objects of its own run. Listing is not limited by prefix: a HEAD of an absent object has none, and S3 answers 403.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakegate.contracts.plan.request import Request
    from lakegate.functions.usecases.dependencies import JobSettings

LONGEST: Final = 2048
"""Characters, of Latin-1 (https://docs.aws.amazon.com/emr-serverless/latest/APIReference/API_JobRunExecutionIamPolicy.html)."""
_ADDRESS: Final = re.compile(r"s3://([^\s,#]+)/[^\s,#/]+")
"""Of a file, in the entry point and in the parameters of spark-submit: its folder is what is read."""
_NOT_PLAIN: Final = re.compile(r"[^A-Za-z0-9._/=@+-]")


def run_policy(job: JobSettings, lake: str, request: Request) -> str:
    """The policy as JSON. References to more lines or plans than fit are all accepted data and plans, which the role may read."""
    plans = {request.plan_uri, *(each.plan_uri for line in request.references for each in line.parts)}
    lines = [f"{lake}/accepted/{each.line}/" for each in request.references]
    exact = _policy(job, lake, request, [*map(_place, sorted(plans)), *(f"{each}*" for each in map(_plain, lines))])
    return exact if len(exact) <= LONGEST else _policy(job, lake, request, [f"{lake}/plans/*", f"{lake}/accepted/*"])


def _policy(job: JobSettings, lake: str, request: Request, read: Iterable[str]) -> str:
    partition = job.role.split(":")[1]
    output = f"{_place(request.output_uri)}/*"
    code = sorted({f"{_plain(each)}/*" for each in _ADDRESS.findall(f"{job.entry_point} {job.parameters}")})
    places = [*code, *read, *sorted({_part(each.uri, len(request.parts)) for each in request.parts}), output]
    statements = [
        _allow("s3:GetObject", [f"arn:{partition}:s3:::{each}" for each in places]),
        _allow(
            ["s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"],
            f"arn:{partition}:s3:::{output}",
        ),
        _allow("s3:ListBucket", f"arn:{partition}:s3:::{lake}"),
        _allow(["kms:Decrypt", "kms:GenerateDataKey"], "*"),
    ]
    return json.dumps({"Version": "2012-10-17", "Statement": statements}, separators=(",", ":"))


def _allow(action: str | list[str], resource: str | list[str]) -> dict[str, object]:
    return {"Effect": "Allow", "Action": action, "Resource": resource}


def _place(uri: str) -> str:
    return _plain(uri.removeprefix("s3://"))


def _part(uri: str, of: int) -> str:
    """One staged copy; of several, their folder, which has nothing else."""
    return _place(uri) if of == 1 else f"{_place(uri.rpartition('/')[0])}/*"


def _plain(text: str) -> str:
    """A character that means something in a policy, or that the API refuses, is any one character."""
    return _NOT_PLAIN.sub("?", text)
