"""`lakegate check` as a producer uses it, on the sample files a stranger tries first."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from infra.samples.sample_data import SAMPLES, write
from lakegate.base.errors import InputError
from lakegate.base.extension_points import ROOT
from lakegate.cli.main import app
from tests.published_schemas import validate

pytestmark = pytest.mark.spark
FULL = pytest.mark.full

EXAMPLES = ROOT / "contracts" / "examples"
WEATHER, ORDERS = EXAMPLES / "weather.dcm.yaml", EXAMPLES / "orders.odcs.yaml"
ROWS = 2_000


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    for name, sample in SAMPLES.items():
        write(sample, folder / name, ROWS, seed=1)
    return folder


def check(contract: Path, *data: Path, options: tuple[str, ...] = ("--json",)) -> Any:
    return CliRunner().invoke(app, ["check", "--contract", str(contract), *map(str, data), *options])


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("contract", "name", "verdict", "code"),
    [
        (WEATHER, "weather-clean.csv", "accepted", 0),
        (WEATHER, "weather-warn.csv", "accepted_with_warnings", 0),
        (WEATHER, "weather-dirty.csv", "rejected", 1),
        (ORDERS, "orders-clean.csv", "accepted", 0),
        (ORDERS, "orders-warn.csv", "accepted_with_warnings", 0),
        (ORDERS, "orders-dirty.csv", "rejected", 1),
    ],
)
def test_the_samples_get_the_verdicts_they_are_named_for(
    samples: Path, contract: Path, name: str, verdict: str, code: int
) -> None:
    """Clean data is accepted, data with gaps accepted with warnings, dirty data rejected, each with its exit code."""
    answer = check(contract, samples / name)

    assert (verdict, code) == (json.loads(answer.stdout)["verdict"], answer.exit_code)


@pytest.mark.usefixtures("spark")
def test_the_answer_for_machines_has_the_documented_shape(samples: Path) -> None:
    """Check --json prints one document of the schema check.json, with every check of the plan."""
    document = json.loads(check(WEATHER, samples / "weather-clean.csv").stdout)
    rules = [each for each in document["checks"] if each["rule"].endswith("_rule")]

    validate("check", document)
    assert (
        document["dataset"],
        document["rows"],
        document["published_rows"],
        document["rejected_rows"],
        len(rules),
    ) == ("weather_record", ROWS, ROWS, 0, 46)


@pytest.mark.usefixtures("spark")
def test_people_read_the_reasons_and_the_verdict(samples: Path) -> None:
    """The words name rule, field and share of rows, and never show a value that is not public."""
    answer = check(ORDERS, samples / "orders-dirty.csv", options=())

    assert "Rejected" in answer.stdout
    assert re.search(r"^fail  known_statuses  status\n      wanted [^;]*;\s+measured ", answer.stdout, re.MULTILINE)
    assert "@example" not in answer.stdout


@pytest.mark.usefixtures("spark")
def test_a_name_of_a_file_chooses_nothing(samples: Path, tmp_path: Path) -> None:
    """Brackets, leading underscores and dots, spaces and a codec's ending in a file's name do not change what is read."""
    content = (samples / "orders-clean.csv").read_bytes()
    (tmp_path / "good.csv").write_bytes(b"order_id\nbad\n")
    for name in ("[g]ood.csv", "_hidden.csv", ".dot.csv", "a b+c%20.csv", "plain.csv.gz"):
        (tmp_path / name).write_bytes(content)
        document = json.loads(check(ORDERS, tmp_path / name).stdout)

        assert (document["verdict"], document["rows"]) == ("accepted", ROWS)


def test_a_process_of_its_own_ends_with_the_verdicts_code(
    samples: Path, environment_of_a_process: dict[str, str]
) -> None:
    """The command as a person starts it prints its table, ends by itself, and its exit code is the verdict."""
    command = [
        sys.executable,
        "-m",
        "lakegate.cli.main",
        "check",
        "--contract",
        str(WEATHER),
        str(samples / "weather-dirty.csv"),
    ]
    ended = subprocess.run(  # noqa: S603 - our own command
        command, capture_output=True, text=True, timeout=300, cwd=ROOT, env=environment_of_a_process, check=False
    )

    assert (ended.returncode, ended.stderr) == (1, "")
    assert "\nRejected: 2,000 rows, " in ended.stdout
    assert "weather-dirty.csv as weather_record, contract" in " ".join(ended.stdout.split())


@pytest.mark.parametrize("seconds", [0, pytest.param(2, marks=FULL), 4, pytest.param(6, marks=FULL)])
def test_an_interrupted_check_leaves_nothing_behind(
    samples: Path, tmp_path: Path, environment_of_a_process: dict[str, str], seconds: float
) -> None:
    """Ctrl-C while Spark starts or runs ends the command at once, with one line, exit code 130, no JVM and no file."""
    data, folder = tmp_path / "long.csv", tmp_path / "temporary"
    header, *rows = (samples / "weather-dirty.csv").read_text().splitlines(keepends=True)
    data.write_text(header + "".join(rows) * 50)
    folder.mkdir()
    command = [
        sys.executable,
        "-m",
        "lakegate.cli.main",
        "check",
        "--engine",
        "spark",
        "--contract",
        str(WEATHER),
        str(data),
    ]
    with subprocess.Popen(  # noqa: S603 - our own command
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment_of_a_process | {"TMPDIR": str(folder)},
        start_new_session=True,
    ) as running:
        until = time.monotonic() + 120
        while not list(folder.glob("lakegate-*/spark.log")) and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(seconds)
        os.killpg(running.pid, signal.SIGINT)
        written = running.communicate(timeout=60)

    assert (running.returncode, *written) == (130, "", "lakegate: interrupted\n")
    assert list(folder.iterdir()) == []
    assert running_in_group(running.pid) == []


def running_in_group(group: int) -> list[str]:
    """The processes of a group that run; one that has ended and was not yet waited for does not."""
    listed = subprocess.run(["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True)  # noqa: S607 - ps
    processes = (line.split(maxsplit=2) for line in listed.stdout.splitlines())
    return [" ".join(rest) for pgid, state, *rest in processes if int(pgid) == group and not state.startswith("Z")]


@pytest.mark.usefixtures("spark")
def test_rows_that_are_refused_are_counted_apart(samples: Path, tmp_path: Path) -> None:
    """With onReject: rows the command reports the rows that the gate would publish and reject, and the document has both."""
    contract = tmp_path / "rows.odcs.yaml"
    contract.write_text(ORDERS.read_text().replace("onReject: file", "onReject: rows"))
    document = json.loads(check(contract, samples / "orders-dirty.csv").stdout)
    shown = check(contract, samples / "orders-dirty.csv", options=()).stdout
    published, rejected = document["published_rows"], document["rejected_rows"]

    assert (document["verdict"], published + rejected) == ("accepted_with_warnings", ROWS)
    assert 0 < rejected < ROWS
    assert f"Accepted with warnings: {published:,} of 2,000 rows published, {rejected:,} rejected\n" in shown


@pytest.mark.usefixtures("spark")
def test_values_are_shown_and_failing_rows_written(samples: Path, tmp_path: Path) -> None:
    """Masked values are shapes; --show-values shows them, and --failures writes every failing row, whole."""
    options = ("--show-values", "--failures", str(tmp_path / "bad.csv"), "--json")
    masked = json.loads(check(WEATHER, samples / "weather-dirty.csv").stdout)
    document = json.loads(check(WEATHER, samples / "weather-dirty.csv", options=options).stdout)
    written = (tmp_path / "bad.csv").read_text().splitlines()[1:]

    (status,) = (each for each in document["checks"] if each["rule"] == "allowed_states_rule")
    (hidden,) = (each for each in masked["checks"] if each["rule"] == "allowed_states_rule")
    lines = (samples / "weather-dirty.csv").read_text().splitlines()

    assert len(status["samples"]) == min(20, status["failing_rows"])
    assert [each["masked"] for each in status["samples"]] == [[False]] * len(status["samples"])
    assert all(each["values"][0] in lines[each["row"] - 1] for each in status["samples"])
    assert all(each["masked"] == [True] for each in hidden["samples"])
    assert len([each for each in written if "allowed_states_rule" in each]) == status["failing_rows"]
    assert all(lines[int(each.partition(",")[0]) - 1] == each.rpartition('",')[2] for each in written)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--contract", "none.yaml", "x.csv"], "the contract none.yaml cannot be read: No such file or directory"),
        (["--contract", str(WEATHER), "none.csv"], "none.csv does not exist"),
        (
            ["--contract", str(WEATHER), "--dataset", "nope", "x.csv"],
            "choose one with --dataset, in Python dataset= (weather_record)",
        ),
        (["--contract", str(ROOT / "Makefile"), "x.csv"], "syntax: This is neither YAML nor JSON"),
    ],
)
def test_what_cannot_be_used_ends_in_one_sentence(arguments: list[str], words: str) -> None:
    """A missing file, a folder, an unknown dataset, a document that is not a contract: exit 2, a sentence, no traceback."""
    command = [sys.executable, "-m", "lakegate.cli.main", "check", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT, check=False)  # noqa: S603 - ours

    assert (ended.returncode, ended.stdout) == (2, "")
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr


SHOP = """\
dataContractSpecification: 1.2.1
id: shop
info: {title: Shop, version: 1.0.0}
servers: {production: {type: s3, location: "s3://shop/{model}/*.csv", format: csv}}
models:
  orders:
    fields:
      order_id: {type: text, required: true, primaryKey: true}
      order_timestamp: {type: timestamp}
      order_total:
        type: long
        quality:
          - {type: sql, query: "SELECT quantile_cont({field}, 0.95) FROM {model}", mustBeBetween: [1000, 49900]}
    quality:
      - type: sql
        query: |
          SELECT max(duration) FROM (
            SELECT EXTRACT(EPOCH FROM (order_timestamp - LAG(order_timestamp) OVER (ORDER BY order_timestamp))) AS duration
            FROM orders)
        mustBeLessThan: 3600
  line_items:
    fields:
      line_item_id: {type: text, required: true}
      order_id: {type: text, references: orders.order_id}
"""
FIRST = "order_id,order_timestamp,order_total\n1,2030-09-09T08:30:00Z,2500\n2,2030-09-09T09:29:59Z,1800\n"


@pytest.mark.usefixtures("spark")
def test_queries_and_references_are_checked_on_files(tmp_path: Path) -> None:
    """SQL in the words of the contract's server is answered; references are compared with the files given."""
    contract = tmp_path / "shop.dcs.yaml"
    contract.write_text(SHOP)
    orders, lines = tmp_path / "orders.csv", tmp_path / "line_items.csv"
    orders.write_text(FIRST)
    lines.write_text("line_item_id,order_id\nL1,1\nL2,2\nL3,9\nL4,\n")
    of_orders = check(contract, orders, options=("--dataset", "orders", "--json"))
    alone = check(contract, lines, options=("--dataset", "line_items", "--json"))
    beside = check(contract, lines, options=("--dataset", "line_items", "--json", "--reference", f"orders={orders}"))

    def of(answer: Any, kind: str) -> list[tuple[str, str]]:
        return [
            (each["status"], each["message"]) for each in json.loads(answer.stdout)["checks"] if each["metric"] == kind
        ]

    assert (of_orders.exit_code, [status for status, _ in of(of_orders, "answer")]) == (0, ["pass", "pass"])
    assert "measured 3599" in of(of_orders, "answer")[1][1]
    assert alone.exit_code == 0
    assert "no accepted data of shop/orders_v1 was given to compare with" in alone.stdout
    assert (beside.exit_code, len(of(beside, "unmatched_rows"))) == (1, 1)
    assert "1 of 3 keys is found nowhere" in of(beside, "unmatched_rows")[0][1]


def test_a_reference_that_names_no_dataset_or_no_file_is_a_usage_error(tmp_path: Path) -> None:
    """`--reference` names a dataset of the contract and a file that exists."""
    contract, data = tmp_path / "shop.dcs.yaml", tmp_path / "orders.csv"
    contract.write_text(SHOP)
    data.write_text(FIRST)
    errors = [
        check(contract, data, options=("--dataset", "orders", "--reference", reference)).exception
        for reference in ("orders", f"nothing={data}", f"orders={tmp_path / 'none.csv'}")
    ]

    assert [InputError] * 3 == [type(each) for each in errors]
