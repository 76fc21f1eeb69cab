"""Calls of AWS that are denied, one operation at a time."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError

from lakegate.base.errors import AccessDenied, PortError
from tests.unit.aws.conftest import Cloud

Work = Callable[[Cloud], object]
"""Something that asks AWS."""
PREPARED = frozenset({"CreateApplication", "CreateKey", "CreateTopic", "CreateSecret"})
"""What the tests ask for themselves."""


@contextmanager
def denied(operation: str) -> Iterator[list[str]]:
    """One operation is denied wherever it is called; the list gets what was called."""
    call: Any = BaseClient._make_api_call  # noqa: SLF001 - each call goes through it
    called: list[str] = []

    def refuse(of: BaseClient, name: str, parameters: Any) -> Any:
        called.append(name)
        if name == operation:
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "canary"}}, name)
        return call(of, name, parameters)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(BaseClient, "_make_api_call", refuse)
        yield called


def calls_of(work: Work, cloud: Cloud) -> list[str]:
    """The operations that it calls."""
    with denied("") as called:
        work(cloud)
    return [each for each in dict.fromkeys(called) if each not in PREPARED]


def assert_every_denial_is_of_the_port(work: Work, cloud: Cloud) -> None:
    """Whichever call AWS denies: the error is the port's, and has nothing that AWS wrote."""
    operations = calls_of(work, cloud)
    ends = {}
    for operation in operations:
        with denied(operation), pytest.raises(PortError) as refused:
            work(cloud)
        ends[operation] = isinstance(refused.value, AccessDenied), "canary" in str(refused.value)

    assert ends == dict.fromkeys(operations, (True, False))
    assert operations


def operations_in(path: Path) -> Iterator[str]:
    """The operations of `client`, or of a paginator of it, in a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            target, name = node.func.value, node.func.attr
            if (isinstance(target, ast.Attribute) and target.attr == "client") or (
                isinstance(target, ast.Name) and target.id == "client"
            ):
                yield node.args[0].value if name == "get_paginator" else name  # type: ignore[attr-defined,misc] # a text
