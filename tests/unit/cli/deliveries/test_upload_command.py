"""`lakegate upload`: bytes arrive whole, and the wait ends with what became of them."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from lakegate.aws.wiring import SystemClock
from lakegate.base import errors
from lakegate.base.errors import AccessDenied, PortError
from lakegate.cli.deliveries import upload_command
from lakegate.gate.delivery.delivery_row import workload_id
from lakegate.gate.delivery.protocol import State
from lakegate.gate.ports import CORRECTS, Address
from lakegate.transfer import upload_files
from lakegate.transfer.upload_files import To, read, send
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import ACCOUNT, LANDING, lose_table

LINES = b"id,amount\n" + b"a,1\n" * 2_000


def meanwhile(monkeypatch: pytest.MonkeyPatch, *steps: Callable[[], object]) -> list[float]:
    """Each time the command pauses, the next thing happens in the stack. Returns how long it meant to pause."""
    left, pauses = list(steps), []

    def sleep(_clock: SystemClock, seconds: float) -> None:
        pauses.append(seconds)
        if left:
            left.pop(0)()

    monkeypatch.setattr(SystemClock, "sleep", sleep)
    return pauses


def judged(lakegate: Lakegate, failing: int = 0) -> Callable[[], object]:
    return lambda: lakegate.answer(_workload(lakegate), failing)


def _workload(lakegate: Lakegate) -> str:
    (version,) = lakegate.dependencies.objects.versions(LANDING, "orders/").versions
    return workload_id(LANDING, version.key, version.version)


def test_a_file_lands_with_its_checksum(lakegate: Lakegate) -> None:
    """The receipt: where it is, how many bytes, their SHA-256, and the id under which it is judged."""
    lakegate.routed()
    body = b"id,amount\na,1\n"
    result = lakegate.json("upload", lakegate.file(body), "--to", "orders")
    landed = lakegate.dependencies.objects.head(Address(LANDING, "orders/day.csv"))

    assert lakegate.dependencies.objects.read(Address(LANDING, "orders/day.csv")) == body
    assert result["sha256"] == hashlib.sha256(body).hexdigest()
    assert (result["version"], result["size"], result["key"]) == (landed.version, len(body), "orders/day.csv")
    assert result["workload"] == workload_id(LANDING, "orders/day.csv", landed.version)
    assert landed.checksum.startswith("sha256:")


def test_people_read_the_same(lakegate: Lakegate) -> None:
    """Three lines: from where to where, the bytes, the workload."""
    lakegate.routed()
    path = lakegate.file()
    result = lakegate.ok("upload", path, "--to", "orders/", "--as", "renamed.csv").splitlines()

    assert result[0] == f"{path} → s3://{LANDING}/orders/renamed.csv"
    assert result[1].startswith("  26 bytes in ")
    assert len(result) == 3


def test_a_large_file_arrives_in_parts(lakegate: Lakegate) -> None:
    """Every byte, in order, with what is said of it; and the bar advances with each part."""
    path = lakegate.folder / "large.csv"
    path.write_bytes(os.urandom(11 * 1024 * 1024 + 17))
    arrived: list[int] = []
    to = To(LANDING, "large.csv", ACCOUNT, {CORRECTS: "0f" * 32})
    version = send(lakegate.clients["s3"], read(path), to, arrived.append, whole=5 * 1024 * 1024)

    there = Address(LANDING, "large.csv", version)
    assert lakegate.dependencies.objects.read(there) == path.read_bytes()
    assert lakegate.dependencies.objects.head(there).corrects == "0f" * 32
    assert (len(arrived), sum(arrived)) == (3, path.stat().st_size)


def test_more_parts_than_go_at_once_keep_their_order(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five parts, two at a time; the object's own checksum is the file's."""
    monkeypatch.setattr(upload_files, "AT_ONCE", 2)
    path = lakegate.folder / "large.csv"
    path.write_bytes(os.urandom(21 * 1024 * 1024))
    version = send(lakegate.clients["s3"], read(path), To(LANDING, "k", ACCOUNT), lambda _: None, whole=5 * 1024 * 1024)

    assert lakegate.dependencies.objects.read(Address(LANDING, "k", version)) == path.read_bytes()


def test_a_large_file_that_changed_between_two_readings_does_not_land(lakegate: Lakegate) -> None:
    """The parts are removed again, and the error advises to upload again."""
    path = lakegate.folder / "large.csv"
    path.write_bytes(b"x" * 6 * 1024 * 1024)
    file = read(path)
    path.write_bytes(b"y" * 6 * 1024 * 1024)
    with pytest.raises(errors.InputError, match="changed while it was on its way"):
        send(lakegate.clients["s3"], file, To(LANDING, "k", ACCOUNT), lambda _: None, whole=5 * 1024 * 1024)

    assert lakegate.clients["s3"].list_multipart_uploads(Bucket=LANDING).get("Uploads", []) == []
    assert lakegate.dependencies.objects.versions(LANDING, "").versions == ()


def test_a_sum_of_s3_that_differs_is_an_error(lakegate: Lakegate) -> None:
    """Where S3 returns the checksum of the whole, it must be the file's."""

    class Wrong:
        def __getattr__(self, name: str) -> Any:
            answers = {"complete_multipart_upload": {"ChecksumType": "FULL_OBJECT", "ChecksumCRC32": "AAAAAA=="}}
            return lambda **_: answers.get(name, {"UploadId": "u", "ETag": "e"})

    file = read(lakegate.folder / lakegate.file(b"abcdef"))
    with pytest.raises(PortError, match="BadDigest"):
        send(Wrong(), file, To("b", "k", ACCOUNT), lambda _: None, whole=5)  # type: ignore[arg-type] # what is used of it


@pytest.mark.parametrize("broken", [KeyboardInterrupt, RuntimeError])
def test_an_upload_that_ends_early_leaves_nothing(lakegate: Lakegate, broken: type[BaseException]) -> None:
    """Ctrl-C in the middle: no object, and no parts that would be paid for."""
    path = lakegate.folder / "large.csv"
    path.write_bytes(b"x" * 6 * 1024 * 1024)

    def interrupt(_count: int) -> None:
        raise broken

    with pytest.raises(broken):
        send(lakegate.clients["s3"], read(path), To(LANDING, "large.csv", ACCOUNT), interrupt, whole=5 * 1024 * 1024)

    assert lakegate.clients["s3"].list_multipart_uploads(Bucket=LANDING).get("Uploads", []) == []
    assert lakegate.dependencies.objects.versions(LANDING, "").versions == ()


def test_a_whole_file_goes_with_the_checksum_of_what_was_read(lakegate: Lakegate) -> None:
    """S3 refuses a file that changed in between, because the checksum is of the bytes that were read first."""
    asked: dict[str, Any] = {}

    class Recorder:
        def put_object(self, **request: Any) -> dict[str, str]:
            asked.update(request)
            return {"VersionId": "v"}

    file = read(lakegate.folder / lakegate.file(b"abc"))
    file.path.write_bytes(b"abd")
    send(Recorder(), file, To("b", "k", ACCOUNT), lambda _: None)  # type: ignore[arg-type] # one method of S3

    assert asked["ChecksumSHA256"] == "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="
    assert (asked["Body"], asked["ExpectedBucketOwner"]) == (b"abd", ACCOUNT)


def test_a_bucket_of_another_account_is_not_written(lakegate: Lakegate) -> None:
    """What AWS refuses is a PortError, which the command turns into a sentence."""
    file = read(lakegate.folder / lakegate.file())
    with pytest.raises(PortError):
        send(lakegate.clients["s3"], file, To("nobodys-bucket", "k", ACCOUNT), lambda _: None)


def test_the_wait_ends_with_an_accepted_delivery(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Landed, taken in, judged, finished: exit code 0, and the seconds of each."""
    lakegate.routed()
    pauses = meanwhile(monkeypatch, lakegate.intake, judged(lakegate))
    result = lakegate.json("upload", lakegate.file(), "--to", "orders/", "--wait")

    assert (result["state"], result["verdict"], result["rows"]) == ("PUBLISHED", "accepted", 4)
    assert list(result["waited"]) == ["upload", "verdict", "completion"]
    assert result["waited"]["verdict"] <= result["waited"]["completion"]
    assert pauses == sorted(pauses)
    assert len(pauses) == 2


def test_a_delivery_that_counts_beside_one_of_its_name_is_told(
    lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless the contract says what becomes of the first, or it does not count; with both remedies."""
    lakegate.routed()

    def deliver(body: bytes, name: str = "day.csv") -> tuple[str, str]:
        steps = (lambda: lakegate.intake(f"orders/{name}"), judged(lakegate))
        meanwhile(monkeypatch, *steps)
        ended = lakegate("upload", lakegate.file(body, name), "--to", "orders/", "--wait")
        (workload,) = re.findall("workload +([0-9a-f]{12})", ended.stdout)
        return workload, ended.stderr

    other = deliver(b"id,amount\na,0\n", "other.csv")[1]
    first, alone = deliver(b"id,amount\na,1\n")
    _, beside = deliver(b"id,amount\na,2\n")
    for each in lakegate.json("history", "orders_v1")["deliveries"]:
        lakegate.ok("recall", each["workload"], "--reason", "wrong")
    _, after = deliver(b"id,amount\na,3\n")

    assert (other, alone, after) == ("", "", "")
    (words,) = re.findall(f"It counts beside {first} of [-0-9]{{10}} .height 1., (.*)\n", beside)
    assert words == (
        "which was accepted under the same name: `replaces: delivery` in the contract lets a later one take its place, "
        f"`lakegate recall {first} --reason …` takes it back."
    )


def test_who_may_not_read_other_deliveries_is_told_of_none(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """The delivery itself is shown as ever."""
    lakegate.routed()
    lakegate.delivered()
    meanwhile(monkeypatch, lakegate.intake, judged(lakegate))
    monkeypatch.setattr(upload_command, "at_rest", Mock(side_effect=AccessDenied("GetItem: AccessDeniedException")))

    ended = lakegate("upload", lakegate.file(b"id,amount\na,7\n"), "--to", "orders/", "--wait")

    assert (ended.exit_code, ended.stderr) == (0, "")


def test_a_delivery_that_replaces_one_of_its_name_is_not_beside_it(
    lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The contract says what becomes of the first."""
    replaces = "customProperties: [{property: lakegate, value: {replaces: delivery}}]\nschema:\n"
    lakegate.routed(**{"schema:\n": replaces})
    ended = []
    for amount in (1, 2):
        meanwhile(monkeypatch, lakegate.intake, judged(lakegate))
        body = f"id,amount\na,{amount}\n".encode()
        ended.append(lakegate("upload", lakegate.file(body), "--to", "orders/", "--wait"))

    assert [(each.exit_code, each.stderr) for each in ended] == [(0, ""), (0, "")]
    assert [each["height"] for each in lakegate.json("status", "orders/day.csv")["supersedes"]] == [0]


def test_the_wait_ends_with_a_rejected_delivery(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 1, the reason, and where the data is now."""
    lakegate.routed()
    meanwhile(monkeypatch, lakegate.intake, judged(lakegate, failing=1))
    result = lakegate("upload", lakegate.file(), "--to", "orders/", "--wait")

    assert result.exit_code == 1
    assert "1 of 4 rows fails (25 %)" in result.stdout
    assert "quarantine/shop/orders_v1" in result.stdout
    assert "s from upload to verdict" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("Next: lakegate reasons ")


def test_a_wait_without_a_verdict_reports_it(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """FAILED is neither accepted nor rejected: exit code 3, and the data stays where it landed."""
    lakegate.routed()
    meanwhile(monkeypatch, lakegate.intake, lambda: lakegate.fail(_workload(lakegate)))
    result = lakegate("upload", lakegate.file(), "--to", "orders/", "--wait", "--json")

    assert result.exit_code == 3
    assert f'"{State.FAILED}"' in result.stdout
    assert '"verdict": null' in result.stdout


def test_a_wait_that_is_too_long_ends(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody took it in within the time: exit code 3, and the delivery goes on without the waiter."""
    lakegate.routed()
    clock = iter(range(0, 10_000, 2))
    monkeypatch.setattr("lakegate.cli.deliveries.upload_command.time.monotonic", lambda: float(next(clock)))
    meanwhile(monkeypatch)
    result = lakegate("upload", lakegate.file(), "--to", "orders/", "--wait", "--timeout", "5")

    assert result.exit_code == 3
    assert "landed, not yet taken in" in result.stdout
    assert "The time is up" in result.stderr


def test_a_key_without_a_route_is_warned_of(lakegate: Lakegate) -> None:
    """The file still lands: the gate will say the same, and keep it in quarantine."""
    lakegate.routed()
    result = lakegate("upload", lakegate.file(), "--to", "elsewhere/")

    assert result.exit_code == 0
    assert "warning: no route covers elsewhere/day.csv" in result.stderr


def test_who_may_not_read_the_registry_may_still_deliver(lakegate: Lakegate) -> None:
    """The warning is a courtesy."""
    lose_table(lakegate.clients["dynamodb"], "registry")
    result = lakegate("upload", lakegate.file(), "--to", "orders/")

    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize(
    "name",
    ["a b.csv", "a+b%20c.csv", "\"quoted\" 'twice'.csv", "..", "[x].csv", "_leading.csv", "é" * 500, "ÜÖ.csv"],
)
def test_any_name_lands_as_it_is(lakegate: Lakegate, name: str) -> None:
    """Bytes count, nothing is normalised or escaped, and the verdict is the gate's."""
    lakegate.routed()
    result = lakegate.json("upload", lakegate.file(), "--to", "orders/", "--as", name)
    (landed,) = lakegate.dependencies.objects.versions(LANDING, "orders/").versions

    assert (result["key"], landed.key) == (f"orders/{name}", f"orders/{name}")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--to", "/orders/"], "a prefix is folders, each with a slash behind it and none before the first"),
        (["--to", "orders/", "--as", "é" * 509], "the key would have 1,025 bytes; S3 takes 1 to 1,024"),
        (["--to", "orders/", "--as", "a\x1b[31m.csv"], "the key would hold control characters"),
        (["--to", "orders/", "--as", "_SUCCESS"], "orders/_SUCCESS has a name that this stack ignores"),
        (["--to", "orders/", "--as", "\udcff"], "the file's name is no UTF-8, which keys must be"),
    ],
)
def test_what_can_be_no_key_is_refused(lakegate: Lakegate, words: list[str], expected: str) -> None:
    """In one sentence, before a byte is read."""
    result = lakegate("upload", lakegate.file(), *words)

    assert str(result.exception).startswith(expected)


@pytest.mark.parametrize("name", ["missing.csv", ".", "a\0b"])
def test_what_is_no_file_is_refused(tmp_path: Path, name: str) -> None:
    """A missing file, a folder, an impossible name."""
    with pytest.raises(errors.InputError, match="cannot be read"):
        read(tmp_path / name)


def test_a_file_that_vanishes_is_reported_in_one_sentence(lakegate: Lakegate) -> None:
    """Between reading and sending, somebody deleted it."""
    file = read(lakegate.folder / lakegate.file())
    file.path.unlink()
    with pytest.raises(errors.InputError, match="cannot be read any more"):
        send(lakegate.clients["s3"], file, To(LANDING, "k", ACCOUNT), lambda _: None)


def test_an_empty_file_is_the_gates_to_judge(lakegate: Lakegate) -> None:
    """It lands, and is refused at the door with its reason."""
    lakegate.routed()
    workload = lakegate.upload(body=b"", name="empty.csv")
    lakegate.intake("orders/empty.csv")
    result = lakegate.json("status", workload)

    assert (result["verdict"], result["reasons"]) == ("rejected", ["file/rows: the object is empty"])


def landed_keys(lakegate: Lakegate) -> list[str]:
    return [each.key for each in lakegate.dependencies.objects.versions(LANDING, "").versions]


def three(lakegate: Lakegate) -> list[str]:
    return [lakegate.file(b"id,amount\n%d,1\n" % number, name=f"{number}.csv") for number in range(3)]


def test_several_files_land_in_one_folder(lakegate: Lakegate) -> None:
    """As `cp` has it: each under its own name, each a delivery of its own."""
    lakegate.routed()
    paths = three(lakegate)
    result = lakegate.json("upload", *paths, "--to", "orders/")["deliveries"]

    assert landed_keys(lakegate) == ["orders/0.csv", "orders/1.csv", "orders/2.csv"]
    assert [each["key"] for each in result] == landed_keys(lakegate)
    assert len({each["workload"] for each in result}) == 3
    assert [each["size"] for each in result] == [14, 14, 14]


@pytest.mark.parametrize(
    ("to", "key"),
    [
        ("orders/", "orders/day.csv"),
        ("orders", "orders/day.csv"),
        ("orders/x.csv", "orders/x.csv"),
        ("orders/x.csv/", "orders/x.csv/day.csv"),
        ("orders/2026.11/", "orders/2026.11/day.csv"),
        (f"s3://{LANDING}/orders/", "orders/day.csv"),
        (f"s3://{LANDING}/orders/x.csv", "orders/x.csv"),
    ],
)
def test_a_destination_is_a_folder_or_the_key_of_one_file(lakegate: Lakegate, to: str, key: str) -> None:
    """A last part with a dot is a file's name, unless a slash follows; the address of the bucket may stand before."""
    lakegate.routed()

    assert lakegate.json("upload", lakegate.file(), "--to", to)["key"] == key
    assert landed_keys(lakegate) == [key]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["0.csv", "1.csv", "--to", "orders/x.csv"],
            "orders/x.csv is the name of one file, and there are 2: give a folder, --to orders/",
        ),
        (["0.csv", "1.csv", "--to", "orders/", "--as", "x.csv"], "--as names one file, and there are 2"),
        (["0.csv", "--to", "orders/x.csv", "--as", "y.csv"], "the object's name is given twice, in --to and in --as"),
        (["0.csv", "0.csv", "--to", "orders/"], "2 of the files would get the key orders/0.csv"),
        (["0.csv", "--to", "x.csv"], "a key needs a folder, which its route covers: --to FOLDER/ or --to FOLDER/x.csv"),
        (["0.csv", "--to", ""], "a key needs a folder"),
        (["0.csv", "--to", "/"], "a prefix is folders"),
        (["0.csv", "--to", "s3://elsewhere/orders/"], f"the landing bucket is {LANDING}, not elsewhere"),
        (["0.csv", "--to", "s3://"], "a key needs a folder"),
        ([".", "--to", "orders/"], ". is a folder: name the files in it, for example *.csv"),
        (["0.csv", "missing.csv", "--to", "orders/"], "missing.csv cannot be read: No such file or directory"),
        (["0.csv", "/dev/null", "--to", "orders/"], "/dev/null cannot be read: it is not a regular file"),
    ],
)
def test_a_destination_that_cannot_be_is_refused_before_anything_lands(
    lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch, words: list[str], expected: str
) -> None:
    """In one sentence, which names what would work."""
    lakegate.routed()
    three(lakegate)
    monkeypatch.chdir(lakegate.folder)

    assert str(lakegate("upload", *words).exception).startswith(expected)
    assert landed_keys(lakegate) == []


def test_an_interrupted_upload_reports_how_many_files_had_landed(
    lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The person knows where to go on."""
    lakegate.routed()
    put = send

    def broken(s3: Any, local: upload_files.Local, *others: Any) -> str:
        if local.path.name == "1.csv":
            raise PortError("PutObject: SlowDown")
        return put(s3, local, *others)

    monkeypatch.setattr("lakegate.cli.deliveries.upload_command.send", broken)
    result = lakegate("upload", *three(lakegate), "--to", "orders/")

    assert "1 of 3 files had landed before:" in result.stderr
    assert landed_keys(lakegate) == ["orders/0.csv"]


def workload_of(lakegate: Lakegate, key: str) -> str:
    (version,) = lakegate.dependencies.objects.versions(LANDING, key).versions
    return workload_id(LANDING, key, version.version)


@pytest.mark.parametrize(("failing", "code"), [((0, 0), 0), ((0, 1), 1), ((1, None), 1), ((0, None), 3)], ids=str)
def test_the_wait_for_several_ends_with_all_of_them(
    lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch, failing: tuple[int | None, ...], code: int
) -> None:
    """Exit code 1 where one is rejected, else 3 where one has no verdict, else 0; each is shown with its end."""
    lakegate.routed()
    keys = ["orders/0.csv", "orders/1.csv"]

    def judge() -> None:
        for key, bad in zip(keys, failing, strict=True):
            lakegate.intake(key)
            if bad is None:
                lakegate.fail(workload_of(lakegate, key))
            else:
                lakegate.answer(workload_of(lakegate, key), bad)

    meanwhile(monkeypatch, judge)
    result = lakegate("upload", *three(lakegate)[:2], "--to", "orders/", "--wait", "--json")

    assert result.exit_code == code
    listed = json.loads(result.stdout)["deliveries"]
    assert [each["key"] for each in listed] == keys
    assert [each["state"] for each in listed] == [
        {0: "PUBLISHED", 1: "QUARANTINED", None: "FAILED"}[bad] for bad in failing
    ]
    assert all(each["waited"]["completion"] >= 0 for each in listed)


def test_several_files_end_with_a_count(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many were accepted and rejected, and which: nobody has to count blocks."""
    lakegate.routed()
    files = three(lakegate)

    def judge() -> None:
        for key, bad in zip(("orders/0.csv", "orders/1.csv", "orders/2.csv"), (0, 1, 0), strict=True):
            lakegate.intake(key)
            lakegate.answer(workload_of(lakegate, key), bad)

    meanwhile(monkeypatch, judge)
    result = lakegate("upload", *files, "--to", "orders/", "--wait")

    assert result.stdout.splitlines()[-1] == "2 accepted, 1 rejected: 1.csv"
