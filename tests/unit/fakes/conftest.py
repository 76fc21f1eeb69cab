"""What the fakes are compared with, and who uses them."""

from __future__ import annotations

from tests.unit.aws.conftest import cloud  # noqa: F401 - a fixture
from tests.unit.cli.conftest import lakegate  # noqa: F401 - likewise
