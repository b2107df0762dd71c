"""What tests share: the classifier of moons.py, its data and a detector of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import taste_ood as taste
from moons import moons, network, trained


@pytest.fixture(scope="session")
def model() -> bytes:
    return network(trained())


@pytest.fixture(scope="session")
def train() -> np.ndarray:
    return moons(2000, 3)[0]


@pytest.fixture(scope="session")
def labels() -> np.ndarray:
    return moons(2000, 3)[1]


@pytest.fixture(scope="session")
def fresh() -> np.ndarray:
    return moons(500, 4)[0]


@pytest.fixture(scope="session")
def shifted() -> np.ndarray:
    x = moons(500, 5)[0]
    return (x + np.float32([0.0, 1.5])).astype(np.float32)


@pytest.fixture(scope="session")
def detector(model: bytes, train: np.ndarray) -> taste.Detector:
    return taste.fit(model, train)


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory, model: bytes, train: np.ndarray, fresh: np.ndarray) -> Path:
    folder = tmp_path_factory.mktemp("files")
    (folder / "model.onnx").write_bytes(model)
    np.save(folder / "train.npy", train)
    np.save(folder / "fresh.npy", fresh)
    return folder
