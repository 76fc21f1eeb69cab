"""The JVM's names, each asked for once in the life of a process.

Py4J asks at every mention, once for every dot, and each time Java looks through all jars of its class path for a class of that
name: of a small delivery's judging that was a fifth of the time.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaClass, JavaPackage, JVMView

_HOLDERS = (JavaPackage, JavaClass, JVMView)


class Names:
    """A package, a class or all of the JVM, that remembers what was found in it: no class goes away while the JVM runs."""

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
