"""Entry points for the tests: tiny programs, as texts, so that each run fetches its own from S3."""

from __future__ import annotations

HELLO = """
import sys
print("hello", *sys.argv[1:])
print("careful", file=sys.stderr)
"""

NOTHING = "pass\n"

FOREVER = """
import subprocess, sys, threading
subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
threading.Event().wait()
"""

STUBBORN = """
import signal, threading
signal.signal(signal.SIGTERM, signal.SIG_IGN)
threading.Event().wait()
"""

THIRD_TIME_LUCKY = """
import pathlib, sys
before = pathlib.Path(sys.argv[1])
count = len(before.read_text()) if before.exists() else 0
before.write_text("x" * (count + 1))
print(count)
sys.exit(count < 2)
"""

ENVIRONMENT = """
import os
for name in sorted(os.environ):
    if name[:4] in ("AWS_", "OWN_"):
        print(name, os.environ[name])
"""

ANSWERING = """
import os, sys, urllib.request
place = f"{os.environ['AWS_ENDPOINT_URL']}/lake/{sys.argv[1]}"
kind = {"Content-Type": "text/plain"}
urllib.request.urlopen(urllib.request.Request(place, b"answered", kind, method="PUT")).close()
"""

ENDLESS = """
import threading
threading.Event().wait()
"""
