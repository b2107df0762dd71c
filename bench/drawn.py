"""Draws a small network and data for it: `python bench/drawn.py FOLDER NAME=SIZE…`, where sizes are `rows`, `columns`,
`classes` and, for pictures instead of a table, `side`."""

import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

generator = np.random.default_rng(1)


def draw(*sizes):
    return generator.standard_normal(sizes).astype(np.float32)


def write(path, nodes, weights, shape, classes):
    def value(name, sizes):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", *sizes])

    weights = [numpy_helper.from_array(w, name) for name, w in weights.items()]
    graph = helper.make_graph(nodes, "g", [value("x", shape)], [value("y", [classes])], weights)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def table(folder, rows, columns=20, classes=3):
    width = 64
    weights = {"w": draw(columns, width) / columns**0.5, "b": draw(width), "v": draw(width, classes), "c": draw(classes)}
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Gemm", ["r", "v", "c"], ["y"]),
    ]
    write(folder / "model.onnx", nodes, weights, [columns], classes)
    np.save(folder / "train.npy", draw(rows, columns))
    np.save(folder / "new.npy", draw(rows, columns))


def pictures(folder, rows, side, classes=10):
    """Two convolutions with strides and a linear layer."""
    weights = {"w": draw(16, 3, 3, 3) / 5, "k": draw(32, 16, 3, 3) / 12, "v": draw(32, classes), "c": draw(classes)}
    strided = {"pads": [1] * 4, "strides": [2, 2]}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], **strided),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "k"], ["d"], **strided),
        helper.make_node("Relu", ["d"], ["e"]),
        helper.make_node("GlobalAveragePool", ["e"], ["f"]),
        helper.make_node("Flatten", ["f"], ["g"]),
        helper.make_node("Gemm", ["g", "v", "c"], ["y"]),
    ]
    write(folder / "model.onnx", nodes, weights, [3, side, side], classes)
    np.save(folder / "train.npy", draw(rows, 3, side, side))
    np.save(folder / "new.npy", draw(rows // 4, 3, side, side))


if __name__ == "__main__":
    place, *given = sys.argv[1:]
    sizes = {name: int(size) for name, size in (pair.split("=") for pair in given)}
    (pictures if "side" in sizes else table)(Path(place), **sizes)
