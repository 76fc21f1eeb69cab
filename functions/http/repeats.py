"""Requests that are sent again: the header `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header-07).

Every POST can be repeated without harm, and answers what is true then. What a key adds: a repetition of an announcement leads
to the same announcement, and another request with the key is refused. So no answer is stored, but what was asked.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from lakegate.functions.http.messages import CALLBACK_ROUTE, HttpProblem
from lakegate.functions.ports.request_keys import KeptRequest

if TYPE_CHECKING:
    from lakegate.functions.http.messages import HttpRequest
    from lakegate.functions.usecases.dependencies import Dependencies

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
    kept = dependencies.requests.keep(own, asked, dependencies.clock.now() + KEPT)
    if kept.fingerprint != asked.fingerprint:
        detail = "Another request was sent with this `Idempotency-Key`: use a new one."
        raise HttpProblem(422, "key-reused", detail)
    return replace(request, token=kept.token)


def _fingerprint(request: HttpRequest) -> str:
    body = hashlib.sha256(request.body).hexdigest()
    return _digest(request.route, dict(request.path), dict(request.query), body)


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
