"""Accuracy of batches without labels: a detector's estimate beside the model's own temperature-scaled confidence.

    python bench/accuracy.py DETECTOR.onnx --shifts DIR --clean test_batch.bin.gz

DETECTOR is fitted with --calibration DIR/calibration.npy and --calibration-labels DIR/calibration_labels.npy. Batches are
the sets C_*.npy and P_*.npy of DIR (labels in labels.npy). How often intervals cover on clean batches of 200 is counted
over calibrations that are drawn anew from the CIFAR-10 test file. Needs numpy and onnxruntime."""

import argparse
import gzip
import json
from pathlib import Path

import numpy as np
import onnxruntime

BATCH = 200
# Calibrations that are drawn from clean images, and batches that each is tried on.
SPLITS = 200
BATCHES = 10


def pixels(images: np.ndarray) -> np.ndarray:
    return images.astype(np.float32) / (255 if images.dtype == np.uint8 else 1)


def log_softmax(z: np.ndarray) -> np.ndarray:
    z = z - z.max(axis=1, keepdims=True)
    return z - np.log(np.exp(z).sum(axis=1, keepdims=True))


def temperature(logits: np.ndarray, labels: np.ndarray) -> float:
    """By maximum likelihood, on a fine grid."""
    grid = np.exp(np.linspace(-2, 2, 401))
    rows = np.arange(len(labels))
    return float(grid[np.argmax([log_softmax(logits / t)[rows, labels].mean() for t in grid])])


def expected_error(errors: dict, scores: np.ndarray) -> np.ndarray:
    x = np.log1p(np.maximum(scores - errors["low"], 0) / errors["scale"])
    return 1 / (1 + np.exp(-(errors["intercept"] + errors["slope"] * x)))


def fitted(scores: np.ndarray, wrong: np.ndarray) -> dict:
    """The curve that `taste fit` fits: logistic in log(1 + (score - low)/scale), by Newton's method."""
    low, scale = scores.min(), np.median(scores) - scores.min()
    x = np.stack([np.ones(len(scores)), np.log1p((scores - low) / scale)], axis=1)
    w = np.zeros(2)
    for _ in range(25):
        p = 1 / (1 + np.exp(-x @ w))
        w += np.linalg.solve((x.T * (p * (1 - p))) @ x + 1e-9 * np.eye(2), x.T @ (wrong - p))
    spread = {"variance": wrong.var(ddof=1), "samples": len(wrong)}
    return {"low": low, "scale": scale, "intercept": w[0], "slope": w[1], **spread}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("detector", type=Path)
    parser.add_argument("--shifts", type=Path, required=True)
    parser.add_argument("--clean", type=Path, required=True)
    arguments = parser.parse_args()
    session = onnxruntime.InferenceSession(str(arguments.detector))
    manifest = json.loads(session.get_modelmeta().custom_metadata_map["taste.manifest"])
    errors, logits = manifest["errors"], manifest["model"]["prediction"]

    def run(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = pixels(images)
        feed = manifest["model"]["input"]
        parts = [session.run(["score", logits], {feed: x[i : i + 100]}) for i in range(0, len(x), 100)]
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    _, z = run(np.load(arguments.shifts / "calibration.npy"))
    t = temperature(z, np.load(arguments.shifts / "calibration_labels.npy"))
    labels = np.load(arguments.shifts / "labels.npy")
    ours, theirs = [], []
    for path in sorted(arguments.shifts.glob("[CP]_*.npy")):
        scores, z = run(np.load(path))
        truth = (z.argmax(axis=1) == labels).mean()
        estimate = 1 - expected_error(errors, scores).mean()
        confidence = np.exp(log_softmax(z / t)).max(axis=1).mean()
        ours.append(abs(estimate - truth))
        theirs.append(abs(confidence - truth))
        print(f"{path.stem:18} accuracy {truth:.3f}  estimate {estimate:.3f}  confidence {confidence:.3f}")
    print(f"mean absolute error over {len(ours)} sets: estimate {np.mean(ours):.4f}, confidence {np.mean(theirs):.4f}")

    raw = np.frombuffer(gzip.open(arguments.clean).read(), np.uint8).reshape(-1, 3073)
    scores, z = run(raw[:, 1:].reshape(-1, 3, 32, 32))
    wrong = (z.argmax(axis=1) != raw[:, 0]).astype(float)
    random, covered = np.random.default_rng(0), []
    for _ in range(SPLITS):
        order = random.permutation(len(wrong))
        known, fresh = order[: errors["samples"]], order[errors["samples"] :]
        model = fitted(scores[known], wrong[known])
        for batch in fresh[: BATCHES * BATCH].reshape(BATCHES, BATCH):
            p = expected_error(model, scores[batch])
            noise = (p * (1 - p)).sum() / BATCH**2 + model["variance"] / model["samples"]
            covered.append(abs(p.mean() - wrong[batch].mean()) <= 1.96 * noise**0.5)
    print(f"clean batches of {BATCH}, {SPLITS} calibrations: {np.mean(covered):.3f} of intervals cover (0.95 wanted)")


if __name__ == "__main__":
    main()
