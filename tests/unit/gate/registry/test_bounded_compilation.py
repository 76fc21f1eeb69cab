"""A document of somebody else is compiled in a process with limits: whatever it does there, it ends as one error."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import Pipe
from threading import Thread
from typing import Any, NoReturn

import pytest

from lakegate.base.errors import InputError, Throttled
from lakegate.gate.registry import bounded_compilation, publish_contract
from lakegate.gate.registry.bounded_compilation import compile_bounded, compile_there
from lakegate.gate.registry.contract_versions import CompiledContract
from lakegate.gate.registry.publish_contract import DocumentRefused, ReferredDocuments, compile_document
from lakegate.inheritance.inherited_documents import ParentDocument


def document(name: str, parent: str = "", more: str = "") -> bytes:
    value = f"{{inherits: {parent}@1}}" if parent else "{}"
    return f"""\
apiVersion: v3.1.0
kind: DataContract
id: {name}
version: 1.0.0
status: active
customProperties: [{{property: lakegate, value: {value}}}]
schema:
  - name: orders
    properties: [{{name: id, logicalType: integer}}]
{more}""".encode()


ABOVE = {"policy": "group", "group": ""}


def parents(name: str, major: int) -> ParentDocument | None:
    assert major == 1
    return ParentDocument(document(name, ABOVE[name]), parents, is_published=True) if name in ABOVE else None


LOOKUPS = {
    "workflows": lambda _dataset, _name: None,
    "external_validators": lambda _dataset: {},
    "derived": lambda *_: None,
    "pull": lambda *_: False,
}
NOBODY = ReferredDocuments(parents, LOOKUPS)
GOOD = {
    "alone": document("shop"),
    "with parents": document("shop", "policy"),
    "with a rule of another engine": document(
        "shop", more="    quality: [{type: custom, engine: x, implementation: y}]\n"
    ),
}
BAD = {
    "an unknown parent": document("shop", "nobody"),
    "an unknown workflow": document("shop").replace(b"{}", b"{workflow: strict@1}"),
    "an error": document("shop").replace(b"integer", b"whole"),
    "a name": document("shop").replace(b"name: orders", b"name: a/../b"),
}


def here(body: bytes, referred: ReferredDocuments = NOBODY, *, allow_unmeasured: bool = True) -> CompiledContract:
    """What the process does, in a thread of this one, so that its lines are seen to run."""
    ours, theirs = Pipe()
    arguments = theirs, body, referred, allow_unmeasured
    thread = Thread(target=compile_there, args=arguments)
    thread.start()
    lookups: list[Any] = [referred.parents, *referred.lookups.values()]
    while True:
        kind, content = ours.recv()
        if kind != bounded_compilation.ASKED:
            thread.join()
            return bounded_compilation._end(kind, content)  # noqa: SLF001 - as the other process does
        ours.send(bounded_compilation._found(lookups, *content))  # noqa: SLF001 - likewise


@pytest.fixture(autouse=True)
def limits(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, Any]]:
    """No limits of memory for this process, whose memory the one that is forked has too."""
    set_limits: list[tuple[int, Any]] = []
    monkeypatch.setattr(bounded_compilation.resource, "setrlimit", lambda *limit: set_limits.append(limit))
    return set_limits


@pytest.mark.parametrize("body", GOOD.values(), ids=GOOD)
@pytest.mark.parametrize("compiling", [compile_bounded, here])
def test_it_compiles_what_is_compiled_without_limits(compiling: Callable[..., CompiledContract], body: bytes) -> None:
    """What a document refers to is found by the other process, parents of parents too."""
    assert compiling(body, NOBODY, allow_unmeasured=True) == compile_document(body, NOBODY, allow_unmeasured=True)


@pytest.mark.parametrize(
    "body", [*BAD.values(), GOOD["with a rule of another engine"]], ids=[*BAD, "an unmeasured rule"]
)
@pytest.mark.parametrize("compiling", [compile_bounded, here])
def test_it_refuses_what_is_refused_without_limits(compiling: Callable[..., CompiledContract], body: bytes) -> None:
    """With the same errors, or the same message."""
    raised = []
    for each in (compiling, compile_document):
        with pytest.raises((DocumentRefused, InputError)) as refusal:
            each(body, NOBODY, allow_unmeasured=False)
        raised.append(refusal.value)
    one, other = raised

    assert (type(one), str(one)) == (type(other), str(other))
    if isinstance(one, DocumentRefused) and isinstance(other, DocumentRefused):
        assert replace(other.examined, contract=None, document=None) == one.examined
        assert other.unmeasured == one.unmeasured


@pytest.mark.parametrize("compiling", [compile_bounded, here])
def test_a_lookup_that_fails_is_the_failure_of_the_compilation(compiling: Callable[..., CompiledContract]) -> None:
    """A parent that cannot be used is an error as without limits; AWS's own errors end it where the lookup is made."""

    def unusable(*_: object) -> NoReturn:
        raise InputError("no release of it")

    def throttled(*_: object) -> NoReturn:
        raise Throttled

    body = document("shop").replace(b"{}", b"{workflow: strict@1}")
    with pytest.raises(InputError, match="no release of it"):
        compiling(body, NOBODY._replace(lookups=LOOKUPS | {"workflows": unusable}))
    with pytest.raises(Throttled):
        compile_bounded(body, NOBODY._replace(lookups=LOOKUPS | {"workflows": throttled}))


@pytest.mark.parametrize("compiling", [compile_bounded, here, compile_document])
def test_a_plan_that_is_too_large_is_refused_at_its_dataset(
    compiling: Callable[..., CompiledContract], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As large as is allowed, it is compiled; with one byte more, it is an error of the document."""
    body = document("shop")
    (plan,) = compiling(body, NOBODY).plans.values()
    monkeypatch.setattr(publish_contract, "MOST_PLAN_BYTES", len(plan))
    same = compiling(body, NOBODY).plans["orders"]
    monkeypatch.setattr(publish_contract, "MOST_PLAN_BYTES", len(plan) - 1)
    with pytest.raises(DocumentRefused) as refused:
        compiling(body, NOBODY)
    (error,) = refused.value.examined.errors

    assert same == plan
    assert (error.code, error.path) == ("document-too-large", "$.schema[0]")
    assert error.message == (
        f"What it is compiled to has {len(plan):,} bytes, more than {len(plan) - 1:,}: use fewer or shorter rules."
    )


def killed(*_: object, **__: object) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def endless(*_: object, **__: object) -> NoReturn:
    time.sleep(60)
    raise AssertionError


def greedy(*_: object, **__: object) -> NoReturn:
    raise MemoryError


@pytest.mark.parametrize(
    ("does", "why"),
    [
        (killed, "it takes too much time or memory"),
        (endless, "it takes too much time or memory"),
        (greedy, "MemoryError ended it"),
    ],
)
def test_whatever_a_document_does_is_one_error_of_it(
    does: Callable[..., NoReturn], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that ends, that does not end, or that fails in a way that nobody thought of."""
    monkeypatch.setattr(bounded_compilation, "compile_document", does)
    monkeypatch.setattr(bounded_compilation, "SECONDS_OF_COMPILATION", 1)
    with pytest.raises(DocumentRefused) as refusal:
        compile_bounded(document("shop"), NOBODY)
    (error,) = refusal.value.examined.errors

    assert (error.code, error.path) == ("document-too-large", "$")
    assert error.message == f"The document cannot be compiled within 1 seconds and 768 MiB: {why}. Make it smaller."
    if does is greedy:
        with pytest.raises(DocumentRefused, match="the contract document has errors"):
            here(document("shop"))


def test_the_process_has_limits_of_memory_and_time(
    limits: list[tuple[int, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it may have beside what there is already; where a system has no such limits, the other process ends it."""
    bounded_compilation.limit(1 << 20, 5)
    (memory, (least, most)), time_limit = limits

    def refused(*_: object) -> NoReturn:
        raise ValueError

    monkeypatch.setattr(bounded_compilation.resource, "setrlimit", refused)
    bounded_compilation.limit()

    assert (memory, least == most, least > 1 << 20) == (bounded_compilation.resource.RLIMIT_AS, True, True)
    assert time_limit == (bounded_compilation.resource.RLIMIT_CPU, (5, 5))
