"""What Python adds to scoring: `Detector.score` on an array beside the library's own `Scorer::score`, in turns.

    cargo build --release -p taste-bench --bin verdict && maturin build --release && pip install target/wheels/*.whl
    python bench/python.py --model M.onnx --data X.npy [--verdict target/release/verdict] [--samples 64 1024]

Then memory: an array of float32 that is larger than everything else, and how much more is resident while it is scored.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import taste_ood as taste


def library(verdict: str, detector: Path, model: str, data: str, samples: int, times: int, threads: int) -> float:
    """Milliseconds of the library for so many samples at once."""
    command = [verdict, detector, "--model", model, "--data", data, "--batch", samples, "--times", times, "--threads", threads]
    printed = subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout
    return float(re.search(r": ([\d.]+) ms, [\d.]+ forward", printed)[1])


def package(detector: taste.Detector, x: np.ndarray, times: int) -> float:
    """Milliseconds of Detector.score."""
    found = []
    for _ in range(times + 1):
        start = time.perf_counter()
        detector.score(x, batch=len(x))
        found.append(1e3 * (time.perf_counter() - start))
    return statistics.median(found[1:])


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def growth(detector: taste.Detector, x: np.ndarray) -> int:
    """The most bytes that are resident while samples are scored, above those before."""
    detector.score(x[:1024])
    before, most, done = resident(), 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.001):
            most = max(most, resident() - before)

    thread = threading.Thread(target=watch)
    thread.start()
    detector.score(x)
    done.set()
    thread.join()
    return most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", required=True, help="a .npy file of float32")
    parser.add_argument("--verdict", default="target/release/verdict")
    parser.add_argument("--samples", type=int, nargs="+", default=[64, 1024])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--times", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    x = np.load(args.data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "detector.onnx"
        taste.fit(args.model, x, map=False).save(path)
        detector = taste.load(path, threads=args.threads)
        for samples in args.samples:
            part, ratios, own = x[:samples], [], []
            for _ in range(args.rounds):
                theirs = library(args.verdict, path, args.model, args.data, samples, args.times, args.threads)
                own.append(package(detector, part, args.times))
                ratios.append(own[-1] / theirs)
            print(
                f"{samples} samples at once: {statistics.median(own):.2f} ms, {statistics.median(ratios):.3f} times the library "
                f"(rounds {min(ratios):.3f} to {max(ratios):.3f})",
                flush=True,
            )
        many = np.ascontiguousarray(np.resize(x, (max(len(x), 200_000_000 // x[0].nbytes), *x.shape[1:])))
        print(f"an array of {many.nbytes / 1e6:.0f} MB: {growth(detector, many) / 1e6:.0f} MB more while it is scored", flush=True)


if __name__ == "__main__":
    main()
