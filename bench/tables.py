"""Tables and regressors: what detectors say of columns that went wrong, on the data sets of scikit-learn.

    pip install -r bench/requirements-tables.txt
    python bench/tables.py target/debug/taste [--splits 3] [--only wine,diabetes] [--methods task,full]

Every model is trained with fixed seeds on 40 % of the rows, detectors are calibrated on other 30 %, and shifts are made
of the remaining 30 %: one column at a time is scaled, moved, given another unit, stuck, swapped, coded as missing or
noisy. Sets that do not change any row are left out. What is printed is Markdown, for docs/results/tables.md.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
from scipy.stats import rankdata, spearmanr
from skl2onnx import to_onnx
from sklearn.covariance import LedoitWolf
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine, make_friedman1
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

warnings.filterwarnings("ignore")

METHODS = {
    "task": ["--method", "taste"],
    "full": ["--method", "taste:set=full"],
    "stein": ["--method", "stein"],
    "knn": ["--method", "knn:k=10"],
    "msp": ["--method", "msp"],
}
# Harm: so much accuracy lost, or so much more mean absolute error.
ACCURACY_LOSS, ERROR_RISE = 0.05, 0.25
# No harm at all: at most so much of either.
NO_HARM = 0.01


def data_sets():
    """name: rows, targets, whether targets are classes, classes that models never see, columns known to be irrelevant"""
    friedman, target = make_friedman1(n_samples=2000, n_features=10, noise=1.0, random_state=0)
    thirds = np.digitize(target, np.quantile(target, [1 / 3, 2 / 3]))
    cancer, wine, digits = (load(return_X_y=True) for load in (load_breast_cancer, load_wine, load_digits))
    none, irrelevant = [], range(5, 10)
    return {
        "breast cancer": (*cancer, True, none, none),
        "wine": (*wine, True, none, none),
        "digits": (*digits, True, none, none),
        "Friedman 1 in thirds": (friedman, thirds, True, none, irrelevant),
        "wine, one class unseen": (*wine, True, [2], none),
        "digits, two classes unseen": (*digits, True, [8, 9], none),
        "diabetes": (*load_diabetes(return_X_y=True), False, none, none),
        "Friedman 1": (friedman, target, False, none, irrelevant),
    }


def make_model(kind, is_classifier, seed):
    if kind == "linear":
        return LogisticRegression(max_iter=5000) if is_classifier else Ridge()
    made = MLPClassifier if is_classifier else MLPRegressor
    return made(hidden_layer_sizes=(64, 32), alpha=1e-3, max_iter=2000, random_state=seed)


class Model:
    """A trained pipeline: what it answers, and where it is wrong."""

    def __init__(self, kind, is_classifier, rows, targets, seed):
        self.is_classifier = is_classifier
        self.scale = 1.0 if is_classifier else float(targets.std())
        last = make_model(kind, is_classifier, seed)
        self.pipeline = make_pipeline(StandardScaler(), last)
        self.pipeline.fit(rows, targets if is_classifier else targets / self.scale)
        self.last = last

    def outputs(self, rows):
        if self.is_classifier:
            return self.pipeline.predict_proba(rows)
        return self.pipeline.predict(rows)[:, None]

    def errors(self, rows, targets):
        if self.is_classifier:
            return (self.pipeline.predict(rows) != targets).astype(float)
        return np.abs(self.pipeline.predict(rows) - targets / self.scale)

    def save(self, rows, path):
        options = {id(self.last): {"zipmap": False}} if self.is_classifier else None
        onnx.save(to_onnx(self.pipeline, rows[:1].astype(np.float32), options=options), path)

    def use(self, rows, seed):
        """How much outputs change when a column is permuted."""
        random, clean = np.random.default_rng(seed), self.outputs(rows)
        found = []
        for j in range(rows.shape[1]):
            moved = rows.copy()
            moved[:, j] = random.permutation(moved[:, j])
            found.append(np.abs(self.outputs(moved) - clean).mean())
        return np.array(found)


def shifts(rows, train, j, partner, seed):
    """Column j of these rows, gone wrong in every way."""
    x, random = rows[:, j], np.random.default_rng(seed)
    deviation = train[:, j].std()
    made = {
        "scale ×1.5": x * 1.5,
        "scale ×2": x * 2,
        "offset +2 SD": x + 2 * deviation,
        "offset −2 SD": x - 2 * deviation,
        "unit ×10": x * 10,
        "unit ×0.1": x * 0.1,
        "unit ×1000": x * 1000,
        "stuck at the median": np.full_like(x, np.median(train[:, j])),
        "stuck at the 95 % point": np.full_like(x, np.quantile(train[:, j], 0.95)),
        "missing as −1": np.full_like(x, -1),
        "missing as 999": np.full_like(x, 999),
        "noise of 1 SD": x + deviation * random.standard_normal(len(x)),
    }
    for name, column in made.items():
        moved = rows.copy()
        moved[:, j] = column
        yield name, moved
    moved = rows.copy()
    moved[:, [j, partner]] = moved[:, [partner, j]]
    yield "swapped pair", moved


def auroc(clean, shifted):
    """The chance that a shifted row has the larger score; what is no number is the largest."""
    both = np.concatenate([clean, shifted])
    ranks = rankdata(np.where(np.isfinite(both), both, np.inf))
    n, m = len(clean), len(shifted)
    return (ranks[n:].sum() - m * (m + 1) / 2) / (n * m)


def write_csv(path, rows):
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow([f"c{j}" for j in range(rows.shape[1])])
        out.writerows([[repr(float(v)) for v in row] for row in rows.astype(np.float32)])


def run(command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")


def score(taste, folder, method, rows):
    """score, flag and, where there is one, novelty and whether it flags, of every row."""
    detector, scores = folder / "detector.onnx", folder / "scores.csv"
    run([taste, "fit", "-q", "--no-map", "--model", folder / "model.onnx", "--data", folder / "train.csv"]
        + ["--calibration", folder / "cal.csv", "-o", detector, *METHODS[method]])
    np.save(folder / "rows.npy", rows.astype(np.float32))
    run([taste, "score", "-q", detector, folder / "rows.npy", "-o", scores])
    with open(scores) as file:
        table = list(csv.DictReader(file))
    def column(name):
        return np.array([float(row[name] or "nan") for row in table])
    found = {method: (column("score"), column("p_value") <= 0.05)}
    if method == "task":
        found["novelty"] = (column("novelty"), column("novelty_p_value") <= 0.05)
    return found


def gaussian(train, rows):
    """Squared Mahalanobis distance of standardised columns."""
    deviation = train.std(0)
    kept = deviation > 0
    def standard(of):
        return ((of - train.mean(0)) / np.where(kept, deviation, 1))[:, kept]
    fitted = LedoitWolf(assume_centered=True).fit(standard(train))
    return fitted.mahalanobis(standard(rows))


def chosen(model, rows, train, irrelevant, seed):
    """Columns to go wrong, and what is known of them."""
    varies = np.flatnonzero(train.std(0) > 0)
    if len(irrelevant):
        return [(j, "irrelevant" if j in irrelevant else "important") for j in range(rows.shape[1])]
    order = varies[np.argsort(-model.use(rows, seed)[varies])]
    return [(j, "important") for j in order[:3]] + [(j, "least used") for j in order[-3:]]


def experiment(taste, name, kind, split, methods):
    """Everything of one model: sets with their harm and the AUROC of every method, failures, clean rows flagged."""
    rows, targets, is_classifier, unseen, irrelevant = data_sets()[name]
    rows = rows.astype(np.float32).astype(float)
    random = np.random.default_rng(100 + split)
    new = np.isin(targets, unseen) if len(unseen) else np.zeros(len(rows), bool)
    new_rows, rows, targets = rows[new], rows[~new], targets[~new]
    order = random.permutation(len(rows))
    a, b = int(0.4 * len(rows)), int(0.7 * len(rows))
    train, cal, test = order[:a], order[a:b], order[b:]
    model = Model(kind, is_classifier, rows[train], targets[train], split)
    clean, truth = rows[test], targets[test]
    clean_errors = model.errors(clean, truth)
    sets = []
    if len(unseen):
        sets.append(("unseen classes", "unseen", new_rows, np.ones(len(new_rows))))
    else:
        columns = chosen(model, clean, rows[train], irrelevant, split)
        for place, (j, known) in enumerate(columns):
            partner = columns[(place + 1) % len(columns)][0]
            for what, moved in shifts(clean, rows[train], j, partner, split):
                moved = moved.astype(np.float32).astype(float)
                if not np.array_equal(moved, clean):
                    alike = what != "swapped pair" or dict(columns)[partner] == known
                    sets.append((what, known if alike else "mixed", moved, model.errors(moved, truth)))
    everything = np.concatenate([clean] + [s[2] for s in sets])
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        model.save(rows[train], folder / "model.onnx")
        write_csv(folder / "train.csv", rows[train])
        write_csv(folder / "cal.csv", rows[cal])
        found = {}
        for method in methods:
            if method != "msp" or is_classifier:
                found.update(score(taste, folder, method, everything))
    found["Gaussian on inputs"] = (gaussian(rows[train], everything), None)
    if is_classifier:
        found["MSP, computed here"] = (-model.outputs(everything).max(1), None)
    return summary(name, kind, split, is_classifier, sets, clean_errors, found)


def summary(name, kind, split, is_classifier, sets, clean_errors, found):
    ends = np.cumsum([len(clean_errors)] + [len(s[2]) for s in sets])
    limit = 0.5 if is_classifier else np.quantile(clean_errors, 0.9)
    loss, records = [], []
    for what, known, _, errors in sets:
        change = errors.mean() - clean_errors.mean()
        harm = change if is_classifier else change / clean_errors.mean()
        loss.append(harm)
        records.append({"set": what, "known": known, "harm": harm})
    harmful = np.array(loss) >= (ACCURACY_LOSS if is_classifier else ERROR_RISE)
    failed = np.concatenate([s[3] for s in sets]) > limit
    result = {"data": name, "model": kind, "split": split, "classifier": is_classifier, "clean error": clean_errors.mean()}
    result["sets"], result["methods"] = records, {}
    for record, bad in zip(records, harmful):
        record["harmful"] = bool(bad)
    for method, (scores, flags) in found.items():
        clean, shifted = scores[: ends[0]], scores[ends[0]:]
        each = [auroc(clean, scores[ends[i]: ends[i + 1]]) for i in range(len(sets))]
        for record, value in zip(records, each):
            record[method] = value
        result["methods"][method] = {
            "fail": auroc(shifted[~failed], shifted[failed]) if 0 < failed.sum() < len(failed) else np.nan,
            "rank": spearmanr(each, loss)[0] if len(sets) > 2 else np.nan,
            "clean": flags[: ends[0]].mean() if flags is not None else np.nan,
            "shifted": [flags[ends[i]: ends[i + 1]].mean() for i in range(len(sets))] if flags is not None else None,
        }
    return result


def mean(values):
    values = [v for v in values if v is not None and np.isfinite(v)]
    return np.mean(values) if values else np.nan


def shown(value):
    return "–" if not np.isfinite(value) else f"{value:.3f}".replace("0.", ".", 1)


def figures(results, method):
    """Harmful sets, others of irrelevant columns, those without any harm, of least used columns, failures, Spearman, clean rows flagged."""
    def of(wanted):
        return mean(mean(s[method] for s in r["sets"] if wanted(s)) for r in results if method in r["methods"])
    def each(what):
        return mean(r["methods"][method][what] for r in results if method in r["methods"])
    return [
        of(lambda s: s["harmful"]),
        of(lambda s: s["known"] == "irrelevant" and not s["harmful"]),
        of(lambda s: s["known"] == "irrelevant" and s["harm"] <= NO_HARM),
        of(lambda s: s["known"] == "least used" and not s["harmful"]),
        each("fail"),
        each("rank"),
        each("clean"),
    ]


HEAD = ["harmful", "irrelevant", "irrelevant, no harm", "least used", "failure", "Spearman", "clean flagged"]


def table(first, head, rows):
    print("| " + " | ".join([first, *head]) + " |")
    print("|---" * (len(head) + 1) + "|")
    for name, values in rows:
        print("| " + " | ".join([name, *(v if isinstance(v, str) else shown(v) for v in values)]) + " |")
    print()


def report(results):
    methods = ["task", "full", "novelty", "Gaussian on inputs", "knn", "stein", "msp", "MSP, computed here"]
    methods = [m for m in methods if any(m in r["methods"] for r in results)]
    for title, wanted in (("classifiers", True), ("regressors", False)):
        group = [r for r in results if r["classifier"] == wanted]
        if not group:
            continue
        sets = [s for r in group for s in r["sets"]]
        bad = sum(s["harmful"] for s in sets)
        print(f"### {title}: {len(group)} models, {len(sets)} sets, {bad} of them harmful\n")
        table("method", HEAD, [(m, figures(group, m)) for m in methods])
        rows = []
        for name in dict.fromkeys(r["data"] for r in group):
            for kind in ("linear", "MLP"):
                some = [r for r in group if (r["data"], r["model"]) == (name, kind)]
                found = figures(some, "task")
                novel, plain = figures(some, "novelty")[0], figures(some, "Gaussian on inputs")[0]
                error = mean(r["clean error"] for r in some)
                rows.append((f"{name}, {kind}", [error, *found, novel, plain]))
        table("`task` by model", ["clean error", *HEAD, "`novelty` harmful", "Gaussian harmful"], rows)
        kinds = dict.fromkeys(s["set"] for s in sets)
        rows = []
        for what in kinds:
            some = [s for s in sets if s["set"] == what and s["harmful"]]
            values = [mean(s.get(m, np.nan) for s in some) for m in methods]
            rows.append((f"{what} ({len(some)})", values))
        table("harmful sets by shift", methods, rows)
        rows = []
        for m in ("task", "novelty"):
            def share(wanted):
                found = [f for r in group if m in r["methods"]
                         for s, f in zip(r["sets"], r["methods"][m]["shifted"]) if wanted(s)]
                return mean(found)
            rows.append((m, [
                share(lambda s: s["harmful"]),
                share(lambda s: s["known"] == "irrelevant" and not s["harmful"]),
                share(lambda s: s["known"] == "irrelevant" and s["harm"] <= NO_HARM),
                share(lambda s: s["known"] == "least used" and not s["harmful"]),
            ]))
        table("rows flagged at 5 %", HEAD[:4], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("taste", help="the binary, or what --json wrote")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--json", help="where to keep every set and what each method said of it")
    options = parser.parse_args()
    if options.taste.endswith(".json"):
        report(json.loads(Path(options.taste).read_text()))
        return
    only = [o for o in options.only.split(",") if o]
    results = []
    for name in data_sets():
        if only and not any(name.startswith(o) for o in only):
            continue
        for kind in ("linear", "MLP"):
            for split in range(options.splits):
                results.append(experiment(options.taste, name, kind, split, options.methods.split(",")))
                print(f"{name}, {kind}, split {split}", file=sys.stderr)
    if options.json:
        Path(options.json).write_text(json.dumps(results, default=float))
    report(results)


if __name__ == "__main__":
    main()
