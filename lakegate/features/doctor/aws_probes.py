"""Credentials, clock, stack; EMR application, quota, network; buckets, tables, keys."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any, Final

from lakegate.aws.clients import session
from lakegate.aws.dynamodb_table import INDEX
from lakegate.aws.open_stack import DeployedStack, find_stack
from lakegate.aws.vpc_endpoints import OF_THE_JOB, endpoints_of
from lakegate.base.errors import NotFound, PortError, SetUpError, Unanswered
from lakegate.features.doctor.examination import CAUSES, DENIED, CauseFinding, ExaminedStack, StackReader, code_of
from lakegate.features.doctor.function_probes import FUNCTIONS

# ---- Credentials, region, clock and stack ----


LARGEST_SKEW: Final = 240.0
"""Seconds. AWS refuses requests whose time differs by more than five minutes (Signature Version 4), S3 after fifteen."""
OTHER_REGIONS_SECONDS: Final = 3.0

BY_CODE: Final = {
    "NoCredentialsError": "credentials-missing",
    "PartialCredentialsError": "credentials-missing",
    "ProfileNotFound": "credentials-missing",
    "ExpiredToken": "credentials-expired",
    "ExpiredTokenException": "credentials-expired",
    "TokenRetrievalError": "credentials-expired",
    "SSOTokenLoadError": "credentials-expired",
    "UnauthorizedSSOTokenError": "credentials-expired",
    "CredentialRetrievalError": "credentials-expired",
    "InvalidClientTokenId": "credentials-unknown",
    "UnrecognizedClientException": "credentials-unknown",
    "InvalidAccessKeyId": "credentials-unknown",
    "NoRegionError": "region-missing",
}

GOOD: Final = frozenset(
    {"CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "IMPORT_COMPLETE"}
)


def enter(ask: StackReader, name: str) -> DeployedStack | CauseFinding:
    """The stack, or why it cannot be reached. Raises SetUpError where these credentials may not describe it."""
    try:
        stack = find_stack(name, ask)
    except PortError as error:
        return _explain_refusal(ask, error)
    if stack is not None:
        return stack
    region = region_of()
    elsewhere = _elsewhere(ask, name, region)
    if elsewhere:
        return CAUSES["wrong-region"].found(stack=name, region=region, regions=" or ".join(elsewhere))
    return CAUSES["stack-missing"].found(stack=name, region=region)


def region_of() -> str:
    """The region of this process; empty where none is set."""
    return session().get_config_variable("region") or ""


def stack_state(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """Whether the last deployment ended well."""
    name = examined.stack.name
    state = examined.ask("cloudformation", "describe_stacks", StackName=name)["Stacks"][0]["StackStatus"]
    if state not in GOOD:
        yield CAUSES["stack-unfinished"].found(stack=name, state=state)


def clock(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """Whether this machine's clock is that of AWS."""
    examined.ask("cloudformation", "describe_stacks", StackName=examined.stack.name)
    yield from _skew(examined.ask)


def _skew(ask: StackReader) -> Iterator[CauseFinding]:
    if abs(ask.skew) > LARGEST_SKEW:
        yield CAUSES["clock-skew"].found(seconds=round(ask.skew))


def _explain_refusal(ask: StackReader, error: PortError) -> CauseFinding:
    for finding in _skew(ask):
        return finding
    code = code_of(error)
    if code in BY_CODE:
        return CAUSES[BY_CODE[code]].found()
    if isinstance(error, Unanswered):
        return CAUSES["network"].found()
    if code in DENIED:
        raise SetUpError(
            "these credentials may not call cloudformation:DescribeStacks: attach DoctorPolicy (docs/doctor.md)"
        )
    raise error


def _elsewhere(ask: StackReader, name: str, region: str) -> list[str]:
    """Regions that have a stack of this name; one that does not answer in time counts as none."""
    aws = session()
    partition = aws.get_partition_for_region(region)
    regions = [item for item in aws.get_available_regions("cloudformation", partition) if item != region]
    others: list[str] = []

    def look(other: str) -> None:
        try:
            if find_stack(name, lambda *what, **request: ask.in_region(other, *what, **request)):
                others.append(other)
        except PortError:  # a region that the account has not enabled
            return

    threads = [threading.Thread(target=look, args=(item,), daemon=True) for item in regions]
    for thread in threads:
        thread.start()
    end = ask.now().timestamp() + OTHER_REGIONS_SECONDS
    for entry in threads:
        entry.join(max(end - ask.now().timestamp(), 0))
    return sorted(others)


# ---- Application, code, quota and network ----


RELEASE: Final = "emr-7.14.0"
STARTED: Final = frozenset({"STARTED", "STARTING", "CREATING"})
CORES: Final = re.compile(r"--conf spark\.(driver|executor)\.cores=(\d+)")
QUOTA: Final = "Max concurrent vCPUs per account"
ADDRESS: Final = re.compile(r"s3://([^/\s,#]+)/([^\s,#]+)")


def application(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """The application is there, has the right release, and starts with a run that fits into it."""
    identity = examined.settings().application
    try:
        found = _read_application(examined)
    except NotFound:
        yield CAUSES["application-missing"].found(application=identity)
        return
    except Unanswered as error:
        yield CAUSES["application-silent"].found(application=identity, why=error)
        return
    state, starts = found["state"], found.get("autoStartConfiguration", {}).get("enabled", True)
    if state == "TERMINATED" or (state not in STARTED and not starts):
        yield CAUSES["application-unusable"].found(application=identity, state=state)
    if found["releaseLabel"] != RELEASE:
        yield CAUSES["release-other"].found(application=identity, release=found["releaseLabel"], wanted=RELEASE)
    capacity, needed = found.get("maximumCapacity", {}).get("cpu", ""), _count_needed(examined)
    limit = re.match(r"\d+", capacity)
    if limit and int(limit[0]) < needed:
        yield CAUSES["capacity-small"].found(application=identity, capacity=capacity, needed=needed)


def quota(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """The account's quota lets one run start."""
    if examined.embedded:  # it has no quotas
        return
    needed = _count_needed(examined)
    quotas: dict[str, float] = {}
    # the second lists only what was applied to the account
    for operation in ("list_aws_default_service_quotas", "list_service_quotas"):
        found = examined.ask("service-quotas", operation, ServiceCode="emr-serverless")["Quotas"]
        quotas |= {entry["QuotaName"]: entry["Value"] for entry in found}
    if quotas.get(QUOTA, needed) < needed:
        yield CAUSES["quota-small"].found(quota=round(quotas[QUOTA]), needed=needed)


def code(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """Everything that a run starts with is where the settings name it."""
    settings = examined.settings()
    for bucket, key in dict.fromkeys(ADDRESS.findall(f"{settings.entry_point} {settings.job_parameters}")):
        try:
            examined.ask("s3", "head_object", Bucket=bucket, Key=key)
        except NotFound:
            yield CAUSES["code-missing"].found(place=f"s3://{bucket}/{key}", bucket=bucket)


def network(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """Whatever runs in a VPC reaches the services that it calls."""
    for part in FUNCTIONS:
        found = examined.ask("lambda", "get_function_configuration", FunctionName=examined.name(part))
        subnets = found.get("VpcConfig", {}).get("SubnetIds", [])
        yield from _reaches(examined, examined.name(part), subnets, _list_services(examined, part) if subnets else ())
    subnets = _read_application(examined).get("networkConfiguration", {}).get("subnetIds", [])
    yield from _reaches(examined, "the job", subnets, OF_THE_JOB)


def _list_services(examined: ExaminedStack, part: str) -> tuple[str, ...]:
    """The services that a function calls, some by the settings of the stack."""
    settings = examined.settings()
    wanted = endpoints_of({"SigningKey": settings.signing_key, "SmallFileBytes": settings.judge})
    return tuple(endpoint.service for endpoint in wanted if not endpoint.is_optional and endpoint.caller in {"", part})


def _reaches(
    examined: ExaminedStack, who: str, subnets: list[str], services: tuple[str, ...]
) -> Iterator[CauseFinding]:
    if not subnets:
        return
    vpc = examined.ask("ec2", "describe_subnets", SubnetIds=sorted(subnets))["Subnets"][0]["VpcId"]
    here = [{"Name": "vpc-id", "Values": [vpc]}]
    tables = examined.ask("ec2", "describe_route_tables", Filters=here)["RouteTables"]
    own = [table for table in tables if any(link.get("SubnetId") in subnets for link in table["Associations"])]
    # a subnet without a table of its own uses the main table of its VPC
    own = own or [table for table in tables if any(link.get("Main") for link in table["Associations"])]
    if any(_leads_out(route) for table in own for route in table["Routes"]):
        return
    endpoints = examined.ask("ec2", "describe_vpc_endpoints", Filters=here)["VpcEndpoints"]
    present = {
        endpoint["ServiceName"].rpartition(".")[2]
        for endpoint in endpoints
        if endpoint.get("State", "").lower() == "available"
    }
    absent = [service for service in services if service not in present]
    if absent:
        yield CAUSES["endpoint-missing"].found(who=who, vpc=vpc, services=", ".join(absent))


def _leads_out(route: dict[str, Any]) -> bool:
    """A function in a VPC has no public address: only a NAT gateway or a transit gateway leads out (AWS Lambda)."""
    default = route.get("DestinationCidrBlock") == "0.0.0.0/0" and route.get("State", "active") == "active"
    return default and bool(route.keys() & {"NatGatewayId", "TransitGatewayId", "NetworkInterfaceId", "InstanceId"})


def _read_application(examined: ExaminedStack) -> dict[str, Any]:
    response = examined.ask("emr-serverless", "get_application", applicationId=examined.settings().application)
    found: dict[str, Any] = response["application"]
    return found


def _count_needed(examined: ExaminedStack) -> int:
    """The smallest run, in vCPU: one driver and one executor (4 each is EMR Serverless's own default)."""
    cores = {"driver": 4, "executor": 4} | {
        who: int(count) for who, count in CORES.findall(examined.settings().job_parameters)
    }
    return sum(cores.values())


# ---- Buckets, tables and keys ----


BUCKETS: Final = ("LandingBucket", "LakeBucket")
TABLES: Final = ("RegistryTable", "WorkloadsTable", "LedgerTable")
USABLE: Final = frozenset({"ACTIVE", "UPDATING"})


def buckets(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """Both buckets are there, belong to this account, and are versioned."""
    for part in BUCKETS:
        bucket = examined.stack.output(part)
        try:
            versioning = examined.ask(
                "s3", "get_bucket_versioning", Bucket=bucket, ExpectedBucketOwner=examined.stack.account
            )
        except PortError as error:
            if not isinstance(error, NotFound) and code_of(error) != "NoSuchBucket":
                raise
            yield CAUSES["bucket-missing"].found(bucket=bucket)
            continue
        if versioning.get("Status") != "Enabled":
            yield CAUSES["versioning-off"].found(bucket=bucket)


def tables(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """All tables can be used, and the index of open workloads too."""
    for part in TABLES:
        name = examined.stack.output(part)
        try:
            table = examined.ask("dynamodb", "describe_table", TableName=name)["Table"]
        except NotFound:
            yield CAUSES["table-missing"].found(table=name)
            continue
        if table["TableStatus"] not in USABLE:
            yield CAUSES["table-unusable"].found(table=name, state=table["TableStatus"])
        if part == "WorkloadsTable" and not _has_index(table):
            yield CAUSES["index-missing"].found(table=name, stack=examined.stack.name)
        if not table.get("DeletionProtectionEnabled") and not examined.embedded:  # there `down` deletes all
            yield CAUSES["table-unprotected"].found(table=name, stack=examined.stack.name)


def recovery(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """Every table can be restored to a point in time."""
    for part in () if examined.embedded else TABLES:  # it has no such recovery
        name = examined.stack.output(part)
        response = examined.ask("dynamodb", "describe_continuous_backups", TableName=name)
        described = response["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription", {})
        if described.get("PointInTimeRecoveryStatus") != "ENABLED":
            yield CAUSES["recovery-off"].found(table=name)


def keys(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """The KMS keys of buckets and tables can be used, and the one that signs the ledger."""
    for of, key in _keys_of_buckets(examined):
        if (state := _state(examined, key)) != "Enabled":
            yield CAUSES["key-unusable"].found(key=key, of=of, state=state)
    signing = examined.settings().signing_key
    if signing and (state := _state(examined, signing)) != "Enabled":
        yield CAUSES["signing-key-unusable"].found(key=signing, state=state)


def _state(examined: ExaminedStack, key: str) -> str:
    try:
        return str(examined.ask("kms", "describe_key", KeyId=key)["KeyMetadata"]["KeyState"])
    except PortError as error:
        if code_of(error) != "NotFoundException":
            raise
        return "NotFound"


def _keys_of_buckets(examined: ExaminedStack) -> Iterator[tuple[str, str]]:
    for part in BUCKETS:
        bucket = examined.stack.output(part)
        response = examined.ask("s3", "get_bucket_encryption", Bucket=bucket)
        for rule in response["ServerSideEncryptionConfiguration"]["Rules"]:
            key = rule.get("ApplyServerSideEncryptionByDefault", {}).get("KMSMasterKeyID")
            if key:
                yield bucket, key
    for part in TABLES:
        name = examined.stack.output(part)
        table = examined.ask("dynamodb", "describe_table", TableName=name)["Table"]
        key = table.get("SSEDescription", {}).get("KMSMasterKeyArn")
        if key:
            yield name, key


def _has_index(table: dict[str, Any]) -> bool:
    # the embedded AWS states no status, AWS always does
    indexes = {
        index["IndexName"]: index.get("IndexStatus", "ACTIVE") for index in table.get("GlobalSecondaryIndexes", ())
    }
    return indexes.get(INDEX) in USABLE
