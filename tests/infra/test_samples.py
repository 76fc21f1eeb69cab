from __future__ import annotations

import csv
from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from infra.samples import sample_data
from infra.samples.__main__ import main
from infra.samples.sample_data import MEASUREMENTS, SAMPLES

EXAMPLES = Path(__file__).parents[2] / "contracts" / "examples"
WEATHER = yaml.safe_load((EXAMPLES / "weather.dcm.yaml").read_text())
ORDERS = yaml.safe_load((EXAMPLES / "orders.odcs.yaml").read_text())
ROWS = 3840
Rows = list[dict[str, str]]


def read_back(path: Path) -> Rows:
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter=SAMPLES[path.name].delimiter))


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Rows]:
    folder = tmp_path_factory.mktemp("samples")
    main([str(folder), "--rows", str(ROWS), "--seed", "7"])
    return {path.name: read_back(path) for path in folder.iterdir()}


def share(rows: Rows, holds: Callable[[dict[str, str]], bool]) -> float:
    return sum(map(holds, rows)) / len(rows)


def broken(rows: Rows) -> set[str]:
    """The weather rules of DCM's Appendix A that these rows break or bend, measured here without any of our code."""
    rules = {rule["id"]: rule for rule in WEATHER["quality"]}
    found = set()
    for name, rule in rules.items():
        for field in rule["columns"]:
            values = [row[field] for row in rows if row[field]]
            wanted = rule.get("parameter")
            verdict = {
                "unique": lambda v=values: len(set(v)) == len(v),
                "complete": lambda v=values, w=wanted, r=rule: len(v) / len(rows) >= w - lowest(r),
                "min": lambda v=values, w=wanted: all(float(x) >= w for x in v),
                "max": lambda v=values, w=wanted: all(float(x) <= w for x in v),
                "allowedValues": lambda v=values, w=wanted: set(v) <= set(w),
                "custom": lambda v=values, r=rule: all(parses(x, r["args"]["strftime_format"]) for x in v),
            }[rule["type"]]
            found |= set() if verdict() else {name}
    return found


def lowest(rule: dict[str, dict[str, dict[str, float]]]) -> float:
    """The tolerance outside which a rule at least warns."""
    tiers = rule.get("severity", {})
    return tiers.get("warn", tiers.get("fail", {})).get("tolerance", 0)


def parses(text: str, form: str) -> bool:
    try:
        return bool(datetime.strptime(text, form))  # noqa: DTZ007 - only the form counts
    except ValueError:
        return False


@pytest.mark.parametrize("kind", ["clean", "warn", "dirty"])
def test_weather_has_the_shape_that_its_contract_promises(samples: dict[str, Rows], kind: str) -> None:
    """Every weather file has the contract's 27 fields in the contract's order, and as many rows as were asked for."""
    rows = samples[f"weather-{kind}.csv"]

    assert len(rows) == ROWS
    assert [column["name"] for column in WEATHER["dataset"]["schema"]] == list(rows[0])
    assert len(rows[0]) == 27


@pytest.mark.parametrize("kind", ["clean", "warn", "dirty"])
def test_orders_have_the_shape_that_their_contract_promises(samples: dict[str, Rows], kind: str) -> None:
    """Every orders file has the contract's fields in the contract's order."""
    rows = samples[f"orders-{kind}.csv"]

    assert len(rows) == ROWS
    assert [field["name"] for field in ORDERS["schema"][0]["properties"]] == list(rows[0])


def test_clean_weather_breaks_no_rule(samples: dict[str, Rows]) -> None:
    """All ten quality rules of the contract hold on the clean file."""
    assert set() == broken(samples["weather-clean.csv"])


def test_weather_in_between_bends_completeness_and_nothing_else(samples: dict[str, Rows]) -> None:
    """Three measurements lie inside the warning band, clear of both its ends; every other rule holds."""
    rows = samples["weather-warn.csv"]

    assert {"not_null_measurements_rule"} == broken(rows)
    shares = {field: share(rows, lambda row, f=field: bool(row[f])) for field in MEASUREMENTS}
    dirty_fields = {field for field, value in shares.items() if value < 0.9}
    assert {"gust_max_m_s", "wind_speed_m_s", "wind_direct_grad"} == dirty_fields
    assert all(0.86 < shares[field] < 0.89 for field in dirty_fields)


def test_dirty_weather_breaks_every_rule_it_is_described_to_break(samples: dict[str, Rows]) -> None:
    """Sentinels, impossible values, dates and hours that are none, a state elsewhere, an index twice."""
    rows = samples["weather-dirty.csv"]

    assert {
        "unique_index_rule",
        "gt_zero_measurements_rule",
        "max_percent_measurements_rule",
        "max_degrees_measurements_rule",
        "allowed_states_rule",
        "custom_date_rule",
        "custom_time_rule",
    } == broken(rows)
    assert pytest.approx(0.06, abs=0.001) == share(rows, lambda row: float(row["wind_direct_grad"] or 0) > 360)
    assert pytest.approx(0.06, abs=0.001) == share(rows, lambda row: float(row["humidity_perc"] or 0) > 100)
    assert len(rows) - len({row["index"] for row in rows}) == 1


def test_radiation_is_missing_at_night_only(samples: dict[str, Rows]) -> None:
    """A station reports no radiation in the dark, which is why half of it is enough for the contract."""
    rows = samples["weather-clean.csv"]

    assert {f"{hour:02}:00" for hour in range(9, 23)} == {row["hour"] for row in rows if row["radiation_kj_m2"]}


def test_clean_orders_keep_their_keys_and_lists(samples: dict[str, Rows]) -> None:
    """No key twice, no unknown value, and free words that need quoting survive it."""
    rows = samples["orders-clean.csv"]
    properties = {field["name"]: field for field in ORDERS["schema"][0]["properties"]}
    known = properties["status"]["quality"][0]["arguments"]["validValues"]

    assert len({row["order_id"] for row in rows}) == ROWS
    assert len({(row["channel"], row["channel_reference"]) for row in rows}) == ROWS
    assert set(known) == {row["status"] for row in rows}
    assert all(row[name] for row in rows for name, field in properties.items() if field.get("required"))
    assert {'Leave it at the "blue" door', "Ring twice; then wait"} < {row["note"] for row in rows}
    assert share(rows, lambda row: not row["delivered_at"]) < 0.5


def test_orders_in_between_lack_deliveries_and_nothing_else(samples: dict[str, Rows]) -> None:
    """The one rule that only warns is the one that the file in between breaks."""
    clean, warn = samples["orders-clean.csv"], samples["orders-warn.csv"]

    assert share(warn, lambda row: not row["delivered_at"]) > 0.65
    assert [row | {"delivered_at": ""} for row in clean] == [row | {"delivered_at": ""} for row in warn]


def test_dirty_orders_hold_what_the_contract_forbids(samples: dict[str, Rows]) -> None:
    """Unknown statuses, amounts that are no numbers, and orders and references that come twice."""
    rows = samples["orders-dirty.csv"]

    assert {"Shipped", "unknown"} < {row["status"] for row in rows}
    assert {"-12.5", "12,50", "1e9"} < {row["total_amount"] for row in rows}
    assert len(rows) - len({row["order_id"] for row in rows}) == 4
    assert (
        sum((a["channel"], a["channel_reference"]) == (b["channel"], b["channel_reference"]) for a, b in pairwise(rows))
        == 8
    )


def test_one_seed_writes_the_same_bytes_and_another_writes_others(tmp_path: Path) -> None:
    """A file can be named by its seed in a report and made again by anybody."""
    for folder, seed in (("a", "3"), ("b", "3"), ("c", "4")):
        main([str(tmp_path / folder), "--rows", "200", "--seed", seed])

    for name in SAMPLES:
        once, again, other = ((tmp_path / folder / name).read_bytes() for folder in "abc")
        assert once == again
        assert once != other


def test_rows_do_not_break_at_the_border_of_two_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file longer than a batch has one header, and its index goes on where the batch before ended."""
    monkeypatch.setattr(sample_data, "BATCH", 100)
    sample_data.write(SAMPLES["weather-clean.csv"], tmp_path / "weather-clean.csv", 250, 1)

    assert [str(n) for n in range(250)] == [row["index"] for row in read_back(tmp_path / "weather-clean.csv")]


@pytest.mark.parametrize("rows", ["0", "-1", "many"])
def test_a_number_of_rows_that_makes_no_file_is_a_usage_error(tmp_path: Path, rows: str) -> None:
    """Exit code 2 and the reason, not an empty file."""
    with pytest.raises(SystemExit) as ended:
        main([str(tmp_path), "--rows", rows])

    assert ended.value.code == 2
    assert list(tmp_path.iterdir()) == []
