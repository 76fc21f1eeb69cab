"""The Lambda behind the HTTP API."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.metrics import MetricUnit

from lakegate.aws.lambda_runtime import (
    INVOCATION,
    HandlerError,
    VerifiedCaller,
    dependencies,
    fingerprint,
    log_failures,
    logger,
    metrics,
    sanitize_errors,
)
from lakegate.base.errors import InputError, Throttled, TransactionConflict, Unanswered
from lakegate.features.http_api.api_routes import endpoint_of
from lakegate.features.http_api.idempotency_keys import known_again
from lakegate.library.http_messages import GatewayEvent, HttpProblem, HttpRequest, HttpResponse, with_contract

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


LOG, METRICS = logger("api"), metrics("api")


@LOG.inject_lambda_context(clear_state=True)
@METRICS.log_metrics
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one request; a refusal is a response, too, and no response has the text of an unexpected error."""
    INVOCATION.set(context)
    received = GatewayEvent(event)
    LOG.append_keys(request=received.id, route=event["routeKey"])
    METRICS.add_metric("Requests", MetricUnit.Count, 1)
    response = _response(received)
    LOG.info("answered", extra={"status": response.status})
    return response.for_gateway(received.id)


def _response(received: GatewayEvent) -> HttpResponse:
    try:
        request = received.request()
        LOG.append_keys(caller=fingerprint(request.caller))
        response: HttpResponse = sanitize_errors(lambda: _tried(request), LOG, METRICS)
    except HttpProblem as problem:
        return problem.response(received.id)
    except HandlerError:
        detail = "The request failed for a reason that is not the caller's; the log has it under this request's id."
        return HttpProblem(500, "internal", detail).response(received.id)
    return response


def _tried(request: HttpRequest) -> HttpResponse:
    """The response of the route. A refusal by the use case, and a busy service, are responses and no defects."""
    own = replace(dependencies(), identity=VerifiedCaller(request.caller))
    try:
        endpoint = endpoint_of(request)
        return endpoint.respond(own, known_again(own, with_contract(own, request)))
    except HttpProblem as problem:
        return problem.response(request.id)
    except InputError as refused:
        return HttpProblem(400, "refused", f"{refused}.").response(request.id)
    except (Throttled, TransactionConflict, Unanswered):
        detail = "A service does not answer, or is asked too much at once: repeat the request."
        return HttpProblem(503, "unavailable", detail).response(request.id)
    finally:
        log_failures("StepFailures", own.taken_out(), LOG, METRICS)
