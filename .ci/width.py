"""No line of Markdown is wider than 120 characters, but for rows of tables, which can't be broken."""

import subprocess
import sys
from pathlib import Path

MOST = 120
ROOT = Path(__file__).resolve().parent.parent

# With files that are not committed yet, without those that are ignored.
command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
pages = subprocess.run(command, cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE).stdout.split()
wide = 0
for page in filter(lambda page: (ROOT / page).exists(), pages):
    for number, line in enumerate((ROOT / page).read_text(encoding="utf-8").splitlines(), 1):
        if len(line) > MOST and not line.lstrip().startswith("|"):
            print(f"{page}:{number}: {len(line)} characters, at most {MOST}")
            wide += 1
sys.exit(1 if wide else 0)
