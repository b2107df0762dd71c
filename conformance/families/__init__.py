"""Models as people export them, with random weights or fitted on data that are drawn here."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import numpy as np

ROWS, FRESH = 600, 40


@dataclass
class Export:
    """A model file's bytes, and samples for it."""

    model: bytes
    # An array of samples, or columns of a table by name, lists among them.
    train: np.ndarray | dict[str, np.ndarray | list]
    fresh: np.ndarray | dict[str, np.ndarray]
    # What ONNX Runtime is fed with, by input, where that is not the samples themselves.
    feeds: Callable[[np.ndarray | dict], dict[str, np.ndarray]] | None = None
    # How far the output in the detector may be from that of the model, relative to outputs as they commonly are.
    tolerance: float = 1e-4
    flags: list[str] = field(default_factory=list)
    # What is to be expected of what ONNX Runtime gives.
    corrected: Callable[[np.ndarray], np.ndarray] = lambda values: values
    # Whether ONNX Runtime is fed one sample at a time, as answers of the model depend on the others of a batch.
    alone: bool = False


@dataclass
class Family:
    name: str
    library: str
    make: Callable[[], Export]
    # What the output holds, in the words of the manifest; "refused" where a detector would make no sense.
    holds: str


class Table:
    """Families in the order in which they are declared."""

    def __init__(self, library: str):
        self.library, self.families = library, []

    def add(self, name: str, holds: str):
        def declare(make: Callable[[], Export]):
            self.families.append(Family(name, self.library, make, holds))
            return make

        return declare


def generator(name: str) -> np.random.Generator:
    """Draws that depend on nothing but the name."""
    return np.random.default_rng(list(name.encode()))


def blobs(name: str, classes: int = 3, width: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training rows with their classes, and fresh rows: a cloud for every class."""
    random = generator(name)
    centres = 2.0 * random.normal(size=(classes, width))
    labels = random.integers(classes, size=ROWS + FRESH)
    rows = (centres[labels] + random.normal(size=(ROWS + FRESH, width))).astype(np.float32)
    return rows[:ROWS], labels[:ROWS], rows[ROWS:]


def images(name: str, shape: tuple[int, ...], count: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Smooth images, for training and fresh."""
    random = generator(name)
    x = random.normal(size=(count + FRESH, *shape)).astype(np.float32)
    for axis in (-1, -2):
        x = (x + np.roll(x, 1, axis) + np.roll(x, 2, axis)) / np.float32(np.sqrt(3))
    return x[:count], x[count:]


def ids(name: str, vocabulary: int, length: int, count: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Rows of token ids, for training and fresh: each sample favours a part of the vocabulary."""
    random = generator(name)
    start = random.integers(vocabulary // 2, size=(count + FRESH, 1))
    x = start + random.integers(vocabulary // 2, size=(count + FRESH, length))
    x = x.astype(np.int64)
    return x[:count], x[count:]


def read(path: Path) -> bytes:
    return Path(path).read_bytes()


def lists(ids: np.ndarray, name: str) -> list[list[int]]:
    """Rows of ids as texts of different lengths; the first is as long as any."""
    lengths = generator(name + " lengths").integers(3, ids.shape[1] + 1, size=len(ids))
    lengths[0] = ids.shape[1]
    return [row[:length].tolist() for row, length in zip(ids, lengths)]


def padded(table: dict[str, list[list[int]]], length: int) -> dict[str, np.ndarray]:
    """Lists as a tokeniser pads them, with their mask."""
    rows = table["input_ids"]
    ids, mask = np.zeros((2, len(rows), length), np.int64)
    for i, row in enumerate(rows):
        ids[i, : len(row)], mask[i, : len(row)] = row, 1
    return {"input_ids": ids, "attention_mask": mask}
