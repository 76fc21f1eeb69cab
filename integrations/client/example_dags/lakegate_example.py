"""A file is delivered each day; what is computed from the dataset waits until its data is accepted.

Copy it, and set: the connection `lakegate_default` (host: the stack's ApiUrl; password: a token), contract, dataset and file.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from airflow.sdk import dag, task
from lakegate_airflow.lakegate_operators import LakegateAcceptedSensor, LakegateDeliverOperator


@dag(schedule="@daily", start_date=datetime(2026, 1, 1, tzinfo=UTC), catchup=False, default_args={"retries": 3})
def deliver_orders() -> None:
    """The producer's side: the task is red when the gate rejects the file, and its log has the reasons."""
    LakegateDeliverOperator(task_id="deliver", contract="orders", file="/data/orders-{{ ds }}.csv")


@dag(schedule="@daily", start_date=datetime(2026, 1, 1, tzinfo=UTC), catchup=False)
def orders_report() -> None:
    """The consumer's side: it begins when data that landed since the beginning of the interval is accepted."""
    accepted = LakegateAcceptedSensor(
        task_id="accepted",
        contract="orders",
        dataset="orders/orders_v1",
        poke_interval=60,
        timeout=timedelta(hours=20).total_seconds(),
    )

    @task
    def report(workload: dict[str, object]) -> str:
        """The use of the data: `lakegate get orders/orders_v1` downloads it."""
        return f"accepted by version {workload['dataContractVersion']}"

    report(accepted.output)


deliver_orders()
orders_report()
