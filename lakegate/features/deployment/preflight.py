"""Checks of an account before a deployment: reads alone, nothing is changed.

A check that its caller has no right for is a warning that names the right. Sources are AWS's references of the calls, and for
what a value must be the template and docs/deploy.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final

from lakegate.aws.open_stack import ask_service, every_page
from lakegate.aws.stack_operations import GIVEN_ANCHORS
from lakegate.aws.vpc_endpoints import endpoints_of
from lakegate.base.errors import AccessDenied, NotFound, PortError
from lakegate.features.deployment.parameter_values import ParameterValues, violations

OK: Final = "ok"
WARNING: Final = "warning"
REFUSED: Final = "refused"
LONGEST_NAME: Final = 32
"""Characters. CloudFormation cuts the names that it makes for a longer one, and policies of deployers name resources by them."""
NAME: Final = re.compile(rf"[a-z][a-z0-9-]{{0,{LONGEST_NAME - 1}}}", re.ASCII)
"""In lower case, because names of buckets are."""
DESCRIPTION: Final = "Lakegate:"
"""How the description of the template begins: that of an owner's stack (tenant.yaml) is another."""
OUTPUTS: Final = frozenset({"LandingBucket", "LakeBucket", "LedgerTable"})
"""Outputs that every release of the template has."""
SERVICE_QUOTA: Final = "emr-serverless"
UNRESERVED_AT_LEAST: Final = 100
"""Lambda developer guide, "Reserved concurrency": so many executions of an account are always left unreserved."""
FEW_EXECUTIONS: Final = 50
PARTITIONS: Final = ("aws", "aws-us-gov")
"""In China EMR Serverless did not queue runs when that was announced (What's New, October 2024): nothing would bound them."""
PUBLISHERS: Final = ("cloudwatch.amazonaws.com", "events.amazonaws.com")
"""The services that send alarms and failed deliveries to the topic."""
PUBLISH: Final = "sns:Publish"
ANYBODY: Final = "*"
"""As a principal of a policy."""
ZONES: Final[Mapping[str, frozenset[str]]] = {
    "cac1": frozenset({"az1", "az2"}),
    "use1": frozenset({"az1", "az2", "az4", "az5", "az6"}),
    "use2": frozenset({"az1", "az2", "az3"}),
    "usw1": frozenset({"az1", "az3"}),
    "usw2": frozenset({"az1", "az2", "az3", "az4"}),
}
"""By the region of an id, the zones that EMR Serverless is in, where AWS names them ("Endpoints and quotas" of its guide)."""
AUDIT: Final = "EncryptedAuditTrail"
"""The statement of a key's policy that only an audit trail needs."""
LOCATIONS: Final[Mapping[str | None, str]] = {None: "us-east-1", "": "us-east-1", "EU": "eu-west-1"}
"""Regions that GetBucketLocation has other names of (its API reference)."""
INTERNET: Final = "0.0.0.0/0"
PAGE: Final = 1000
DENIED: Final = frozenset({"UnauthorizedOperation"})
"""Codes of EC2 for a right that is missing."""
ABSENT: Final = ("NotFound", "NotFoundException", "NotFoundError", "NoSuchBucket", "NoSuchBucketPolicy")
"""How codes end for something that is not there."""
RIGHTS: Final[Mapping[tuple[str, str], str]] = {
    ("s3", "get_bucket_encryption"): "s3:GetEncryptionConfiguration",
    ("s3", "get_bucket_notification_configuration"): "s3:GetBucketNotification",
    ("s3", "get_object_lock_configuration"): "s3:GetBucketObjectLockConfiguration",
    ("s3", "list_object_versions"): "s3:ListBucketVersions",
    ("service-quotas", "list_aws_default_service_quotas"): "servicequotas:ListAWSDefaultServiceQuotas",
    ("service-quotas", "list_service_quotas"): "servicequotas:ListServiceQuotas",
    ("emr", "list_release_labels"): "elasticmapreduce:ListReleaseLabels",
}
"""Rights whose names are not those of the call (AWS service authorization reference)."""


@dataclass(frozen=True, slots=True)
class PreflightFinding:
    """The result of one check."""

    check: str
    level: str
    """`ok`, `warning` or `refused`."""
    text: str
    """One sentence; where something is wrong, with the remedy."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A deployment before it begins."""

    name: str
    template: Mapping[str, Any]
    values: ParameterValues
    stack: Mapping[str, Any] | None
    """As CloudFormation describes it; None: there is none."""
    identity: dict[str, str] = field(default_factory=dict)
    """Account, ARN and region of the caller."""

    def value(self, parameter: str) -> str:
        """A parameter as it will be."""
        return self.values.effective.get(parameter, "")

    def listed(self, parameter: str) -> list[str]:
        """The elements of a parameter with several."""
        return [each for each in self.value(parameter).split(",") if each]


Found = tuple[str, str]
"""Level and sentence of a finding."""


def preflight(planned: Planned) -> Iterator[PreflightFinding]:
    """The findings of all checks, each when it is there."""
    for name, check in CHECKS.items():
        try:
            for level, text in check(planned):
                yield PreflightFinding(name, level, text)
        except _DeniedError as error:
            yield PreflightFinding(name, WARNING, f"could not look: you need the right {error}")
        except PortError as error:
            yield PreflightFinding(name, WARNING, f"could not look: {error}")


class _DeniedError(Exception):
    """A check needs a right that its caller does not have; its text is the right."""


def _ask(service: str, operation: str, **request: object) -> Any:  # noqa: ANN401 - as boto3 has it
    try:
        return ask_service(service, operation, **request)
    except PortError as error:
        called, _, code = str(error).rpartition(": ")
        if isinstance(error, AccessDenied) or code in DENIED:
            raise _DeniedError(RIGHTS.get((service, operation), f"{service}:{called}")) from None
        if code.endswith(ABSENT):
            raise NotFound(str(error)) from None
        raise


def _identity(planned: Planned) -> Iterator[Found]:
    partition = planned.identity["arn"].split(":")[1]
    if partition not in PARTITIONS:
        yield REFUSED, f"the template is for the partitions {', '.join(PARTITIONS)}, and this account is in {partition}"
        return
    yield OK, f"{planned.identity['arn']} in {planned.identity['region']}"


def _name(planned: Planned) -> Iterator[Found]:
    if planned.stack is None and not NAME.fullmatch(planned.name):
        yield (
            REFUSED,
            f"a stack's name has at most {LONGEST_NAME} small letters, digits and hyphens, a letter first: take another --name",
        )
        return
    names = _names_of_stacks()
    near = [
        name for name in names if f"{name}-".startswith(f"{planned.name}-") or f"{planned.name}-".startswith(f"{name}-")
    ]
    if near := [each for each in near if each != planned.name]:
        level = WARNING if planned.stack else REFUSED
        yield (
            level,
            f"the names of resources of {', '.join(near)} begin alike, and policies tell them apart by that: take another --name",
        )
    else:
        yield OK, f"{planned.name} ({'it exists' if planned.stack else 'new'})"


def _names_of_stacks() -> list[str]:
    """The names of all stacks of Lakegate in the region."""
    return [
        page["StackName"]
        for page in every_page(_ask, "cloudformation", "list_stacks", "StackSummaries")
        if page["StackStatus"] != "DELETE_COMPLETE" and page.get("TemplateDescription", "").startswith(DESCRIPTION)
    ]


REMEDIES: Final[Mapping[str, str]] = {
    "ROLLBACK_COMPLETE": "its creation failed: aws cloudformation delete-stack --stack-name {name}",
    "ROLLBACK_FAILED": "its creation failed: aws cloudformation delete-stack --stack-name {name}",
    "CREATE_FAILED": "its creation failed: aws cloudformation delete-stack --stack-name {name}",
    "DELETE_FAILED": "its deletion has not ended: lakegate stack delete --stack {name}",
    "UPDATE_ROLLBACK_FAILED": "a rollback has failed: aws cloudformation continue-update-rollback --stack-name {name}",
}
"""By state of a stack that takes no change set, what to do."""


def _state(planned: Planned) -> Iterator[Found]:
    if planned.stack is None:
        return
    state = planned.stack["StackStatus"]
    outputs = {each["OutputKey"] for each in planned.stack.get("Outputs", ())}
    if state not in REMEDIES and not outputs >= OUTPUTS:
        yield REFUSED, "a stack of this name is there that is no Lakegate: take another --name"
    elif state in REMEDIES:
        yield REFUSED, f"{state}: {REMEDIES[state].format(name=planned.name)}"
    elif state.endswith("_IN_PROGRESS"):
        yield REFUSED, f"{state}: wait until that has ended"
    else:
        yield OK, state


def _parameters(planned: Planned) -> Iterator[Found]:
    wrong = list(violations(planned.template, planned.values))
    yield from ((REFUSED, each) for each in wrong)
    if not wrong:
        yield OK, f"{len(planned.values.named)} named, {len(planned.values.kept)} kept"


def _emr_quotas(planned: Planned) -> Iterator[Found]:
    quotas: dict[str, float] = {}
    for operation in (
        "list_aws_default_service_quotas",
        "list_service_quotas",
    ):  # the second lists what was applied alone
        pages = every_page(_ask, "service-quotas", operation, "Quotas", ServiceCode=SERVICE_QUOTA)
        quotas |= {each["QuotaName"]: each["Value"] for each in pages}
    if not any("vcpu" in name.lower() for name in quotas):
        yield (
            WARNING,
            f"Service Quotas names no quota of vCPUs: compare MaxVcpu={planned.value('MaxVcpu')} with its page by hand",
        )
    for name, value in sorted(quotas.items()):
        most = planned.value("MaxVcpu")
        if "vcpu" in name.lower() and most.isdecimal() and int(most) > value:
            yield (
                WARNING,
                f"{name} is {value:g}, and MaxVcpu {most}: runs wait. Raise the quota, or --parameter MaxVcpu={int(value)}",
            )
        elif "vcpu" in name.lower() or "startjobrun" in name.lower().replace(" ", ""):
            yield OK, f"{name}: {value:g}"


def _lambda(planned: Planned) -> Iterator[Found]:
    limits = _ask("lambda", "get_account_settings")["AccountLimit"]
    all_of_them, free = limits["ConcurrentExecutions"], limits["UnreservedConcurrentExecutions"]
    is_new = (planned.values.before or {}).get("ReserveConcurrency") != "yes"
    if planned.value("ReserveConcurrency") == "yes" and is_new and free - 1 < UNRESERVED_AT_LEAST:
        yield (
            REFUSED,
            f"{free} executions at once are unreserved, {UNRESERVED_AT_LEAST} must stay so: --parameter ReserveConcurrency=no",
        )
    elif all_of_them < FEW_EXECUTIONS:
        yield (
            WARNING,
            f"the account has {all_of_them} executions at once for all functions: raise the quota before many files arrive",
        )
    else:
        yield OK, f"{free} executions at once are unreserved"


def _release_label(planned: Planned) -> Iterator[Found]:
    label = planned.template["Resources"]["Application"]["Properties"]["ReleaseLabel"]
    if given := planned.value("EmrApplicationId"):
        try:
            found = _ask("emr-serverless", "get_application", applicationId=given)["application"]
        except NotFound:
            yield REFUSED, f"there is no application {given}: leave EmrApplicationId empty, or name one of {label}"
            return
        is_right = found["releaseLabel"] == label
        yield (
            (OK, f"{given} has {label}")
            if is_right
            else (REFUSED, f"{given} has {found['releaseLabel']}, and the job needs {label}")
        )
        return
    labels = _ask("emr", "list_release_labels", Filters={"Prefix": label}).get("ReleaseLabels", ())
    yield (
        (OK, label)
        if label in labels
        else (WARNING, f"EMR does not list {label} in {planned.identity['region']}: take another region")
    )


def _network(planned: Planned) -> Iterator[Found]:
    subnets, groups = planned.listed("SubnetIds"), planned.listed("SecurityGroupIds")
    if not subnets or not groups:
        return
    try:
        found = _ask("ec2", "describe_subnets", SubnetIds=subnets)["Subnets"]
        of_groups = _ask("ec2", "describe_security_groups", GroupIds=groups)["SecurityGroups"]
    except NotFound:
        yield (
            REFUSED,
            "a subnet or security group of SubnetIds and SecurityGroupIds is not there: aws ec2 describe-subnets",
        )
        return
    networks = {each["VpcId"] for each in (*found, *of_groups)}
    zones = {each.get("AvailabilityZoneId", "") for each in found}
    if len(networks) > 1:
        yield (
            REFUSED,
            f"SubnetIds and SecurityGroupIds are of several VPCs ({', '.join(sorted(networks))}): take those of one",
        )
        return
    if absent := sorted(zone for zone in zones if not _has_emr(zone)):
        yield REFUSED, f"EMR Serverless is not in the zone {', '.join(absent)}: leave its subnet out of SubnetIds"
    elif len(zones) == 1:
        yield WARNING, "all subnets are in one zone: name one of another zone, too"
    else:
        yield OK, f"{len(found)} subnets in {len(zones)} zones of {', '.join(networks)}"
    yield from _endpoints(planned, networks.pop(), subnets)


def _has_emr(zone: str) -> bool:
    """Whether EMR Serverless is in the zone of an id, such as `use1-az3`; in a region that is not listed in all."""
    region, _, name = zone.partition("-")
    return region not in ZONES or name in ZONES[region]


def _endpoints(planned: Planned, network: str, subnets: list[str]) -> Iterator[Found]:
    of_network = {"Filters": [{"Name": "vpc-id", "Values": [network]}]}
    tables = _ask("ec2", "describe_route_tables", **of_network)["RouteTables"]
    if subnets and all(_reaches_the_internet(tables, subnet) for subnet in subnets):
        yield OK, "the subnets have a way to the internet, so no endpoints are needed"
        return
    found = _ask("ec2", "describe_vpc_endpoints", **of_network)["VpcEndpoints"]
    there = {
        each["ServiceName"].rpartition(".")[2]: each for each in found if each.get("State", "available") == "available"
    }
    wanted = endpoints_of(planned.values.effective)
    missing = [endpoint for endpoint in wanted if endpoint.service not in there]
    for each in missing:
        yield WARNING, f"the VPC {network} has no endpoint of {each.service} ({each.kind}): {each.without}"
    for each in wanted:
        if (
            each.kind == "Interface"
            and each.service in there
            and not there[each.service].get("PrivateDnsEnabled", True)
        ):
            yield WARNING, f"the endpoint of {each.service} has no private DNS name: {each.without}"
    if not missing:
        yield OK, "every endpoint that is needed is there"


def _reaches_the_internet(tables: list[dict[str, Any]], subnet: str) -> bool:
    """Whether the table of a subnet, or else the main one, has a default route to something but an internet gateway.

    Functions and workers have no public address, so an internet gateway alone is no way out.
    """
    own = [table for table in tables if any(each.get("SubnetId") == subnet for each in table.get("Associations", ()))]
    main = [table for table in tables if any(each.get("Main") for each in table.get("Associations", ()))]
    routes = [route for table in own or main for route in table.get("Routes", ())]
    return any(
        route.get("DestinationCidrBlock") == INTERNET and (route.get("NatGatewayId") or route.get("TransitGatewayId"))
        for route in routes
    )


COLONS_OF_ARN: Final = 5
"""In the ARN of a key."""


def _keys(planned: Planned) -> Iterator[Found]:
    signing = {"SigningKey", "ReplacedSigningKey"}
    for parameter in ("KmsKey", *sorted(signing), "BucketKeys", "UploadKeys"):
        for arn in planned.listed(parameter):
            if arn.count(":") == COLONS_OF_ARN:  # else it is the stack's own, or `_parameters` refuses it
                level, text = _key(planned, parameter, arn, is_signing=parameter in signing)
                yield level, text
                if parameter == "KmsKey" and level == OK:
                    yield from _key_policy(planned, arn)


def _key(planned: Planned, parameter: str, arn: str, *, is_signing: bool) -> Found:
    if arn.split(":")[3] != planned.identity["region"] and parameter != "UploadKeys":
        return REFUSED, f"{parameter}: {arn} is of another region"
    try:
        found = _ask("kms", "describe_key", KeyId=arn)["KeyMetadata"]
    except NotFound:
        return REFUSED, f"{parameter}: there is no key {arn}"
    if found["KeyState"] != "Enabled":
        return (
            REFUSED,
            f"{parameter}: {arn} is {found['KeyState']}: aws kms enable-key, or cancel-key-deletion, --key-id {found['KeyId']}",
        )
    kind = (found.get("KeySpec", ""), found.get("KeyUsage", ""))
    wanted = ("ECC_NIST_EDWARDS25519", "SIGN_VERIFY") if is_signing else ("SYMMETRIC_DEFAULT", "ENCRYPT_DECRYPT")
    if kind != wanted:
        return REFUSED, f"{parameter}: {arn} is of the kind {' '.join(kind)}, and {' '.join(wanted)} is needed"
    return OK, f"{parameter}: {arn} is enabled"


def _key_policy(planned: Planned, arn: str) -> Iterator[Found]:
    """What the statements of the template's own key let services do, and the policy of a given one does not."""
    policy = json.loads(_ask("kms", "get_key_policy", KeyId=arn, PolicyName="default")["Policy"])
    for statement in planned.template["Resources"]["Key"]["Properties"]["KeyPolicy"]["Statement"]:
        if "Service" not in statement["Principal"] or (
            statement["Sid"] == AUDIT and planned.value("AuditQuarantine") != "yes"
        ):
            continue
        for written in _listed(statement["Principal"]["Service"]):
            pattern = (
                written["Fn::Sub"].replace("${AWS::Region}", planned.identity["region"])
                if isinstance(written, dict)
                else written
            )
            service = pattern.replace("${AWS::URLSuffix}", "amazonaws.com")
            missing = [action for action in statement["Action"] if not _permits(policy, service, action)]
            if missing:
                text = f"its policy does not let {service} use it ({', '.join(missing)})"
                yield (
                    WARNING,
                    f"KmsKey: {text}: copy the statement {statement['Sid']} of the resource Key (docs/deploy.md)",
                )


def _permits(policy: Mapping[str, Any], principal: str, action: str) -> bool:
    """Whether a statement of a policy allows an action, or one that covers it, to a service or to `ANYBODY`.

    Its conditions are not read.
    """
    return any(
        statement.get("Effect") == "Allow"
        and principal in _principals(statement)
        and any(fnmatchcase(action.lower(), allowed.lower()) for allowed in _listed(statement.get("Action", [])))
        for statement in policy.get("Statement", ())
    )


def _principals(statement: Mapping[str, Any]) -> list[str]:
    """The services of a statement, and `ANYBODY` where it is for all."""
    principal = statement.get("Principal", {})
    if not isinstance(principal, dict):
        return _listed(principal)
    return [
        *_listed(principal.get("Service", [])),
        *(who for who in _listed(principal.get("AWS", [])) if who == ANYBODY),
    ]


def _buckets(planned: Planned) -> Iterator[Found]:
    for parameter in ("ExistingLandingBucket", "ExistingLakeBucket", GIVEN_ANCHORS):
        bucket = planned.value(parameter)
        if not bucket:
            continue
        try:
            place = _ask("s3", "get_bucket_location", Bucket=bucket).get("LocationConstraint")
        except NotFound:
            yield REFUSED, f"{parameter}: there is no bucket {bucket}"
            continue
        region = LOCATIONS.get(place, place)
        if region != planned.identity["region"]:
            yield REFUSED, f"{parameter}: {bucket} is in {region}, and the stack in {planned.identity['region']}"
            continue
        yield from _contents(planned, parameter, bucket)


def _contents(planned: Planned, parameter: str, bucket: str) -> Iterator[Found]:
    versioning = _ask("s3", "get_bucket_versioning", Bucket=bucket)
    if versioning.get("Status") != "Enabled":
        command = f"aws s3api put-bucket-versioning --bucket {bucket} --versioning-configuration Status=Enabled"
        yield REFUSED, f"{parameter}: {bucket} is not versioned: {command}"
        return
    yield from ((WARNING, f"{parameter}: {each}") for each in _encryption(planned, bucket))
    if not _refuses_plain_http(bucket):
        statement = f"the statement OnlyTls of the resource {parameter.removeprefix('Existing')}Policy"
        yield WARNING, f"{parameter}: {bucket} takes plain HTTP: add {statement} to its policy"
    if parameter == GIVEN_ANCHORS:
        yield from _anchors(planned, bucket)
        return
    if parameter == "ExistingLakeBucket":
        yield OK, f"{parameter}: {bucket} is versioned, and in this region"
        return
    if versioning.get("MFADelete") == "Enabled" or _is_locked(bucket):
        yield (
            WARNING,
            f"{parameter}: {bucket} refuses deletions (object lock or MFA): judged objects stay there, and DeletionsDenied rings",
        )
    if not _owns_what_lands(bucket):
        owned = "'Rules=[{ObjectOwnership=BucketOwnerEnforced}]'"
        command = f"aws s3api put-bucket-ownership-controls --bucket {bucket} --ownership-controls {owned}"
        text = f"{bucket} has ACLs, so what other accounts upload is theirs and cannot be read: {command}"
        yield WARNING, f"{parameter}: {text}"
    place = f"{bucket}/{planned.value('LandingPrefix')}"
    if planned.value("AdoptExisting") == "yes":
        page = _ask("s3", "list_object_versions", Bucket=bucket, Prefix=planned.value("LandingPrefix"), MaxKeys=PAGE)
        number = f"{len(page.get('Versions', ()))}{' or more' if page.get('IsTruncated') else ''}"
        yield (
            WARNING,
            f"{parameter}: {number} versions in {place} are taken in, and deleted after their verdict (AdoptExisting=yes)",
        )
    if planned.value("Unrouted") == "quarantine":
        yield WARNING, f"{parameter}: what lands in {place} without a route is moved to the lake (Unrouted=quarantine)"
    kept = _ask("s3", "get_bucket_notification_configuration", Bucket=bucket)
    others = sum(len(each) for name, each in kept.items() if name.endswith("Configurations"))
    adds = (
        "sends its events to EventBridge"
        if "EventBridgeConfiguration" in kept
        else "will send its events to EventBridge"
    )
    yield (
        OK,
        f"{parameter}: {bucket} {adds}; {others} other notifications stay; objects from before the stack stay unless adopted",
    )


def _encryption(planned: Planned, bucket: str) -> Iterator[str]:
    try:
        rules = _ask("s3", "get_bucket_encryption", Bucket=bucket)["ServerSideEncryptionConfiguration"]["Rules"]
    except NotFound:
        return
    for rule in rules:
        key = rule.get("ApplyServerSideEncryptionByDefault", {}).get("KMSMasterKeyID", "")
        if key and key not in {planned.value("KmsKey"), *planned.listed("BucketKeys")}:
            yield f"{bucket} is encrypted by {key}, which nobody may use: name its ARN in BucketKeys"


def _anchors(planned: Planned, bucket: str) -> Iterator[Found]:
    """Whether a bucket keeps what is written to it, and lets the function of this stack write."""
    if not _is_locked(bucket):
        yield REFUSED, f"{GIVEN_ANCHORS}: {bucket} has no object lock: name the bucket of anchors of a deleted stack"
        return
    role = f"lakegate/{planned.name}/{planned.name}-AnchorRole-1"
    others = [
        pattern
        for statement in _denials(bucket)
        if "s3:PutObject" in _listed(statement.get("Action", []))
        for operator in ("ArnNotLike", "ArnNotEquals")
        for pattern in _listed(statement.get("Condition", {}).get(operator, {}).get("aws:PrincipalArn", []))
        if not fnmatchcase(role, pattern.partition("role/")[2])
    ]
    if others:
        text = f"the policy of {bucket} lets only {', '.join(others)} write daily anchors: name the stack as the one that made it"
        yield REFUSED, f"{GIVEN_ANCHORS}: {text}"
        return
    yield OK, f"{GIVEN_ANCHORS}: {bucket} is locked, versioned, and in this region"


def _denials(bucket: str) -> list[dict[str, Any]]:
    """What the policy of a bucket denies to everybody."""
    try:
        policy = json.loads(_ask("s3", "get_bucket_policy", Bucket=bucket)["Policy"])
    except NotFound:
        return []
    return [
        statement
        for statement in policy.get("Statement", ())
        if statement.get("Effect") == "Deny" and statement.get("Principal") in ("*", {"AWS": "*"})
    ]


def _refuses_plain_http(bucket: str) -> bool:
    """Whether a statement of the bucket's policy denies everything to everybody without TLS."""
    return any(
        "s3:*" in _listed(statement.get("Action", []))
        and str(statement.get("Condition", {}).get("Bool", {}).get("aws:SecureTransport", "")).lower() == "false"
        for statement in _denials(bucket)
    )


def _owns_what_lands(bucket: str) -> bool:
    """Whether every object belongs to the owner of the bucket: without a setting it belongs to who uploaded it."""
    try:
        rules = _ask("s3", "get_bucket_ownership_controls", Bucket=bucket)["OwnershipControls"]["Rules"]
    except NotFound:
        return False
    return {rule["ObjectOwnership"] for rule in rules} == {"BucketOwnerEnforced"}


def _is_locked(bucket: str) -> bool:
    try:
        found = _ask("s3", "get_object_lock_configuration", Bucket=bucket)
    except NotFound:
        return False
    return "Rule" in found.get("ObjectLockConfiguration", {})


def _tables(planned: Planned) -> Iterator[Found]:
    for resource in ("RegistryTable", "WorkloadsTable", "LedgerTable"):
        parameter = f"Existing{resource}"
        table = planned.value(parameter)
        if not table:
            continue
        try:
            found = _ask("dynamodb", "describe_table", TableName=table)["Table"]
        except NotFound:
            yield REFUSED, f"{parameter}: there is no table {table}: restore it (docs/restore.md)"
            continue
        wanted = planned.template["Resources"][resource]["Properties"]
        if _keys_of(found) != _keys_of(wanted):
            yield (
                REFUSED,
                f"{parameter}: {table} has other keys or indexes than {resource} of the template: it is another table",
            )
        elif found["TableStatus"] != "ACTIVE":
            yield REFUSED, f"{parameter}: {table} is {found['TableStatus']}: wait until it is ACTIVE"
        else:
            yield OK, f"{parameter}: {table} has the keys of {resource}"


def _keys_of(table: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a table and its indexes, as CreateTable and CloudFormation have them."""
    indexes = {each["IndexName"]: each["KeySchema"] for each in table.get("GlobalSecondaryIndexes", ())}
    kinds = {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]}
    return {"key": table["KeySchema"], "indexes": indexes, "kinds": kinds}


def _topic(planned: Planned) -> Iterator[Found]:
    topic = planned.value("AlarmTopic")
    if not topic:
        return
    try:
        attributes = _ask("sns", "get_topic_attributes", TopicArn=topic)["Attributes"]
    except NotFound:
        yield REFUSED, f"AlarmTopic: there is no topic {topic}"
        return
    policy = json.loads(attributes.get("Policy") or "{}")
    # anybody of the account, as by default, is CloudWatch alone
    of_anybody = PUBLISHERS[:1] if _permits(policy, ANYBODY, PUBLISH) else ()
    silent = [name for name in PUBLISHERS if name not in of_anybody and not _permits(policy, name, PUBLISH)]
    if silent:
        text = f"its policy does not let {' and '.join(silent)} publish, so alarms are silent"
        yield WARNING, f"AlarmTopic: {text}: add the statements of the resource AlarmsPolicy"
    elif attributes.get("KmsMasterKeyId", "").endswith("alias/aws/sns"):
        yield WARNING, "AlarmTopic: CloudWatch and EventBridge cannot use its key alias/aws/sns, so alarms are silent"
    else:
        yield OK, f"AlarmTopic: {topic} takes alarms and failed deliveries"


def _listed(value: Any) -> list[Any]:  # noqa: ANN401 - a part of a policy
    """A member of a policy that may be one value or a list of them."""
    return value if isinstance(value, list) else [value]


MOST_TRAILS: Final = 5
"""Of a region, with those of all regions; no quota that can be raised (CloudTrail user guide, Quotas)."""


def _trails(planned: Planned) -> Iterator[Found]:
    if planned.value("AuditQuarantine") != "yes" or (planned.values.before or {}).get("AuditQuarantine") == "yes":
        return
    number = len(_ask("cloudtrail", "describe_trails")["trailList"])
    if number < MOST_TRAILS:
        yield OK, f"{number} of {MOST_TRAILS} trails in the region"
        return
    text = (
        f"the region has {number} trails, and CloudTrail allows {MOST_TRAILS}: delete one, or leave AuditQuarantine out"
    )
    yield REFUSED, text


CHECKS: Final[Mapping[str, Callable[[Planned], Iterator[Found]]]] = {
    "caller": _identity,
    "name": _name,
    "state": _state,
    "parameters": _parameters,
    "emr quotas": _emr_quotas,
    "lambda quotas": _lambda,
    "emr release": _release_label,
    "network": _network,
    "keys": _keys,
    "buckets": _buckets,
    "tables": _tables,
    "alarm topic": _topic,
    "audit trail": _trails,
}
"""In the order in which they are printed."""
