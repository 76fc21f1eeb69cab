"""The ports of the control plane, and their doubles in memory."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module

import pytest

from lakegate.gate import ports

MODULES = sorted(each.name for each in pkgutil.iter_modules(ports.__path__))


def protocols(module: str) -> list[type]:
    found = import_module(f"{ports.__name__}.{module}")
    return [
        each
        for _, each in inspect.getmembers(found, inspect.isclass)
        if each.__module__ == found.__name__ and getattr(each, "_is_protocol", False)
    ]


@pytest.mark.parametrize("module", sorted(set(MODULES) - {"errors", "lineage"}))
def test_each_module_defines_ports_whose_methods_are_documented(module: str) -> None:
    """A module of ports has a Protocol, and every method of it has a docstring; two have only what ports take and raise."""
    found = protocols(module)
    methods = [each for port in found for _, each in inspect.getmembers(port, inspect.isfunction)]

    assert found
    assert [each.__qualname__ for each in methods if not each.__name__.startswith("_") and not each.__doc__] == []
