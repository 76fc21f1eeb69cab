"""Finds the contract, dataset and line of a landing key, by whole path segments. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass

MAX_DEPTH = 32
"""The most segments of a prefix: all candidates of a key fit into one batch read of 100."""


@dataclass(frozen=True, slots=True)
class Route:
    """The registration of a prefix: everything that intake needs from the registry."""

    bucket: str
    prefix: str
    """Ends in `/`, so that `a/` never covers `ab`."""
    contract: str
    dataset: str
    major: int
    version: str
    status: str
    """`active`, `deprecated` or `retired`."""
    plan: str
    """Digest of the compiled plan."""

    @property
    def line(self) -> str:
        """Folder and chain of the dataset line."""
        return line_of(self.contract, self.dataset, self.major)


def line_of(contract: str, dataset: str, major: int) -> str:
    """Folder and chain of a dataset line."""
    return f"{contract}/{dataset}_v{major}"


def parts_of(line: str) -> tuple[str, str, int]:
    """Contract, dataset and major number of a line."""
    contract, _, rest = line.rpartition("/")
    dataset, _, number = rest.rpartition("_v")
    return contract, dataset, int(number)


def candidates(key: str) -> tuple[str, ...]:
    """All prefixes that may cover the key, longest first; compared as bytes, without normalization."""
    folders = key.split("/")[:-1][:MAX_DEPTH]
    return tuple("/".join(folders[:depth]) + "/" for depth in range(len(folders), 0, -1))


def covering(key: str, routes: tuple[Route, ...]) -> Route | None:
    """The route with the longest prefix that covers the key; None if the key is unrouted."""
    at = {route.prefix: route for route in routes}
    return next((at[prefix] for prefix in candidates(key) if prefix in at), None)
