"""Where moto is kinder than AWS: each row is what AWS does seldom, or late, and what this process does always, or at once.

The doubles in memory have the same: pages of few rows (`tests.fakes.table`), an index that lags, every call refused once
(`tests.fakes.fault_injector`). The embedded AWS of the local stack refuses the same reads (`infra.local.aws.strictness`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from botocore.client import BaseClient

from infra.local.aws.strictness import REFUSAL, may_miss_writes
from tests.fakes.objects import PAGE

MOST_REPEATED: Final = 20
"""Requests for one page, one after the other."""
MARKERS: Final = frozenset({"KeyMarker", "VersionIdMarker", "ContinuationToken", "StartAfter", "PartNumberMarker"})


class KinderThanAws(BaseException):
    """The code under test relies on what AWS does not promise; no handler of errors takes it for one of AWS."""


def _read_consistently(operation: str, parameters: dict[str, Any], _before: dict[str, Any]) -> None:
    """Reads lag unless ConsistentRead is asked."""
    if may_miss_writes(operation, parameters):
        raise KinderThanAws(f"{operation}: {REFUSAL}")


def _in_pages(operation: str, parameters: dict[str, Any], before: dict[str, Any]) -> None:
    """A listing ends somewhere, and goes on by all markers that its last page gave: without one, S3 passes versions over."""
    size = "MaxParts" if operation == "ListParts" else "MaxKeys"
    parameters[size] = min(parameters.get(size, PAGE), PAGE)
    goes_on = {name: parameters[name] for name in MARKERS & parameters.keys()}
    last, times = before.get(operation, ({}, 0))
    before[operation] = parameters, times + 1 if parameters == last else 1
    if goes_on and before[operation][1] > MOST_REPEATED:
        raise KinderThanAws(f"{operation}: the same page is asked for again and again ({goes_on})")


STRICTNESS: Final[tuple[tuple[str, str, Callable[[str, dict[str, Any], dict[str, Any]], None]], ...]] = (
    *(("dynamodb", operation, _read_consistently) for operation in ("GetItem", "BatchGetItem", "Query", "Scan")),
    *(("s3", operation, _in_pages) for operation in ("ListObjectVersions", "ListObjectsV2", "ListParts")),
)
"""Service, operation, and what is asked of each call of it, or changed in it."""


@contextmanager
def strict_calls() -> Iterator[None]:
    """Every client of this process is asked so much."""
    rules = {(service, operation): rule for service, operation, rule in STRICTNESS}
    before: dict[str, Any] = {}
    call: Callable[..., Any] = vars(BaseClient)["_make_api_call"]

    def strict(client: BaseClient, operation: str, parameters: dict[str, Any]) -> Any:
        rule = rules.get((client.meta.service_model.service_name, operation))
        asked = dict(parameters)
        if rule is not None:
            rule(operation, asked, before)
        return call(client, operation, asked)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(BaseClient, "_make_api_call", strict)
        yield
