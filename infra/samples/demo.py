"""The deliveries of the demo: three contracts, eight uploads, every verdict that a file can get, two announcements, a pull."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from infra.samples.sample_data import SAMPLES, write
from lakegate.base.extension_points import ROOT

EXAMPLES = ROOT / "contracts/examples"
CONTRACTS = tuple(
    (EXAMPLES / name, prefix)
    for name, prefix in (
        ("weather.dcm.yaml", "weather/"),
        ("orders.odcs.yaml", "orders/"),
        ("rates.odcs.yaml", "rates/"),
    )
)
"""The documents, and the prefixes that deliver to them."""
PARTNER: Final = "partner-exports"
"""The bucket that `rates.odcs.yaml` is fetched from."""
SOURCE: Final = "rates.csv"
"""The key of its source."""
CURRENCIES: Final = ("BRL", "CHF", "GBP", "JPY", "USD")
QUERY: Final = """\
SELECT valid_on, count(*) AS currencies, min(rate) AS lowest, max(rate) AS highest
FROM rates GROUP BY valid_on ORDER BY valid_on"""
"""Of the table of the rates: a row for each of its two deliveries, which replace those of their day (`replaces: period`)."""


@dataclass(frozen=True, slots=True)
class Upload:
    """One delivery, and the verdict it deserves."""

    key: str
    sample: str
    """Of rates, the day that they are of."""
    description: str
    """The content, in a few words."""
    verdict: str
    change: Callable[[bytes], bytes] = bytes
    """The change of the sample."""

    @property
    def file(self) -> str:
        """Its path among the files of the demo, with the name that it is delivered under; the same for the same bytes."""
        return f"{self.change.__name__}/{self.key.rpartition('/')[2] or self.sample}"

    @property
    def prefix(self) -> str:
        """The prefix that it is delivered to."""
        return f"{self.key.partition('/')[0]}/"


def without_quantity(content: bytes) -> bytes:
    """The file without the column `quantity`, which the contract requires."""
    lines = content.splitlines()
    place = lines[0].split(b";").index(b"quantity")
    return b"".join(b";".join(_without(line.split(b";"), place)) + b"\n" for line in lines)


def corrected(content: bytes) -> bytes:
    """The file without its last order: somebody had typed it twice."""
    return content[: content.rindex(b"\n", 0, -1) + 1]


def shorter(content: bytes) -> bytes:
    """The file without its last two orders."""
    return corrected(corrected(content))


def summary(content: bytes) -> dict[str, object]:
    """A producer's summary of a CSV file before it is sent: its rows and the names of its columns."""
    header, *rows = content.splitlines()
    return {"rows": len(rows), "columns": [{"name": name} for name in header.decode().split(";")]}


def _without(cells: list[bytes], place: int) -> list[bytes]:
    return cells[:place] + cells[place + 1 :]


UPLOADS = (
    Upload("weather/clean.csv", "weather-clean.csv", "keeps every promise", "accepted"),
    Upload("weather/dirty.csv", "weather-dirty.csv", "sentinels and impossible values", "rejected"),
    Upload("weather/gaps.csv", "weather-warn.csv", "between the two tolerances", "accepted_with_warnings"),
    Upload("orders/orders.csv", "orders-clean.csv", "keeps every promise", "accepted"),
    Upload("orders/no-quantity.csv", "orders-clean.csv", "lacks a required column", "rejected", without_quantity),
    Upload("orders/orders.csv", "orders-clean.csv", "the same again, byte for byte", "rejected"),
    Upload("orders/orders.csv", "orders-clean.csv", "corrected, under the same key", "accepted", corrected),
    Upload("rates/2025-02-01.csv", "2025-02-01", "rates of a day, which become rows of a table", "accepted"),
)

ANNOUNCED = (
    Upload("orders/orders.csv", "orders-clean.csv", "announced without a column", "refused", without_quantity),
    Upload("orders/orders.csv", "orders-clean.csv", "announced, then sent by its upload URL", "accepted", shorter),
)
"""The deliveries through the HTTP API, whose keys have the id of the announcement behind the prefix. What is `refused` is never
sent."""
PULLED = Upload("rates/", "2025-01-31", "fetched from the bucket of a partner", "accepted")
"""The delivery that nobody brings."""


def rates(seed: int, day: str) -> bytes:
    """Exchange rates of a day, which depend on the seed, too."""
    random = Random(f"{seed} {day}")  # noqa: S311 - sample data
    lines = [f"{currency},{random.uniform(0.5, 2):.4f},{day}" for currency in CURRENCIES]
    return "\n".join(["currency,rate,valid_on", *lines, ""]).encode()


def write_uploads(folder: Path, rows: int, seed: int) -> None:
    """Write the file of each delivery."""
    for upload in (*UPLOADS, *ANNOUNCED, PULLED):
        (folder / upload.file).parent.mkdir(exist_ok=True)
    for upload in (*UPLOADS, *ANNOUNCED, PULLED):
        sample = folder / upload.sample
        if upload.prefix == PULLED.prefix:
            sample.write_bytes(rates(seed, upload.sample))
        elif not sample.exists():
            write(SAMPLES[upload.sample], sample, rows, seed)
        (folder / upload.file).write_bytes(upload.change(sample.read_bytes()))
