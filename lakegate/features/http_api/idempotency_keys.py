"""Repeated requests by Idempotency-Key."""

from __future__ import annotations

import json
import math
import re
import secrets
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from lakegate.base.errors import ConditionFailed
from lakegate.base.json_codec import sha256_of
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.table import Put, Row, RowAbsent, Tables, workloads_key
from lakegate.library.http_messages import CALLBACK_ROUTE, HttpProblem, HttpRequest

# ---- Idempotency keys ----


class KeptRequest(NamedTuple):
    """The first request with a key."""

    fingerprint: str
    """Of what was asked."""
    token: str
    """By which what it created is known: random, so that nobody can guess it."""


@dataclass(frozen=True, slots=True)
class RequestKeys:
    """The requests of the last day that had a key: rows that expire."""

    table: Tables

    def keep(self, key: str, request: KeptRequest, until: datetime) -> KeptRequest:
        """Put the request if the key is new; the request that is kept under it. `until`: when it may be forgotten.

        What has just expired is as good as new.
        """
        row = Row(workloads_key("request", key), {**request._asdict(), "expires": math.ceil(until.timestamp())})
        try:
            self.table.write(Put(row, RowAbsent()))
        except ConditionFailed:
            there = self.table.get(row.key) or row
            return there.decoded(lambda row: KeptRequest(row.text("fingerprint"), row.text("token")))
        return request


# ---- Repeated requests ----
# Every POST can be repeated without harm, and answers what is true then. What a key adds: a repetition of an announcement leads
# to the same announcement, and another request with the key is refused. So no response is stored, but what was asked.


HEADER: Final = "idempotency-key"
FORM: Final = re.compile(r"[!-~]{1,255}", re.ASCII)
KEPT: Final = timedelta(days=1)


def known_again(dependencies: Dependencies, request: HttpRequest) -> HttpRequest:
    """The request with the token of its first sending; a new token without a key.

    Raises HttpProblem for a key that cannot be read, and one that the caller has used for another request.
    """
    fresh = secrets.token_hex(32)
    key = request.headers.get(HEADER)
    if key is None or not request.route.startswith("POST ") or request.route == CALLBACK_ROUTE:
        return replace(request, token=fresh)
    if not FORM.fullmatch(key):
        detail = "`Idempotency-Key` has 1 to 255 characters of ASCII, and no spaces."
        raise HttpProblem(400, "invalid-parameter", detail)
    own = _digest(request.caller, key)
    asked = KeptRequest(_fingerprint(request), fresh)
    kept = RequestKeys(dependencies.table).keep(own, asked, dependencies.now + KEPT)
    if kept.fingerprint != asked.fingerprint:
        detail = "Another request was sent with this `Idempotency-Key`: use a new one."
        raise HttpProblem(422, "key-reused", detail)
    return replace(request, token=kept.token)


def _fingerprint(request: HttpRequest) -> str:
    body = sha256_of(request.body)
    return _digest(request.route, dict(request.path), dict(request.query), body)


def _digest(*parts: object) -> str:
    return sha256_of(json.dumps(parts, sort_keys=True))
