"""What every entry point of the data plane does around an attempt: read its request, write its result once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.errors import InputError
from lakegate.contracts.plan.plan import Plan
from lakegate.contracts.plan.request import Request
from lakegate.spark_jobs.store import store_for

if TYPE_CHECKING:
    from lakegate.contracts.plan.result import Result


def asked(request_uri: str) -> tuple[Request, Plan]:
    """The request at an address and the plan that it names. InputError where the plan is another one."""
    request = Request.from_bytes(_read(request_uri))
    plan = Plan.from_bytes(_read(request.plan_uri))
    if plan.digest != request.plan_digest:
        raise InputError("the plan is not the one the request names: its digest differs")
    return request, plan


def result_uri(request: Request) -> str:
    """The address of the result."""
    return f"{request.output_uri}/result.json"


def write(request: Request, result: Result) -> None:
    """Write the result. InputError where the attempt was answered before."""
    store_for(request.output_uri).write_new(result_uri(request), result.to_bytes())


def _read(uri: str) -> bytes:
    try:
        return store_for(uri).read(uri)
    except OSError as error:
        raise InputError(f"the document at {uri!r} cannot be read ({error.strerror})") from error
