"""No line of Markdown is wider than 120 characters, but for rows of tables, which can't be broken; no file of Rust is
longer than 600 lines."""

import subprocess
import sys
from pathlib import Path

WIDEST = 120
LONGEST = 600
ROOT = Path(__file__).resolve().parent.parent


def files(pattern):
    """With files that are not committed yet, without those that are ignored."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", pattern]
    names = subprocess.run(command, cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE).stdout.split()
    for name in filter(lambda name: (ROOT / name).exists(), names):
        yield name, (ROOT / name).read_text(encoding="utf-8").splitlines()


wrong = []
for name, lines in files("*.md"):
    for number, line in enumerate(lines, 1):
        if len(line) > WIDEST and not line.lstrip().startswith("|"):
            wrong.append(f"{name}:{number}: {len(line)} characters, at most {WIDEST}")
for name, lines in files("*.rs"):
    if len(lines) > LONGEST:
        wrong.append(f"{name}: {len(lines)} lines, at most {LONGEST}")
print(*wrong, sep="\n", end="\n" if wrong else "")
sys.exit(1 if wrong else 0)
