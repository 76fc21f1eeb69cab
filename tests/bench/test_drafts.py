"""The comparison of drafts, without its programs and its downloads."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.bench import drafts

DOCUMENT = """apiVersion: v3.1.0
kind: DataContract
id: data
version: 1.0.0
status: draft
schema:
  - name: data
    properties:
      - {name: a, logicalType: string, required: true, unique: true}
"""


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Programs that draft every file but ORC alike, and files that are here already. Returns which programs were run."""
    done: list[str] = []

    def run(*command: str) -> tuple[float, subprocess.CompletedProcess[str]]:
        words = [each.rpartition("/")[2] for each in command]
        done.append(" ".join(words[:2]))
        answer = {"verdict": "accepted_with_warnings"}
        if "tests.bench.suggested" in command:
            counted = {"kinds": {"CompleteIfCompleteRule": 2, "RetainTypeRule": 1}, "seconds": 4.0}
            answer = {each: {"error": "x"} if each.endswith(".gz") else counted for each in words[3:]}
        if "--output" in command and "avro" not in command:
            target = Path(command[command.index("--output") + 1])
            target.write_text(DOCUMENT + ("servers: []\n" if "csv" in command else ""))
        code = int("avro" in command or "test" in command)
        return 1.25, subprocess.CompletedProcess(command, code, json.dumps(answer))

    def fetched(file: drafts.PublicFile) -> Path:
        path = tmp_path / file.name
        path.write_bytes(drafts.gzip.compress(b"a\n1\n"))
        return path

    monkeypatch.setattr(drafts, "_run", run)
    monkeypatch.setattr(drafts, "fetched", fetched)
    monkeypatch.setattr(drafts, "install", lambda _: None)
    monkeypatch.setattr(drafts, "program", lambda name: tmp_path / name)
    return done


def test_each_file_has_a_row_with_what_each_program_made_of_it(
    programs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Checks, seconds and the verdict on the own file; a dash where a program cannot read or judge it."""
    assert drafts.main() == 0
    head, _, *rows = capsys.readouterr().out.splitlines()
    by_name = {row.split(" | ")[0].removeprefix("| "): row.removesuffix(" |").split(" | ")[1:] for row in rows}

    assert head == "| file | lakegate init | own file | datacontract-cli | own file | Deequ |"
    ours = ["2 in 1.2 s", "accepted with warnings"]
    assert by_name["airports.csv"] == [*ours, "2 in 1.2 s", "rejected", "3 in 4.0 s"]
    assert by_name["CGM.csv.gz"] == [*ours, "2 in 1.2 s", "rejected", "-"]
    assert by_name["cars.json"] == [*ours, "2 in 1.2 s", "-", "3 in 4.0 s"]
    assert by_name["java-generated-uuid.avro"] == [*ours, "-", "-", "3 in 4.0 s"]
    assert by_name["TestOrcFile.testDate1900.orc"] == [*ours, "-", "-", "3 in 4.0 s"]
    assert len(by_name) == len(drafts.FILES) == 10
    assert programs.count("lakegate init") == 10


@pytest.mark.parametrize("name", ["x.whl", "x.tar.gz"])
def test_a_file_is_taken_from_its_archive(name: str, tmp_path: Path) -> None:
    """By the end of its path, from a wheel and from a source archive."""
    archive = tmp_path / name
    if name.endswith("whl"):
        with zipfile.ZipFile(archive, "w") as zipped:
            zipped.writestr("p/data/a.csv", "a")
            zipped.writestr("p/data/b.csv", "b")
    else:
        with tarfile.open(archive, "w:gz") as packed:
            for each in ("a", "b"):
                info = tarfile.TarInfo(f"p-1/data/{each}.csv")
                info.size = 1
                packed.addfile(info, io.BytesIO(each.encode()))

    assert drafts.member(archive, "data/b.csv") == b"b"


def test_a_file_of_pyarrow_is_not_downloaded() -> None:
    """It is installed."""
    assert all(drafts.fetched(each).is_file() for each in drafts.FILES if not each.package)
