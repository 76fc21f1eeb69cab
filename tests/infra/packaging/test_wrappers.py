"""The Terraform module and the CDK construct: they have each parameter and output of the template, and nothing else."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from infra.packaging import wrappers
from infra.packaging.wrappers import copy_wrappers, parameters
from infra.setup.environments import program
from lakegate.base.errors import SetUpError
from lakegate.base.extension_points import ROOT
from lakegate.features.deployment.preflight import LONGEST_NAME
from lakegate.features.deployment.release_folder import ReleaseFolder
from tests.sam.other_values import NOT_UPDATED, OTHER_VALUES

TEMPLATE = ReleaseFolder(ROOT).template
VALUES = OTHER_VALUES | {
    "AuditQuarantine": "yes",
    "EmrApplicationId": "00abc",
    "EmrEndpoint": "https://emr.example",
    "ServiceEndpoint": "http://aws.example",
    "AdoptExisting": "yes",
    "ExistingLandingBucket": "landing",
    "ExistingLakeBucket": "lake",
    "ExistingAnchorBucket": "anchors",
    "ExistingRegistryTable": "registry",
    "ExistingWorkloadsTable": "workloads",
    "ExistingLedgerTable": "ledger",
}
"""A value of every parameter that is not the default."""
REFUSED: dict[str, Any] = {
    "emr_application_id": "UPPER",
    "job_code": "a/b",
    "table_database": "Upper",
    "extra_job_parameters": "--jars x",
    "job_minutes": 4,
    "max_vcpu": 3,
    "max_concurrent_runs": 1001,
    "warm_workers": 101,
    "small_file_bytes": -1,
    "batch_files": 251,
    "batch_bytes": 0,
    "batch_seconds": 3601,
    "prices": "1 USD",
    "unrouted": "drop",
    "missing_fields": "drop",
    "channel_prefix": "a b",
    "dataset_metrics": "sales,,bills",
    "drift_schedule": "daily",
    "gated_tables": ["arn:aws:glue:eu-west-1:123456789012:catalog"],
    "gated_table_files": ["arn:aws:s3:::B"],
    "pull_hosts": ["a.example", "b example"],
    "pull_objects": ["arn:aws:s3:::b"],
    "pull_secret_prefix": "",
    "naming_events": ["arn:aws:s3:::b/key"],
    "naming_senders": ["*"],
    "validator_hosts": ["a/b"],
    "validator_apis": ["arn:aws:lambda:eu-west-1:123456789012:x"],
    "validator_secret_prefix": "",
    "existing_landing_bucket": "Landing",
    "landing_prefix": "incoming",
    "existing_lake_bucket": "l",
    "existing_anchor_bucket": "l",
    "existing_registry_table": "a b",
    "existing_workloads_table": "a b",
    "existing_ledger_table": "a b",
    "kms_key": "alias/ours",
    "upload_keys": ["own"],
    "bucket_keys": ["own"],
    "signing_key": "alias/ours",
    "replaced_signing_key": "own",
    "anchor_days": 3651,
    "subnet_ids": ["sub-1"],
    "security_group_ids": ["group"],
    "permissions_boundary": "boundary",
    "log_days": 8,
    "workload_days": 36501,
    "alarm_topic": "topic",
    "api_rate": 0,
    "jwt_issuer": "http://issuer.example",
    "jwt_audience": "a b",
    "service_endpoint": "aws.example",
    "emr_endpoint": "emr.example",
}
"""A value of every field with a condition that it does not meet."""
NO_CONDITION = {"ignored_keys", "sweep_schedule", "notify_schedule"}
NOT_IN_RE2 = {"extra_job_parameters"}
"""Terraform leaves these to CloudFormation."""


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the module and the construct, as a release has them."""
    folder = tmp_path_factory.mktemp("release")
    copy_wrappers(ROOT, folder)
    return folder


@pytest.fixture(scope="module")
def cdk(release: Path) -> Iterator[Any]:
    """The module of the construct's parameters."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(release / "cdk")
        yield import_module("lakegate_cdk.parameters")
        for name in ("lakegate_cdk", "lakegate_cdk.parameters"):
            del sys.modules[name]


def typed(cdk: Any, values: dict[str, str]) -> dict[str, Any]:
    """The values by field, as people write them."""
    fields_of = {name: field for field, name in cdk.NAMES.items()}
    hints = get_type_hints(cdk.LakegateParameters)
    found: dict[str, Any] = {}
    for name, value in values.items():
        hint = str(hints[fields_of[name]])
        if "bool" in hint:
            found[fields_of[name]] = value == "yes"
        elif "int" in hint:
            found[fields_of[name]] = int(value)
        else:
            found[fields_of[name]] = value.split(",") if "Sequence" in hint else value
    return found


def test_a_release_has_the_files_of_its_template(release: Path, tmp_path: Path) -> None:
    """Files that `make wrappers` left in the clone, of an older template, count for nothing."""
    clone, made = tmp_path / "clone", tmp_path / "made"
    shutil.copytree(release, clone / "infra")
    shutil.copyfile(ROOT / "template.yaml", clone / "template.yaml")
    for name in ("terraform/variables.tf", "terraform/outputs.tf", wrappers.PARAMETERS_FILE):
        (clone / "infra" / name).write_text("of an older template")
    copy_wrappers(clone, made)

    assert contents(made) == contents(release)


def contents(folder: Path) -> dict[Path, str]:
    return {path.relative_to(folder): path.read_text() for path in folder.rglob("*") if path.suffix in {".py", ".tf"}}


def test_git_ignores_what_follows_from_the_template(tmp_path: Path) -> None:
    """Nobody commits what the template says already."""
    for name in ("terraform", "cdk/lakegate_cdk"):
        (tmp_path / name).mkdir(parents=True)
    wrappers.write_files(TEMPLATE, tmp_path)
    ignored = (ROOT / ".gitignore").read_text().splitlines()

    assert {f"/infra/{path}" for path in contents(tmp_path)} == {line for line in ignored if line.startswith("/infra/")}


def test_every_parameter_and_output_is_wrapped(release: Path, cdk: Any) -> None:
    """By a name that is derived from its own; a value of each kind has its own type."""
    variables = (release / "terraform/variables.tf").read_text()
    types = dict(re.findall(r'^variable "(\w+)" \{\n  type        = (\S+)$', variables, re.MULTILINE))
    outputs, names = (release / "terraform/outputs.tf").read_text(), cdk.NAMES

    assert {each.name for each in fields(cdk.LakegateParameters)} == set(names) == set(types)
    assert set(names.values()) == set(TEMPLATE["Parameters"]) == set(VALUES)
    assert set(cdk.OUTPUTS) == set(TEMPLATE["Outputs"]) == set(re.findall(r'outputs, "(\w+)", null', outputs))
    assert (names["max_vcpu"], names["jwt_issuer"], names["kms_key"]) == ("MaxVcpu", "JwtIssuer", "KmsKey")
    assert {types[each] for each in ("max_vcpu", "log_days")} == {"number"}
    assert types["subnet_ids"] == "list(string)"
    assert (types["with_api"], types["kms_key"]) == ("bool", "string")
    assert set(NOT_UPDATED) < set(VALUES)


def test_the_construct_sends_what_is_set(cdk: Any) -> None:
    """As text; what is not set has the default of the template."""
    assert cdk.LakegateParameters(job_code="1.0").texts() == {"JobCode": "1.0"}
    assert cdk.LakegateParameters(**typed(cdk, VALUES)).texts() == VALUES


@pytest.mark.parametrize("name", REFUSED)
def test_the_construct_refuses_what_cloudformation_would(cdk: Any, name: str) -> None:
    """Before a deployment begins."""
    given = {"job_code": "1.0", name: REFUSED[name]}
    with pytest.raises(ValueError, match=f"^{cdk.NAMES[name]}: "):
        cdk.LakegateParameters(**given)


def test_every_condition_has_a_value_that_does_not_meet_it() -> None:
    """A parameter with a pattern or bounds has a test of its own."""
    assert {each.snake for each in parameters(TEMPLATE) if each.kind != "yes"} == set(REFUSED) | NO_CONDITION
    assert {each.snake for each in parameters(TEMPLATE) if each.kind != "yes" and not list(each.conditions)} == (
        NO_CONDITION | NOT_IN_RE2
    )


# ---- By Terraform ----


def terraform(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Terraform or OpenTofu, without network, accounts or settings of this machine."""
    tool = shutil.which("terraform") or shutil.which("tofu")
    if tool is None:
        pytest.skip("neither terraform nor tofu is installed")
    own = {"TF_CLI_CONFIG_FILE": os.devnull, "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1", "HOME": str(folder)}
    environment = {"PATH": os.environ["PATH"], **own}
    return subprocess.run([tool, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - as found


def planned(release: Path, folder: Path, values: dict[str, Any]) -> tuple[dict[str, str], str]:
    """The parameters that the module would send, and what Terraform refuses; without the provider, which is not to be had."""
    shutil.copy(release / "terraform/variables.tf", folder)
    (folder / "out.tf").write_text('output "parameters" {\n  value = local.parameters\n}\n')
    (folder / "terraform.tfvars.json").write_text(json.dumps(values))
    assert terraform(folder, "init", "-input=false", "-no-color").returncode == 0
    ended = terraform(folder, "plan", "-input=false", "-no-color", "-out=plan")
    if ended.returncode:
        return {}, ended.stderr
    shown = json.loads(terraform(folder, "show", "-json", "plan").stdout)
    found: dict[str, str] = shown["planned_values"]["outputs"]["parameters"]["value"]
    return found, ""


def test_terraform_finds_the_form_of_the_module(release: Path) -> None:
    """`terraform fmt` reads all of it, and would write it the same."""
    ended = terraform(release / "terraform", "fmt", "-check", "-diff", "-recursive")

    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr


def test_terraform_sends_what_is_set(release: Path, cdk: Any, tmp_path: Path) -> None:
    """As text; what is not set has the default of the template."""
    assert planned(release, tmp_path, {"job_code": "1.0"}) == ({"JobCode": "1.0"}, "")
    assert planned(release, tmp_path, typed(cdk, VALUES)) == (VALUES, "")


def test_terraform_refuses_what_cloudformation_would(release: Path, tmp_path: Path) -> None:
    """Each by its variable, all at once."""
    _, refused = planned(release, tmp_path, REFUSED)

    assert set(re.findall(r"^(\w+): see AllowedPattern", refused, re.MULTILINE)) == set(REFUSED) - NOT_IN_RE2


# ---- By CDK ----


APP = """
import json, sys
from aws_cdk import App, CfnOutput, Stack
from lakegate_cdk.construct import Lakegate
from lakegate_cdk.parameters import LakegateParameters
app = App(outdir=sys.argv[1])
stack = Stack(app, "data")
values = json.loads(sys.argv[2])
found = Lakegate(stack, "Lakegate", template_url="https://s3.example/t", parameters=LakegateParameters(**values))
CfnOutput(stack, "Landing", value=found.output("LandingBucket"))
CfnOutput(stack, "Name", value=found.stack_name)
app.synth()
"""


def test_a_parent_whose_nested_stack_would_have_too_long_a_name_is_refused(cdk: Any) -> None:
    """`PARENT-lakegate-` and twelve characters have at most those that names of a stack are tried with (`test_names.py`)."""
    names = import_module(f"{cdk.__package__}.parent_names")
    longest = "A" * names.LONGEST_PARENT
    names.refuse_long_name(longest)

    assert len(f"{longest}-lakegate-0123456789AB") == LONGEST_NAME
    with pytest.raises(ValueError, match="the stack AAAAAAAAAAA has more than 10 characters"):
        names.refuse_long_name(f"{longest}A")


@pytest.mark.full
def test_the_construct_is_one_nested_stack(release: Path, cdk: Any, tmp_path: Path) -> None:
    """CDK makes of it a stack of the template's address with its parameters, and declares no other resource."""
    try:
        python = program("cdk/python")
    except SetUpError as error:
        pytest.skip(str(error))
    command = [str(python), "-c", APP, str(tmp_path), json.dumps(typed(cdk, VALUES))]
    environment = os.environ | {"PYTHONPATH": str(release / "cdk"), "HOME": str(tmp_path)}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - ours
    assert ended.returncode == 0, ended.stderr
    made = json.loads((tmp_path / "data.template.json").read_text())
    resources = {name: each for name, each in made["Resources"].items() if each["Type"] != "AWS::CDK::Metadata"}

    assert resources == {
        "lakegate": {
            "Type": "AWS::CloudFormation::Stack",
            "Properties": {"TemplateURL": "https://s3.example/t", "Parameters": VALUES},
            **{name: value for name, value in resources["lakegate"].items() if name.endswith("Policy")},
        }
    }
    assert made["Outputs"]["Landing"]["Value"] == {"Fn::GetAtt": ["lakegate", "Outputs.LandingBucket"]}
    assert "Name" in made["Outputs"]
