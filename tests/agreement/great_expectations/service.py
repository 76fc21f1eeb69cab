"""A validator of DCM around Great Expectations itself: `python service.py CERTIFICATE`, in its own environment.

It imports nothing of Lakegate. It prints its port, and serves HTTPS on the loopback until it is stopped; answers are in memory.
"""

from __future__ import annotations

import io
import json
import ssl
import sys
import threading
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import urlopen

import great_expectations as gx
import great_expectations.expectations as gxe
import pandas as pd

TOKEN = "Bearer letmein"
ANSWERS: dict[str, dict[str, object]] = {}
"""By the id of the validation."""
ONE = threading.Lock()
"""Great Expectations has one context for the process."""


def expectation_of(rule: dict[str, object]) -> object:
    """The expectation of a rule; whatever it raises refuses the request."""
    name = "".join(part.capitalize() for part in str(rule["call"]).split("_"))
    return getattr(gxe, name)(**rule.get("args", {}))


def frame_of(access: dict[str, object]) -> pd.DataFrame:
    with urlopen(str(access["path"])) as answer:  # noqa: S310 - the address that a test signs
        body = answer.read()
    return pd.read_csv(io.BytesIO(body), sep=access["csv"]["delimiter"])


def result_of(batch: object, rule: dict[str, object], expectation: object) -> dict[str, object]:
    found = batch.validate(expectation)
    raised = [each for each in (found.exception_info, *found.exception_info.values()) if isinstance(each, dict)]
    has_raised = any(each.get("raised_exception") for each in raised)
    tier = {"success": bool(found.success), "exception_info": {"raised_exception": has_raised}}
    return {
        "id": rule["id"],
        "column": None,
        "metric": found.result.get("unexpected_count"),
        "technology": "GreatExpectations",
        "version": gx.__version__,
        "severity": {"fail": tier, "warn": None},
    }


def validate(document: dict[str, object], expectations: list[object]) -> None:
    """Measure all rules; an error of its own is `NOK`."""
    try:
        with ONE:
            context = gx.get_context(mode="ephemeral")
            context.variables.progress_bars = {"globally": False}
            asset = context.data_sources.add_pandas("data").add_dataframe_asset("delivery")
            definition = asset.add_batch_definition_whole_dataframe("all")
            batch = definition.get_batch({"dataframe": frame_of(document["access"])})
            pairs = zip(document["validations"], expectations, strict=True)
            results = [result_of(batch, rule, expectation) for rule, expectation in pairs]
        answer = {"status": "OK", "result": results}
    except Exception:  # noqa: BLE001 - whatever it raises, it could not validate
        answer = {"status": "NOK", "result": []}
    ANSWERS[document["workloadId"]] = {"workloadId": document["workloadId"], **answer}


class Handler(BaseHTTPRequestHandler):
    """DCM's two routes."""

    def do_POST(self) -> None:
        """Start: the rules are read at once, the data afterwards."""
        document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = document["workloadId"]
        if self.path != "/v1/validation/start" or self.headers["Authorization"] != TOKEN:
            self._answer(401, {})
            return
        running = {"workloadId": name, "status": "Running", "result": []}
        try:
            expectations = [expectation_of(rule) for rule in document["validations"]]
        except Exception:  # noqa: BLE001 - a rule that cannot be read refuses the request
            self._answer(400, {"workloadId": name, "status": "NOK", "result": []})
            return
        if name not in ANSWERS:
            ANSWERS[name] = running
            threading.Thread(target=validate, args=(document, expectations), daemon=True).start()
        self._answer(200, {**running, "status": "OK"})

    def do_GET(self) -> None:
        """Poll."""
        found = ANSWERS.get(self.path.removeprefix("/v1/validation/"))
        if self.headers["Authorization"] != TOKEN:
            self._answer(401, {})
        else:
            self._answer(200 if found else 404, found or {})

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def _answer(self, status: int, document: dict[str, object]) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main(certificate: str) -> None:
    warnings.simplefilter("ignore")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.server_address[1], flush=True)  # noqa: T201 - its only line
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])
