"""What moto holds, saved and restored: a stack that many tests begin with is built once per process.

Except for functions of Lambda, which moto keeps in closures.
"""

from __future__ import annotations

import io
import pickle
from dataclasses import dataclass
from typing import Any

from moto.core.base_backend import BackendDict, BaseBackend

Services = BackendDict[BaseBackend]
Place = tuple[int, str, str]
"""A backend: the index of its service in `MotoState.services`, its account and its region."""


@dataclass(frozen=True, slots=True)
class MotoState:
    """A copy of all backends, with the objects of the test that belong to them."""

    services: tuple[Services, ...]
    pickled: bytes

    @classmethod
    def save(cls, *fakes: object) -> MotoState:
        """Copy the backends that are in use, and the attributes of `fakes`."""
        used: list[Services] = vars(BackendDict)["_instances"]  # moto's own list of what a test used
        services = tuple(each for each in used if each.service_name != "lambda")
        backends = {
            (index, account, region): backend
            for index, service in enumerate(services)
            for account, regions in service.items()
            for region, backend in regions.items()
        }
        shared = [{name: value for name, value in vars(each).items() if isinstance(value, dict)} for each in services]
        buffer = io.BytesIO()
        attributes = {place: vars(backend) for place, backend in backends.items()}
        _Pickler(buffer, {id(backend): place for place, backend in backends.items()}).dump(
            (attributes, shared, [vars(fake) for fake in fakes])
        )
        return cls(services, buffer.getvalue())

    def restore(self, *fakes: object) -> None:
        """Give every backend, and `fakes` in the order of `save`, the attributes of then."""
        attributes, shared, of_fakes = _Unpickler(io.BytesIO(self.pickled), self.services).load()
        for (index, account, region), values in attributes.items():
            _replace(self.services[index][account][region], values)
        for service, values in zip(self.services, shared, strict=True):
            vars(service).update(values)
        for fake, values in zip(fakes, of_fakes, strict=True):
            _replace(fake, values)


def _replace(target: object, values: dict[str, Any]) -> None:
    vars(target).clear()
    vars(target).update(values)


class _Pickler(pickle.Pickler):
    """Backends refer to one another: a reference is saved as a place."""

    def __init__(self, buffer: io.BytesIO, places: dict[int, Place]) -> None:
        super().__init__(buffer)
        self._places = places

    def persistent_id(self, value: object) -> Place | None:
        return self._places.get(id(value)) if isinstance(value, BaseBackend) else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, buffer: io.BytesIO, services: tuple[Services, ...]) -> None:
        super().__init__(buffer)
        self._services = services

    def persistent_load(self, place: Place) -> BaseBackend:
        index, account, region = place
        return self._services[index][account][region]
