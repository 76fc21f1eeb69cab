"""`lakegate stack upload`: a release for a tool that deploys the stack itself."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

from tests.unit.cli.deployed_stack import LAKE
from tests.unit.features.deployment.test_deploy_command import BUCKET, Deployer, deployer

__all__ = ["deployer"]


def test_a_release_is_uploaded_as_a_deployment_would(deployer: Deployer) -> None:
    """The job's code follows once there is a stack; what a deployment has uploaded is there already."""
    words = ("stack", "upload", "--from", str(deployer.folder), "--json")
    first = deployer.lakegate(*words)
    document = json.loads(first.stdout)
    uploaded = deployer.keys(BUCKET)
    deployer.deployed()
    second = deployer.lakegate(*words)

    assert (document["job_code"], document["lake"]) == ("1-abc", None)
    assert "there is no stack lakegate yet: run this again once it is deployed" in first.stderr
    assert urlsplit(document["template_url"]).path.removeprefix(f"/{BUCKET}/") in uploaded
    assert deployer.keys(BUCKET) == uploaded
    assert json.loads(second.stdout) == document | {"lake": LAKE}
    assert deployer.cloud.made == {}


def test_the_code_of_the_job_goes_to_the_lake(deployer: Deployer) -> None:
    """After the first deployment, by whatever tool."""
    deployer.deployed()
    for key in deployer.keys(LAKE):
        deployer.lakegate.clients["s3"].delete_object(Bucket=LAKE, Key=key)
    result = deployer.lakegate("stack", "upload", "--from", str(deployer.folder))

    assert result.exit_code == 0, result.output
    assert "job_code = 1-abc" in result.stdout
    assert deployer.keys(LAKE) >= {"code/1-abc/validate.py", "code/1-abc/environment.tar.gz"}
