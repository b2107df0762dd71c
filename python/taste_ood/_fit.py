"""From a model and data to a detector."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _models, _taste
from ._checks import real, whole
from ._data import Data, Labels, Samples, given, is_array, is_table, of_array
from ._detector import Detector, load
from ._engine import engine
from ._errors import ChoiceError, DataError
from ._progress import Progress, Watched

#: The options of the method stein: where one of them is given, it is the method.
_STEIN = (
    "score_model",
    "score_input",
    "target",
    "operator",
    "aggregate",
    "precondition",
    "baseline",
    "tail",
    "laplacian_method",
    "at",
)


def _size(name: str, value: int | str | Sequence[int] | None, side: bool = False) -> Any:
    """A height and width: 224, "224x200" or (224, 200)."""
    if value is None:
        return None
    try:
        sizes = [int(v) for v in (value.replace("×", "x").split("x") if isinstance(value, str) else np.atleast_1d(value))]
    except (TypeError, ValueError):
        sizes = []
    if len(sizes) not in (1, 2) or min(sizes) < 1:
        raise ChoiceError(f"{name}={value!r} is no height and width like 32 or (32, 32)")
    if len(sizes) == 1:
        return sizes[0] if side else [sizes[0], sizes[0]]
    return sizes


def _list(name: str, value: Any, kind: type) -> list[Any]:
    if value is None:
        return []
    values = [value] if isinstance(value, (str, int, float)) else list(value)
    try:
        return [kind(v) for v in values]
    except (TypeError, ValueError):
        raise ChoiceError(f"{name}={value!r} holds something else than {kind.__name__}") from None


#: What may be given beside a detector that is repeated.
_BESIDE_LIKE = ("labels", "calibration", "calibration_labels", "backend", "ort_library", "threads", "name", "progress", "like")


class Order:
    """What a detector is to be, as the extension module takes it."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        length = None if options["length"] is None else whole("length", options["length"], 1)
        self.padding = (length, real("padding", options["padding"]))
        if options["like"] is not None:
            self._repeat(options)
            return
        given_options = {k: str(v) for k, v in options.items() if k in _STEIN and v is not None}
        self.options = {name.replace("_", "-"): value for name, value in given_options.items()}
        self.method: str = options["method"] or ("stein" if self.options else "taste")
        settings = {
            "alpha": real("alpha", options["alpha"]),
            "goal": options["goal"],
            "rule": options["threshold"],
            "map": options["map"],
            "held_out": whole("held_out", options["held_out"]),
            "may_keep_rows": bool(options["keep_rows"]),
            "output": options["output"],
            "task": options["task"],
            "features": options["features"],
            "seed": whole("seed", options["seed"]),
            "memory": whole("memory", options["memory"], 1) << 20,
            "batch": None if options["batch"] is None else whole("batch", options["batch"], 1),
        }
        self.settings = json.dumps(settings)
        reading = {
            "layout": options["layout"] or "auto",
            "raw": bool(options["raw"]),
            "mean": _list("mean", options["mean"], float),
            "std": _list("std", options["std"], float),
            "resize": _size("resize", options["resize"], side=True),
            "crop": _size("crop", options["crop"]),
            "filter": options["filter"] or "bilinear",
            "pad": _size("pad", options["pad"]),
            "columns": _list("columns", options["columns"], str),
            "exclude": _list("exclude", options["exclude"], str),
            "classes": _list("class_names", options["class_names"], str),
            "skip_bad": bool(options["skip_bad"]),
        }
        bad = [s for s in reading["std"] if not s > 0]
        if bad:
            raise ChoiceError(f"std: {bad[0]} is nothing to divide by")
        self.reading = json.dumps(reading)

    @property
    def classes(self) -> list[str]:
        """What the classes are called, if that is said."""
        return list(json.loads(self.reading).get("classes", []))

    def _repeat(self, options: Mapping[str, Any]) -> None:
        """Every choice of another detector."""
        for name, default in _defaults().items():
            value = options[name]
            if name not in _BESIDE_LIKE and value is not default and (default is None or value != default):
                raise ChoiceError(f"like= repeats every choice of a detector: {name}= can't be given beside it")
        like = options["like"]
        facts = (like if isinstance(like, Detector) else load(like)).manifest
        self.method, self.options = facts["method"]["written"], facts["method"]["options"]
        self.settings, self.reading = json.dumps(facts["settings"]), json.dumps(facts["data"]["reading"])


def _defaults() -> dict[str, Any]:
    names = fit.__kwdefaults__ or {}
    return dict(names)


def fit(
    model: _models.ModelLike,
    data: Samples,
    *,
    labels: Labels = None,
    calibration: Samples | None = None,
    calibration_labels: Labels = None,
    like: Detector | str | os.PathLike[str] | None = None,
    method: str | None = None,
    goal: str = "harm",
    score_model: str | None = None,
    score_input: str | None = None,
    target: str | None = None,
    output: str | None = None,
    task: str | None = None,
    features: str | None = None,
    at: str | None = None,
    operator: str | None = None,
    aggregate: str | None = None,
    precondition: str | None = None,
    baseline: str | None = None,
    tail: str | None = None,
    laplacian_method: str | None = None,
    alpha: float = 0.05,
    threshold: str = "conformal",
    map: bool | None = None,
    keep_rows: bool = True,
    held_out: int = 10_000,
    seed: int = 0,
    layout: str | None = None,
    raw: bool = False,
    mean: float | Iterable[float] | None = None,
    std: float | Iterable[float] | None = None,
    resize: int | str | Sequence[int] | None = None,
    crop: int | str | Sequence[int] | None = None,
    filter: str | None = None,
    pad: int | str | Sequence[int] | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    length: int | None = None,
    padding: float = 0.0,
    skip_bad: bool = False,
    memory: int = 1024,
    batch: int | None = None,
    backend: str | None = None,
    ort_library: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    name: str | None = None,
    progress: Progress = None,
) -> Detector:
    """Makes a detector of a model and its training data.

    Names and defaults are those of `taste fit`. `model` is a path, bytes, an onnx.ModelProto, a torch.nn.Module, or a fitted
    estimator of scikit-learn. `data` are an array (numpy, torch, anything with DLPack), a table (pandas, polars, pyarrow,
    anything with __arrow_c_stream__), an iterable of batches such as a DataLoader, or paths. Without `calibration`, samples
    that neither the model nor the detector has learnt from, a part of the data is held out.

    >>> detector = fit(model, train)
    >>> detector
    Detector(taste:set=task of model, samples 2, alpha 0.05)
    >>> fit(model, train, method="msp", alpha=0.01).manifest["method"]["name"]
    'msp'

    like: a detector, or the path of one, whose choices are all repeated for a model that was trained again.
    length, padding: of sequences, such as the token ids of texts, for a model that takes them.
    name: what the data are called in the manifest. progress: True for a bar, or a function of (purpose, done, total).
    """
    options = dict(locals())
    order = Order(options)
    runs = engine(backend, ort_library, threads)
    with given(data, labels, name=name, classes=order.classes) as train, Watched(progress) as hear:
        if calibration is None:
            own = _models.read(model, _example(model, train, order))
            return _fit(own, train, None, order, runs, hear)
        with given(calibration, calibration_labels, what="calibration", classes=order.classes or train.classes) as apart:
            own = _models.read(model, _example(model, train, order))
            return _fit(own, train, apart, order, runs, hear)


def _fit(own: _taste.Model, train: Data, apart: Data | None, order: Order, runs: _taste.Engine, hear: Any) -> Detector:
    inner = _taste.fit(
        own, train, apart, order.method, order.options, order.settings, order.reading, order.padding, runs, progress=hear
    )
    return Detector(inner)


def _example(model: Any, data: Data, order: Order) -> NDArray[Any] | None:
    """Samples to export a module with, if they are as it takes them."""
    if not hasattr(model, "modules"):
        return None
    return _first_rows(data, order) if data.array is None else _prepared(data.array, order)


def _first_rows(data: Data, order: Order) -> NDArray[Any] | None:
    """Rows of a table of numbers."""
    if os.path.basename(data.paths[0]) != "table.arrow":
        return None
    try:
        import pyarrow
    except ImportError:
        return None
    with pyarrow.ipc.open_file(data.paths[0]) as file:
        if not file.num_record_batches:
            return None
        rows = file.get_batch(0).slice(0, 8)
    reading = json.loads(order.reading)
    out = {data.label, *reading.get("exclude", [])}
    names = reading.get("columns") or [name for name in rows.schema.names if name not in out]
    try:
        return np.stack([rows.column(name).to_numpy(zero_copy_only=False).astype(np.float32) for name in names], axis=1)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _prepared(array: NDArray[Any], order: Order) -> NDArray[Any]:
    """A few samples as the model takes them; bytes are scaled, channels stay where they are."""
    few = np.asarray(array[:8])
    reading = json.loads(order.reading)
    if few.dtype == np.uint8 and few.ndim == 4 and few.shape[-1] in (1, 3, 4) and few.shape[1] not in (1, 3, 4):
        few = few.transpose(0, 3, 1, 2)
    values = few.astype(np.float32)
    if few.dtype == np.uint8 and not reading.get("raw"):
        values /= 255
    for name in ("crop", "pad", "resize"):
        if reading.get(name) is not None:
            height, width = np.broadcast_to(reading[name], 2)
            values = np.zeros((*values.shape[:-2], int(height), int(width)), np.float32)
    return values


def derive(
    model: _models.ModelLike,
    data: Any,
    *,
    want: Sequence[str] = ("gradient", "laplacian"),
    target: str | None = None,
    output: str | None = None,
    laplacian_method: str | None = None,
    seed: int = 0,
    batch: int | None = None,
    backend: str | None = None,
    ort_library: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: Progress = None,
) -> dict[str, Any]:
    """Value and derivatives of a target of a model at samples, as arrays by name.

    want: gradient, laplacian, diagonal (every second derivative), stderr (of a stochastic Laplacian); the value is always
    there, and `method` says how second derivatives were computed. Targets are those of `taste derive`.

    >>> found = derive(model, new, target="logit:0", want=["gradient", "diagonal"])
    >>> sorted(found), found["gradient"].shape
    (['diagonal', 'gradient', 'method', 'value'], (500, 2))
    """
    if is_table(data) or not (is_array(data) or isinstance(data, (list, tuple))):
        raise DataError("derive takes an array of samples along the first axis")
    array = of_array(data, "data")
    x = array.single if array.single is not None else np.asarray(array.bytes, np.float32) / np.float32(255)
    if x.ndim < 2 or len(x) == 0:
        raise DataError(f"data has shape {x.shape}: samples lie along the first axis")
    runs = engine(backend, ort_library, threads)
    seed = whole("seed", seed)
    batch = None if batch is None else whole("batch", batch, 1)
    own = _models.read(model, x)
    with Watched(progress) as hear:
        found: dict[str, Any] = own.derive(
            x,
            wants=list(want),
            engine=runs,
            target=target,
            output=output,
            method=laplacian_method,
            seed=seed,
            batch=batch,
            progress=hear,
        )
    return found

