"""A cache of the names of Java packages and classes.

Py4J resolves a name each time it is used, once for every dot, and Java then searches all jars of its class path. That took a
fifth of the time of a small delivery.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaClass, JavaPackage, JVMView

_HOLDERS = (JavaPackage, JavaClass, JVMView)


class Names:
    """A package, a class or the whole JVM with a cache of its members: no class disappears while the JVM runs."""

    def __init__(self, named: Any) -> None:  # noqa: ANN401 - whatever Py4J has there
        self._named = named

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - likewise
        found = getattr(self._named, name)
        kept = Names(found) if isinstance(found, _HOLDERS) else found
        setattr(self, name, kept)
        return kept

    def __call__(self, *arguments: object) -> Any:  # noqa: ANN401 - likewise
        """An object of the class."""
        return self._named(*arguments)
