"""Detectors, and what they say."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _taste
from ._data import Data, Labels, Samples, batches, given, is_array, is_table
from ._errors import ChoiceError, DataError, DetectorError
from ._html import framed
from ._progress import Progress, Watched

Floats = NDArray[np.float32]


def load(
    path: str | os.PathLike[str],
    *,
    backend: str | None = None,
    ort_library: str | os.PathLike[str] | None = None,
    threads: int | None = None,
) -> Detector:
    """Reads a detector file, whoever wrote it."""
    from ._fit import engine

    return Detector(_taste.Detector.open(os.fspath(path), engine(backend, ort_library, threads)))


class Scores:
    """What a detector says of samples, an array for each answer.

    score: how much samples matter to the model, larger is further out; p_value of it; flag; novelty and novelty_p_value where
    the detector tells them; evidence, a column for each term of the score; prediction, the model's own output; map, where
    samples differ. As an array it is its scores.
    """

    def __init__(self, columns: dict[str, Any], terms: Sequence[str], draw: Callable[[], str]) -> None:
        self._columns, self._terms, self._draw = columns, tuple(terms), draw
        self.index: NDArray[np.int64] = columns["index"]
        self.score: Floats = columns["score"]
        self.p_value: Floats = columns["p_value"]
        self.flag: NDArray[np.bool_] = columns["flag"]
        self.novelty: Floats | None = columns.get("novelty")
        self.novelty_p_value: Floats | None = columns.get("novelty_p_value")
        self.parts: dict[str, Floats] = columns["parts"]
        self.map: Floats | None = columns.get("map")
        self.prediction: Floats | None = columns.get("prediction")

    @property
    def evidence(self) -> dict[str, Floats]:
        """The terms that add up to the score, by name."""
        rows = self.parts.get("evidence")
        if rows is None:
            return {}
        return {term: rows[:, i] for i, term in enumerate(self._terms)}

    def __len__(self) -> int:
        return len(self.score)

    def __getitem__(self, rows: Any) -> Scores:
        """The scores of some samples: a slice, numbers or a mask."""
        chosen = np.atleast_1d(np.arange(len(self))[rows])
        columns = {k: v[chosen] for k, v in self._columns.items() if k != "parts"}
        columns["parts"] = {k: v[chosen] for k, v in self.parts.items()}
        return Scores(columns, self._terms, self._draw)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.score, dtype=dtype) if copy else np.asarray(self.score, dtype=dtype)

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """Columns by name, as `taste score` writes them."""
        columns: dict[str, NDArray[Any]] = {"index": self.index}
        columns.update({k: v[:, 0] for k, v in self.parts.items() if v.shape[1] == 1 and k != "evidence"})
        columns.update(score=self.score, p_value=self.p_value, flag=self.flag)
        if self.novelty is not None and self.novelty_p_value is not None:
            columns.update(novelty=self.novelty, novelty_p_value=self.novelty_p_value)
        columns.update({f"evidence_{k}": v for k, v in self.evidence.items()})
        return columns

    def to_pandas(self) -> Any:
        """A pandas.DataFrame."""
        import pandas

        return pandas.DataFrame(self.to_dict())

    def to_polars(self) -> Any:
        """A polars.DataFrame."""
        import polars

        return polars.DataFrame(self.to_dict())

    def to_arrow(self) -> Any:
        """A pyarrow.Table."""
        import pyarrow

        return pyarrow.table(self.to_dict())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __reduce__(self) -> tuple[Any, ...]:
        return Scores, (self._columns, self._terms, str)

    def __repr__(self) -> str:
        return f"Scores({len(self)} samples, {int(self.flag.sum())} flagged)"

    def _repr_html_(self) -> str:
        # Scores of another process come without their figure.
        page = self._draw()
        return framed(page) if page else f"<pre>{self!r}</pre>"


class ShiftReport:
    """Whether a batch differs, how much, and why. True in an if where a batch differs."""

    def __init__(self, found: str, text: str, page: str) -> None:
        self._found, self._text, self._page = json.loads(found), text, page

    @property
    def batches(self) -> list[dict[str, Any]]:
        """Every batch that was tested, with all that was found."""
        return list(self._found["batches"])

    @property
    def shift(self) -> bool:
        """Whether any batch differs in a way that matters."""
        return any(batch["verdict"] == "shift" for batch in self.batches)

    def _only(self, name: str) -> Any:
        if len(self.batches) != 1:
            raise AttributeError(f"there are {len(self.batches)} batches: look at .batches for the {name} of each")
        return self.batches[0][name]

    @property
    def verdict(self) -> str:
        """shift, negligible or none."""
        return str(self._only("verdict"))

    @property
    def p_value(self) -> float:
        """How often chance alone puts a batch so far out."""
        return float(self._only("p_value"))

    @property
    def effect(self) -> float:
        """In standard deviations of calibration samples."""
        return float(self._only("effect"))

    @property
    def interval(self) -> tuple[float, float] | None:
        """A 95 % interval for the effect."""
        found = self._only("interval")
        return None if found is None else (float(found[0]), float(found[1]))

    @property
    def reasons(self) -> list[dict[str, Any]]:
        """What each term of the score adds to the effect of a shift, the largest first."""
        return list(self._only("reasons"))

    @property
    def estimate(self) -> dict[str, Any] | None:
        """How wrong the model is on the batch, where calibration samples had labels."""
        found: dict[str, Any] | None = self._only("estimate")
        return found

    def to_dict(self) -> dict[str, Any]:
        """All that was found."""
        return dict(self._found)

    def to_html(self) -> str:
        """The page of `taste test --report`."""
        return self._page

    def __bool__(self) -> bool:
        return self.shift

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        if len(self.batches) != 1:
            differ = sum(batch["verdict"] == "shift" for batch in self.batches)
            return f"ShiftReport({differ} of {len(self.batches)} batches differ)"
        return f"ShiftReport({self.verdict}, effect {self.effect:+.2f} SD, p {self.p_value:.4g})"

    def _repr_html_(self) -> str:
        return framed(self._page, height=640)


class Maps:
    """Where samples differ: a map in the shape of each sample, beside scores, p-values and flags."""

    def __init__(self, found: tuple[Any, ...], threshold: float, columns: Sequence[str] | None) -> None:
        index, scores, p_values, flags, maps, self._page = found
        self.index = np.asarray(index, np.int64)
        self.score = np.asarray(scores, np.float32)
        self.p_value = np.asarray(p_values, np.float32)
        self.flag = np.asarray(flags, np.bool_)
        self.values: Floats = np.stack(maps)
        self.threshold, self.columns = threshold, None if columns is None else list(columns)

    def __len__(self) -> int:
        return len(self.index)

    def largest(self, most: int = 5) -> list[list[tuple[str, float]]]:
        """For each sample the entries with the largest parts, by the names of columns or by their places."""
        shape = self.values.shape[1:]
        named: list[list[tuple[str, float]]] = []
        for sample in self.values:
            flat = sample.reshape(-1)
            order = np.argsort(-np.abs(flat), kind="stable")[:most]
            own = self.columns if self.columns is not None and len(self.columns) == flat.size else None
            names = [own[i] if own else str(tuple(int(p) for p in np.unravel_index(i, shape))) for i in order]
            named.append([(name, float(flat[i])) for name, i in zip(names, order)])
        return named

    def __repr__(self) -> str:
        return f"Maps({len(self)} samples of shape {self.values.shape[1:]}, unusual beyond {self.threshold:.4g})"

    def _repr_html_(self) -> str:
        if self.values.ndim > 2:
            return framed(self._page, height=520)
        rows = []
        for i, parts in zip(self.index, self.largest()):
            entries = ", ".join(f"{name} {part:+.3g}" for name, part in parts)
            rows.append(f"<tr><td>{i}</td><td>{self.p_value[list(self.index).index(i)]:.4f}</td><td>{entries}</td></tr>")
        head = "<tr><th>sample</th><th>p</th><th>largest contributions</th></tr>"
        return f"<table>{head}{''.join(rows)}</table>"


class Evaluation:
    """How well a detector tells clean samples from shifted ones."""

    def __init__(self, found: str) -> None:
        self._found: dict[str, Any] = json.loads(found)

    @property
    def sets(self) -> list[dict[str, Any]]:
        """What was found on every shifted set by the score."""
        return list(self._found["scores"][0]["sets"])

    def metric(self, name: str = "auroc", score: str = "score") -> dict[str, float]:
        """A metric by set, of the score or of the novelty."""
        reports = [r for r in self._found["scores"] if r["score"] == score]
        if not reports:
            raise ChoiceError(f"there is no {score!r}; there are {', '.join(r['score'] for r in self._found['scores'])}")
        found = {own["name"]: own["metrics"] for own in reports[0]["sets"]}
        return {own: float(metrics[name]["value"]) for own, metrics in found.items() if name in metrics}

    def to_dict(self) -> dict[str, Any]:
        """All that was found, in the words of `taste evaluate --json`."""
        return dict(self._found)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row for every set."""
        import pandas

        return pandas.json_normalize(self.sets)

    def _rows(self) -> list[tuple[str, str, str]]:
        aurocs = self.metric("auroc")
        return [
            (str(own["name"]), str(own["samples"]), f"{aurocs[own['name']]:.3f}" if own["name"] in aurocs else "–")
            for own in self.sets
        ]

    def __repr__(self) -> str:
        listed = ", ".join(f"{name} {auroc}" for name, _, auroc in self._rows())
        return f"Evaluation(AUROC: {listed})"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{a}</td><td>{b}</td><td>{c}</td></tr>" for a, b, c in self._rows())
        return f"<table><tr><th>set</th><th>samples</th><th>AUROC</th></tr>{rows}</table>"


class Detector:
    """A fitted detector: one ONNX file, ready to score. Threads may share it, pickles are the file."""

    def __init__(self, inner: _taste.Detector) -> None:
        self._inner = inner

    # Files

    @classmethod
    def from_bytes(cls, data: bytes, *, backend: str | None = None, threads: int | None = None) -> Detector:
        """From `to_bytes`, or the bytes of a file."""
        from ._fit import engine

        return cls(_taste.Detector.from_bytes(data, engine(backend, None, threads)))

    def to_bytes(self) -> bytes:
        """The bytes of the file."""
        return self._inner.to_bytes()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file, which is replaced as a whole or left as it was."""
        self._inner.save(os.fspath(path))

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.to_bytes(), self._inner.engine_facts()[0])

    def __copy__(self) -> Detector:
        return self

    def __deepcopy__(self, memo: Any) -> Detector:
        return self

    # What it is

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Every choice, and what was found on the way."""
        found: dict[str, Any] = json.loads(self._inner.manifest())
        return found

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
        """The terms that add up to the score, if it has any."""
        found = [part["columns"] for part in self.manifest["parts"] if part["name"] == "evidence"]
        return list(found[0]) if found else []

    def with_alpha(self, alpha: float, rule: str | None = None) -> Detector:
        """The same with thresholds for another false-positive rate; nothing is fitted again."""
        return Detector(self._inner.decided(alpha=alpha, rule=rule))

    def with_goal(self, goal: str) -> Detector:
        """The same flagging for harm, novelty or both."""
        return Detector(self._inner.decided(goal=goal))

    def with_threshold(self, threshold: float) -> Detector:
        """The same with a threshold that was set by hand."""
        return Detector(self._inner.decided(threshold=threshold))

    def with_engine(self, backend: str | None = None, ort_library: str | None = None, threads: int | None = None) -> Detector:
        """The same in another engine, or with another number of threads."""
        from ._fit import engine

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
        """Scores samples. Arrays of float32 in C order are not copied; batches of an iterable are scored one by one."""
        with Watched(progress) as hear:
            if _is_batches(data):
                parts = [self._score(one, map, prediction, batch, hear) for one in _each(data)]
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
        """Which samples are flagged."""
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
        """Tests whether samples as a whole differ; batch_size and by divide them, and p-values are adjusted for that."""
        if by is not None and batch_size is not None:
            raise ChoiceError("by= and batch_size= both divide the data: give one of them")
        with given(data) as own, Watched(progress) as hear:
            found = self._inner.test(
                own,
                alpha=alpha,
                least_effect=least_effect,
                permutations=permutations,
                batch_size=batch_size,
                by=by,
                seed=seed,
                progress=hear,
            )
        return ShiftReport(*found)

    def explain(
        self, data: Samples, *, samples: Sequence[int] | None = None, most: int = 16, progress: Progress = None
    ) -> Maps:
        """Where samples differ: those with these numbers, or those with the largest scores."""
        if self.manifest["map"] is None:
            raise DetectorError("this detector has no maps: fit it again with map=True to see where a sample differs")
        with given(data) as own, Watched(progress) as hear:
            chosen = [int(i) for i in samples or ()]
            if any(i < 0 for i in chosen):
                raise ChoiceError("samples are counted from 0 on")
            found = self._inner.explain(own, samples=chosen, most=most, progress=hear)
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
        """How well it tells clean samples from shifted ones; with labels, also how well it finds wrong answers."""
        from contextlib import ExitStack

        known = shifted_labels or {}
        unknown = set(known) - set(shifted)
        if unknown:
            raise ChoiceError(f"shifted_labels: there is no set {sorted(unknown)[0]!r}")
        with ExitStack() as stack:
            hear = stack.enter_context(Watched(progress))
            own = stack.enter_context(given(clean, labels, what="clean"))
            sets = [
                (name, stack.enter_context(given(data, known.get(name), what=name))) for name, data in shifted.items()
            ]
            return Evaluation(_taste.evaluate(self._inner, own, sets, progress=hear))

    # What people see

    def report(self, path: str | os.PathLike[str] | None = None) -> str:
        """The page of `taste fit --report`, written to a file if one is named."""
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


def _is_batches(data: Any) -> bool:
    if is_array(data) or is_table(data) or isinstance(data, (str, os.PathLike, bytes, dict, set)):
        return False
    if isinstance(data, (list, tuple)):
        return bool(data) and is_array(data[0])
    return hasattr(data, "__iter__")


def _each(data: Any) -> Iterator[Data]:
    from ._data import of_array

    for array, _ in batches(data, "data"):
        yield of_array(array, "a batch of data")
