"""Detectors."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _taste
from ._checks import real, whole
from ._data import Data, Labels, Samples, batched, batches, given, is_array, is_dataset, is_table, of_array
from ._engine import engine
from ._errors import ChoiceError, DataError, DetectorError
from ._html import framed
from ._monitor import Monitor
from ._progress import Callback, Progress, Watched
from ._results import Evaluation, Floats, Maps, Scores, ShiftReport


def load(
    path: str | os.PathLike[str],
    *,
    backend: str | None = None,
    ort_library: str | os.PathLike[str] | None = None,
    threads: int | None = None,
) -> Detector:
    """Reads a detector file, whoever wrote it.

    >>> detector.save(folder / "detector.onnx")
    >>> load(folder / "detector.onnx")
    Detector(taste:set=task of model, samples 2, alpha 0.05)
    """
    if isinstance(path, (bytes, bytearray, memoryview)):
        raise DetectorError("load takes a path, and these are bytes: Detector.from_bytes reads them")
    return Detector(_taste.Detector.open(os.fspath(path), engine(backend, ort_library, threads)))


class Detector:
    """A fitted detector: one ONNX file, ready to score. Threads may share it, pickles are the file."""

    def __init__(self, inner: _taste.Detector) -> None:
        self._inner = inner

    # Files

    @classmethod
    def from_bytes(cls, data: bytes, *, backend: str | None = None, threads: int | None = None) -> Detector:
        """From `to_bytes`, or the bytes of a file."""
        return cls(_taste.Detector.from_bytes(data, engine(backend, None, threads)))

    def to_bytes(self) -> bytes:
        """The bytes of the file.

        >>> Detector.from_bytes(detector.to_bytes()).alpha
        0.05
        """
        return self._inner.to_bytes()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file, which is replaced as a whole or left as it was.

        >>> detector.save(folder / "detector.onnx")
        """
        self._inner.save(os.fspath(path))

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.to_bytes(), self._inner.engine_facts()[0])

    def __copy__(self) -> Detector:
        return self

    def __deepcopy__(self, memo: Any) -> Detector:
        return self

    # What it is

    @cached_property
    def _manifest(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._inner.manifest())
        return found

    @property
    def manifest(self) -> dict[str, Any]:
        """Every choice, and what was found on the way.

        >>> detector.manifest["method"]["name"], detector.manifest["settings"]["held_out"]
        ('taste', 10000)
        """
        return self._manifest

    @property
    def threshold(self) -> float | None:
        """Scores above it are flagged; none where the score does not flag."""
        found: float | None = self.manifest["decision"]["threshold"]
        return found

    @property
    def alpha(self) -> float | None:
        """The false-positive rate; none where the threshold was set by hand."""
        found: float | None = self.manifest["decision"]["alpha"]
        return found

    @property
    def health(self) -> list[dict[str, Any]]:
        """What the fit found out about itself."""
        return list(self.manifest["findings"])

    @property
    def calibration(self) -> Floats:
        """The calibration scores, ascending."""
        return self._inner.calibration()

    @property
    def sample_shape(self) -> tuple[int, ...]:
        """The sizes of one sample."""
        return tuple(self.manifest["model"]["sample_shape"])

    @property
    def terms(self) -> list[str]:
        """The terms that add up to the score, if it has any.

        >>> detector.terms == list(detector.score(new).evidence)
        True
        """
        found = [part["columns"] for part in self.manifest["parts"] if part["name"] == "evidence"]
        return list(found[0]) if found else []

    def with_alpha(self, alpha: float, rule: str | None = None) -> Detector:
        """The same with thresholds for another false-positive rate; nothing is fitted again.

        >>> strict = detector.with_alpha(0.01)
        >>> strict.alpha, strict.threshold > detector.threshold
        (0.01, True)
        """
        return Detector(self._inner.decided(alpha=alpha, rule=rule))

    def with_goal(self, goal: str) -> Detector:
        """The same flagging for harm, novelty or both.

        >>> detector.with_goal("both").manifest["decision"]["goal"]
        'both'
        """
        return Detector(self._inner.decided(goal=goal))

    def with_threshold(self, threshold: float) -> Detector:
        """The same with a threshold that was set by hand.

        >>> detector.with_threshold(3.0).threshold
        3.0
        """
        return Detector(self._inner.decided(threshold=threshold))

    def with_engine(self, backend: str | None = None, ort_library: str | None = None, threads: int | None = None) -> Detector:
        """The same in another engine, or with another number of threads."""
        return Detector(self._inner.within(engine(backend, ort_library, threads)))

    # What it does

    def score(
        self,
        data: Samples,
        *,
        map: bool = False,
        prediction: bool = False,
        batch: int | None = None,
        progress: Progress = None,
    ) -> Scores:
        """Scores samples. Arrays of float32 in C order are not copied; batches of an iterable are scored one by one.

        map and prediction add where samples differ and the model's own output; batch is how many go through the engine at once.

        >>> scores = detector.score(new)
        >>> scores.score.shape, scores.p_value.dtype, bool(scores.flag.mean() < 0.1)
        ((500,), dtype('float32'), True)
        >>> len(detector.score(batch for batch in (new[:100], new[100:150])))
        150
        """
        batch = None if batch is None else whole("batch", batch, 1)
        with Watched(progress) as hear:
            if _is_batches(data):
                counted = _Counted(hear)
                parts = [self._score(one, map, prediction, batch, counted.next()) for one in _each(data)]
                if not parts:
                    raise DataError("data gives no batches; a generator that was gone through before is empty")
                return self._joined(parts)
            with given(data) as own:
                return self._score(own, map, prediction, batch, hear)

    def _score(self, data: Data, map: bool, prediction: bool, batch: int | None, hear: Any) -> Scores:
        columns, drawn = self._inner.score(data, map=map, prediction=prediction, batch=batch, progress=hear)
        return Scores(columns, self.terms, drawn.page)

    def _joined(self, parts: list[Scores]) -> Scores:
        columns: dict[str, Any] = {
            name: np.concatenate([part._columns[name] for part in parts])
            for name in parts[0]._columns
            if name not in ("parts", "index")
        }
        names = parts[0].parts
        columns["parts"] = {name: np.concatenate([part.parts[name] for part in parts]) for name in names}
        columns["index"] = np.arange(len(columns["score"]), dtype=np.int64)
        return Scores(columns, self.terms, parts[-1]._draw)

    def predict(self, data: Samples) -> NDArray[np.bool_]:
        """Which samples are flagged.

        >>> bool(detector.predict(moved).mean() > 5 * detector.predict(new).mean())
        True
        """
        return self.score(data).flag

    def p_values(self, data: Samples) -> Floats:
        """The p-value of every sample."""
        return self.score(data).p_value

    def test(
        self,
        data: Samples,
        *,
        alpha: float | None = None,
        least_effect: float | None = None,
        permutations: int | None = None,
        batch_size: int | None = None,
        by: str | None = None,
        seed: int = 0,
        progress: Progress = None,
    ) -> ShiftReport:
        """Tests whether samples as a whole differ; batch_size and by divide them, and p-values are adjusted for that.

        >>> report = detector.test(moved)
        >>> report.verdict, report.effect > 0.5, bool(detector.test(new))
        ('shift', True, False)
        >>> [batch["samples"] for batch in detector.test(new, batch_size=200).batches]
        [200, 200, 100]
        """
        if by is not None and batch_size is not None:
            raise ChoiceError("by= and batch_size= both divide the data: give one of them")
        batch_size = None if batch_size is None else whole("batch_size", batch_size, 1)
        permutations = None if permutations is None else whole("permutations", permutations, 1)
        with given(data) as own, Watched(progress) as hear:
            found = self._inner.test(
                own,
                alpha=alpha,
                least_effect=least_effect,
                permutations=permutations,
                batch_size=batch_size,
                by=by,
                seed=whole("seed", seed),
                progress=hear,
            )
        return ShiftReport(*found)

    def explain(
        self, data: Samples, *, samples: Sequence[int] | None = None, most: int = 16, progress: Progress = None
    ) -> Maps:
        """Where samples differ: those with these numbers, or those with the largest scores.

        >>> maps = detector.explain(moved, most=3)
        >>> maps.values.shape, [name for name, part in maps.largest(1)[0]]
        ((3, 2), ['(1,)'])
        >>> detector.explain(moved, samples=[7]).index
        array([7])
        """
        if self.manifest["map"] is None:
            raise DetectorError("this detector has no maps: fit it again with map=True to see where a sample differs")
        with given(data) as own, Watched(progress) as hear:
            chosen = [whole("samples", i) for i in (() if samples is None else samples)]
            found = self._inner.explain(own, samples=chosen, most=whole("most", most, 1), progress=hear)
        return Maps(found, float(self.manifest["map"]["threshold"]), self.manifest["data"]["columns"])

    def evaluate(
        self,
        clean: Samples,
        shifted: Mapping[str, Samples],
        *,
        labels: Labels = None,
        shifted_labels: Mapping[str, Labels] | None = None,
        progress: Progress = None,
    ) -> Evaluation:
        """How well it tells clean samples from shifted ones; with labels, also how well it finds wrong answers.

        >>> found = detector.evaluate(new, {"up": moved})
        >>> found.metric("auroc")["up"] > 0.8
        True
        """
        known = shifted_labels or {}
        unknown = set(known) - set(shifted)
        if unknown:
            raise ChoiceError(f"shifted_labels: there is no set {sorted(unknown)[0]!r}")
        with ExitStack() as stack:
            hear = stack.enter_context(Watched(progress))
            classes = self.manifest["data"]["reading"].get("classes", [])
            own = stack.enter_context(given(clean, labels, what="clean", classes=classes))
            sets = [
                (name, stack.enter_context(given(data, known.get(name), what=name, classes=classes)))
                for name, data in shifted.items()
            ]
            return Evaluation(_taste.evaluate(self._inner, own, sets, progress=hear))

    def monitor(
        self,
        state: str | os.PathLike[str],
        *,
        run_length: float = 10_000.0,
        delta: float = 0.05,
        tolerate: float = 0.0,
        optimism: float = 1.0,
        least_effect: float = 0.0,
        recalibrate: int | None = None,
        every: int = 1,
        accept_loss: bool = False,
    ) -> Monitor:
        """Watches a stream: have the data moved, since when, and how sure is that? Arguments are those of `taste monitor`.

        What is known stays in the folder `state`, which is made if it is not there. Without a change an alarm comes no sooner
        than every `run_length` samples on average.

        >>> apart = fit(model, train, calibration=new)
        >>> with apart.monitor(folder / "state") as monitor:
        ...     alarm = bool(monitor.update(moved, id="monday"))
        ...     again = monitor.update(moved, id="monday").duplicate
        >>> alarm, again
        (True, True)
        """
        inner = _taste.Monitor(
            self._inner,
            os.fspath(state),
            real("run_length", run_length),
            real("delta", delta),
            (real("tolerate", tolerate), real("optimism", optimism), real("least_effect", least_effect)),
            whole("every", every, 1),
            None if recalibrate is None else whole("recalibrate", recalibrate, 1),
            accept_loss,
        )
        return Monitor(inner)

    # What people see

    def report(self, path: str | os.PathLike[str] | None = None) -> str:
        """The page of `taste fit --report`, written to a file if one is named.

        >>> "<svg" in detector.report(folder / "detector.html")
        True
        """
        page = self._inner.page("" if path is None else Path(path).stem)
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def __str__(self) -> str:
        return self._inner.text()

    def __repr__(self) -> str:
        facts = self.manifest
        shape = " × ".join(map(str, self.sample_shape))
        return f"Detector({facts['method']['written']} of {facts['model']['file']}, samples {shape}, alpha {self.alpha})"

    def _repr_html_(self) -> str:
        return framed(self._inner.page("detector"), height=640)


def _unpickled(data: bytes, backend: str) -> Detector:
    """Threads follow the process that reads it."""
    return Detector.from_bytes(data, backend=backend)


class _Counted:
    """Progress over batches, as one count that goes on."""

    def __init__(self, hear: Callback | None) -> None:
        self._hear, self._before, self._done = hear, 0, 0

    def next(self) -> Callback | None:
        """For the next batch."""
        self._before += self._done
        self._done = 0
        return None if self._hear is None else self._told

    def _told(self, purpose: str, done: int, total: int | None, /) -> None:
        self._done = done
        if self._hear is not None:
            self._hear(purpose, self._before + done, None)


def _is_batches(data: Any) -> bool:
    if is_dataset(data):
        return True
    if is_array(data) or is_table(data) or isinstance(data, (str, os.PathLike, bytes, dict, set, io.IOBase)):
        return False
    if isinstance(data, (list, tuple)):
        return bool(data) and is_array(data[0])
    return hasattr(data, "__iter__")


def _each(data: Any) -> Iterator[Data]:
    for array, _ in batches(batched(data) if is_dataset(data) else data, "data"):
        yield of_array(array, "a batch of data")
