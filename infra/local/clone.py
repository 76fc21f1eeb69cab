"""`ROOT`, the folder of this clone, and `TOOLS`, the one folder below it where set-up puts what is not Python."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / ".tools"
