"""A file is delivered when its asset is materialized; what is computed from it waits for the verdict of the gate.

Copy it, and set: the stack's ApiUrl, the variable LAKEGATE_TOKEN, contract, dataset and file.
"""

from pathlib import Path

from dagster import AssetExecutionContext, AssetSpec, Definitions, EnvVar, MaterializeResult, asset
from lakegate_dagster.lakegate_checks import LakegateResource, verdict_check

FILE = Path("/data/orders.csv")


@asset
def orders(context: AssetExecutionContext, lakegate: LakegateResource) -> MaterializeResult:
    """The producer's side: the check is red when the gate rejects the file, and has the reasons."""
    return lakegate.deliver(context, "orders", FILE)


@asset(deps=[orders])
def orders_report() -> str:
    """What reads the data: it is not materialized by a run whose file the gate rejects."""
    return f"{FILE.name} was accepted"


partner_orders = AssetSpec("partner_orders", description="Data that others deliver: checked by its latest verdict.")
defs = Definitions(
    assets=[orders, orders_report, partner_orders],
    asset_checks=[
        verdict_check(asset="orders", contract="orders", dataset="orders/orders_v1"),
        verdict_check(asset="partner_orders", contract="orders", dataset="orders/orders_v1", blocking=False),
    ],
    resources={"lakegate": LakegateResource(url="https://api.example", token=EnvVar("LAKEGATE_TOKEN"))},
)
