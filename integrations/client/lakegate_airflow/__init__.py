"""Provider of Airflow for Lakegate, over its HTTP API alone."""

from __future__ import annotations


def get_provider_info() -> dict[str, object]:
    """The description of this provider that Airflow lists."""
    return {
        "package-name": "lakegate-client",
        "name": "Lakegate",
        "description": "Deliver files through the gate and wait for accepted data.",
        "connection-types": [
            {"connection-type": "lakegate", "hook-class-name": "lakegate_airflow.lakegate_hook.LakegateHook"}
        ],
    }
