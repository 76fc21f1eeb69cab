"""An operator that delivers a file, and a sensor for accepted data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn

from airflow.sdk import BaseOperator, BaseSensorOperator, PokeReturnValue
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from lakegate_client.http_client import FINAL, FINISHED, LakegateApiError, words

from lakegate_airflow.lakegate_hook import LakegateHook
from lakegate_airflow.lakegate_triggers import AcceptedTrigger, VerdictTrigger


class LakegateDeliverOperator(BaseOperator):
    """Deliver a file and wait for its verdict; the result is the workload, as the API has it.

    A rejected file fails the task at once, without retries: its data would be rejected again. A retry after a lost worker or
    connection goes on with the same delivery.
    """

    template_fields: Sequence[str] = ("file", "contract", "dataset", "summary")

    def __init__(  # noqa: PLR0913 - an operator has its options
        self,
        *,
        file: str,
        contract: str,
        dataset: str = "",
        summary: Mapping[str, Any] | None = None,
        lakegate_conn_id: str = LakegateHook.default_conn_name,
        wait: bool = True,
        deferrable: bool = True,
        poll_interval: float = 15,
        verdict_timeout: timedelta = timedelta(hours=6),
        **kwargs: Any,  # noqa: ANN401 - of Airflow
    ) -> None:
        super().__init__(**kwargs)
        self.file = file
        self.contract = contract
        self.dataset = dataset
        self.summary = summary
        self.lakegate_conn_id = lakegate_conn_id
        self.wait = wait
        self.deferrable = deferrable
        self.poll_interval = poll_interval
        self.verdict_timeout = verdict_timeout

    def execute(self, context: Mapping[str, Any]) -> dict[str, Any]:
        """Deliver the file; the workload, finished where it is waited for."""
        instance = context["ti"]
        key = "\n".join(
            map(str, (instance.dag_id, instance.run_id, instance.task_id, getattr(instance, "map_index", -1)))
        )
        known: dict[str, Any] = {"dataset": self.dataset} if self.dataset else {}
        if self.summary is not None:
            known["summary"] = self.summary
        try:
            client = LakegateHook(self.lakegate_conn_id).get_conn()
            found = client.deliver(self.contract, Path(self.file), known, key)
            workload = str(found["workloadId"])
            self.log.info("%s was sent: workload %s", self.file, workload)
            if self.wait and found["status"] not in FINISHED:
                if self.deferrable:
                    trigger = VerdictTrigger(self.lakegate_conn_id, self.poll_interval, self.contract, workload)
                    self.defer(trigger=trigger, method_name="execute_complete", timeout=self.verdict_timeout)
                found = client.finished(workload, self.contract, self.poll_interval, self.verdict_timeout)
        except LakegateApiError as error:
            _fail(str(error), final=error.status in FINAL)
        return self._ended(found) if self.wait else found

    def execute_complete(self, context: Mapping[str, Any], event: Mapping[str, Any]) -> dict[str, Any]:
        """Go on after the trigger."""
        del context
        return self._ended(_workload_of(event))

    def _ended(self, found: dict[str, Any]) -> dict[str, Any]:
        if found["status"] != "Accepted":
            _fail(words(found), final=found["status"] == "Rejected")
        self.log.info("%s", words(found))
        return found


class LakegateAcceptedSensor(BaseSensorOperator):
    """Wait until data of a dataset is accepted that landed at `since` or later; the result is the workload."""

    template_fields: Sequence[str] = ("contract", "dataset", "since")

    def __init__(
        self,
        *,
        contract: str,
        dataset: str,
        since: str = "{{ (dag_run.data_interval_start or dag_run.run_after).isoformat() }}",
        lakegate_conn_id: str = LakegateHook.default_conn_name,
        deferrable: bool = True,
        **kwargs: Any,  # noqa: ANN401 - of Airflow
    ) -> None:
        super().__init__(**kwargs)
        self.contract = contract
        self.dataset = dataset
        self.since = since
        self.lakegate_conn_id = lakegate_conn_id
        self.deferrable = deferrable

    def execute(self, context: Mapping[str, Any]) -> Any:  # noqa: ANN401 - of Airflow
        """Look once; then defer, or wait in this worker."""
        if not self.deferrable:
            return super().execute(context)
        since = _moment(self.since).isoformat()
        trigger = AcceptedTrigger(self.lakegate_conn_id, self.poke_interval, self.contract, self.dataset, since)
        return self.defer(
            trigger=trigger, method_name="execute_complete", timeout=timedelta(seconds=float(self.timeout))
        )

    def poke(self, context: Mapping[str, Any]) -> PokeReturnValue:
        del context
        client = LakegateHook(self.lakegate_conn_id).get_conn()
        try:
            found = client.accepted(self.contract, self.dataset, _moment(self.since))
        except LakegateApiError as error:
            _fail(str(error), final=error.status in FINAL)
        return PokeReturnValue(is_done=found is not None, xcom_value=found)

    def execute_complete(self, context: Mapping[str, Any], event: Mapping[str, Any]) -> dict[str, Any]:
        """Go on after the trigger."""
        del context
        return _workload_of(event)


def _moment(written: str) -> datetime:
    """A time, of UTC where it has no zone."""
    found = datetime.fromisoformat(written)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _workload_of(event: Mapping[str, Any]) -> dict[str, Any]:
    if "error" in event:
        _fail(str(event["error"]), final=False)
    return dict(event["workload"])


def _fail(message: str, *, final: bool) -> NoReturn:
    """End the task; for good where retries change nothing."""
    raise AirflowFailException(message) if final else AirflowException(message)
