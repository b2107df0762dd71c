"""What `taste monitor` is worth, beside other people's detectors: docs/results/monitoring.md.

    cargo build --release -p taste-cli -p taste-bench
    pip install river online-cp numpy
    python bench/monitoring.py --bin target/release/monitoring --taste target/release/taste \
        --data DATA --models MODELS --work WORK

DATA holds mnist/ (IDX) and cifar10/ (binary), MODELS mnist_cnn.onnx and cifar10_resnet20.onnx. Without --data only what
needs no data is printed. Prints Markdown.
"""

import argparse
import csv
import gzip
import subprocess
from pathlib import Path

import numpy as np

SHIFTS = (0.25, 0.5, 1.0, 2.0, 3.0)
MOST = 3000
QUIET = 1000


def run(*command):
    done = subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


# Others: each is made anew for a stream, is shown the calibration scores first, and says whether it fires at a score.


def adwin():
    from river.drift import ADWIN

    return ADWIN()


def page_hinkley():
    from river.drift import PageHinkley

    return PageHinkley(mode="up")


def kswin():
    from river.drift import KSWIN

    return KSWIN(seed=1)


class River:
    """A detector of river's, which learns what is usual from the calibration scores."""

    def __init__(self, make):
        self.make = make

    def start(self, calibration):
        self.detector = self.make()
        for score in calibration:
            self.detector.update(score)
            if self.detector.drift_detected:
                self.detector = self.make()

    def fires(self, score):
        self.detector.update(score)
        return self.detector.drift_detected


class OnlineConformal:
    """online-cp's idea: p-values against all scores so far, which grow, bet on by a mixture, after Shiryaev and Roberts."""

    SIZES = np.array([0.2, 0.4, 0.6, 0.8])

    def start(self, calibration):
        self.scores = np.sort(calibration)
        self.random = np.random.default_rng(1)
        self.sums = np.zeros(len(self.SIZES))

    def fires(self, score):
        n = len(self.scores)
        low = n - np.searchsorted(self.scores, score, "right")
        p = max((low + self.random.random()) / (n + 1), 1e-12)
        self.scores = np.insert(self.scores, np.searchsorted(self.scores, score), score)
        self.sums = (self.sums + 1) * self.SIZES * p ** (self.SIZES - 1)
        return self.sums.mean() >= 1e4


OTHERS = {
    "river ADWIN": lambda: River(adwin),
    "river PageHinkley": lambda: River(page_hinkley),
    "river KSWIN": lambda: River(kswin),
    "conformal Shiryaev–Roberts on a growing set (as in online-cp)": OnlineConformal,
}


def delay(make, shift, seed, most):
    random = np.random.default_rng(seed)
    detector = make()
    detector.start(random.normal(size=QUIET))
    for t in range(1, most + 1):
        if detector.fires(random.normal() + shift):
            return t
    return None


def others(runs):
    for name, make in OTHERS.items():
        quiet = [delay(make, 0.0, 10_000 + seed, 10_000) for seed in range(runs)]
        alarms = sum(t is not None for t in quiet)
        time = sum(t or 10_000 for t in quiet)
        length = f"{time / alarms:,.0f} (measured)" if alarms else f"none in {time:,} samples"
        cells = []
        for shift in SHIFTS:
            found = [delay(make, shift, seed, MOST) for seed in range(runs)]
            missed = sum(t is None for t in found) / runs
            mean = sum(t or MOST for t in found) / runs
            cells.append(f"{mean:.1f}" + (f" [{100 * missed:.0f} % missed]" if missed else ""))
        print(f"| {name} | {length} | " + " | ".join(cells) + " |", flush=True)


# Shifts whose harm is known: digits and pictures with something wrong.

CORRUPTIONS = {
    "mnist": {"brightness": (1,), "translate": (1, 5), "gaussian-noise": (1, 5), "contrast": (1, 5), "gaussian-blur": (5,)},
    "cifar10": {"brightness": (1, 5), "saturate": (1,), "gaussian-noise": (1, 3), "contrast": (5,), "jpeg-compression": (1,), "gaussian-blur": (5,)},
}


def digits(folder, part):
    def raw(name, skip):
        return np.frombuffer(gzip.open(folder / name).read(), np.uint8)[skip:]

    images = raw(f"{part}-images-idx3-ubyte.gz", 16).reshape(-1, 1, 28, 28)
    return images, raw(f"{part}-labels-idx1-ubyte.gz", 8)


def pictures(folder, names):
    rows = [np.frombuffer(gzip.open(folder / name).read(), np.uint8).reshape(-1, 3073) for name in names]
    rows = np.concatenate(rows)
    return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0]


def scored(taste, detector, data, out):
    """Scores, and the classes that the model predicts."""
    if not out.exists():
        run(taste, "score", detector, data, "-o", out, "-q")
    with open(out, newline="") as file:
        rows = list(csv.DictReader(file))
    column = next(name for name in rows[0] if name in ("prediction", "predicted", "class"))
    return [row["score"] for row in rows], [row[column] for row in rows]


def experiment(options, name, train, held_out, model):
    work = options.work / name
    work.mkdir(parents=True, exist_ok=True)
    (images, labels), calibrated, streamed = held_out, options.calibration, options.stream
    np.save(work / "train.npy", train[0][: options.train])
    np.save(work / "train_labels.npy", train[1][: options.train].astype(np.int64))
    np.save(work / "calibration.npy", images[:calibrated])
    np.save(work / "clean.npy", images[calibrated : calibrated + streamed])
    truth = labels[calibrated : calibrated + streamed]
    detector = work / "detector.onnx"
    if not detector.exists():
        run(options.taste, "fit", "--model", model, "--data", work / "train.npy", "--labels", work / "train_labels.npy",
            "--calibration", work / "calibration.npy", "-o", detector, "-q")

    def text(scores, path):
        path.write_text("".join(f"{score or 'inf'}\n" for score in scores))
        return path

    own, _ = scored(options.taste, detector, work / "calibration.npy", work / "calibration.csv")
    calibration = text(own, work / "calibration.txt")
    rows = {}
    sets = [("clean", None)] + [
        (f"{kind}-{severity}", (kind, severity)) for kind, many in CORRUPTIONS[name].items() for severity in many
    ]
    for label, corruption in sets:
        path = work / f"{label}.npy"
        if corruption and not path.exists():
            try:
                run(options.taste, "corrupt", work / "clean.npy", "--kind", corruption[0], "--severity", corruption[1],
                    "-o", path, "-q")
            except subprocess.CalledProcessError:
                continue
        scores, predicted = scored(options.taste, detector, path, work / f"{label}.csv")
        right = np.mean([str(int(t)) == str(p).split(" ")[-1] for t, p in zip(truth, predicted)])
        rows[label] = (100 * right, text(scores, work / f"{label}.txt"))
    clean = rows["clean"][0]
    found = {}
    for effect in (0.25, 0.0):
        lines = run(options.bin, "orders", "--calibration", calibration, "--least-effect", effect, "--shared", 2,
                    "--samples", 4000, *[path for _, path in rows.values()])
        for line in lines.splitlines():
            label, quiet, median = line.split("\t")
            found.setdefault(label, []).append((float(quiet), float(median)))
    for label, (accuracy, _) in sorted(rows.items(), key=lambda item: -item[1][0]):
        cells = [f"{100 * quiet:.0f} % | {'–' if np.isinf(median) else f'{median:.0f}'}" for quiet, median in found[label]]
        print(f"| {name} | {label} | {clean - accuracy:+.1f} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--taste", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--work", type=Path, default=Path("monitoring"))
    parser.add_argument("--runs", type=int, default=100, help="of other people's detectors")
    parser.add_argument("--train", type=int, default=20_000)
    parser.add_argument("--calibration", type=int, default=5000)
    parser.add_argument("--stream", type=int, default=5000)
    parser.add_argument("--parts", default="null,delays,others,shifts")
    options = parser.parse_args()
    parts = options.parts.split(",")
    if "null" in parts:
        print(run(options.bin, "null"))
    if "delays" in parts:
        heads = " | ".join(f"{shift} SD" for shift in SHIFTS)
        print(f"| detector | run length without a change | {heads} |\n|---|---|" + "---:|" * len(SHIFTS))
        print(run(options.bin, "delays"), end="", flush=True)
    if "others" in parts:
        others(options.runs)
    if "shifts" in parts and options.data:
        print("\n| data | shift | points of accuracy lost | quiet, least effect 0.25 | median delay | quiet, without |"
              " median delay |\n|---|---|---:|---:|---:|---:|---:|")
        mnist, cifar = options.data / "mnist", options.data / "cifar10"
        experiment(options, "mnist", digits(mnist, "train"), digits(mnist, "t10k"), options.models / "mnist_cnn.onnx")
        train = pictures(cifar, ["data_batch_1.bin.gz", "data_batch_2.bin.gz"])
        experiment(options, "cifar10", train, pictures(cifar, ["test_batch.bin.gz"]),
                   options.models / "cifar10_resnet20.onnx")


if __name__ == "__main__":
    main()
