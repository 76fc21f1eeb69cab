"""The HTTP API behind a server of this process, for what is not part of the package."""

from __future__ import annotations

from tests.unit.features.http_api.api_server import server  # noqa: F401 - pytest finds a fixture by its name
from tests.unit.features.http_api.conftest import serve  # noqa: F401 - likewise
