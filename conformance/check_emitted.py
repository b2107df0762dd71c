"""Writes derivative graphs with `taste derive --emit`, checks them with onnx.checker and runs them in stock ONNX Runtime
at several batch sizes against the values that PyTorch computed."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx

import stock

QUANTITIES = {"value": ("f.npy", 1e-4), "gradient": ("grad.npy", 1e-4), "laplacian": ("lap.npy", 1e-3), "diagonal": ("diag.npy", 1e-3)}


def emit(taste: Path, case: Path, method: str, folder: Path) -> Path:
    path = folder / "derivative.onnx"
    command = [taste, "derive", case / "model.onnx", "--emit", path, "--laplacian-method", method, "--want", "gradient,laplacian,diagonal"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return path


def errors(path: Path, case: Path, x: np.ndarray, batch: int) -> dict[str, float]:
    """Relative to the largest number that PyTorch gave."""
    apart = {}
    for name, got in stock.run(path, x, batch).items():
        want = np.load(case / QUANTITIES[name][0])
        apart[name] = float(np.abs(got - want).max() / np.abs(want).max())
    return apart


def main() -> int:
    arguments = stock.arguments(__doc__)
    passed = failed = 0
    for case in sorted(path.parent for path in arguments.cases.glob("*/*/model.onnx")):
        x = np.load(case / "x.npy")
        for method in ("auto", "exact"):
            with tempfile.TemporaryDirectory() as folder:
                path = emit(arguments.taste, case, method, Path(folder))
                onnx.checker.check_model(str(path), full_check=True)
                for batch in (1, len(x)):
                    found = errors(path, case, x, batch)
                    bad = {name: error for name, error in found.items() if not error <= QUANTITIES[name][1]}
                    passed, failed = passed + (not bad), failed + bool(bad)
                    if bad:
                        print(f"{case} ({method}, batch {batch}): {bad}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
