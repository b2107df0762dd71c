"""How many clean samples are flagged where a detector is calibrated on samples that its model has not seen.

    python bench/unseen.py --taste target/release/taste --model mnist_cnn.onnx --data DIR

DIR has MNIST's four files. A detector is fitted to training digits for each method, and recalibrated on random halves of the
test digits (`taste edit --recalibrate`); the share of the other half that it flags is printed, at alpha 5 %.
"""

import argparse
import gzip
import json
import pathlib
import subprocess
import tempfile

import numpy as np

METHODS = {
    "taste": [],
    "stein, gaussian, l2": ["--score-model", "gaussian"],
    "stein, gaussian, profile": ["--score-model", "gaussian", "--aggregate", "profile"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--taste", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=10)
    args = parser.parse_args()
    raw = gzip.open(args.data / "t10k-images-idx3-ubyte.gz").read()
    digits = np.frombuffer(raw, np.uint8, offset=16).reshape(-1, 1, 28, 28)

    def taste(*words: object) -> str:
        done = subprocess.run([args.taste, *map(str, words)], check=True, capture_output=True, text=True)
        return done.stdout

    print("| method | calibrated on training digits | on unseen digits, mean of runs | smallest | largest |")
    print("|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        np.save(work / "all.npy", digits)

        def flagged(detector: pathlib.Path, data: pathlib.Path) -> float:
            rows = taste("score", detector, data, "--json", "-q", "-o", work / "scores.npy")
            return json.loads(rows)["flagged"] / json.loads(rows)["samples"]

        for name, options in METHODS.items():
            detector = work / "detector.onnx"
            train = args.data / "train-images-idx3-ubyte.gz"
            taste("fit", "--model", args.model, "--data", train, "-o", detector, "-q", "--no-map", *options)
            seen = flagged(detector, work / "all.npy")
            shares = []
            for run in range(args.runs):
                order = np.random.default_rng(run).permutation(len(digits))
                half = len(digits) // 2
                np.save(work / "unseen.npy", digits[order[:half]])
                np.save(work / "fresh.npy", digits[order[half:]])
                again = work / "again.onnx"
                taste("edit", detector, "--recalibrate", work / "unseen.npy", "-o", again, "-q")
                shares.append(flagged(again, work / "fresh.npy"))
            percent = [f"{100 * s:.2f} %" for s in (seen, np.mean(shares), min(shares), max(shares))]
            print(f"| `{name}` | " + " | ".join(percent) + " |", flush=True)


if __name__ == "__main__":
    main()
