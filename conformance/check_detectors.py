"""Fits detectors with `taste fit`, checks the files with onnx.checker and compares what stock ONNX Runtime makes of them
with `taste score` and `taste explain`, on both engines and at several batch sizes."""

import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx

import stock

TOLERANCE = 1e-4
BATCHES = (1, 7, 64)
# Scores and residuals are differences of larger numbers: near zero, what single precision leaves is relative to a part of a
# score as it commonly is.
NEAR_ZERO = 0.05
# Evidence is a sum of logarithms: what rounding changes is a part of a nat, however small the sum. It is held against the
# score as it commonly is. The answers of these small random networks hardly move with the sample (by 1e-3 of a logit), so
# that the logarithm of their drift has three or four digits in single precision.
OF_EVIDENCE = 1.0
TOLERANCE_OF_EVIDENCE = 2.5e-4
# Fixtures and flags of the fit: tables, smooth networks, images, probabilities from a sigmoid. Every method of the table
# comes on top, with its defaults.
DETECTORS = [
    ("golden/legacy/mlp_relu", ["--score-model", "gaussian"]),
    ("golden/legacy/mlp_relu", ["--score-model", "gaussian", "--target", "entropy"]),
    ("golden/dynamo/mlp_tanh", ["--score-model", "gmm:2", "--aggregate", "predicted"]),
    ("golden/dynamo/mlp_tanh", ["--score-model", "gaussian", "--target", "entropy"]),
    ("golden/legacy/mlp_tanh", ["--score-model", "gaussian", "--target", "logprob"]),
    ("golden/legacy/cnn_relu_avg", ["--score-model", "gaussian:diagonal", "--aggregate", "profile", "--map"]),
    ("zoo/legacy/mlp_probabilities", ["--score-model", "kde"]),
    ("zoo/sklearn/mlp_classifier_logistic_binary", ["--score-model", "gaussian"]),
    ("zoo/sklearn/mlp_regressor_relu", ["--score-model", "gaussian"]),
    ("zoo/sklearn/mlp_regressor_relu", ["--method", "taste"]),
    ("golden/legacy/cnn_relu_avg", ["--method", "taste:set=full", "--map"]),
    ("golden/legacy/cnn_relu_avg", ["--method", "evidence-map:zero-shot"]),
    ("golden/legacy/cnn_relu_avg", ["--method", "evidence-map:batch"]),
]
# What says nothing of random networks: their answers hardly move with the sample, so that divergences of them are what
# rounding leaves, and some classes are never answered. check_scores.py has these on networks that were trained.
TRAINED = ("kl-matching", "she")


def taste(program: Path, *arguments) -> str:
    return subprocess.run([program, *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True).stdout


def number(text: str) -> float:
    return float({"true": 1, "false": 0}.get(text, text))


def apart(got: np.ndarray, want: np.ndarray, part: float = NEAR_ZERO) -> float:
    """The largest relative difference; near zero, relative to a part of the median."""
    floor = part * np.median(np.abs(want))
    return float((np.abs(got - want) / np.maximum(np.abs(want), floor)).max())


def apart_in_maps(got: np.ndarray, want: np.ndarray) -> float:
    """The largest difference, relative to the largest entry."""
    return float(np.abs(got - want).max() / np.abs(want).max())


def labels(case: Path, x: np.ndarray) -> np.ndarray:
    """What the model answers, and some of every class whatever it answers."""
    outputs = next(iter(stock.run(case / "model.onnx", x, 64).values())).reshape(len(x), -1)
    found = outputs.argmax(axis=1)
    found[::7] = np.arange(len(found[::7])) % outputs.shape[1]
    return found.astype(np.int64)


def check(program: Path, case: Path, flags: list[str], folder: Path) -> list[str]:
    random = np.random.default_rng(0)
    shape = np.load(case / "x.npy").shape[1:]
    train = random.normal(size=(600, *shape)).astype(np.float32)
    x = (1.2 * random.normal(size=(130, *shape)) + 0.2).astype(np.float32)
    detector, data, table, maps = (folder / n for n in ("detector.onnx", "x.npy", "scores.csv", "maps"))
    np.save(folder / "train.npy", train)
    np.save(data, x)
    np.save(folder / "labels.npy", labels(case, train))
    flags = [str(folder / flag) if flag == "labels.npy" else flag for flag in flags]
    taste(program, "fit", "--model", case / "model.onnx", *flags, "--data", folder / "train.npy", "-o", detector, "-q")
    threshold = json.loads(taste(program, "edit", detector, "--json"))["threshold"]
    onnx.checker.check_model(str(detector), full_check=True)
    wanted = {batch: stock.run(detector, x, batch) for batch in BATCHES}
    bad = []

    def compare(what: str, error: float, tolerance: float = TOLERANCE):
        if not error <= tolerance:
            bad.append(f"{what}: off by {error:.1e}")

    want = wanted[64]
    has_map = "map" in want
    part = OF_EVIDENCE if "evidence" in want else NEAR_ZERO
    limit = TOLERANCE_OF_EVIDENCE if "evidence" in want else TOLERANCE
    for batch in BATCHES:
        compare(f"ONNX Runtime, batch {batch}", apart(wanted[batch]["score"], want["score"], part), limit)
    for engine in ("rten", "ort") if "ORT_DYLIB_PATH" in os.environ else ("rten",):
        for batch in BATCHES:
            taste(program, "score", detector, data, "-o", table, "--backend", engine, "--batch", batch, "-q")
            with open(table, newline="") as lines:
                rows = list(csv.DictReader(lines))
            column = {name: np.array([number(row[name]) for row in rows]) for name in rows[0]}
            score, p_value, flag = (column[name] for name in ("score", "p_value", "flag"))
            compare(f"score, {engine}, batch {batch}", apart(score, want["score"], part), limit)
            for name in ("residual", "novelty"):
                if name in column:
                    compare(f"{name}, {engine}, batch {batch}", apart(column[name], want[name], part), limit)
            # A score that rounding moves past one of the calibration scores has the next p-value.
            compare(f"p-value, {engine}, batch {batch}", float(np.median(np.abs(p_value - want["p_value"]))))
            clear = np.abs(score - threshold) > TOLERANCE * abs(threshold)
            compare(f"flag, {engine}, batch {batch}", float(np.sum((flag != want["flag"])[clear])))
        if not has_map:
            continue
        taste(program, "explain", detector, data, "-o", maps, "--backend", engine, "--most", 1, "-q")
        want_map = want["map"].sum(axis=1) if want["map"].ndim == 4 else want["map"]
        compare(f"map, {engine}", apart_in_maps(np.load(maps / "maps.npy"), want_map))
    return bad


def main() -> int:
    arguments = stock.arguments(__doc__)
    listed = json.loads(taste(arguments.taste.resolve(), "list", "methods", "--json"))
    detectors = DETECTORS + [
        (case, ["--method", entry["name"], *(["--labels", "labels.npy"] if "labels" in entry["needs"].split(", ") else [])])
        for entry in listed[0]["entries"]
        if entry["name"] not in TRAINED
        for case in ("golden/legacy/mlp_relu", "golden/legacy/cnn_relu_avg")
        if case.endswith("cnn_relu_avg") or "images" not in entry["needs"].split(", ")
    ]
    failed = 0
    for case, flags in detectors:
        with tempfile.TemporaryDirectory() as folder:
            bad = check(arguments.taste.resolve(), arguments.cases / case, flags, Path(folder))
        failed += bool(bad)
        for line in bad:
            print(f"{case} {' '.join(flags)}: {line}")
    print(f"{len(detectors) - failed} of {len(detectors)} detectors agree")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
