"""Fits a detector to models of every family that people export, and writes what came of it as a page.

    pip install -r conformance/requirements-families.txt
    python conformance/model_families.py --taste target/release/taste --out docs/results/models.md

For every model: `taste fit --model M --data D -o d.onnx` with nothing else said, and with each of some methods, on the
embedded engine and, where that fails, with `--backend ort`; `taste score` of fresh samples. The model's own output in the detector must be that of the
model in ONNX Runtime to 1e-4, the scores must be those of the detector in ONNX Runtime, and the output must have been taken
for what it holds.
"""

import argparse
import csv
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime

from families import Export, Family

MODULES = ["scikit_learn", "boosted", "pytorch", "architectures", "keras_models", "quantised"]
# Scores are logarithms of small differences: what single precision leaves of them is relative to a score as it commonly is.
TOLERANCE_OF_SCORES = 2e-3
SECONDS = 300
# What is said beside the model and its data.
METHODS = {
    "taste": [],
    "stein": ["--method", "stein"],
    "stein in the features": ["--at", "features"],
    "msp": ["--method", "msp"],
    "knn": ["--method", "knn"],
}
# Characters of a sentence in the table.
SHOWN = 240


def families() -> list[Family]:
    modules = [importlib.import_module(f"families.{name}") for name in MODULES]
    tables = [table for module in modules for table in getattr(module, "TABLES", [getattr(module, "TABLE", None)])]
    return [family for table in tables for family in table.families]


def write(samples, path: Path) -> Path:
    """Samples as a file: a table if they have names, JSON lines if there are lists, else an array."""
    if isinstance(samples, np.ndarray):
        path = path.with_suffix(".npy")
        np.save(path, samples)
        return path
    if any(isinstance(column, list) for column in samples.values()):
        path = path.with_suffix(".jsonl")
        rows = (dict(zip(samples, row)) for row in zip(*samples.values()))
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path
    path = path.with_suffix(".csv")
    with open(path, "w", newline="") as lines:
        table = csv.writer(lines)
        table.writerow(samples)
        for row in zip(*samples.values()):
            table.writerow("" if isinstance(v, np.floating) and np.isnan(v) else v for v in row)
    return path


def run(model: bytes | Path, feeds: dict[str, np.ndarray], alone: bool = False) -> dict[str, np.ndarray]:
    """All outputs of a file in stock ONNX Runtime, of one sample after the other if `alone`."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    model = model if isinstance(model, bytes) else str(model)
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    rows = {i.name: i.shape[0] if i.shape else None for i in session.get_inputs()}
    count = len(next(iter(feeds.values())))
    first = next(iter(rows.values()))
    without_batch = all(len(i.shape) == feeds[i.name].ndim - 1 for i in session.get_inputs() if i.name in feeds)
    step = 1 if without_batch or alone else first if isinstance(first, int) else count
    parts = []
    for at in range(0, count - count % step, step):
        part = {n: v[at] if without_batch else v[at : at + step] for n, v in feeds.items()}
        parts.append(session.run(names, part))
    whole = {}
    for place, name in enumerate(names):
        values = [part[place] for part in parts]
        if isinstance(values[0], list):  # maps from class to probability
            whole[name] = np.array([list(row.values()) for value in values for row in value])
        else:
            whole[name] = np.stack(values) if without_batch else np.concatenate(values)
    return whole


def apart(got: np.ndarray, want: np.ndarray) -> float:
    """The largest difference, relative to values as they commonly are."""
    got, want = (a.reshape(len(a), -1).astype(float) for a in (got, want))
    count = min(len(got), len(want))
    scale = max(1e-6, float(np.sqrt(np.mean(want**2))))
    return float(np.max(np.abs(got[:count] - want[:count])) / scale) if got.shape[1] == want.shape[1] else np.inf


class Refused(Exception):
    """What taste said."""


class Wrong(Exception):
    """What is not as it should be."""


class Differs(Exception):
    """The output is right, and two engines round to scores that are not close."""


def taste(program: Path, *arguments) -> str:
    try:
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise Wrong(f"taste {arguments[0]} takes more than {SECONDS} s") from None
    if done.returncode == 2:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        start = next((i for i, line in enumerate(lines) if line.startswith("error: ")), 0)
        raise Refused(" ".join(line.strip() for line in lines[start:]).removeprefix("error: "))
    if done.returncode != 0:
        raise Wrong(f"taste {arguments[0]} ends with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


def fitted(program: Path, family: Family, export: Export, folder: Path, said: list[str], backend: list[str]) -> dict:
    """Fits and scores; gives the manifest."""
    model, detector, scores = (folder / n for n in ("model.onnx", "detector.onnx", "scores.csv"))
    model.write_bytes(export.model)
    train, fresh = write(export.train, folder / "train"), write(export.fresh, folder / "fresh")
    flags = [*export.flags, *said, *backend, "--json"]
    manifest = json.loads(taste(program, "fit", "--model", model, "--data", train, "-o", detector, *flags))
    taste(program, "score", detector, fresh, "-o", scores, "-q", *backend)
    session = onnxruntime.InferenceSession(str(model))
    feeds = export.feeds(export.fresh) if export.feeds else {session.get_inputs()[0].name: export.fresh}
    want = {name: export.corrected(values) for name, values in run(export.model, feeds, export.alone).items()}
    got = run(detector, detector_feeds(detector, feeds, manifest))
    facts = manifest["model"]
    error = apart(got[facts["prediction"]], want[facts["output"]])
    if not error <= export.tolerance:
        raise Wrong(f"the output is off by {error:.1e}")
    with open(scores, newline="") as lines:
        own = np.array([float(row["score"]) for row in csv.DictReader(lines)])
    if facts["answer"] != family.holds:
        raise Wrong(f"taken for {facts['answer']}, and holds {family.holds}")
    values = want[facts["output"]].reshape(len(want[facts["output"]]), -1).astype(float)
    shares = values.min() >= -1e-6 and (np.abs(values.sum(1) - 1) < 5e-3).all()
    if family.holds == "classes" and shares != (facts["scale"] == "probabilities"):
        raise Wrong(f"rows sum to one: {shares}, and they were taken for {facts['scale']}")
    each = np.abs(own - got["score"]) / max(1e-6, float(np.sqrt(np.mean(got["score"] ** 2))))
    if not each.max() <= TOLERANCE_OF_SCORES:
        many = int((~(each <= TOLERANCE_OF_SCORES)).sum())
        raise Differs(f"{many} of {len(each)} scores differ between the engines, by up to {each.max():.1e} of a common score")
    return manifest


def detector_feeds(detector: Path, feeds: dict[str, np.ndarray], manifest: dict) -> dict[str, np.ndarray]:
    """The same samples in the types that the detector takes: words are their places in the dictionary."""
    words = {d["column"]: {w: i for i, w in enumerate(d["words"])} for d in manifest["data"]["reading"].get("words", [])}
    code = lambda name, column: np.array([[words[name].get(w, len(words[name]))] for w in column[:, 0]])
    feeds = {n: code(n, v) if v.dtype.kind in "UO" else v for n, v in feeds.items()}
    inputs = onnxruntime.InferenceSession(str(detector)).get_inputs()
    types = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64}
    own = {i.name: i for i in inputs}
    if set(own) != set(feeds) and len(own) == len(feeds):
        feeds = dict(zip(own, feeds.values()))
    return {n: v.astype(types[own[n].type]) if own[n].type in types else v for n, v in feeds.items()}


def judge(program: Path, family: Family) -> dict:
    """A row of the table."""
    row = {"library": family.library, "name": family.name, "holds": family.holds, "words": ""}
    try:
        export = family.make()
    except Exception as e:  # whatever a converter says
        return row | {"result": "not exported", "words": f"{type(e).__name__}: {e}".splitlines()[0][:200]}
    with tempfile.TemporaryDirectory() as folder:
        found = {name: attempt(program, family, export, Path(folder), flags) for name, flags in METHODS.items()}
    return row | found["taste"] | {"methods": found}


def attempt(program: Path, family: Family, export: Export, folder: Path, flags: list[str]) -> dict:
    """What comes of one method."""
    said = []
    for kind, backend in (("works", []), ("works with ONNX Runtime", ["--backend", "ort"])):
        try:
            manifest = fitted(program, family, export, folder, flags, backend)
            if family.holds == "refused":
                return {"result": "wrong", "words": "accepted"}
            return {"result": kind, "taken_for": manifest["model"]["taken_for"]}
        except Refused as e:
            said.append(str(e).replace(str(folder) + "/", ""))
        except Differs as e:
            return {"result": "differs", "words": str(e), "taken_for": "what it holds"}
        except Wrong as e:
            return {"result": "wrong", "words": f"{kind}: {e}"}
        if "ORT_DYLIB_PATH" not in os.environ:
            break
    return {"result": "refused", "words": said[0]}


def cell(text: str) -> str:
    text = " ".join(text.replace("|", "\\|").split())
    return text if len(text) <= SHOWN else text[:SHOWN] + " …"


HEAD = """# Models as they are exported

<!-- written by conformance/model_families.py -->

What `taste fit --model M --data D -o detector.onnx` makes of models of every family, with nothing else said and with
some methods, and `taste score` of fresh samples. Models have random weights or were fitted on data that the script
draws. *Works* means that the model's own output in the detector is that of the model in ONNX Runtime to 1e-4, that
scores of the embedded engine are those of the detector in ONNX Runtime, and that the output was taken for what it
holds; *ort*, that this holds with `--backend ort` alone. *Differs*: all but the scores of some samples, which two
engines round apart by more than 2e-3 of a common score. *Wrong* is whatever came out otherwise. From

```
pip install -r conformance/requirements-families.txt
export ORT_DYLIB_PATH=$(python conformance/ort_library.py)
python conformance/model_families.py --taste target/release/taste --out docs/results/models.md
```

With `--only` and `--rows` some models are run again and the rows of the others stay, so that rows may be of several
builds. Columns: `taste` is the default; `stein` is `--method stein`, residuals of the paper in the model's input; *in
the features* is `--at features`, the same behind a cut; `msp` and `knn` are `--method msp` and `--method knn`. Numbers
stand for the sentences with which `taste` refuses, listed below; an empty cell was not tried.
"""


def page(rows: list[dict]) -> str:
    counts = {kind: sum(r["result"] == kind for r in rows) for kind in dict.fromkeys(r["result"] for r in rows)}
    listed = ", ".join(f"{count}: {kind}" for kind, count in counts.items())
    meant = sum(r["holds"] == "refused" for r in rows)
    sentences: dict[str, int] = {}

    def mark(found: dict) -> str:
        if found["result"] == "refused":
            return f"no ({sentences.setdefault(general(found['words']), len(sentences) + 1)})"
        return {"works": "works", "works with ONNX Runtime": "ort"}.get(found["result"], found["result"])

    lines = [
        HEAD,
        f"{len(rows)} models. {listed}.",
        f"{meant} of them have no answer that a detector could watch, and are to be refused.",
        "",
        "| library | model | taken for | " + " | ".join(METHODS) + " |",
        "|---" * (3 + len(METHODS)) + "|",
    ]
    for r in rows:
        found = {"taste": r} | r.get("methods", {})
        marks = " | ".join(mark(found[name]) if name in found else "" for name in METHODS)
        lines.append(f"| {r['library']} | {r['name']} | {cell(r.get('taken_for') or r['result'])} | {marks} |")
    lines += ["", "What was said, with names left out:", "", "| | sentence |", "|---|---|"]
    lines += [f"| {number} | {cell(sentence)} |" for sentence, number in sentences.items()]
    odd = ("wrong", "differs")
    wrong = [(r, name, f) for r in rows for name, f in r.get("methods", {}).items() if f["result"] in odd]
    if wrong:
        lines += ["", "What is wrong or differs:", ""]
        lines += [f"- {r['name']}, {name}: {cell(f['words'])}" for r, name, f in wrong]
    return "\n".join(lines) + "\n"


def general(sentence: str) -> str:
    """A sentence without the names and numbers of one model."""
    sentence = re.sub(r'"[^"]*"', '"…"', sentence)
    return re.sub(r"\b\d+( × \d+)*\b", "…", sentence)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--taste", type=Path, required=True, help="the program")
    parser.add_argument("--out", type=Path, help="where to write the page")
    parser.add_argument("--only", default="", help="names or libraries that contain one of these words, separated by commas")
    parser.add_argument("--rows", type=Path, help="a file for results, from which those that are not run again are taken")
    parser.add_argument("--keep", type=Path, help="a folder in which to leave models and samples")
    arguments = parser.parse_args()
    rows, known = [], {}
    if arguments.rows and arguments.rows.exists():
        known = {(r["library"], r["name"]): r for r in json.loads(arguments.rows.read_text())}
    for family in families():
        wanted = [w for w in arguments.only.split(",") if w]
        if wanted and not any(w.lower() in f"{family.library} {family.name}".lower() for w in wanted):
            rows.extend(filter(None, [known.get((family.library, family.name))]))
            continue
        if arguments.keep:
            keep(family, arguments.keep)
        row = judge(arguments.taste.resolve(), family)
        rows.append(row)
        marks = " ".join(f"{name}: {f['result']};" for name, f in row.get("methods", {}).items() if name != "taste")
        print(f"{row['result']:<10} {row['library']}: {row['name']}   {row.get('taken_for') or row['words']}   {marks}", flush=True)
        for name, f in row.get("methods", {}).items():
            if f["result"] in ("refused", "wrong") and name != "taste":
                print(f"    {name}: {f['words']}", flush=True)
        if arguments.rows:  # so that a killed run goes on
            known[(family.library, family.name)] = row
            arguments.rows.write_text(json.dumps(list(known.values()), indent=1))
    if arguments.rows:
        arguments.rows.write_text(json.dumps(rows, indent=1))
    if arguments.out:
        arguments.out.write_text(page(rows))
    works = sum(r["result"].startswith(("works", "differs")) for r in rows)
    print(f"{works} of {len(rows)} work")
    return int(any(r["result"] == "wrong" for r in rows))


def keep(family: Family, folder: Path):
    try:
        export = family.make()
    except Exception:  # the row says why
        return
    name = "".join(c if c.isalnum() else "_" for c in f"{family.library} {family.name}")
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    (place / "model.onnx").write_bytes(export.model)
    write(export.train, place / "train")
    write(export.fresh, place / "fresh")


if __name__ == "__main__":
    sys.exit(main())
