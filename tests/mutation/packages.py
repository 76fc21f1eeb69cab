"""What is mutated, and the fast tests of each package: those that show its promises without a JVM or a network."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

UNIT: Final = "tests/unit"
RULES: Final = (f"{UNIT}/patterns", f"{UNIT}/rules")
DELIVERIES: Final = (
    f"{UNIT}/gate",
    *(
        f"{UNIT}/features/{name}.py"
        for name in (
            *(
                "anchors/test_daily_anchors",
                "cost/test_costs_by_group",
                "drift/test_drift_schedule",
                "erasure/test_erasure",
            ),
            *(
                "external_validators/test_external_rules_of_deliveries",
                "external_validators/test_registered_validators",
            ),
            *("notifications/test_notices_sent", "openlineage/test_openlineage_of_deliveries"),
            *("odf/test_change_to_slices", "odf/test_set_watermark"),
            *("odf/slices/test_merged_deliveries", "odf/slices/test_sliced_deliveries", "proposals/test_proposal"),
            *("pull/test_pull_interruptions", "pull/test_pull_plans", "pull/test_pull_task"),
            *("revalidation/test_revalidation", "tables/test_published_tables", "waivers/test_waiver"),
            *("workflows/test_callbacks", "workflows/test_publish_workflow"),
        )
    ),
)
"""The gate with all features, over the tables in memory."""
PACKAGES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "lakegate/verdict": (
            f"{UNIT}/verdict",
            f"{UNIT}/admission/test_header.py",
            f"{UNIT}/gate/delivery/test_find_deliveries.py",
            *RULES,
        ),
        "lakegate/plan": (
            f"{UNIT}/plan",
            f"{UNIT}/verdict",
            f"{UNIT}/sql/test_rows.py",
            f"{UNIT}/base/test_json_codec.py",
            *RULES,
            *DELIVERIES,
        ),
        "lakegate/gate": (*DELIVERIES, f"{UNIT}/functions/test_handlers.py"),
        "lakegate/engine/evaluate": (
            f"{UNIT}/engine/evaluate",
            "tests/engine/test_cases.py",
            "tests/engine/test_vacuous.py",
        ),
    }
)
"""By the folder of the package."""
