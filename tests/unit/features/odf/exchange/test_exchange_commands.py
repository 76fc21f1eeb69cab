"""What the commands about shared datasets print, verify and read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from lakegate.base.errors import InputError
from lakegate.cli.datasets.chain_proofs import signatures_by
from lakegate.cli.main import app
from lakegate.features.odf.exchange.odf_import import Proof, bring_dataset
from lakegate.features.odf.exchange.odf_repositories import FolderPlace
from lakegate.features.odf.format.metadata_chain import SetAttachments, block_in
from lakegate.gate.ledger.blocks import event_id
from tests.unit.features.odf.exchange.shared_dataset import LINE, WIDER, Lake, a_line, bring, one, shorter_line, size_of
from tests.unit.gate.ledger.ledger_chain import RECORD
from tests.unit.gate.ledger.signing import FORGER, ONE


def run(*words: object, code: int = 0) -> str:
    found = CliRunner().invoke(app, ["dataset", *map(str, words)])
    assert found.exit_code == code, found.output
    return found.stdout


def test_what_the_commands_print(made: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For people and for machines."""
    monkeypatch.setattr("lakegate.features.odf.dataset_command.dataset_named", lambda _, name: name)

    @contextmanager
    def opened(*_: object, **__: object) -> Iterator[Any]:
        yield SimpleNamespace(dependencies=lambda: made.dependencies)

    monkeypatch.setattr("lakegate.cli.command_runner.open_deployed", opened)
    shared, copy = tmp_path / "shared", tmp_path / "copy"
    exported_text = run("export", LINE, shared)
    head, key = (shared / "refs/head").read_text(), tmp_path / "key.pem"
    key.write_bytes(ONE.pem)
    again = json.loads(run("export", LINE, shared, "--json"))
    document = json.loads(run("import", shared, copy, "--json", "--key", key))
    text = run("import", shared, copy)

    assert exported_text.splitlines() == [
        f"{LINE}: 17 new of 17 blocks, 3 new slices, {size_of(made):,} bytes",
        f"  identity  {document['id']}",
        f"  head      {head}",
    ]
    counts = {"blocks": 0, "slices": 0, "bytes": 0}
    assert again == {"line": LINE, "id": document["id"], "destination": str(shared), "head": head, **counts}
    assert {name: document[name] for name in ("dataset", "head", "blocks", "slices", "rows", "bytes")} == {
        "dataset": LINE,
        "head": head,
        "blocks": 17,
        "slices": 3,
        "rows": 4,
        "bytes": size_of(made),
    }
    terms = {"name": "Our terms", "short_name": "Our terms", "spdx_id": None, "website_url": ""}
    assert document["license"] == terms
    assert document["ledger"] == {"line": LINE, "height": 4, "digest": made.previous}
    assert document["signatures"]["proven_by"] == "key"
    assert text.splitlines()[:7] == [
        f"{LINE}: 0 new blocks",
        "  0 slices, each as its block states: 0 rows, 0 bytes",
        f"  identity  {document['id']}",
        f"  head      {head}",
        "  licence   `Our terms`",
        "The ledger in its attachments is intact, and gives this dataset.",
        f"  height and digest  4={made.previous}",
    ]


def test_the_key_of_somebody_else_is_no_proof(shared: Path, tmp_path: Path) -> None:
    """`--key` is a key that must have signed."""
    key = tmp_path / "key.pem"
    key.write_bytes(FORGER.pem)
    with pytest.raises(InputError, match="no block is signed by the given key"):
        bring_dataset(FolderPlace(shared), FolderPlace(tmp_path / "copy"), Proof(signatures_by(key)))


def test_who_reads_a_copy_of_a_deprecated_line_is_warned(tmp_path: Path) -> None:
    """The ledger in the attachments says so, as far as it had been exported."""
    content = {
        "act": "deprecate",
        "status": "deprecated",
        "since": "2026-11-21T12:00:00.000000Z",
        "planned": [],
        "notice": None,
    }
    content |= {"reason": "old", "replacement": "shop/visits_v2", "guide": ""}
    made = a_line(tmp_path / "line")
    made.append(replace(RECORD, kind="lifecycle", event=event_id("lifecycle", LINE, 1), content=content))
    made.export(tmp_path / "shared")
    run("import", tmp_path / "shared", tmp_path / "copy")
    found = CliRunner().invoke(app, ["dataset", "read", str(tmp_path / "copy")])

    assert (found.exit_code, found.stderr) == (0, f"lakegate: warning: {LINE} is deprecated: use shop/visits_v2\n")


def test_a_dataset_in_a_folder_is_verified(made: Lake, shared: Path, tmp_path: Path) -> None:
    """All of it, without a stack: by the key and a digest of the ledger that are known from elsewhere."""
    key = tmp_path / "key.pem"
    key.write_bytes(ONE.pem)
    anchor = f"4={made.previous}"
    found = json.loads(run("verify", shared, "--key", key, "--anchor", anchor, "--json"))

    assert (found["faults"], found["dataset"], found["blocks"], found["slices"], found["rows"]) == ([], LINE, 17, 3, 4)
    assert found["signatures"]["proven_by"] == "key"
    assert run("verify", shared).splitlines()[:2] == [
        f"{LINE}: 17 blocks",
        f"  3 slices, each as its block states: 4 rows, {size_of(made):,} bytes",
    ]


def test_what_was_changed_in_a_folder_is_named(shared: Path) -> None:
    """Each slice that is missing or was changed, or the block from which on nothing can be followed."""
    first, last = one(shared, "data"), one(shared, "data", -1)
    first.unlink()
    last.write_bytes(last.read_bytes()[:-1] + b"?")
    text = run("verify", shared, code=1).splitlines()
    assert text[0] == f"{shared} is not as stated:"
    assert sorted(each.partition(": ")[2] for each in text[1:]) == sorted(
        [
            f"data/{first.name} is not as stated: it is missing",
            f"data/{last.name} is not as stated: its bytes are others than its name says",
        ]
    )
    one(shared, "blocks").write_bytes(b"")
    found = json.loads(run("verify", shared, "--json", code=1))
    assert list(found) == ["faults"]
    assert found["faults"][0].endswith("are others than its name says")


def test_a_folder_without_a_dataset_is_not_verified(tmp_path: Path) -> None:
    """There is nothing to say of it."""
    found = CliRunner().invoke(app, ["dataset", "verify", str(tmp_path)])

    assert isinstance(found.exception, InputError)
    assert "has no dataset: refs/head is missing" in str(found.exception)


def test_a_dataset_that_ends_too_early_is_found_by_an_anchor(line: Lake, tmp_path: Path) -> None:
    """A digest of the ledger proves that nothing is missing below it."""
    anchors = {4: line.previous}
    shorter_line(line)
    line.export(tmp_path / "shared")
    proof = Proof(signatures_by(None), anchors)
    with pytest.raises(InputError, match="broken: anchor at block 3"):
        bring_dataset(FolderPlace(tmp_path / "shared"), FolderPlace(tmp_path / "copy"), proof)
    assert not (tmp_path / "copy/refs").exists()


def read(folder: Path, *words: str) -> list[int]:
    """The ids of the rows of an answer."""
    return [each["id"] for each in json.loads(run("read", folder, "--json", *words))["records"]]


def test_an_imported_dataset_is_read(shared: Path, tmp_path: Path) -> None:
    """All rows, those up to a time, and those above a block; only slices that may have one are read."""
    bring(shared, tmp_path / "copy")
    copy = tmp_path / "copy"

    assert read(copy) == [1, 2, 3, 4]
    assert read(copy, "--as-of", "2026-11-20T09:30:00Z") == [2, 3]
    assert read(copy, "--changes-since", "11") == [4]
    assert read(copy, "--as-at", "2026-11-21") == []
    found = json.loads(run("read", copy, "--json", "--as-of", "2026-11-20"))
    assert (found["line"], found["height"], found["slices"]) == (LINE, 16, {"read": 1, "skipped": 2})


def test_a_damaged_copy_is_not_read(shared: Path, tmp_path: Path) -> None:
    """A slice that is missing is named."""
    bring(shared, tmp_path / "copy")
    one(tmp_path / "copy", "data").unlink()
    found = CliRunner().invoke(app, ["dataset", "read", str(tmp_path / "copy")])

    assert isinstance(found.exception, InputError)
    assert "is missing, or has another size than its block states" in str(found.exception)


def attachments(folder: Path) -> list[SetAttachments]:
    found = [block_in(each.read_bytes()).event for each in (folder / "blocks").iterdir()]
    return [each for each in found if isinstance(each, SetAttachments)]


def test_verdicts_are_attached(shared: Path) -> None:
    """Each delivery, the rejected one included, is there with its verdict."""
    texts = dict(item for each in attachments(shared) for item in each.items)
    plan = texts.pop("lakegate/plan.json")
    ledger = {path: json.loads(text) for path, text in texts.items() if not path.endswith(".signature.json")}
    verdicts = {path: each.get("verdict") for path, each in sorted(ledger.items())}

    assert list(verdicts.values()) == [None, "accepted", "rejected", "accepted", "accepted"]
    assert len(texts) == 10
    assert json.loads(plan)["contract"] == json.loads(WIDER.to_bytes())["contract"]
