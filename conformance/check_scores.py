"""Fits every detector with `taste fit` on networks with known scores of pytorch-ood, and compares what stock ONNX Runtime
makes of the files with those scores, to a part of their spread."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx

import stock
from check_detectors import taste

# Of the spread from the 5 % quantile to that of 95 %.
TOLERANCE = 1e-4


def off(got: np.ndarray, want: np.ndarray) -> float:
    low, high = np.quantile(want, (0.05, 0.95))
    return float(np.abs(got - want).max() / (high - low))


def check(program: Path, case: Path, folder: Path) -> list[str]:
    test, scores = np.load(case / "test.npy"), json.loads((case / "scores.json").read_text())
    detector, bad = folder / "detector.onnx", []
    # Other settings than the defaults change numbers, and no operator.
    for method in (name for name in scores if "=" not in name):
        data = ["--data", case / "train.npy", "--labels", case / "labels.npy", "--calibration", case / "test.npy"]
        try:
            taste(program, "fit", "--model", case / "model.onnx", "--method", method, *data, "-o", detector, "-q")
        except subprocess.CalledProcessError:
            bad.append(f"{case.name} {method}: not fitted")
            continue
        onnx.checker.check_model(str(detector), full_check=True)
        error = off(stock.run(detector, test, 64)["score"], np.array(scores[method]))
        if not error <= TOLERANCE:
            bad.append(f"{case.name} {method}: off by {error:.1e} of the spread")
    return bad


def main() -> int:
    arguments = stock.arguments(__doc__)
    cases = sorted(path.parent for path in arguments.cases.glob("*/scores.json"))
    bad = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            bad += check(arguments.taste.resolve(), case, Path(folder))
    print("\n".join(bad + [f"{len(cases)} networks, {len(bad)} scores differ"]))
    return 1 if bad or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
