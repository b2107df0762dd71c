"""What the checks against stock ONNX Runtime have in common."""

import argparse
from pathlib import Path

import numpy as np
import onnxruntime


def arguments(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--taste", type=Path, required=True, help="the program")
    parser.add_argument("--cases", type=Path, required=True, help="a folder with a folder of models and arrays for each exporter")
    return parser.parse_args()


def run(path: Path, x: np.ndarray, batch: int) -> dict[str, np.ndarray]:
    """All outputs of a model by name, for samples that go through it in batches."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    name = session.get_inputs()[0].name
    parts = [session.run(names, {name: x[i : i + batch]}) for i in range(0, len(x), batch)]
    return {n: np.concatenate([part[i] for part in parts]) for i, n in enumerate(names)}
