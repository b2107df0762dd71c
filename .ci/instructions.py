"""How many instructions a few fixed runs take, against limits: what makes a hot path slower shows here, whatever else the
machine does.

    python .ci/instructions.py --taste target/debug/taste

Counted by valgrind, which knows no AVX-512, so that all machines with AVX2 count alike. Limits are a quarter above what a
build of the profile `dev` takes; whoever makes a run cheaper lowers its limit.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

NODES = 1000
# Millions of instructions.
LIMITS = {
    "score one row of a table": 105,
    "score one picture of 28 × 28": 88,
    f"derive and compile a chain of {NODES} nodes": 825,
}


def write(path, nodes, weights, shape, outputs):
    def value(name, sizes):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", *sizes])

    weights = [numpy_helper.from_array(w.astype(np.float32), name) for name, w in weights.items()]
    graph = helper.make_graph(nodes, "g", [value("x", shape)], [value("y", [outputs])], weights)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def table(folder, draw):
    weights = {"w": draw(12, 32), "b": draw(32), "v": draw(32, 3), "c": draw(3)}
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Gemm", ["r", "v", "c"], ["y"]),
    ]
    write(folder / "table.onnx", nodes, weights, [12], 3)
    return draw(600, 12)


def picture(folder, draw):
    weights = {"w": draw(8, 1, 3, 3), "k": draw(16, 8, 3, 3) / 4, "v": draw(16, 10), "c": draw(10)}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1] * 4),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "k"], ["d"], pads=[1] * 4, strides=[2, 2]),
        helper.make_node("Relu", ["d"], ["e"]),
        helper.make_node("GlobalAveragePool", ["e"], ["f"]),
        helper.make_node("Flatten", ["f"], ["g"]),
        helper.make_node("Gemm", ["g", "v", "c"], ["y"]),
    ]
    write(folder / "picture.onnx", nodes, weights, [1, 28, 28], 10)
    return draw(400, 1, 28, 28)


def chain(folder, draw):
    names = ["x", *(f"v{i}" for i in range(1, NODES)), "y"]
    nodes = [helper.make_node("Tanh", [a], [b]) for a, b in zip(names, names[1:])]
    write(folder / "chain.onnx", nodes, {}, [16], 16)
    return draw(2, 16)


def runs(taste, folder):
    """The command of every run, by its name."""
    generator = np.random.default_rng(1)

    def draw(*sizes):
        return generator.standard_normal(sizes).astype(np.float32)

    for name, make in {"table": table, "picture": picture}.items():
        samples = make(folder, draw)
        np.save(folder / f"{name}.npy", samples)
        np.save(folder / f"{name}-one.npy", samples[:1])
        fit = [taste, "fit", "--model", f"{name}.onnx", "--data", f"{name}.npy", "-o", f"{name}-detector.onnx"]
        subprocess.run([*fit, "--task", "labels"], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    np.save(folder / "chain.npy", chain(folder, draw))
    score = ["score", "--threads", "1", "-o", "scores.csv"]
    commands = [
        [*score, "table-detector.onnx", "table-one.npy"],
        [*score, "picture-detector.onnx", "picture-one.npy"],
        ["derive", "chain.onnx", "--input", "chain.npy", "--target", "output:0", "--threads", "1", "--grad", "g.npy"],
    ]
    return dict(zip(LIMITS, commands, strict=True))


def instructions(command, folder):
    """In millions."""
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    told = subprocess.run([*valgrind, *command], cwd=folder, capture_output=True, text=True)
    found = re.search(r"I\s+refs:\s+([\d,]+)", told.stderr)
    if told.returncode or not found:
        sys.exit(f"{' '.join(command)}\n{told.stderr}")
    return int(found[1].replace(",", "")) / 1e6


def main():
    parser = argparse.ArgumentParser(description="Count instructions of fixed runs.")
    parser.add_argument("--taste", type=Path, required=True)
    taste = str(parser.parse_args().taste.resolve())
    if not shutil.which("valgrind"):
        print("skipped: counts of instructions, as there is no valgrind")
        return
    over = []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name, command in runs(taste, folder).items():
            count, limit = instructions([taste, *command], folder), LIMITS[name]
            print(f"{name}: {count:.0f} million instructions, at most {limit}")
            if count > limit:
                over.append(name)
    if over:
        sys.exit(f"above the limit: {', '.join(over)}")


if __name__ == "__main__":
    main()
