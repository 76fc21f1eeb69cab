"""`lakegate stack upload`: upload a release for a tool that deploys the stack itself, such as Terraform, CDK or a pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lakegate.aws.clients import client
from lakegate.aws.open_stack import DEFAULT_STACK, ask_service, enter_stack, find_stack, readable_errors
from lakegate.cli import terminal
from lakegate.cli.command_runner import CommandResult, command
from lakegate.cli.options import Local, StackName
from lakegate.features.deployment.release_folder import (
    ArtifactsBucket,
    FromFolder,
    ReleaseFolder,
    bucket_of_artifacts,
    upload_bundles,
    upload_job,
    upload_template,
)


@dataclass(frozen=True, slots=True)
class UploadedRelease:
    """A release that can be deployed by its template's address."""

    template_url: str
    job_code: str
    """The parameter `JobCode`."""
    lake: str | None
    """The bucket that has the job's release; None where there is no stack yet."""


@command
def upload(
    *,
    folder: FromFolder = Path(),
    artifacts: ArtifactsBucket = None,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
) -> CommandResult[UploadedRelease]:
    """Upload a release for Terraform, CDK or another tool that deploys it: template, bundles and, of a stack, the job's code.

    Before each deployment; and once after the first one, which makes the bucket that the job's code is in. What is there already
    is not uploaded again.

    Example: lakegate stack upload --json > release.json
    """
    with readable_errors():
        name = enter_stack(stack, local=local)
        caller, region = ask_service("sts", "get_caller_identity"), str(client("cloudformation").meta.region_name)
        release, account = ReleaseFolder(folder), str(caller["Account"])
        job, bucket = release.job, artifacts or bucket_of_artifacts(account, region)
        address = upload_template(release, bucket, account, terminal.note, partition=str(caller["Arn"]).split(":")[1])
        upload_bundles(release, bucket, account, terminal.note)
        there = find_stack(name, ask_service)
        lake = there.outputs.get("LakeBucket") if there else None
        if lake:
            upload_job(release, lake, account, terminal.note)
        else:
            terminal.note(f"there is no stack {name} yet: run this again once it is deployed, for the job's code")
        return CommandResult(UploadedRelease(address, job, lake), [f"template_url = {address}", f"job_code = {job}"])
