"""Features over AWS in this process, by their commands, and over HTTP."""

from __future__ import annotations

from tests.unit.aws.conftest import cloud  # noqa: F401 - a fixture
from tests.unit.cli.conftest import lakegate  # noqa: F401 - likewise
from tests.unit.features.http_api.api_server import server  # noqa: F401 - likewise
from tests.unit.features.http_api.conftest import serve, served  # noqa: F401 - likewise
