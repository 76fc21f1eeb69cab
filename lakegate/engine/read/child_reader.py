"""A reader in a process of its own, for formats whose native code a damaged file can end.

ORC's C++ reader follows what a file says about itself without all the checks that hostile files need. It runs in a child process,
which asks for the bytes that it wants and answers with batches: where the file ends the child, the file is unreadable, and the
process that judges it, with whatever else it does, goes on. A child that has answered takes the next request of the same
delivery, because to start one costs a third of a second.
"""

from __future__ import annotations

import os
import pickle
import struct
import subprocess
import sys
import weakref
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from io import BytesIO
from typing import IO, Any, BinaryIO

import pyarrow as pa

from lakegate.admission.file_signatures import UnreadableError
from lakegate.engine.read.data_source import Share, Store
from lakegate.engine.read.parquet_orc import ArrowReader, open_orc
from lakegate.engine.read.read_bounds import unreadable
from lakegate.engine.read.stored_columns import Table
from lakegate.plan.result import Unreadable

_FRAME = struct.Struct("<cQ")
"""Kind and length of a message."""
_BYTES = struct.Struct("<QQ")
"""The first of the wanted bytes, and their number."""
_CHILD = "from lakegate.engine.read.child_reader import serve; serve()"
_KILLED = -9
"""The exit code of a process that the machine ended for want of memory."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ApartReader:
    """ORC files, each share that is read at a time by a process of its own (`lakegate.engine.read.stored_columns.Reader`)."""

    store: Store
    _idle: deque[subprocess.Popen[bytes]] = field(default_factory=deque)
    """Processes that have answered; they end with the reader."""

    def __post_init__(self) -> None:
        weakref.finalize(self, _end_all, self._idle)

    def __reduce__(self) -> tuple[object, ...]:
        """Another process starts its own."""
        return type(self), (self.store,)

    def described(self, address: str) -> Table:
        (answer,) = self._answers(address, "footer")
        table: Table = pickle.loads(answer)  # noqa: S301 - our own process wrote it
        return table

    def batches(self, share: Share, names: list[str]) -> Iterator[Any]:
        with closing(self._answers(share.address, "inside", share, names)) as answers:
            for answer in answers:
                with pa.ipc.open_stream(answer) as stream:
                    yield stream.read_next_batch()

    def _answers(self, address: str, fault: str, *wanted: Any) -> Generator[bytes]:  # noqa: ANN401 - share and names
        """Responses of a process. UnreadableError where the file is unreadable, or ends the process; OSError of the storage."""
        request = pickle.dumps((self.store.size(address), wanted))
        process = self._process()
        to, answered, is_idle = _pipe(process.stdin), _pipe(process.stdout), False
        try:
            with suppress(BrokenPipeError):
                _send(to, b"Q", request)
                while (message := _received(answered)) is not None:
                    kind, content = message
                    if kind == b"R":
                        _send(to, b"D", self.store.part(address, *_BYTES.unpack(content)))
                    elif kind == b"U":
                        document: Unreadable = pickle.loads(content)  # noqa: S301 - likewise
                        raise UnreadableError(document.code, document.message)
                    elif kind == b"E":
                        is_idle = True
                        return
                    else:
                        yield content
            ended = process.wait()
        finally:
            if is_idle:
                self._idle.append(process)
            else:
                _end(process)
        if ended >= 0:
            raise RuntimeError(f"the process that reads ORC ended with {ended}")
        if ended == _KILLED:
            raise MemoryError
        raise unreadable(fault)

    def _process(self) -> subprocess.Popen[bytes]:
        """A process that waits for a request: an idle one, or a new one."""
        with suppress(IndexError):
            return self._idle.pop()
        paths = os.pathsep.join(each for each in sys.path if each)
        return subprocess.Popen(  # noqa: S603 - this interpreter, and nothing of a file
            [sys.executable, "-P", "-c", _CHILD],
            env={**os.environ, "PYTHONPATH": paths},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # native code prints values
            start_new_session=True,  # Ctrl-C is for the process that started it
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    _pipe(process.stdout).close()
    with suppress(BrokenPipeError):
        _pipe(process.stdin).close()


def _end_all(processes: deque[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        _end(process)


def _pipe(file: IO[bytes] | None) -> IO[bytes]:
    assert file is not None
    return file


def _send(file: IO[bytes], kind: bytes, content: bytes) -> None:
    file.write(_FRAME.pack(kind, len(content)) + content)
    file.flush()


def _received(file: IO[bytes]) -> tuple[bytes, bytes] | None:
    """The next message; None where the other process has ended."""
    head = file.read(_FRAME.size)
    if len(head) < _FRAME.size:
        return None
    kind, size = _FRAME.unpack(head)
    content = file.read(size)
    return None if len(content) < size else (kind, content)


@dataclass(frozen=True, slots=True)
class _AskedStore:
    """The file, whose bytes the parent process has (`lakegate.engine.read.data_source.Store`)."""

    length: int
    asked: BinaryIO
    answered: BinaryIO

    def size(self, _: str) -> int:
        return self.length

    def part(self, _: str, start: int, length: int) -> bytes:
        _send(self.answered, b"R", _BYTES.pack(start, length))
        message = _received(self.asked)
        if message is None:
            os._exit(0)  # nobody waits for an answer
        return message[1]

    def stream(self, _: str) -> BinaryIO:
        """No table is read as a stream."""
        return BytesIO()


def serve() -> None:
    """Answer requests on standard input with messages on standard output, until nobody has another one."""
    import resource  # noqa: PLC0415 - Windows does not have it, and keeps no memory of a process that ended

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    asked, answered = sys.stdin.buffer, sys.stdout.buffer
    while (message := _received(asked)) is not None:
        size, wanted = pickle.loads(message[1])  # noqa: S301 - the process that started this one wrote it
        reader = ArrowReader(open_orc, _AskedStore(size, asked, answered))
        try:
            if not wanted:
                _send(answered, b"T", pickle.dumps(reader.described("")))
            else:
                for batch in reader.batches(*wanted):
                    sink = pa.BufferOutputStream()
                    with pa.ipc.new_stream(sink, batch.schema) as stream:
                        stream.write_batch(batch)
                    _send(answered, b"B", sink.getvalue().to_pybytes())
        except UnreadableError as error:
            _send(answered, b"U", pickle.dumps(error.finding))
        except MemoryError:
            os.kill(os.getpid(), -_KILLED)
        _send(answered, b"E", b"")
