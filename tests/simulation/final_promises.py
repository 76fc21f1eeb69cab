"""The promises that hold once all is finished: deliveries at their destination; complete ledger, manifest and messages."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache

from lakegate.cli.datasets.chain_proofs import signatures_by
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.ledger.blocks import Block
from lakegate.gate.ledger.signatures import SignedText
from lakegate.gate.ledger.verification import verify_signed
from tests.simulation.approvals import waits_rightly
from tests.simulation.contract import read_json
from tests.simulation.environment import LAKE, PARTS_ABOVE, Upload
from tests.simulation.lifecycle import manifests
from tests.simulation.pauses import LINE
from tests.simulation.promises import ATTEMPTS, ENDED, REFUSALS, Promises, Violation, is_given_up, manifest_deliveries


def kept_in_the_end(promises: Promises) -> None:
    """Raise Violation unless every delivery ended as promised."""
    promises.hold()
    for upload in promises.env.uploads:
        was_seen = not upload.deleted or upload.version.version in promises.env.looked_for
        if was_seen and not upload.ignored and promises.row_of(upload) is None:
            raise Violation("P1", "a version was never claimed")
    for row in promises.rows.values():
        if not waits_rightly(promises.env, row):
            _check_row(promises, row)
    _announcements_are_linked(promises)
    _no_pause_stays(promises)
    _staging_is_empty(promises)
    _ledger_and_lake_agree(promises)
    _content_is_accepted_once(promises)
    _messages_are_sent(promises)
    if seen := promises.slices.finished():
        raise Violation("P26", seen)
    if broken := promises.lines.finished(manifests(promises.env)):
        raise Violation(broken.promise, broken.seen)
    _chains_are_intact(promises)  # what takes the longest, once all else is kept


def _announcements_are_linked(promises: Promises) -> None:
    """Where something landed for an announcement and was claimed, the announcement leads to a workload of its key."""
    announcements = promises.env.memory.announcements
    keys = {row.source.key for row in promises.rows.values() if not row.replay_of} if announcements else ()
    for announced in announcements.values():
        link = promises.links.get(announced.id)
        if announced.key in keys and (link is None or link.joined not in promises.rows):
            uploads = [each for each in promises.env.uploads if each.version.key == announced.key]
            if not any(each.deleted for each in uploads):
                raise Violation("P3", "an announcement does not lead to its workload")


def _check_row(promises: Promises, row: Workload) -> None:
    if row.state is State.HELD:
        _check_held(promises, row)
        return
    if row.state not in {*ENDED, State.FAILED, State.GONE} or row.due_at is not None:
        raise Violation("P4", f"a workload stays {row.state}")
    source = promises.env.memory.objects.buckets[row.source.bucket].get(row.source.key, ())
    there = any(each.version == row.source.version for each in source)
    deleted = promises.upload_of(row).deleted
    if row.state in ENDED:
        _check_finished(promises, row, there=there)
    elif row.state is State.GONE:
        promises.gone(row)
    elif row.failed[-1].cause in REFUSALS.values():
        if not there and not deleted:
            raise Violation("P1", "a delivery that could not be read is not in landing")
    elif (dead := _counted_deaths(promises, row)) < (1 if is_given_up(row) else ATTEMPTS):
        raise Violation("P4", f"given up after {dead} dead attempts")
    elif not there and not deleted:
        raise Violation("P1", "a failed delivery is not in landing")


def _check_held(promises: Promises, row: Workload) -> None:
    """Its dataset is paused, and its bytes are where they landed."""
    pause = promises.env.memory.pauses.get(LINE)
    if pause is None or pause.resumed is not None:
        raise Violation("P4", "a delivery stays held, and its line was resumed")
    versions = promises.env.memory.objects.buckets[row.source.bucket].get(row.source.key, ())
    if not promises.upload_of(row).deleted and all(each.version != row.source.version for each in versions):
        raise Violation("P1", "a held delivery is not where it landed")


def _no_pause_stays(promises: Promises) -> None:
    pause = promises.env.memory.pauses.get(LINE)
    if pause is not None and pause.resumed is not None:
        raise Violation("P4", "a line that was resumed still counts as paused")


def _counted_deaths(promises: Promises, row: Workload) -> int:
    """Attempts of the last round that came to nothing; neither time in the queue nor an unfit invocation is an attempt."""
    began = promises.rounds.get(row.id, 0)
    free = [each for each in row.failed if each.number > began and each.cause in {"does-not-fit", "no-function"}]
    if any((row.id, each.number) not in promises.env.free for each in free):
        raise Violation("P7", "an attempt cost nothing that was an attempt like any other")
    uncounted = promises.env.uncounted(row.id, began).union(each.number for each in free)
    return promises.env.deaths(row.id, began) - len(uncounted)


def _check_finished(promises: Promises, row: Workload, *, there: bool) -> None:
    if there:
        raise Violation("P4", "a judged version was left behind")
    body = promises.upload_of(row).body
    if row.id not in promises.replays and not promises.contains(row, body):
        raise Violation("P1", "the stored bytes are not those that landed")
    _check_report(promises, row)
    if len({key.partition("/")[0] for key in promises.places(row.id)}) > 1 and not body.startswith(b"split"):
        raise Violation("P8", "one delivery is in accepted and in quarantine")


def _check_report(promises: Promises, row: Workload) -> None:
    """Written once; it may be missing only where S3 refused it until a day after intake."""
    written = promises.env.memory.objects.buckets[LAKE].get(f"runs/{row.id}/report.html", ())
    assert row.pin is not None
    due = datetime.fromisoformat(row.pin.judging_time) + timedelta(days=1)
    if len(written) > 1 or (not written and promises.env.memory.clock.now() < due):
        raise Violation("P4", f"a finished delivery has {len(written)} reports")


def _staging_is_empty(promises: Promises) -> None:
    for key in promises.env.memory.objects.current(LAKE, "staging/"):
        row = promises.rows.get(key.split("/")[-2])
        if row is None or row.state not in {State.FAILED, State.HELD, State.AWAITING, State.SCHEDULED}:
            raise Violation("P4", "a staging copy was left behind")


def _ledger_and_lake_agree(promises: Promises) -> None:
    if promises.published != {row.id for row in promises.rows.values() if row.state in ENDED}:
        raise Violation("P3", "the ledger does not list every finished delivery")
    for name, digests in promises.digests.items():
        head = promises.env.memory.ledger.head(name)
        if (head.height, head.digest) != (len(digests) - 1, digests[-1]):
            raise Violation("P3", "the head is not the top of its chain")
        _manifest_is_whole(promises, name)


def _chains_are_intact(promises: Promises) -> None:
    for name, digests in promises.digests.items():
        if not _is_intact(name, tuple(promises.env.memory.ledger.signed(name)), digests[-1]):
            raise Violation("P19", "a signature is missing or wrong")


@lru_cache(1_000)
def _is_intact(name: str, chain: tuple[SignedText, ...], head: str) -> bool:
    """A chain of schedules is verified once in each of its states: recovery asks after every sweep."""
    return not verify_signed(chain, name, signatures_by(None), head)


def _manifest_is_whole(promises: Promises, name: str) -> None:
    chain = promises.env.memory.chains[name]
    published = [block for block in chain if block.kind == "published"]
    head = f"accepted/{name}/_manifest.json"
    if head not in promises.env.lake and not published:
        return
    listed = (manifest_deliveries(promises.env.lake, head) if head in promises.env.lake else None) or []
    entries = [
        (each["workload"], "waiver" in each, [(o["key"], o["version"], o["size"]) for o in each["objects"]])
        for each in listed
    ]
    objects = [
        (
            each.workload,
            promises.rows[each.workload].waiver is not None,
            [(o.key, o.version, o.size) for o in each.objects if _is_read(o.key, each)],
        )
        for each in published
    ]
    if entries != objects:
        raise Violation("P2", "the manifest differs from the ledger")


def _is_read(key: str, block: Block) -> bool:
    """Whether consumers of files read an object of a block: of slices nothing else, and no typed files."""
    if block.slices is not None:
        return any(each.key == key for each in block.slices)
    return key.startswith("accepted/") and key not in {each.key for each in block.table or ()}


def _content_is_accepted_once(promises: Promises) -> None:
    rows = [row for row in promises.rows.values() if row.state is State.PUBLISHED]
    accepted = {
        (row.pin.dataset if row.pin else "", promises.upload_of(row).body, _identity(promises.upload_of(row)))
        for row in rows
    }
    if len(accepted) != len(rows):
        raise Violation("P3", "the same content was accepted twice")


def _identity(upload: Upload) -> str:
    """By which checksum its content is known, written a second time from docs/architecture.md."""
    algorithm = upload.version.checksum.partition(":")[0]
    return algorithm if algorithm == "sha256" and len(upload.body) <= PARTS_ABOVE else "crc64nvme"


def _messages_are_sent(promises: Promises) -> None:
    """P5: each message is sent at least once, in any order; that of a workload's last state names its attempt and verdict."""
    if promises.env.memory.messages:
        raise Violation("P5", "a message stays in the outbox")
    sent = {
        (message.workload, message.kind): set[tuple[object, ...]]() for message in promises.env.memory.notifier.sent
    }
    for message in (each for each in promises.env.memory.notifier.sent if not each.dataset):
        body = read_json(message.body)
        sent[message.workload, message.kind].add(
            tuple(body[each] for each in ("workload", "state", "attempt", "verdict"))
        )
    for row in (each for each in promises.rows.values() if each.state not in {State.HELD, State.SCHEDULED}):
        found = sent.get((row.id, row.state.lower()))
        if found is None:
            raise Violation("P5", f"no message was sent of a workload that is {row.state}")
        decision = row.decision or row.candidate
        verdict = decision.verdict if decision else None
        if (row.id, row.state, row.attempt, verdict) not in found:
            raise Violation("P5", f"a wrong message was sent of a workload that is {row.state}")
