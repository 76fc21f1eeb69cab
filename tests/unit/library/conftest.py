"""A stack in this process, for functions that are its users."""

from __future__ import annotations

from tests.unit.cli.conftest import fresh_clients, lakegate  # noqa: F401 - fixtures
