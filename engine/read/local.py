"""Objects at `file:` addresses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

if TYPE_CHECKING:
    from typing import BinaryIO


class LocalStore:
    """Files of this machine (`lakegate.engine.read.chunk.Store`)."""

    def size(self, address: str) -> int:
        """See `Store`."""
        return path_of(address).stat().st_size

    def part(self, address: str, start: int, length: int) -> bytes:
        """See `Store`."""
        with path_of(address).open("rb") as file:
            file.seek(start)
            return file.read(length)

    def stream(self, address: str) -> BinaryIO:
        """See `Store`."""
        return path_of(address).open("rb")


def path_of(address: str) -> Path:
    """The path of an address."""
    return Path(url2pathname(urlsplit(address).path))
