"""What every entry point of the data plane does around an attempt: read its request, write its result once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.errors import InputError
from lakegate.contracts.plan.plan import Plan
from lakegate.contracts.plan.request import Request
from lakegate.spark_jobs.store import store_for

if TYPE_CHECKING:
    from lakegate.contracts.plan.result import Result


def asked(request_uri: str, plans: dict[str, Plan] | None = None) -> tuple[Request, Plan]:
    """The request at an address and the plan that it names. InputError where the plan is another one.

    `plans`: those read before, by their digests; this one is added.
    """
    request, known = Request.from_bytes(read(request_uri)), {} if plans is None else plans
    if request.plan_digest not in known:
        plan = Plan.from_bytes(read(request.plan_uri))
        if plan.digest != request.plan_digest:
            raise InputError("the plan is not the one the request names: its digest differs")
        known[plan.digest] = plan
    return request, known[request.plan_digest]


def result_uri(request: Request) -> str:
    """The address of the result."""
    return f"{request.output_uri}/result.json"


def write(request: Request, result: Result) -> None:
    """Write the result. InputError where the attempt was answered before."""
    store_for(request.output_uri).write_new(result_uri(request), result.to_bytes())


def is_answered(request: Request) -> bool:
    """Whether the attempt has a result."""
    try:
        store_for(request.output_uri).size(result_uri(request))
    except FileNotFoundError:
        return False
    return True


def read(uri: str) -> bytes:
    """A document. InputError where it cannot be read."""
    try:
        return store_for(uri).read(uri)
    except OSError as error:
        raise InputError(f"the document at {uri!r} cannot be read ({error.strerror})") from error
