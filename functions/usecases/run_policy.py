"""The session policy of a job run: of what the job's role may do, only what this attempt needs.

EMR Serverless gives a run the intersection of its role and this policy
(https://docs.aws.amazon.com/emr/latest/EMR-Serverless-UserGuide/jobs-cli-execution.html), so that whatever a file makes the job
do concerns the objects of its own run. Listing is not limited by prefix: a HEAD of an absent object has none, and S3 answers 403.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakegate.contracts.plan.request import Request
    from lakegate.functions.usecases.dependencies import JobSettings

LONGEST: Final = 2048
"""Characters, of Latin-1 (https://docs.aws.amazon.com/emr-serverless/latest/APIReference/API_JobRunExecutionIamPolicy.html)."""
VERSIONS: Final = ["s3:GetObject", "s3:GetObjectVersion"]
_ADDRESS: Final = re.compile(r"s3://([^\s,#]+)/[^\s,#/]+")
"""Of a file, in the entry point and in the parameters of spark-submit: its folder is what is read."""
_NOT_PLAIN: Final = re.compile(r"[^A-Za-z0-9._/=@+-]")


class BatchScope(NamedTuple):
    """What the run of a batch reads and writes."""

    plan_uri: str
    lines: tuple[str, ...]
    """Whose accepted data it is compared with."""
    staged: str
    """The folder of the staged copies of its group, below the lake bucket."""
    output: str
    """Its own folder."""


def run_policy(job: JobSettings, lake: str, request: Request) -> str:
    """The policy as JSON. References to more lines or plans than fit are all accepted data and plans, which the role may read."""
    plans = {request.plan_uri, *(each.plan_uri for line in request.references for each in line.parts)}
    parts = sorted({_part(each.uri, len(request.parts)) for each in request.parts})
    own = [*parts, f"{_place(request.output_uri)}/*"]
    merged = [request.slices.merge.line] if request.slices and request.slices.merge else []
    referred = [each.line for each in request.references if each.parts]
    exact = [*map(_place, sorted(plans)), *_accepted(lake, [*merged, *referred])]
    return _within_limit(job, lake, own, exact)


def batch_policy(job: JobSettings, lake: str, batch: BatchScope) -> str:
    """The policy of a run that judges a batch: its length does not depend on the number of members.

    They have one plan, their staged copies are in one folder, and all that is written is in the folder of the batch. What they
    are compared with was accepted by several plans.
    """
    own = [f"{lake}/{batch.staged}*", f"{lake}/{batch.output}*"]
    plans = [f"{lake}/plans/*"] if batch.lines else [_place(batch.plan_uri)]
    return _within_limit(job, lake, own, [*plans, *_accepted(lake, batch.lines)])


def line_policy(job: JobSettings, lake: str, request: Request, line: str) -> str:
    """The policy of a run that measures what was accepted of a line; it reads versions of objects."""
    lines = dict.fromkeys((line, *(each.line for each in request.references if each.parts)))
    plans = {request.plan_uri, *(each.plan_uri for found in request.references for each in found.parts)}
    exact = [*map(_place, sorted(plans)), *_accepted(lake, lines)]
    return _within_limit(job, lake, [f"{_place(request.output_uri)}/*"], exact, VERSIONS)


def _accepted(lake: str, lines: Iterable[str]) -> list[str]:
    return [f"{_plain(f'{lake}/accepted/{each}/')}*" for each in lines]


def _within_limit(
    job: JobSettings, lake: str, own: list[str], read: list[str], reading: str | list[str] = "s3:GetObject"
) -> str:
    exact = _policy(job, lake, own, read, reading)
    return (
        exact if len(exact) <= LONGEST else _policy(job, lake, own, [f"{lake}/plans/*", f"{lake}/accepted/*"], reading)
    )


def _policy(job: JobSettings, lake: str, own: list[str], read: list[str], reading: str | list[str]) -> str:
    """`own`: what is judged, and last the folder that is written to."""
    partition, output = job.role.split(":")[1], own[-1]
    code = sorted({f"{_plain(each)}/*" for each in _ADDRESS.findall(f"{job.entry_point} {job.parameters}")})
    places = [*code, *read, *own]
    statements = [
        _allow(reading, [f"arn:{partition}:s3:::{each}" for each in places]),
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
