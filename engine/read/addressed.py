"""Objects of a storage as seekable files."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakegate.engine.read.chunk import Store


class AddressedFile(io.RawIOBase):
    """An object of a storage as a seekable file."""

    def __init__(self, store: Store, address: str) -> None:
        super().__init__()
        self._store, self._address, self._at = store, address, 0
        self.size = self._store.size(address)
        self.failure: OSError | None = None
        """The error of the storage, which means nothing about the file itself."""

    def readable(self) -> bool:
        """See `io.RawIOBase`."""
        return True

    def seekable(self) -> bool:
        """See `io.RawIOBase`."""
        return True

    def tell(self) -> int:
        """The position."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Change the position, and return it."""
        begun = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        self._at = begun + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes from the position."""
        wanted = min(self.size - self._at, size if size >= 0 else self.size)
        try:
            found = self._store.part(self._address, self._at, wanted) if wanted > 0 else b""
        except OSError as error:
            self.failure = error
            raise
        self._at += len(found)
        return found

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - whatever has writable bytes
        """Fill a buffer from the position; the number of bytes."""
        view = memoryview(buffer).cast("B")
        found = self.read(len(view))
        view[: len(found)] = found
        return len(found)
