"""Runs every block of docs/python.md that is marked as a part of the tutorial, one after the other."""

import os
import re
import sys
import tempfile
from pathlib import Path

page = Path(__file__).resolve().parents[2] / "docs/python.md"
blocks = re.findall(r"^```python tutorial\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
if not blocks:
    sys.exit(f"{page} has no tutorial")
names: dict[str, object] = {"__name__": "tutorial"}
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for number, block in enumerate(blocks, 1):
        print(f"== block {number}", flush=True)
        exec(compile(block, f"{page.name}, block {number}", "exec"), names)
    os.chdir("/")
