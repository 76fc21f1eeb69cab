"""`lakegate doctor` on a stack whose answers a test changes."""

from __future__ import annotations

from functools import partial

import pytest

from lakegate.features.doctor import doctor_command
from lakegate.features.doctor.examination import StackReader
from tests.unit.cli.conftest import Lakegate
from tests.unit.features.doctor.stack_in_order import World, in_order


@pytest.fixture
def world(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> World:
    """A stack in order, with one contract."""
    lakegate.begin(in_order)
    made = World(lakegate)
    monkeypatch.setattr(StackReader, "_client", lambda _reader, service, region=None: made.client(service, region))
    monkeypatch.setattr(doctor_command, "StackReader", partial(StackReader, now=made.now))
    return made
