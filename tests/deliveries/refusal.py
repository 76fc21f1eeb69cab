"""The refusal of a delivery that cannot be measured."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lakegate.admission.file_signatures import UnreadableError


def refusal_of(act: Callable[[], object]) -> tuple[str, str]:
    """The code and the message of the UnreadableError in which an action ends."""
    with pytest.raises(UnreadableError) as caught:
        act()
    return caught.value.finding.code, caught.value.finding.message
