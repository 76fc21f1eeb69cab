"""Format, encoding and first lines of files are recognised, or the reason why they cannot be."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest

from lakegate.admission.file_signatures import UnreadableError
from lakegate.contract.file_formats import Csv, Format
from lakegate.engine.read.data_source import LocalStore
from lakegate.features.draft.data_profile import profile
from lakegate.features.draft.found_fields import Profile
from tests.deliveries.avro import write_avro
from tests.engine.drafted import drafted, judged, parts_of


def profiled(folder: Path, **files: bytes) -> Profile:
    """The profile of files with these names; `__` stands for the point of a suffix."""
    paths = [folder / name.replace("__", ".") for name in files]
    for path, content in zip(paths, files.values(), strict=True):
        path.write_bytes(content)
    return profile(parts_of(*paths), LocalStore(), folder)


def refused(folder: Path, **files: bytes) -> tuple[str, int | None, str]:
    """The code, the part and the sentence by which files are refused."""
    with pytest.raises(UnreadableError) as ended:
        profiled(folder, **files)
    return ended.value.finding.code, ended.value.finding.part, ended.value.finding.message


# ---- A note to Excel ----


@pytest.mark.parametrize(
    ("note", "mark", "columns"),
    [
        *((f"sep={mark}", mark or ",", 2) for mark in (";", ",", "\t", "|", "^", ":", "\u00a6", "")),
        *(
            (note, ";", columns)
            for note in ("sep=;", '"sep=;"', "SEP=;", "\ufeffsep=;", "sep=;\r")
            for columns in (1, 3)
        ),
    ],
)
def test_a_note_to_excel_is_named(note: str, mark: str, columns: int, tmp_path: Path) -> None:
    """Whatever its delimiter and quotes, and however few columns follow: `check` refuses the file for it."""
    lines = [note, *(mark.join(f"{word}{at}" for at in range(columns)) for word in ("n", "v"))]
    code, part, words = refused(tmp_path, data__csv="".join(f"{line}\n" for line in lines).encode())

    assert (code, part, "a note to Excel (`sep=`): remove it" in words) == ("header", 0, True)


# ---- JSON whose records are no objects ----


@pytest.mark.parametrize(
    "text",
    [
        '[\n  ["a", 1],\n  ["b", 2]\n]\n',
        '["a", "b"]',
        "[1]",
        "[[1, 2], [3, 4]]",
        "[\n[1, 2],\n[3, 4]\n]",
        "[1,\n2,\n3]\n",
        "[true, false]",
        "[null]",
        "[-1.5e3]",
        "[" * 100_000,
        "[" * 300_000,
        '["a", 1]\n["b", 2]\n',
        '["a"]\n["b"]\n',
        '\ufeff["a"]',
    ],
)
def test_json_without_objects_is_no_csv(text: str, tmp_path: Path) -> None:
    """Arrays of arrays, texts, numbers or words, on one line or several, whatever the name of the file."""
    for name in ("data__json", "data"):
        code, part, words = refused(tmp_path, **{name: text.encode()})

        assert (code, part, "JSON whose records are no objects" in words) == ("records", 0, True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('"abc"', "JSON whose records are no objects"),
        ("12\n", "JSON whose records are no objects"),
        ("null", "JSON whose records are no objects"),
        ("a,b\n1,2\n", "named as JSON, but holds neither objects nor an array of them"),
        ("1\n2\n", "named as JSON, but holds neither objects nor an array of them"),
    ],
)
def test_a_name_of_json_is_believed(text: str, words: str, tmp_path: Path) -> None:
    """A single value would be a header too: the name decides, packed or not, and decides nothing of another name."""
    assert words in refused(tmp_path, data__json=text.encode())[2]
    assert words in refused(tmp_path, data__JSONL__gz=gzip.compress(text.encode()))[2]
    assert profiled(tmp_path, data__txt=text.encode()).storage.format is Format.CSV


@pytest.mark.parametrize("form", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("text", [b"Obj\n", b"x" * 100, b"PAR"])
def test_a_name_of_a_binary_format_is_believed(form: str, text: bytes, tmp_path: Path) -> None:
    """What does not begin as its format does is no CSV."""
    code, part, words = refused(tmp_path, **{f"data__{form}": text})

    assert (code, part, "does not begin as one" in words) == ("other-format", 0, True)


@pytest.mark.parametrize("text", ["[id],[name]\n1,a\n", "[1],[2]\n1,2\n", "{id},{name}\n1,a\n", "<DATE>,<TIME>\n1,2\n"])
def test_brackets_in_a_header_are_no_json(text: str, tmp_path: Path) -> None:
    """Programs export names so."""
    found = profiled(tmp_path, data__csv=text.encode())

    assert (found.storage.format, len(found.columns)) == (Format.CSV, 2)


def test_objects_with_single_quotes_are_json_lines(tmp_path: Path) -> None:
    """Python writes them: the fault of their records is named, and they are no CSV."""
    found = profiled(tmp_path, data=b"{'a': 1}\n{'a': 2}\n")

    assert (found.storage.format, found.malformed) == (Format.JSONL, 2)


@pytest.mark.parametrize(
    "text", ["<!DOCTYPE html>\n<p>", "\n<html lang='de'>", "<?xml version='1.0'?><a/>", "<a>\n <b>1</b>"]
)
def test_a_page_is_no_csv(text: str, tmp_path: Path) -> None:
    """HTML and XML are named."""
    assert refused(tmp_path, data__csv=text.encode())[2].startswith("the file is HTML or XML")


# ---- Encodings ----


SHIFT_JIS = "\u51e6\u7406,\u540d\u524d\n1,\u5b9f\u884c\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (SHIFT_JIS.encode("shift_jis"), 1),
        (b"id,name\n" + "1,\u540d\u524d\n2,\u5b9f\u884c\n".encode("shift_jis") * 20, 3),
        ("id,name\n1,\u0416\n".encode("windows-1251") + b"2,\x81\n", 3),
        ("id,name\n1,caf\xe9\n2,\x9d\n".encode("latin-1"), 3),
    ],
)
def test_an_encoding_that_is_not_known_is_not_guessed(text: bytes, line: int, tmp_path: Path) -> None:
    """Bytes that Windows-1252 lacks show that it is another one, of which ISO 8859-1 would make control characters."""
    code, part, words = refused(tmp_path, data__csv=text)

    assert (code, part) == ("encoding", 0)
    assert words.startswith(f"the encoding of the file is not known: line {line} is neither UTF-8 nor Windows-1252")
    assert "save the file as UTF-8" in words


def test_a_guess_that_the_rest_of_a_file_shows_to_be_wrong_is_none(tmp_path: Path) -> None:
    """Whether the guess is from the first bytes or not; a part of it is not read in two encodings."""
    much = b"1,x\n" * 70_000
    wrong = "2,\u51e6\u7406\n".encode("shift_jis")

    assert refused(tmp_path, data=b"a,b\n0,\xe9\n" + much + wrong)[0] == "encoding"
    late = profiled(tmp_path, data=b"a,b\n" + much + wrong)
    assert (late.csv, late.malformed) == (Csv(), 1)


@pytest.mark.parametrize("encoding", ["windows-1252", "windows-1251", "gbk"])
def test_a_guess_is_marked(encoding: str, tmp_path: Path) -> None:
    """What Windows-1252 can read may be in it: the draft says that this is a suggestion."""
    path = tmp_path / "data.csv"
    words = {"windows-1252": "caf\xe9", "windows-1251": "\u0416\u0435\u043d\u044f", "gbk": "\u4e2d\u56fd"}
    path.write_bytes(f"id,name\n1,{words[encoding]}\n2,{words[encoding]}\n".encode(encoding))

    assert "encoding: windows-1252  # suggested: it is not UTF-8" in drafted(path).draft.text


def test_damaged_characters_of_utf_8_are_no_other_encoding(tmp_path: Path) -> None:
    """Where most characters beyond ASCII are those of UTF-8, others are faults of their rows, at the beginning or later."""
    first, later = b"id,name\n1,caf\xc3\xa9\n2,na\xc3\xafve\n", b"1,x\n" * 70_000 + b"3,caf\xe9\n"
    for text in (first + b"3,caf\xe9\n", first + later):
        found = profiled(tmp_path, data__csv=text)

        assert (found.csv, found.malformed) == (Csv(), 1)


# ---- Files without data ----


@pytest.mark.parametrize("text", [b"\n", b"\r\n\r\n", b"  \n\t\n", b"\xef\xbb\xbf\n", b" "])
@pytest.mark.parametrize("name", ["data__csv", "data__jsonl", "data__json"])
def test_blanks_and_empty_lines_are_no_data(name: str, text: bytes, tmp_path: Path) -> None:
    """No column is drafted of them."""
    assert refused(tmp_path, **{name: text})[2].startswith("there is nothing but blanks and empty lines")


def test_a_file_without_columns_is_named_as_such(tmp_path: Path) -> None:
    """It has rows, and nothing to describe."""
    path = tmp_path / "data.parquet"
    pa.parquet.write_table(pa.table({"x": [1, 2, 3]}).select([]), path)

    assert refused(tmp_path, data__parquet=path.read_bytes())[2].startswith("the file has no columns")


# ---- Parts of a folder ----


ONE, OTHER = b"a,b\n1,x\n", b"a,b\n2,y\n"


@pytest.mark.parametrize(
    ("second", "code"),
    [
        (b"", "empty"),
        ("a,b\n2,y\n".encode("utf-16"), "encoding"),
        (b'{"a": 2}\n', "forms"),
        (gzip.compress(OTHER, mtime=0), "forms"),
        (b"PK\x03\x04", "zip"),
        (b"a,c\n2,y\n", "header"),
        ("a,b\n2,\u51e6\u7406\n".encode("shift_jis"), "encoding"),
    ],
)
def test_a_part_with_a_fault_is_named(second: bytes, code: str, tmp_path: Path) -> None:
    """Not the first one."""
    assert refused(tmp_path, one__csv=ONE, two__csv=second, three__csv=OTHER)[:2] == (code, 1)


def test_a_part_of_another_format_is_named_where_it_is_the_first(tmp_path: Path) -> None:
    """The commonest format is that of the delivery."""
    code, part, words = refused(tmp_path, one__jsonl=b'{"a": 1}', two__csv=ONE, three__csv=OTHER)

    assert (code, part) == ("forms", 0)
    assert words == "it is plain text, JSON lines, and others are plain CSV: draft a contract for each format"


@pytest.mark.parametrize("empty", [0, 1])
def test_a_part_of_json_lines_may_be_empty(empty: int, tmp_path: Path) -> None:
    """As `check` accepts it."""
    paths = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    for at, path in enumerate(paths):
        path.write_bytes(b"" if at == empty else b'{"a": 1}\n')
    found = drafted(*paths)

    assert (found.profile.rows, found.profile.files) == (1, 2)
    assert judged(found.plan, *paths).verdict.value == "accepted"


@pytest.mark.parametrize("form", ["parquet", "orc", "avro", "json", "csv.gz"])
@pytest.mark.parametrize("damage", ["cut", "empty"])
@pytest.mark.parametrize("at", [0, 1])
def test_a_damaged_part_is_named_in_every_format(form: str, damage: str, at: int, tmp_path: Path) -> None:
    """Cut off in its middle, or without a byte, and first or last."""
    paths = [tmp_path / f"part-{number}.{form}" for number in range(2)]
    table = pa.table({"a": list(range(1000))})
    for path in paths:
        match form:
            case "parquet":
                pa.parquet.write_table(table, path)
            case "orc":
                pa.orc.write_table(table, path)
            case "avro":
                path.write_bytes(write_avro(table))
            case "json":
                path.write_text("[" + ",\n".join(f'{{"a": {value}}}' for value in range(1000)) + "]")
            case _:
                path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 1000))
    content = paths[at].read_bytes()
    paths[at].write_bytes(content[: len(content) // 2] if damage == "cut" else b"")
    with pytest.raises(UnreadableError) as ended:
        profile(parts_of(*paths), LocalStore(), tmp_path)

    assert ended.value.finding.part == at
