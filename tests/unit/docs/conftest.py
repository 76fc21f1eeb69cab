"""A stack for the commands that pages show."""

from __future__ import annotations

from tests.unit.cli.conftest import lakegate  # noqa: F401 - a fixture
