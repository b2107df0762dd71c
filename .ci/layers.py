"""The table of crates in docs/architecture.md against `cargo metadata`.

The column "uses" lists exactly the crates of ours that a crate depends on, and all of them stand in rows above it.
Dependencies of tests are free.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

PAGE = "docs/architecture.md"
ROOT = Path(__file__).resolve().parent.parent


def cells(row):
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def table(page):
    """Each crate of the table and those that it uses, in the order of the rows."""
    lines = iter(page.splitlines())
    for line in lines:
        if line.startswith("|") and (head := cells(line))[0] == "crate" and "uses" in head:
            break
    else:
        sys.exit(f"{PAGE} has no table with the columns crate and uses")
    next(lines)
    rows = {}
    for line in lines:
        if not line.startswith("|"):
            break
        row = dict(zip(head, cells(line)))
        name = re.search(r"`([^`]+)`", row["crate"])
        rows[name[1] if name else row["crate"]] = re.findall(r"`([^`]+)`", row.get("uses", ""))
    return rows


def metadata():
    """Each crate of the workspace and those of ours that it depends on."""
    command = ["cargo", "metadata", "--no-deps", "--locked", "--format-version", "1"]
    packages = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)["packages"]
    names = {package["name"] for package in packages}
    return {
        package["name"].removeprefix("taste-"): sorted(
            {
                dependency["name"].removeprefix("taste-")
                for dependency in package["dependencies"]
                if dependency["name"] in names and dependency["kind"] != "dev"
            }
        )
        for package in packages
    }


def problems(rows, crates):
    for name in sorted(crates.keys() - rows.keys()):
        yield f"crate {name} has no row"
    for at, (name, uses) in enumerate(rows.items()):
        if name not in crates:
            yield f"row {name}: there is no such crate"
            continue
        if sorted(uses) != crates[name]:
            yield f"row {name}: uses is to be {', '.join(f'`{used}`' for used in crates[name]) or 'empty'}"
        for used in set(crates[name]) & set(list(rows)[at:]):
            yield f"row {name}: {used}, which it uses, does not stand above it"


found = list(problems(table((ROOT / PAGE).read_text(encoding="utf-8")), metadata()))
for problem in found:
    print(f"{PAGE}: {problem}")
sys.exit(1 if found else 0)
