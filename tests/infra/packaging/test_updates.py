"""Updates of a stack: which resources another value of each parameter changes, and that none of them is replaced."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
import yaml

from tests.infra.packaging.test_policies import SCHEMAS
from tests.sam.built import PSEUDO, ROOT, Stack, _Loader
from tests.sam.other_values import NOT_UPDATED, OTHER_VALUES

GIVEN = {
    "AuditQuarantine": "yes",
    "EmrApplicationId": "00f1982r1uukb925",
    "EmrEndpoint": "http://127.0.0.1:1",
    "ServiceEndpoint": "http://127.0.0.1:2",
    "AdoptExisting": "yes",
    "ExistingLandingBucket": "ours-landing",
    "ExistingLakeBucket": "ours-lake",
    "ExistingAnchorBucket": "ours-anchors",
    "ExistingRegistryTable": "ours-registry",
    "ExistingWorkloadsTable": "ours-workloads",
    "ExistingLedgerTable": "ours-ledger",
}
"""Another value of the parameters that the embedded AWS cannot change."""
OUR_TABLES = "ExistingRegistryTable ExistingWorkloadsTable ExistingLedgerTable"
TOGETHER = {
    "ExistingRegistryTable": OUR_TABLES,
    "ExistingWorkloadsTable": OUR_TABLES,
    "ExistingLedgerTable": OUR_TABLES,
    "AdoptExisting": "ExistingLandingBucket",
    "ExistingAnchorBucket": "AnchorDays",
    "SubnetIds": "SecurityGroupIds",
    "SecurityGroupIds": "SubnetIds",
    "JwtAudience": "JwtIssuer",
    "JwtIssuer": "JwtAudience",
    "ReplacedSigningKey": "SigningKey",
    "PullSecretPrefix": "PullHosts",
    "NamingEvents": "PullObjects",
    "NamingSenders": "PullObjects",
    "GatedTables": "TableDatabase GatedTableFiles",
    "GatedTableFiles": "TableDatabase GatedTables",
    "ValidatorApis": "ValidatorHosts",
    "ValidatorSecretPrefix": "ValidatorHosts",
}
"""Parameters that only have an effect together."""
NAMES_OBJECTS = (
    "+NamingFunction +NamingLog +NamingRole +NamingUnintelligible +PullEvery +PullFunction +PullLog +PullRole Dashboard "
    "DoctorPolicy ResponderPolicy SchedulerRole"
)
GATES_TABLES = (
    "+GatedEvery +GlueDatabase +TableEvery +TableFunction +TableLog +TableQueue +TableRole +TableRule ErasurePolicy "
    "QueuePolicy SchedulerRole"
)
EXPECTED = {
    "GatedTables": GATES_TABLES,
    "GatedTableFiles": GATES_TABLES,
    "BucketKeys": "+KeyPolicy ApiRole CompletionRole IntakeRole JobRole NotifyRole SweepRole",
    "ExistingRegistryTable": (
        "-LedgerTable -RegistryTable -WorkloadsTable ApiRole DoctorPolicy EnginePolicy ErasurePolicy Functions "
        "LifecyclePolicy NotifyRole OperatorPolicy ResponderPolicy StewardPolicy SweepRole"
    ),
    "ExistingWorkloadsTable": (
        "-LedgerTable -RegistryTable -WorkloadsTable ApiRole DoctorPolicy EnginePolicy ErasurePolicy Functions "
        "LifecyclePolicy NotifyRole OperatorPolicy ResponderPolicy StewardPolicy SweepRole"
    ),
    "ExistingLedgerTable": (
        "-LedgerTable -RegistryTable -WorkloadsTable ApiRole DoctorPolicy EnginePolicy ErasurePolicy Functions "
        "LifecyclePolicy NotifyRole OperatorPolicy ResponderPolicy StewardPolicy SweepRole"
    ),
    "AlarmTopic": "-Alarms -AlarmsPolicy AWS::CloudWatch::Alarm DoctorPolicy FailedRule ResponderPolicy",
    "AdoptExisting": (
        "-LandingBucket -LandingBucketPolicy ApiRole DoctorPolicy EnginePolicy Functions LandedRule "
        "OperatorPolicy ResponderPolicy SweepRole"
    ),
    "ExistingAnchorBucket": (
        "+AnchorEvery +AnchorFunction +AnchorLog +AnchorRole AnchorMissing "
        "DoctorPolicy OperatorPolicy ResponderPolicy SchedulerRole"
    ),
    "AnchorDays": (
        "+AnchorBucket +AnchorBucketPolicy +AnchorEvery +AnchorFunction +AnchorLog +AnchorRole AnchorMissing "
        "DoctorPolicy OperatorPolicy ResponderPolicy SchedulerRole"
    ),
    "ApiRate": "ApiStage",
    "AuditQuarantine": "+AuditBucket +AuditBucketPolicy +AuditTrail",
    "BatchBytes": "Functions",
    "BatchFiles": "Functions",
    "BatchSeconds": "Functions",
    "ChannelPrefix": "NotifyRole",
    "PullHosts": "+PullEvery +PullFunction +PullLog +PullRole DoctorPolicy SchedulerRole",
    "NamingEvents": f"{NAMES_OBJECTS} +NamedMapping +NamedQueue +NamedQueuePolicy +NamedWaits",
    "NamingSenders": f"{NAMES_OBJECTS} +NamedMapping +NamedQueue +NamedQueuePolicy +NamedWaits",
    "PullObjects": NAMES_OBJECTS,
    "PullSecretPrefix": "+PullEvery +PullFunction +PullLog +PullRole DoctorPolicy SchedulerRole",
    "DatasetMetrics": "NotifyFunction SweepFunction",
    "TableDatabase": (
        "+GlueDatabase +TableEvery +TableFunction +TableLog +TableQueue +TableRole +TableRule ErasurePolicy QueuePolicy "
        "SchedulerRole"
    ),
    "DriftSchedule": "+DriftEvery +DriftFunction +DriftLog +DriftRole SchedulerRole",
    "EmrApplicationId": (
        "-Application ApiRole Dashboard DeployerServicesPolicy DoctorPolicy EnginePolicy Functions JobRole MovedRule "
        "OperatorPolicy ResponderPolicy"
    ),
    "EmrEndpoint": "Functions",
    "ExtraJobParameters": "Functions",
    "ExistingLakeBucket": (
        "-LakeBucket -LakeBucketPolicy ApiRole DeployerPolicy DoctorPolicy EnginePolicy ErasurePolicy Functions "
        "JobRole LifecyclePolicy NotifyRole OperatorPolicy ResponderPolicy StewardPolicy SweepRole"
    ),
    "ExistingLandingBucket": (
        "-LandingBucket -LandingBucketPolicy ApiRole DoctorPolicy EnginePolicy Functions LandedRule "
        "OperatorPolicy ResponderPolicy SweepRole"
    ),
    "IgnoredKeys": "Functions",
    "JobCode": "Functions",
    "JobMinutes": "Functions",
    "JwtAudience": (
        "+ApiAuthorizer AddRouteOfContractRoute AddRouteRoute AnnounceWorkloadOfContractRoute AnnounceWorkloadRoute "
        "FindContractsRoute FindDatasetsOfContractRoute FindDatasetsRoute "
        "FindRevalidationsOfContractRoute FindRoutesOfContractRoute FindRoutesRoute "
        "FindWorkloadsOfContractRoute FindWorkloadsRoute NoSuchRoute NotifyWorkloadOfContractRoute NotifyWorkloadRoute "
        "PublishContractRoute PullContractRoute PutContractRoute ReadContractRoute ReadValidationOfContractRoute "
        "ReadValidationRoute ReadWorkloadOfContractRoute ReadWorkloadRoute RemoveRouteOfContractRoute RemoveRouteRoute "
        "RetireContractRoute StartValidationOfContractRoute StartValidationRoute TransitionWorkloadOfContractRoute "
        "TransitionWorkloadRoute"
    ),
    "JwtIssuer": (
        "+ApiAuthorizer AddRouteOfContractRoute AddRouteRoute AnnounceWorkloadOfContractRoute AnnounceWorkloadRoute "
        "FindContractsRoute FindDatasetsOfContractRoute FindDatasetsRoute "
        "FindRevalidationsOfContractRoute FindRoutesOfContractRoute FindRoutesRoute "
        "FindWorkloadsOfContractRoute FindWorkloadsRoute NoSuchRoute NotifyWorkloadOfContractRoute NotifyWorkloadRoute "
        "PublishContractRoute PullContractRoute PutContractRoute ReadContractRoute ReadValidationOfContractRoute "
        "ReadValidationRoute ReadWorkloadOfContractRoute ReadWorkloadRoute RemoveRouteOfContractRoute RemoveRouteRoute "
        "RetireContractRoute StartValidationOfContractRoute StartValidationRoute TransitionWorkloadOfContractRoute "
        "TransitionWorkloadRoute"
    ),
    "KmsKey": (
        "+Key +KeyPolicy AWS::Logs::LogGroup Alarms ApiRole CompletionRole DeadLetterQueue IntakeRole JobRole "
        "LakeBucket LandedQueue LandingBucket LedgerTable MovedQueue NotifyRole RegistryTable SweepRole "
        "WorkloadsTable"
    ),
    "LogDays": "AWS::Logs::LogGroup",
    "MaxConcurrentRuns": "Application Functions",
    "MaxVcpu": "Application Functions",
    "MissingFields": "Functions",
    "NotifySchedule": "NotifyEvery",
    "PermissionsBoundary": "AWS::IAM::Role DeployerPolicy",
    "Prices": "Functions",
    "ReplacedSigningKey": "+LedgerKey +SigningPolicy Functions OperatorPolicy",
    "RequireApproval": "+ApproverPolicy ApiRole Functions StewardPolicy",
    "ReserveConcurrency": "SweepFunction",
    "SecurityGroupIds": (
        "+VpcPolicy ApiRole Application CompletionRole DeployerPolicy Functions IntakeRole NotifyRole SweepRole"
    ),
    "ServiceEndpoint": "Functions",
    "SigningKey": "+LedgerKey +SigningPolicy Functions OperatorPolicy",
    "SmallFileBytes": "+JudgeFunction +JudgeLog +JudgeRole ApiRole Functions",
    "SubnetIds": (
        "+VpcPolicy ApiRole Application CompletionRole DeployerPolicy Functions IntakeRole NotifyRole SweepRole"
    ),
    "SweepSchedule": "SweepEvery",
    "LandingPrefix": "ApiRole DoctorPolicy EnginePolicy Functions LandedRule ResponderPolicy SweepRole",
    "Unrouted": "Functions",
    "WorkloadDays": "Functions",
    "UploadKeys": "+KeyPolicy ApiRole CompletionRole IntakeRole JobRole NotifyRole SweepRole",
    "ValidatorApis": "+ValidatorPolicy CompletionRole Functions IntakeRole SweepRole",
    "ValidatorHosts": "+ValidatorPolicy CompletionRole Functions IntakeRole SweepRole",
    "ValidatorSecretPrefix": "+ValidatorPolicy CompletionRole Functions IntakeRole SweepRole",
    "WithApi": "Api",
    "WarmWorkers": "Application",
}
"""By parameter: the resources that it changes, makes (+) and removes (-); a type stands for all resources of it.

`Functions` is what all functions share.
"""


@cache
def document() -> dict[str, Any]:
    """The template."""
    return dict(yaml.load((ROOT / "template.yaml").read_text(), _Loader))  # noqa: S506 - a safe loader


def resources(**values: str) -> dict[str, Any]:
    """Properties of each resource; of all functions, what they share under `Functions`."""
    defaults = {name: str(each.get("Default", "")) for name, each in document()["Parameters"].items()}
    stack = Stack(document(), {**PSEUDO, **defaults, **values})
    made = {
        name: stack.resolve(each.get("Properties", {}))
        for name, each in document()["Resources"].items()
        if "Condition" not in each or stack.holds(each["Condition"])
    }
    return {**made, "Functions": stack.resolve(document()["Globals"]["Function"])}


def shortened(changed: set[str], there: set[str]) -> set[str]:
    """Instead of all alarms, log groups or roles their type."""
    for kind in ("AWS::CloudWatch::Alarm", "AWS::Logs::LogGroup", "AWS::IAM::Role"):
        some = {name for name, each in document()["Resources"].items() if each["Type"] == kind} & there
        if some <= changed:
            changed = changed - some | {kind}
    return changed


@cache
def as_deployed() -> dict[str, Any]:
    """With the defaults."""
    return resources()


def with_other(parameter: str) -> dict[str, Any]:
    """With another value of one parameter, and of the one without which it has no effect."""
    values = {**OTHER_VALUES, **GIVEN}
    names = {parameter, *TOGETHER.get(parameter, parameter).split()}
    return resources(**{name: values[name] for name in names})


@cache
def fixed() -> dict[str, set[str]]:
    """By type the properties whose change replaces a resource (`createOnlyProperties` of CloudFormation's registry)."""
    found: dict[str, set[str]] = {}
    for path in SCHEMAS.glob("*.json"):
        described = json.loads(path.read_text())
        names = {each.split("/")[2] for each in described.get("createOnlyProperties", ())}
        found.setdefault(described["typeName"], set()).update(names)
    return found


def test_every_parameter_has_another_value() -> None:
    """A new parameter is updated by the nightly run, too, or its reason is stated."""
    assert OTHER_VALUES.keys() | GIVEN.keys() == document()["Parameters"].keys()
    assert OTHER_VALUES.keys() & NOT_UPDATED.keys() == set()
    assert GIVEN.keys() == NOT_UPDATED.keys() == EXPECTED.keys() - OTHER_VALUES.keys()


@pytest.mark.parametrize("parameter", sorted(EXPECTED))
def test_a_parameter_changes_these_resources(parameter: str) -> None:
    """No parameter is without an effect, and none reaches further than it should."""
    before, after = as_deployed(), with_other(parameter)
    changed = {name for name in before.keys() & after.keys() if before[name] != after[name]}
    changed = shortened(changed, before.keys() & after.keys())
    made, removed = after.keys() - before.keys(), before.keys() - after.keys()

    assert {*changed, *(f"+{name}" for name in made), *(f"-{name}" for name in removed)} == set(
        EXPECTED[parameter].split()
    )


@pytest.mark.parametrize("parameter", sorted(EXPECTED))
def test_no_parameter_replaces_a_resource(parameter: str) -> None:
    """What is changed keeps its data, its address and its subscribers: no property changes that CloudFormation cannot update."""
    before, after = as_deployed(), with_other(parameter)
    kinds = {name: each["Type"] for name, each in document()["Resources"].items()}
    replaced = {
        (name, key)
        for name in before.keys() & after.keys() & kinds.keys()
        for key in fixed().get(kinds[name], set())
        if before[name].get(key) != after[name].get(key)
    }

    assert fixed()["AWS::DynamoDB::Table"] >= {"TableName"}
    assert replaced == set()
