"""Triggers that look at a stack from time to time, while no worker is taken."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent
from asgiref.sync import sync_to_async
from lakegate_client.http_client import FINISHED, Client, LakegateApiError

from lakegate_airflow.lakegate_hook import LakegateHook

ERRORS_IN_A_ROW = 10
TRANSIENT = frozenset({0, 429, 500, 502, 503, 504})


class LakegateTrigger(BaseTrigger):
    """The loop of both triggers. The connection is read each time: a token may have been replaced."""

    def __init__(self, lakegate_conn_id: str, poll_interval: float) -> None:
        super().__init__()
        self.lakegate_conn_id = lakegate_conn_id
        self.poll_interval = poll_interval

    def look(self, client: Client) -> dict[str, Any] | None:
        """The workload that is waited for; None if there is none yet. Raises LakegateApiError."""
        raise NotImplementedError

    def _look(self) -> dict[str, Any] | None:
        return self.look(LakegateHook(self.lakegate_conn_id).get_conn())

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """One event: the workload, or an error that does not pass."""
        errors = 0
        while True:
            try:
                found = await sync_to_async(self._look)()
                errors = 0
            except LakegateApiError as error:
                errors += 1
                if error.status not in TRANSIENT or errors >= ERRORS_IN_A_ROW:
                    yield TriggerEvent({"error": str(error)})
                    return
                self.log.warning("asking again: %s", error)
                found = None
            if found is not None:
                yield TriggerEvent({"workload": found})
                return
            await asyncio.sleep(self.poll_interval)


class VerdictTrigger(LakegateTrigger):
    """Fires when a delivery is finished."""

    def __init__(self, lakegate_conn_id: str, poll_interval: float, contract: str, workload: str) -> None:
        super().__init__(lakegate_conn_id, poll_interval)
        self.contract = contract
        self.workload = workload

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The name of the class and its arguments, without a secret."""
        names = ("lakegate_conn_id", "poll_interval", "contract", "workload")
        return "lakegate_airflow.lakegate_triggers.VerdictTrigger", {each: getattr(self, each) for each in names}

    def look(self, client: Client) -> dict[str, Any] | None:
        found = client.workload(self.workload, self.contract)
        return found if found["status"] in FINISHED else None


class AcceptedTrigger(LakegateTrigger):
    """Fires when a delivery that landed at a time or later is accepted."""

    def __init__(self, lakegate_conn_id: str, poll_interval: float, contract: str, dataset: str, since: str) -> None:
        super().__init__(lakegate_conn_id, poll_interval)
        self.contract = contract
        self.dataset = dataset
        self.since = since

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The name of the class and its arguments, without a secret."""
        names = ("lakegate_conn_id", "poll_interval", "contract", "dataset", "since")
        return "lakegate_airflow.lakegate_triggers.AcceptedTrigger", {each: getattr(self, each) for each in names}

    def look(self, client: Client) -> dict[str, Any] | None:
        return client.accepted(self.contract, self.dataset, datetime.fromisoformat(self.since))
