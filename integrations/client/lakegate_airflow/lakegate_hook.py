"""The connection `lakegate`: the address of the API as its host, a token as its password."""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseHook
from lakegate_client.http_client import Client


class LakegateHook(BaseHook):
    """A client of the HTTP API of a stack, from a connection of Airflow."""

    conn_name_attr = "lakegate_conn_id"
    default_conn_name = "lakegate_default"
    conn_type = "lakegate"
    hook_name = "Lakegate"

    def __init__(self, lakegate_conn_id: str = default_conn_name) -> None:
        super().__init__()
        self.lakegate_conn_id = lakegate_conn_id

    @classmethod
    def get_ui_field_behaviour(cls) -> dict[str, Any]:
        """The form of a connection: an address and a token."""
        return {
            "hidden_fields": ["login", "schema", "extra"],
            "relabeling": {"host": "Address of the API (ApiUrl)", "password": "Token"},
            "placeholders": {"password": "empty: requests are signed by IAM"},
        }

    def get_conn(self) -> Client:
        """The client. Raises LakegateApiError for an address that is not of HTTPS."""
        found = self.get_connection(self.lakegate_conn_id)
        host = found.host or ""
        address = host if "://" in host else f"https://{host}" + (f":{found.port}" if found.port else "")
        return Client(address, found.password or "")
