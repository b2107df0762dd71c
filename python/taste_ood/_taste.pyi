"""The extension module, held against this file by mypy's stubtest."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from ._data import Data

__all__ = [
    "Detector",
    "Engine",
    "Model",
    "Monitor",
    "Plan",
    "Scored",
    "State",
    "VERSION",
    "evaluate",
    "fit",
    "fit_passes",
    "gather",
    "main",
    "write_table",
]

_Path = str | os.PathLike[str]
_Hear = Callable[..., Any] | None
_Known = tuple[str, list[int], list[str] | None, int | None, bool]

VERSION: Final[str]

def main(arguments: Sequence[str]) -> int: ...
def write_table(stream: Any, path: _Path) -> int: ...
def fit(
    model: Model,
    data: Data,
    calibration: Data | None,
    method: str,
    options: dict[str, str],
    settings: str,
    reading: str,
    padding: tuple[int | None, float],
    engine: Engine,
    progress: _Hear = None,
) -> Detector: ...
def evaluate(detector: Detector, clean: Data, shifted: Sequence[tuple[str, Data]], progress: _Hear = None) -> str: ...
def gather(
    plan: Plan,
    batches: Iterable[tuple[NDArray[np.uint64], Data]],
    reading: str,
    engine: Engine,
    part: int | None = None,
) -> State: ...
def fit_passes(
    model: Model,
    train: _Known,
    calibration: _Known | None,
    method: str,
    options: dict[str, str],
    settings: str,
    reading: str,
    engine: Engine,
    run: Callable[[Plan], State],
    progress: _Hear = None,
) -> Detector: ...
@final
class Engine:
    def __new__(cls, backend: str | None = None, library: _Path | None = None, threads: int | None = None) -> Engine: ...
    @property
    def threads(self) -> int: ...
    @property
    def backend(self) -> str: ...

@final
class Model:
    @staticmethod
    def open(path: _Path) -> Model: ...
    @staticmethod
    def from_bytes(name: str, bytes: bytes) -> Model: ...
    @property
    def name(self) -> str: ...
    @property
    def is_detector(self) -> bool: ...
    @property
    def sample_shape(self) -> list[int] | None: ...
    @property
    def inputs(self) -> list[tuple[str, str, list[int | None] | None]]: ...
    @property
    def outputs(self) -> list[tuple[str, str, list[int | None] | None]]: ...
    def run(self, x: NDArray[np.float32], outputs: Sequence[str], engine: Engine) -> list[NDArray[np.float32]]: ...
    def derive(
        self,
        x: NDArray[np.float32],
        *,
        wants: Sequence[str],
        engine: Engine,
        target: str | None = None,
        output: str | None = None,
        method: str | None = None,
        seed: int = 0,
        batch: int | None = None,
        progress: _Hear = None,
    ) -> dict[str, Any]: ...

@final
class Scored:
    def page(self) -> str: ...

@final
class Detector:
    @staticmethod
    def open(path: _Path, engine: Engine) -> Detector: ...
    @staticmethod
    def from_bytes(bytes: bytes, engine: Engine) -> Detector: ...
    def to_bytes(self) -> bytes: ...
    def save(self, path: _Path) -> None: ...
    def within(self, engine: Engine) -> Detector: ...
    def manifest(self) -> str: ...
    def calibration(self) -> NDArray[np.float32]: ...
    def engine_facts(self) -> tuple[str, int]: ...
    def text(self) -> str: ...
    def page(self, name: str) -> str: ...
    def decided(
        self,
        alpha: float | None = None,
        rule: str | None = None,
        goal: str | None = None,
        threshold: float | None = None,
    ) -> Detector: ...
    def score(
        self, data: Data, *, map: bool = False, prediction: bool = False, batch: int | None = None, progress: _Hear = None
    ) -> tuple[dict[str, Any], Scored]: ...
    def test(
        self,
        data: Data,
        *,
        alpha: float | None = None,
        least_effect: float | None = None,
        permutations: int | None = None,
        batch_size: int | None = None,
        by: str | None = None,
        seed: int = 0,
        progress: _Hear = None,
    ) -> tuple[str, str, str]: ...
    def explain(
        self, data: Data, *, samples: Sequence[int], most: int, progress: _Hear = None
    ) -> tuple[list[int], list[float], list[float], list[bool], list[NDArray[np.float32]], str]: ...

@final
class Monitor:
    def __new__(
        cls,
        detector: Detector,
        folder: _Path,
        run_length: float,
        delta: float,
        tolerance: tuple[float, float, float],
        every: int,
        recalibrate: int | None,
        accept_loss: bool,
    ) -> Monitor: ...
    def update(self, data: Data, id: str | None = None, progress: _Hear = None) -> tuple[int, bool, int | None]: ...
    def view(self) -> str: ...
    def notes(self) -> list[str]: ...
    def text(self) -> str: ...
    def page(self) -> str: ...
    def acknowledge(self, note: str, by: str) -> None: ...
    def restart(self) -> None: ...
    def close(self) -> None: ...

@final
class Plan:
    @staticmethod
    def from_bytes(bytes: bytes) -> Plan: ...
    def to_bytes(self) -> bytes: ...
    @property
    def purpose(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def block(self) -> int: ...

@final
class State:
    @staticmethod
    def from_bytes(bytes: bytes) -> State: ...
    def to_bytes(self) -> bytes: ...
    def merged(self, others: Sequence[State]) -> State: ...
    @property
    def rows(self) -> int: ...
    @property
    def checksum(self) -> int: ...
