"""How set-up makes things when several processes want them at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from infra.setup.atomic_dir import alone


def test_one_makes_what_all_others_find(tmp_path: Path) -> None:
    """Of many who miss a thing at the same moment one makes it, and nobody sees it half made."""
    place, start, makers = tmp_path / "tools/thing", threading.Barrier(8), []

    def want(number: int) -> str:
        start.wait()
        with alone(place):
            if not place.is_file():
                makers.append(number)
                place.write_text("half")
                place.write_text("whole")
            return place.read_text()

    with ThreadPoolExecutor(8) as all_at_once:
        found = list(all_at_once.map(want, range(8)))

    assert (len(makers), found) == (1, ["whole"] * 8)
