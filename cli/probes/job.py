"""What the job runs on: its application, its code, the quota, and the network."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from lakegate.cli.probes.causes import CAUSES
from lakegate.cli.probes.compute import FUNCTIONS
from lakegate.functions.ports.errors import NotFound, Unanswered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.cli.probes.causes import CauseFinding
    from lakegate.cli.probes.examination import ExaminedStack

RELEASE: Final = "emr-7.14.0"
STARTED: Final = frozenset({"STARTED", "STARTING", "CREATING"})
CORES: Final = re.compile(r"--conf spark\.(driver|executor)\.cores=(\d+)")
QUOTA: Final = "Max concurrent vCPUs per account"
ADDRESS: Final = re.compile(r"s3://([^/\s,#]+)/([^\s,#]+)")
FUNCTIONS_CALL: Final = ("dynamodb", "emr-serverless", "events", "s3")
JOB_CALLS: Final = ("s3",)


def application(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """The application is there, has the right release, and starts with a run that fits into it."""
    identity = examined.settings().application
    try:
        found = _application(examined)
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
    capacity, needed = found.get("maximumCapacity", {}).get("cpu", ""), _needed(examined)
    limit = re.match(r"\d+", capacity)
    if limit and int(limit[0]) < needed:
        yield CAUSES["capacity-small"].found(application=identity, capacity=capacity, needed=needed)


def quota(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """The account's quota lets one run start."""
    if examined.embedded:  # it has no quotas
        return
    needed = _needed(examined)
    found = examined.ask("service-quotas", "list_service_quotas", ServiceCode="emr-serverless")["Quotas"]
    for each in found:
        if each["QuotaName"] == QUOTA and each["Value"] < needed:
            yield CAUSES["quota-small"].found(quota=round(each["Value"]), needed=needed)


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
        signs = ("kms",) if subnets and examined.settings().signing_key else ()
        yield from _reaches(examined, examined.name(part), subnets, (*FUNCTIONS_CALL, *signs))
    subnets = _application(examined).get("networkConfiguration", {}).get("subnetIds", [])
    yield from _reaches(examined, "the job", subnets, JOB_CALLS)


def _reaches(
    examined: ExaminedStack, who: str, subnets: list[str], services: tuple[str, ...]
) -> Iterator[CauseFinding]:
    if not subnets:
        return
    vpc = examined.ask("ec2", "describe_subnets", SubnetIds=sorted(subnets))["Subnets"][0]["VpcId"]
    here = [{"Name": "vpc-id", "Values": [vpc]}]
    tables = examined.ask("ec2", "describe_route_tables", Filters=here)["RouteTables"]
    if any(_leads_out(route) for table in _of_subnets(tables, subnets) for route in table["Routes"]):
        return
    endpoints = examined.ask("ec2", "describe_vpc_endpoints", Filters=here)["VpcEndpoints"]
    present = {
        each["ServiceName"].rpartition(".")[2] for each in endpoints if each.get("State", "").lower() == "available"
    }
    absent = [each for each in services if each not in present]
    if absent:
        yield CAUSES["endpoint-missing"].found(who=who, vpc=vpc, services=", ".join(absent))


def _of_subnets(tables: list[dict[str, Any]], subnets: list[str]) -> list[dict[str, Any]]:
    """The route tables of subnets; a subnet without one of its own uses the main table of its VPC."""
    own = [table for table in tables if any(each.get("SubnetId") in subnets for each in table["Associations"])]
    return own or [table for table in tables if any(each.get("Main") for each in table["Associations"])]


def _leads_out(route: dict[str, Any]) -> bool:
    """A function in a VPC has no public address: only a NAT gateway or a transit gateway leads out (AWS Lambda)."""
    default = route.get("DestinationCidrBlock") == "0.0.0.0/0" and route.get("State", "active") == "active"
    return default and bool(route.keys() & {"NatGatewayId", "TransitGatewayId", "NetworkInterfaceId", "InstanceId"})


def _application(examined: ExaminedStack) -> dict[str, Any]:
    answer = examined.ask("emr-serverless", "get_application", applicationId=examined.settings().application)
    found: dict[str, Any] = answer["application"]
    return found


def _needed(examined: ExaminedStack) -> int:
    """The smallest run, in vCPU: one driver and one executor (4 each is EMR Serverless's own default)."""
    cores = {"driver": 4, "executor": 4} | {
        who: int(count) for who, count in CORES.findall(examined.settings().job_parameters)
    }
    return sum(cores.values())
