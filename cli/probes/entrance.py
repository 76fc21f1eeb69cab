"""The way to the stack: credentials, region, clock, and the stack itself."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from lakegate.cli.aws import find_stack
from lakegate.cli.probes.causes import CAUSES
from lakegate.cli.probes.reading import DENIED, code_of
from lakegate.contracts.errors import SetUpError
from lakegate.functions.adapters.clients import session
from lakegate.functions.ports.errors import PortError, Unanswered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.cli.aws import DeployedStack
    from lakegate.cli.probes.causes import CauseFinding
    from lakegate.cli.probes.examination import ExaminedStack
    from lakegate.cli.probes.reading import StackReader

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
        return _refused(ask, error)
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


def _refused(ask: StackReader, error: PortError) -> CauseFinding:
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
    regions = [each for each in aws.get_available_regions("cloudformation", partition) if each != region]
    found: list[str] = []

    def look(other: str) -> None:
        try:
            if find_stack(name, lambda *what, **request: ask.in_region(other, *what, **request)):
                found.append(other)
        except PortError:  # a region that the account has not enabled
            return

    threads = [threading.Thread(target=look, args=(each,), daemon=True) for each in regions]
    for each in threads:
        each.start()
    end = ask.now().timestamp() + OTHER_REGIONS_SECONDS
    for each in threads:
        each.join(max(end - ask.now().timestamp(), 0))
    return sorted(found)
