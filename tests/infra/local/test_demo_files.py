from __future__ import annotations

from pathlib import Path

from infra.samples.demo import ANNOUNCED, CURRENCIES, EXAMPLES, PULLED, UPLOADS, write_uploads


def test_the_eight_files_are_as_the_demo_describes_them(tmp_path: Path) -> None:
    """One file twice byte for byte, one without its last order, one without a column; all others differ."""
    write_uploads(tmp_path, rows=200, seed=1)
    good, lacking, again, corrected, _ = ((tmp_path / each.file).read_bytes() for each in UPLOADS[3:])

    assert len({(tmp_path / each.file).read_bytes() for each in UPLOADS}) == 7
    assert good == again
    assert good.splitlines()[:-1] == corrected.splitlines()
    assert b"quantity" not in lacking.splitlines()[0]
    assert [line.count(b";") - 1 for line in good.splitlines()[:1]] == [lacking.splitlines()[0].count(b";")]


def test_another_seed_makes_deliveries_that_nobody_has_seen(tmp_path: Path) -> None:
    """A second demo on the same stack meets no duplicates but its own."""
    for seed in (1, 2):
        (tmp_path / str(seed)).mkdir()
        write_uploads(tmp_path / str(seed), rows=200, seed=seed)
    first, second = ({(tmp_path / seed / each.file).read_bytes() for each in (*UPLOADS, PULLED)} for seed in "12")

    assert first.isdisjoint(second)


def test_what_is_delivered_again_has_its_name_also_where_it_is_announced(tmp_path: Path) -> None:
    """So that the contract's `replaces: delivery` finds it: after the demo, each order counts once."""
    write_uploads(tmp_path, rows=200, seed=1)
    again = [each for each in (*UPLOADS, *ANNOUNCED) if each.key == "orders/orders.csv" and each.verdict == "accepted"]

    assert [Path(each.file).name for each in again] == ["orders.csv"] * 3
    assert {each.prefix for each in (*UPLOADS, *ANNOUNCED, PULLED)} == {"weather/", "orders/", "rates/"}
    assert "replaces: delivery" in (EXAMPLES / "orders.odcs.yaml").read_text()


def test_the_rates_are_a_table_of_two_days(tmp_path: Path) -> None:
    """One is uploaded and one is pulled, so that neither replaces the other."""
    write_uploads(tmp_path, rows=200, seed=1)
    bodies = [(tmp_path / each.file).read_text().splitlines() for each in (*UPLOADS, PULLED) if each.prefix == "rates/"]

    assert [{line.rpartition(",")[2] for line in lines[1:]} for lines in bodies] == [{"2025-02-01"}, {"2025-01-31"}]
    assert [[line[:3] for line in lines[1:]] for lines in bodies] == [list(CURRENCIES)] * 2
    assert "publishAs: iceberg" in (EXAMPLES / "rates.odcs.yaml").read_text()
