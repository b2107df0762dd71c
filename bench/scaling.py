"""How time and memory grow with rows, columns, classes, pixels and threads: one series each, with everything else fixed.

    python bench/scaling.py --taste target/release/taste

Small networks with random weights and drawn data, made by `drawn.py`. Seconds are those of processors (user and system),
which other programs hardly change; only the series of threads takes those on the wall and needs a quiet machine. Memory is
the peak that the system tells of a process; as that counts what the process before it had, nothing large is held here.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DRAWN = Path(__file__).parent / "drawn.py"

def run(folder, taste, *arguments):
    """Seconds of processors, seconds on the wall, and the peak of memory in MB."""
    start = time.perf_counter()
    command = [taste, *arguments]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    told = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)}\n{told}")
    return used.ru_utime + used.ru_stime, time.perf_counter() - start, used.ru_maxrss / 1024


FIT = ["fit", "--model", "model.onnx", "--data", "train.npy", "-o", "d.onnx", "--task", "labels", "--map"]
SCORE = ["score", "d.onnx", "new.npy", "-o", "s.csv"]
EXPLAIN = ["explain", "d.onnx", "new.npy", "-o", "maps", "--most", "4"]
STEPS = {"fit": FIT, "score": SCORE, "explain": EXPLAIN}


def make(folder, **sizes):
    subprocess.run([sys.executable, DRAWN, folder, *(f"{name}={size}" for name, size in sizes.items())], check=True)


def series(name, sizes, taste, **others):
    """One row for each size of what is named."""
    print(f"\n| {name} | " + " | ".join(f"{step}, s | MB" for step in STEPS) + " |")
    print("|---|" + "---|---|" * len(STEPS))
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            make(folder, **others, **{name: size})
            cells = []
            for arguments in STEPS.values():
                used, _, peak = run(folder, taste, *arguments)
                cells.append(f"{used:.2f} | {peak:.0f}")
        print(f"| {size} | " + " | ".join(cells) + " |", flush=True)


def threads(taste, rounds=5):
    """One thread and two in turns, seconds on the wall."""
    with tempfile.TemporaryDirectory() as folder:
        make(folder, rows=400, side=128)
        times = {step: {1: [], 2: []} for step in ("fit", "score")}
        for _ in range(rounds):
            for step, by in times.items():
                for count, seconds in by.items():
                    seconds.append(run(folder, taste, *STEPS[step], "--threads", str(count))[1])
    for step, by in times.items():
        print(f"{step}: two threads are {min(by[1]) / min(by[2]):.2f} times as fast as one")


def main():
    parser = argparse.ArgumentParser(description="Measure growth.")
    parser.add_argument("--taste", type=Path, required=True)
    parser.add_argument("--only", default="", help="one series: rows, columns, classes, pixels, many, threads")
    options = parser.parse_args()
    taste = str(options.taste.resolve())
    every = {
        "rows": lambda: series("rows", (2000, 8000, 32000, 128000), taste),
        "columns": lambda: series("columns", (10, 40, 160, 640), taste, rows=4000),
        "classes": lambda: series("classes", (2, 10, 100, 1000), taste, rows=4000),
        "pixels": lambda: series("side", (32, 64, 128, 224), taste, rows=120, classes=10),
        "many": lambda: series("side", (32, 224), taste, rows=120, classes=1000),
        "threads": lambda: threads(taste),
    }
    for name, measure in every.items():
        if name.startswith(options.only):
            measure()


if __name__ == "__main__":
    main()
