"""`lakegate restore`: a lost accepted object is put back, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakegate.base.errors import InputError
from lakegate.gate.datasets.readers_manifest import update
from lakegate.gate.effects import run
from lakegate.gate.ledger.blocks import Record
from lakegate.gate.ledger.restore_object import lost_object, record_restored
from lakegate.gate.ledger.stored_objects import Erasures, Left, erasures_of
from lakegate.gate.ports import Address
from lakegate.gate.sweep import sweep
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LAKE

LINE = "shop/orders_v1"
MANIFEST = f"accepted/{LINE}/_manifest.json"
BODY = b"id,amount\na,1\nb,2\nc,3\nd,4\n"
LATER = b"id,amount\ne,5\nf,6\ng,7\nh,8\n"


@pytest.fixture
def lost(lakegate: Lakegate) -> Lakegate:
    """A line of two deliveries, of which the first is lost."""
    lakegate.routed()
    lakegate.delivered(name="a.csv", body=BODY)
    lakegate.delivered(name="b.csv", body=LATER)
    one = judged(lakegate)
    lakegate.dependencies.objects.delete(Address(LAKE, one.key, one.version))
    return lakegate


def judged(lakegate: Lakegate, height: int = 0) -> Any:
    return lakegate.dependencies.ledger.blocks(LINE)[height].objects[0]


def refusal(lakegate: Lakegate, *words: str) -> str:
    result = lakegate(*words)
    assert (result.exit_code, result.stdout) == (1, "")  # an exception: `main` answers it with 2
    return str(result.exception)


def test_the_same_bytes_are_put_back_recorded_and_read(lost: Lakegate, tmp_path: Path) -> None:
    """Afterwards verify, get and the manifest are as before the loss, with the new version."""
    before = lost("verify", LINE, "--objects").exit_code
    done = lost.json("restore", f"s3://{LAKE}/{judged(lost).key}", lost.file(BODY))
    record = lost.dependencies.ledger.blocks(LINE)[-1]
    listed = json.loads(lost.dependencies.objects.read(Address(LAKE, MANIFEST)))["deliveries"]
    fetched = lost.json("get", LINE, str(tmp_path / "x"))

    assert (before, lost("verify", LINE, "--objects").exit_code) == (1, 0)
    assert done == {
        "line": LINE,
        "workload": lost.dependencies.ledger.blocks(LINE)[0].workload,  # type: ignore[union-attr] # a delivery
        "key": judged(lost).key,
        "lost": judged(lost).version,
        "version": listed[0]["objects"][0]["version"],
    }
    assert (record.kind, erasures_of([record]).left[judged(lost).key].rows) == ("restoration", 0)
    assert (fetched["complete"], fetched["height"], len(fetched["deliveries"])) == (True, 2, 2)
    assert lost("verify", LINE, "--data", str(tmp_path / "x")).exit_code == 0
    assert "is there: `lakegate verify" in refusal(lost, "restore", judged(lost).key, lost.file(BODY))


def test_bytes_that_somebody_put_back_by_hand_are_recorded(lost: Lakegate) -> None:
    """They are not sent again; other bytes on top stay below the right ones."""
    version = lost.dependencies.objects.put(Address(LAKE, judged(lost).key), BODY).version
    text = lost.ok("restore", judged(lost).key, lost.file(BODY))

    assert text == f"Restored: {judged(lost).key}, version {version}. The manifest of {LINE} lists it.\n"


def test_an_object_that_is_lost_again_is_restored_again(lost: Lakegate) -> None:
    """What lies on top has other bytes."""
    first = lost.json("restore", judged(lost).key, lost.file(BODY))["version"]
    lost.dependencies.objects.delete(Address(LAKE, judged(lost).key, first))
    lost.dependencies.objects.put(Address(LAKE, judged(lost).key), LATER)
    second = lost.json("restore", judged(lost).key, lost.file(BODY))

    assert second["lost"] == first
    assert lost("verify", LINE, "--objects").exit_code == 0


def test_what_is_not_the_same_or_not_lost_is_refused(lost: Lakegate) -> None:
    """Nothing is written."""
    key, there = judged(lost).key, judged(lost, 1).key
    cases = [
        (key, b"short", "has 5 bytes, the lost object had 26: it is not the same"),
        (key, LATER, "has another sha256 than the lost object: it is not the same"),
        (there, LATER, "is there: `lakegate verify shop/orders_v1 --objects` has what to do"),
        ("quarantine/shop/orders_v1/x", BODY, "is no accepted object: `lakegate verify DATASET --objects` names those"),
        ("accepted/shop/orders_v1/x", BODY, "no delivery of shop/orders_v1 has the object"),
    ]

    for name, body, expected in cases:
        assert expected in refusal(lost, "restore", name, lost.file(body))
    assert len(lost.dependencies.ledger.blocks(LINE)) == 2


def test_readers_go_on_without_what_is_lost(lost: Lakegate, tmp_path: Path) -> None:
    """Without the option the run stops, and names the option; with it the later delivery is there, and the next height."""
    stopped = lost("get", LINE, str(tmp_path / "x"))
    text = lost.ok("get", LINE, str(tmp_path / "x"), "--skip-lost")
    machine = lost.json("get", LINE, str(tmp_path / "x"), "--skip-lost")

    assert stopped.exit_code == 1
    assert "--skip-lost leaves such deliveries out" in stopped.stderr
    assert text.splitlines()[1] == (
        f"lost  height 0: version {judged(lost).version} of {judged(lost).key} is not there any more"
    )
    assert text.splitlines()[-1].endswith("--since 1")
    assert (machine["complete"], machine["height"], [each["height"] for each in machine["lost"]]) == (False, 1, [0])
    assert [each["height"] for each in machine["deliveries"]] == [1]


def test_a_lost_manifest_is_an_error_until_sweep_has_written_it(lakegate: Lakegate, tmp_path: Path) -> None:
    """Of a line with accepted deliveries; what sweep writes is what was there."""
    lakegate.routed()
    lakegate.delivered(1, name="bad.csv")
    lakegate.dependencies.objects.delete(Address(LAKE, MANIFEST))
    nothing = lakegate("get", LINE, str(tmp_path / "x"))
    lakegate.delivered(name="a.csv", body=BODY)
    before = lakegate.dependencies.objects.read(Address(LAKE, MANIFEST))
    lakegate.dependencies.objects.delete(Address(LAKE, MANIFEST))
    error = refusal(lakegate, "get", LINE, str(tmp_path / "x"))
    run(sweep(lakegate.dependencies), lakegate.dependencies.clock)
    run(update(lakegate.dependencies, LINE), lakegate.dependencies.clock)

    assert nothing.exit_code == 0
    assert (
        error
        == f"the manifest of {LINE} is lost (s3://{LAKE}/{MANIFEST}): the next sweep writes it again from the ledger"
    )
    assert lakegate.dependencies.objects.read(Address(LAKE, MANIFEST)) == before
    assert lakegate.json("get", LINE, str(tmp_path / "x"))["complete"] is True


def test_what_the_ledger_cannot_prove_or_an_erasure_removed_is_not_put_back(
    lost: Lakegate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unfinished erasure comes first; of an erased object nothing comes back; without a checksum nothing is the same."""
    one = judged(lost)
    unproven = replace(one, checksum="")
    states = {
        "an erasure left nothing of": Erasures({one.key: Left(2, "", 0, None, frozenset())}, (), 2),
        "the ledger has no checksum of": Erasures({one.key: Left(2, "", 0, unproven, frozenset())}, (), 2),
        "is not finished: repeat": Erasures({}, (planned(one.key),), -1),
    }

    for expected, erasures in states.items():
        monkeypatch.setattr("lakegate.gate.ledger.restore_object.erasures_of", lambda _, found=erasures: found)
        assert expected in refusal(lost, "restore", one.key, lost.file(BODY))


def planned(key: str) -> Record:
    objects = [{"key": key, "version": "v", "rows": 1, "left": None}]
    return Record("erasure", 2, "", "", LINE, "", "e", {"objects": objects})


def test_a_version_that_is_not_what_was_sent_is_not_recorded(lost: Lakegate) -> None:
    """Somebody may write to the key at the same time."""
    found = lost_object(lost.dependencies, judged(lost).key)
    other = lost.dependencies.objects.put(Address(LAKE, judged(lost).key), b"other").version
    for version in (other, "none"):
        with pytest.raises(InputError, match="is not what was sent"):
            run(record_restored(lost.dependencies, found, version), lost.dependencies.clock)
