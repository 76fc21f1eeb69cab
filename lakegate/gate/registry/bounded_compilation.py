"""Compiles a document of somebody else in a process of its own, with limits of time and memory.

Documents are bounded while they are read (`lakegate.contract.documents.read_document`). What nobody thought of ends here, as one
error of the document: the process ends, and nothing else. The process asks nothing of the network: what the document refers to is
looked up in this process, on demand. It is forked, because a new interpreter would take a second for its imports.
"""

from __future__ import annotations

import resource
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lakegate.base.errors import InputError, Problem
from lakegate.gate.registry.contract_versions import CompiledContract
from lakegate.gate.registry.publish_contract import DocumentRefused, ReferredDocuments, compile_document
from lakegate.inheritance.inherited_documents import ParentDocument
from lakegate.lints.linter import Examined

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


SECONDS_OF_COMPILATION: Final = 20
"""Below the 29 seconds of a request to the API."""
MEMORY: Final = 768 << 20
"""Bytes beside what the function has already."""
ASKED, COMPILED, REFUSED, UNUSABLE, ENDED = "asked", "compiled", "refused", "unusable", "ended"
"""Messages of the process: a question, and one of four ends."""


def compile_bounded(body: bytes, referred: ReferredDocuments, *, allow_unmeasured: bool = False) -> CompiledContract:
    """The result and errors of `compile_document`; DocumentRefused too for a document that needs too much time or memory."""
    context = get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=compile_there, args=(there, body, referred, allow_unmeasured), daemon=True)
    process.start()
    there.close()
    lookups = [referred.parents, *referred.lookups.values()]
    until = time.monotonic() + SECONDS_OF_COMPILATION
    try:
        while here.poll(max(0.0, until - time.monotonic())):
            kind, content = here.recv()
            if kind != ASKED:
                return _end(kind, content)
            here.send(_found(lookups, *content))
    except (EOFError, ConnectionError):  # the process was killed
        pass
    finally:
        process.kill()
        process.join()
        here.close()
    raise _too_much("it takes too much time or memory")


def _found(lookups: list[Any], number: int, arguments: tuple[Any, ...]) -> tuple[Any, InputError | None]:
    """The answer to a question; that about a parent has the number of the lookup for the parent's own parents."""
    try:
        found = lookups[number](*arguments)
    except InputError as error:
        return None, error
    if isinstance(found, ParentDocument):
        lookups.append(found.parents)
        return (found.text, len(lookups) - 1, found.is_published), None
    return found, None


def _end(kind: str, content: Any) -> CompiledContract:  # noqa: ANN401 - as the process sends it
    if kind == COMPILED:
        compiled: CompiledContract = content
        return compiled
    if kind == REFUSED:
        raise DocumentRefused(content)
    if kind == UNUSABLE:
        raise content
    raise _too_much(f"{content} ended it")


def _too_much(why: str) -> DocumentRefused:
    limits = f"{SECONDS_OF_COMPILATION} seconds and {MEMORY >> 20} MiB"
    message = f"The document cannot be compiled within {limits}: {why}. Make it smaller."
    return DocumentRefused(Examined((Problem("document-too-large", "$", 1, message),), ()))


@dataclass(frozen=True, slots=True)
class _Lookup:
    """A lookup of the other process."""

    connection: Connection
    number: int

    def __call__(self, *arguments: Any) -> Any:  # noqa: ANN401 - as the lookup has them
        self.connection.send((ASKED, (self.number, arguments)))
        found, error = self.connection.recv()
        if error is not None:
            raise error
        return found


@dataclass(frozen=True, slots=True)
class _Parents(_Lookup):
    """A lookup of parents: that of a parent's own parents is another one of the other process."""

    def __call__(self, *arguments: Any) -> ParentDocument | None:  # noqa: ANN401 - likewise
        found = _Lookup.__call__(self, *arguments)
        if found is None:
            return None
        text, number, is_published = found
        return ParentDocument(text, _Parents(self.connection, number), is_published)


def compile_there(
    connection: Connection,
    body: bytes,
    asking: ReferredDocuments,
    allow_unmeasured: bool,  # noqa: FBT001 - of a process
) -> None:
    """The process: compile within its limits, and send how that ended. What is looked up is asked of the other process."""
    limit()
    others = {name: _Lookup(connection, number) for number, name in enumerate(asking.lookups, 1)}
    referred = asking._replace(parents=_Parents(connection, 0), lookups=others)
    try:
        answer: tuple[str, Any] = COMPILED, compile_document(body, referred, allow_unmeasured=allow_unmeasured)
    except DocumentRefused as error:
        answer = REFUSED, replace(error.examined, contract=None, document=None)
    except InputError as error:
        answer = UNUSABLE, error
    except Exception as error:  # noqa: BLE001 - a defect of ours is an error of this document alone
        answer = ENDED, type(error).__name__
    connection.send(answer)


def limit(memory: int = MEMORY, seconds: int = SECONDS_OF_COMPILATION) -> None:
    """Limit this process: beyond, it gets MemoryError, or is ended."""
    with suppress(OSError, ValueError):  # where the system has no such limits, the other process ends this one
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + memory
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
