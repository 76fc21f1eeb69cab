"""A resource that delivers the file of an asset, and an asset check whose result is the verdict of the gate.

Dagster reads the types of contexts as they are: annotations are not postponed here.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from dagster import (
    AssetCheckExecutionContext,
    AssetCheckResult,
    AssetChecksDefinition,
    AssetExecutionContext,
    AssetKey,
    ConfigurableResource,
    Failure,
    MaterializeResult,
    asset_check,
)
from lakegate_client.http_client import FINAL, Client, LakegateApiError, words

WORKLOAD = "lakegate_workload"
"""The member of the metadata of a materialization that names its delivery."""
SIX_HOURS = timedelta(hours=6)


class LakegateResource(ConfigurableResource):
    """The HTTP API of a stack. Without a token, requests are signed by IAM."""

    url: str
    token: str = ""

    def client(self) -> Client:
        """A client of the API. Raises LakegateApiError for an address that is not of HTTPS."""
        return Client(self.url, self.token)

    def deliver(
        self,
        context: AssetExecutionContext,
        contract: str,
        file: Path,
        dataset: str = "",
        summary: Mapping[str, Any] | None = None,
    ) -> MaterializeResult:
        """Deliver a file; what the asset returns. It is not waited for: `verdict_check` does, before what is downstream.

        A retry of the run, with the same content of the file, is the same delivery. Raises Failure.
        """
        parts = context.asset_key.path, context.partition_key if context.has_partition_key else "", _first_run(context)
        known: dict[str, Any] = {"dataset": dataset} if dataset else {}
        if summary is not None:
            known["summary"] = summary
        with _refusals():
            found = self.client().deliver(contract, file, known, "\n".join(map(str, parts)))
        context.log.info("%s was sent: workload %s", file, found["workloadId"])
        return MaterializeResult(metadata={WORKLOAD: str(found["workloadId"])})


def verdict_check(  # noqa: PLR0913 - a check has its options
    *,
    asset: str | AssetKey,
    contract: str,
    dataset: str,
    name: str = "lakegate_verdict",
    blocking: bool = True,
    poll_interval: float = 15,
    timeout: timedelta = SIX_HOURS,
) -> AssetChecksDefinition:
    """A check that passes where the gate has accepted the data of an asset; it waits for a verdict that is not there yet.

    The delivery is the one of the latest materialization (`LakegateResource.deliver`). Of an asset that others deliver, it is
    the latest one of the dataset (`shop/orders_v1`) with a verdict. It needs a LakegateResource as the resource `lakegate`.
    `blocking`: what is downstream is not materialized by a run where it fails.
    """
    key = AssetKey([asset]) if isinstance(asset, str) else asset

    @asset_check(asset=key, name=name, blocking=blocking, description=f"Accepted by the gate as {dataset}")  # type: ignore[untyped-decorator] # of Dagster
    def verdict(context: AssetCheckExecutionContext, lakegate: LakegateResource) -> AssetCheckResult:
        workload = _workload(context, key)
        with _refusals():
            client = lakegate.client()
            if workload:
                found: dict[str, Any] | None = client.finished(workload, contract, poll_interval, timeout)
            else:
                found = client.newest(contract, dataset)
        if found is None:
            return AssetCheckResult(passed=False, description=f"no delivery to {dataset} has a verdict")
        version = found["dataContractVersion"] or ""
        return AssetCheckResult(
            passed=found["status"] == "Accepted",
            description=words(found),
            metadata={WORKLOAD: str(found["workloadId"]), "lakegate_contract_version": version},
        )

    return verdict


def _first_run(context: AssetExecutionContext) -> str:
    """The run, or the first of those that retry it."""
    return str(context.run.root_run_id or context.run.run_id)


def _workload(context: AssetCheckExecutionContext, key: AssetKey) -> str:
    """The delivery that the latest materialization of an asset names; empty where it names none."""
    event = context.instance.get_latest_materialization_event(key)
    materialization = event.asset_materialization if event is not None else None
    named = materialization.metadata.get(WORKLOAD) if materialization is not None else None
    return "" if named is None else str(named.value)


@contextmanager
def _refusals() -> Iterator[None]:
    """Refusals of the API as failures of the step, for good where retries change nothing."""
    try:
        yield
    except LakegateApiError as error:
        raise Failure(str(error), allow_retries=error.status not in FINAL) from error
