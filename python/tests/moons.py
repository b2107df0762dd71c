"""A small classifier of two moons in one file, made here of numbers alone: tests need numpy and nothing else."""

from __future__ import annotations

import numpy as np


def _varint(n: int) -> bytes:
    out = b""
    while True:
        n, low = n >> 7, n & 127
        out += bytes([low | (128 if n else 0)])
        if not n:
            return out


def _field(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _tensor(name: str, array: np.ndarray) -> bytes:
    dims = b"".join(_field(1, int(d)) for d in array.shape)
    return dims + _field(2, 1) + _field(8, name) + _field(9, array.astype("<f4").tobytes())


def _node(op: str, inputs: list[str], output: str) -> bytes:
    return b"".join(_field(1, i) for i in inputs) + _field(2, output) + _field(3, f"{op}_{output}") + _field(4, op)


def _value(name: str, sizes: list[int | str]) -> bytes:
    dims = b"".join(_field(1, _field(1, s) if isinstance(s, int) else _field(2, s)) for s in sizes)
    return _field(1, name) + _field(2, _field(1, _field(1, 1) + _field(2, dims)))


def network(layers: list[tuple[np.ndarray, np.ndarray]], batch: int | str = "n") -> bytes:
    """The bytes of an ONNX file: linear layers with ReLU between them."""
    nodes, weights, at = b"", b"", "x"
    for i, (w, b) in enumerate(layers):
        weights += _field(5, _tensor(f"w{i}", w)) + _field(5, _tensor(f"b{i}", b))
        last = i == len(layers) - 1
        out = "logits" if last else f"z{i}"
        nodes += _field(1, _node("MatMul", [at, f"w{i}"], f"m{i}")) + _field(1, _node("Add", [f"m{i}", f"b{i}"], out))
        if not last:
            nodes += _field(1, _node("Relu", [out], f"a{i}"))
            at = f"a{i}"
    shapes = _field(11, _value("x", [batch, layers[0][0].shape[0]])) + _field(12, _value("logits", [batch, layers[-1][0].shape[1]]))
    graph = nodes + _field(2, "moons") + weights + shapes
    return _field(1, 8) + _field(7, graph) + _field(8, _field(1, "") + _field(2, 17))


def moons(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two half circles with noise."""
    random = np.random.default_rng(seed)
    label = random.integers(0, 2, rows)
    angle = random.uniform(0, np.pi, rows)
    x = np.stack([np.cos(angle) + label, (1 - 2 * label) * np.sin(angle) + 0.5 * label], axis=1)
    return (x + random.normal(0, 0.1, x.shape)).astype(np.float32), label


def trained() -> list[tuple[np.ndarray, np.ndarray]]:
    """Random features and a ridge on top: a classifier without a framework."""
    random = np.random.default_rng(1)
    w, b = random.normal(0, 1.5, (2, 32)), random.normal(0, 1, 32)
    x, label = moons(2000, 2)
    hidden = np.maximum(x @ w + b, 0)
    design = np.hstack([hidden, np.ones((len(x), 1))])
    target = 4.0 * np.eye(2)[label] - 2.0
    top = np.linalg.solve(design.T @ design + 0.1 * np.eye(33), design.T @ target)
    return [(w, b), (top[:-1], top[-1])]
