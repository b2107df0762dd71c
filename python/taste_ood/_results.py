"""What detectors say: scores, shift reports, maps, evaluations."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._errors import ChoiceError
from ._html import framed

Floats = NDArray[np.float32]


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
        """The terms that add up to the score, by name.

        >>> scores = detector.score(new)
        >>> np.allclose(sum(scores.evidence.values()), scores.score, atol=1e-4)
        True
        """
        rows = self.parts.get("evidence")
        if rows is None:
            return {}
        return {term: rows[:, i] for i, term in enumerate(self._terms)}

    def __len__(self) -> int:
        return len(self.score)

    def __getitem__(self, rows: Any) -> Scores:
        """The scores of some samples: a slice, numbers or a mask.

        >>> scores = detector.score(moved)
        >>> len(scores[:7]), bool(scores[scores.flag].flag.all())
        (7, True)
        """
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
        """For each sample the entries with the largest parts, by the names of columns or by their places.

        >>> [name for name, part in detector.explain(moved, most=1).largest(2)[0]]
        ['(1,)', '(0,)']
        """
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
        """A metric by set, of the score or of the novelty.

        >>> found = detector.evaluate(new, {"up": moved})
        >>> found.metric("auroc")["up"] > 0.8, found.metric("fpr95", "novelty").keys()
        (True, dict_keys(['up']))
        """
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
