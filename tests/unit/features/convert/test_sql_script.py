"""Scripts of SQL of which the parser knows a part alone: each part that it does not know costs itself, and is listed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import InputError
from lakegate.features.convert import sql_ddl
from lakegate.features.convert.convert_command import SchemaFormat, import_schema
from tests.reference.sampling import sampled

TABLE = """\
SET ANSI_NULLS ON
GO
CREATE TABLE [dbo].[Product](
  [Id] [bigint] IDENTITY(1,1) NOT NULL,
  [Key] [uniqueidentifier] ROWGUIDCOL NOT NULL,
  [Calc] AS ([Id]*2) PERSISTED,
 CONSTRAINT [PK_P] PRIMARY KEY CLUSTERED ([Id] ASC) WITH (PAD_INDEX = OFF) ON [PRIMARY]
) ON [PRIMARY]
GO
CREATE TABLE [dbo].[Price]([Amount] [decimal](12, 2) NULL)
CREATE TABLE [dbo].[Other]([A] [int] NULL)
"""
"""As SQL Server Management Studio writes it; the last two tables have no semicolon between them."""


def read(text: str, dialect: str = "") -> tuple[dict[str, dict[str, str]], tuple[str, ...]]:
    """The types of the columns of each table, and what is listed."""
    contract, lost = sql_ddl.read(text.encode(), "shop", dialect)
    return {each.name: {one.name: one.type.value for one in each.fields} for each in contract.datasets}, lost


@pytest.mark.parametrize("dialect", ["sqlserver", "tsql", "mssql", "synapse", "fabric"])
def test_a_script_of_sql_server_is_read_by_each_name_of_its_dialect(dialect: str, tmp_path: Path) -> None:
    """The command takes every word that contracts have for SQL Server."""
    path = tmp_path / "shop.sql"
    path.write_text(TABLE)
    contract, lost = import_schema(SchemaFormat.SQL, path, None, dialect)
    product, price, other = contract.datasets

    assert [(each.name, each.type.value) for each in product.fields] == [("Id", "integer"), ("Key", "string")]
    assert [(each.kind, each.fields) for each in product.rules if each.kind != "type"] == [
        ("required", ("Id",)),
        ("required", ("Key",)),
        ("primaryKey", ("Id",)),
    ]
    assert (price.fields[0].declared, other.fields[0].name) == ("decimal(12, 2)", "A")
    assert [each for each in lost if "ROWGUIDCOL" in each or "Calc" in each or "SET" in each] == [
        "Product.Key: `ROWGUIDCOL` (line 5) has no equivalent",
        'Product.Calc: left out: it has no type: `"Calc" AS ("Id" * 2) PERSISTED`',
        "line 1: `SET ANSI_NULLS ON` creates no table with columns, and adds nothing to one",
    ]


@pytest.mark.parametrize("dialect", ["sqlserver", "mssql"])
def test_the_columns_of_dbt_are_read_in_that_dialect(dialect: str, tmp_path: Path) -> None:
    """A name of SQL Server alone, `datetimeoffset`, is a type of a model's column."""
    path = tmp_path / "manifest.json"
    path.write_text(
        '{"metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json"}, "nodes": {"m": '
        '{"resource_type": "model", "name": "m", "columns": {"a": {"name": "a", "data_type": "datetimeoffset"}}}}}'
    )
    contract, lost = import_schema(SchemaFormat.DBT, path, None, dialect)

    assert ([each.type.value for each in contract.datasets[0].fields], lost) == (["timestamp"], ())


@pytest.mark.parametrize(
    ("text", "dialect", "columns", "listed"),
    [
        (
            "CREATE TABLE t (a INT, b AS (a * 2))",
            "",
            {"a": "integer"},
            ["t.b: left out: it has no type: `b AS (a * 2)`"],
        ),
        (
            "CREATE TABLE t (a, b TEXT, c NOT NULL, d PRIMARY KEY)",
            "sqlite",
            {"b": "string"},
            [
                "t.c: left out: it has no type: `c NOT NULL`",
                "t.d: left out: it has no type: `d PRIMARY KEY`",
                "t.a: left out: it has no type",
            ],
        ),
        (
            "CREATE TABLE t (\na INT SORTKEY DISTKEY NOT NULL, d DATE)",
            "redshift",
            {"a": "integer", "d": "date"},
            ["t.a: `SORTKEY DISTKEY` (line 2) has no equivalent"],
        ),
        (
            "CREATE TABLE t (a INT)\nDISTSTYLE AUTO INTERLEAVED SORTKEY (a)",
            "redshift",
            {"a": "integer"},
            ["t.table: `DISTSTYLE AUTO INTERLEAVED SORTKEY (a)` (line 2) has no equivalent"],
        ),
        (
            "CREATE TABLE t (a INT) PARTITION BY HASH (a) PARTITIONS 4",
            "mysql",
            {"a": "integer"},
            ["t.table: `PARTITION BY HASH (a) PARTITIONS 4` (line 1) has no equivalent"],
        ),
        (
            "CREATE TABLE t (a INT) INHERITS (u)",
            "postgres",
            {"a": "integer"},
            ["t.table: `INHERITS (u)` has no equivalent"],
        ),
        (
            "CREATE TABLE t (a INT,\n PERIOD FOR VALID (a, b) WEIRD,\n b TEXT)",
            "postgres",
            {"a": "integer", "b": "string"},
            ["t.table: `PERIOD FOR VALID (a, b) WEIRD` (line 2) has no equivalent"],
        ),
        (
            "CREATE TABLE t (a INT, k TEXT,\n CHECK (a > 5 WEIRD), UNIQUE (a) WEIRD (x))",
            "",
            {"a": "integer", "k": "string"},
            [
                "t.table: `CHECK (a > 5 WEIRD)` (line 2) has no equivalent",
                "t.table: `WEIRD (x)` (line 2) has no equivalent",
            ],
        ),
        (
            "CREATE TABLE t (a INT);\nCREATE FLOWER f (;\nCREATE TABLE u (b INT)",
            "",
            {"a": "integer"},
            ["line 2: `CREATE FLOWER f (` cannot be read"],
        ),
        (
            "CREATE TABLE t (a INT);\nCREATE TABLE u (b);",
            "",
            {"a": "integer"},
            ["u.b: left out: it has no type", "u.left out: u has no column that a contract can describe"],
        ),
        (
            "CREATE TABLE t (a DATE, b NUMBER(10,2), c VARCHAR2(20 CHAR), d RAW(16), e CLOB)",
            "oracle",
            {"a": "timestamp", "b": "decimal", "c": "string", "d": "binary", "e": "string"},
            [],
        ),
    ],
)
def test_what_the_parser_does_not_know_costs_itself(
    text: str, dialect: str, columns: dict[str, str], listed: list[str]
) -> None:
    """The other columns, and the other tables, are read; what is lost is named with its place."""
    found, lost = read(text, dialect)

    assert (found["t"], [*lost]) == (columns, listed)


def test_a_comment_stays_where_other_options_are_lost() -> None:
    """The options of a table that cannot be read do not take its description along."""
    contract, lost = sql_ddl.read(
        b"CREATE TABLE t (a INT COMMENT 'x') ENGINE=InnoDB COMMENT='d' PARTITION BY HASH (a) PARTITIONS 4", "s", "mysql"
    )

    assert (contract.datasets[0].description, contract.datasets[0].fields[0].description, len(lost)) == ("d", "x", 1)


def test_a_key_with_a_condition_is_no_key_of_all_rows() -> None:
    """A part of a constraint is not read where the rest of it says of which rows it is."""
    contract, lost = sql_ddl.read(
        b"CREATE TABLE t (a INT WEIRD, UNIQUE (a) WHERE a > 5, UNIQUE (a) WEIRD WHERE a > 6)", "s", "postgres"
    )

    assert [each.kind for each in contract.datasets[0].rules] == ["type"]
    assert len(lost) == 3


def test_an_open_quote_costs_what_follows() -> None:
    """The tables before it are read, and its line is named."""
    text = "CREATE TABLE t (a INT);\nDROP THING 'it's';\nCREATE TABLE u (a INT);"
    fault = "cannot be read, nor what follows: a quote or comment is not closed"

    assert read(text) == ({"t": {"a": "integer"}}, (f"line 2: `DROP THING 'it's'; …` {fault}",))
    with pytest.raises(InputError, match="`CREATE TABLE u \\(a INT DEFAULT 'x\\)` on line 1 cannot be read"):
        read("CREATE TABLE u (a INT DEFAULT 'x)")


def test_options_that_the_parser_cannot_write_again_are_named() -> None:
    """What it reads of Redshift's BACKUP has no words of its own."""
    found, lost = read(
        "CREATE TABLE t (a BIGINT ENCODE az64 DISTKEY)\nDISTSTYLE KEY\nSORTKEY (a)\nBACKUP NO", "redshift"
    )

    assert found == {"t": {"a": "integer"}}
    assert len(lost) > 1


def test_a_script_of_oracle_has_types_and_ends_of_its_own() -> None:
    """A line with a slash ends a statement, a LONG is a text, and ENABLE costs itself."""
    text = 'CREATE TABLE "T" ("A" NUMBER(10,0) NOT NULL ENABLE, "L" LONG)\n/\nCOMMENT ON COLUMN "T"."A" IS \'key\''
    contract, lost = sql_ddl.read(text.encode(), "s", "oracle")
    (table,) = contract.datasets

    assert [(each.name, each.type.value, each.description) for each in table.fields] == [
        ("A", "decimal", "key"),
        ("L", "string", None),
    ]
    assert lost == ("T.A: `ENABLE` (line 1) has no equivalent",)


def test_the_data_of_a_dump_is_passed_over() -> None:
    """It is no SQL, and what stands behind it is."""
    text = "CREATE TABLE t (a INT);\nCOPY t FROM stdin;\n1\tit's\n\\.\nALTER TABLE t ADD PRIMARY KEY (a);\nX Y;"
    contract, lost = sql_ddl.read(text.encode(), "s", "postgres")

    assert [each.kind for each in contract.datasets[0].rules] == ["type", "primaryKey"]
    assert [each.partition(":")[0] for each in lost] == ["line 2", "line 6"]


def test_a_type_with_a_name_like_another_one_is_not_that() -> None:
    """A range of whole numbers is no whole number."""
    found, lost = read("CREATE TABLE t (a INT4RANGE, b TEXT, c TSVECTOR, d UUID[])", "postgres")

    assert found["t"] == {"b": "string", "d": "string"}
    assert [each.partition(":")[0] for each in lost] == ["t.a", "t.c"]


def test_a_text_of_unknown_clauses_ends_soon() -> None:
    """The number of repairs is bounded."""
    with pytest.raises(InputError, match="too much of the text cannot be read"):
        read("CREATE TABLE t (" + ", ".join(f"c{at} INT (" + "X Y " * 50 + ") Z Z Z" for at in range(900)) + ")")


_WORDS = st.sampled_from(
    (
        *(
            "a",
            "b",
            "INT",
            "TEXT",
            "NOT",
            "NULL",
            "PRIMARY",
            "KEY",
            "CHECK",
            "DEFAULT",
            "AS",
            "CONSTRAINT",
            "REFERENCES",
        ),
        *("(", ")", ",", "<", ">", "1", "'x'", "WEIRD", "UNIQUE", "COMMENT", "GENERATED", "=", ";", "CREATE TABLE"),
        *("BACKUP", "NO", "SORTKEY", "ENCODE", "PARTITION", "BY", "WITH", "ON", "ENGINE", "CLUSTER", "USING", "LIKE"),
    )
)


@sampled(300, 3_000)
@given(st.lists(_WORDS, max_size=12), st.sampled_from(["", "sqlserver", "postgres", "oracle", "mysql", "bigquery"]))
def test_any_words_in_a_table_leave_the_other_table(words: list[str], dialect: str) -> None:
    """There is no traceback, and the table beside it is read."""
    found, _ = read(f"CREATE TABLE first_one (k INT);\nCREATE TABLE t (a INT {' '.join(words)})", dialect)

    assert found["first_one"] == {"k": "integer"}
