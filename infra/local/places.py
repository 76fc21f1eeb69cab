"""Where set-up puts what a clone needs beside its Python: one folder inside the clone, nothing outside it."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / ".tools"
