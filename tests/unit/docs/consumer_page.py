"""The examples of docs/manifest.md, and a line to run them on: two deliveries of different dialects."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch

from lakegate.gate.registry import publish_contract
from tests.unit.cli.conftest import Lakegate

PAGE = (Path(__file__).parents[3] / "docs/manifest.md").read_text()
CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: 5f0c8a52-8f2e-4d07-9a60-0b7c1a3f6d11
version: VERSION
status: active
schema:
  - name: orders
    logicalType: object
    properties:
      - {name: order_id, logicalType: string, required: true}
      - {name: country, logicalType: string}
      - {name: total_amount, logicalType: number}
      - {name: note, logicalType: string}
    customProperties:
      - property: lakegate
        value: {csv: {delimiter: "DELIMITER", encoding: ENCODING, nullValues: ["", "n/a"], skipRows: SKIPPED}}
"""
FIRST = """\
order_id;country;total_amount;note
1;BR;0.10;"two ""quoted"" words; and a delimiter"
2;PT;12.5;n/a
3;BR;0.20;Portão
4;n/a;1;
"""
SECOND = """\
note,order_id,country,total_amount
"a, b",5,PT,0.05
é,6,BR,100
"",7,PT,1
,8,DE,2
"""
BY_COUNTRY = {
    None: (1, Decimal(1)),
    "BR": (3, Decimal("100.30")),
    "DE": (1, Decimal(2)),
    "PT": (3, Decimal("13.55")),
}


def example(library: str) -> str:
    """The code block of the page that imports a library."""
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (found,) = [each for each in blocks if re.search(rf"^(import|from) {library}\b", each, re.MULTILINE)]
    return str(found)


def manifest_of_the_page() -> Any:
    """The manifest that the page shows."""
    return json.loads(re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0])


def run(library: str) -> Any:
    """What the example computes, run as a reader would run it."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(example(library), f"<the example of {library}>", "exec"), names)  # noqa: S102 - the text is our own page
    return names["by_country"]


def fill(lakegate: Lakegate, other_encoding: str = "latin-1", titles: str = "") -> None:
    """A line `orders_v1` of two versions, each with a delivery that was accepted; the second one below some `titles`."""
    for number, (version, delimiter, encoding, text) in enumerate(
        (("1.0.0", ";", "utf-8", FIRST), ("1.1.0", ",", other_encoding, titles + SECOND))
    ):
        path = lakegate.folder / f"orders-{version}.yaml"
        written = CONTRACT.replace("VERSION", version).replace("DELIMITER", delimiter).replace("ENCODING", encoding)
        path.write_text(written.replace("SKIPPED", str(titles.count("\n")) if number else "0"))
        with patch.object(
            publish_contract, "refuse_incompatible", lambda *_: None
        ):  # as by releases that compared no versions
            lakegate.ok("publish", str(path))
        lakegate.ok("route", "add", "orders/", "5f0c8a52-8f2e-4d07-9a60-0b7c1a3f6d11")
        lakegate.delivered(name=f"{number}.csv", body=text.encode(encoding))
