"""Detectors on Ray Data: fit, score and test where the blocks are.

Rows need a column of keys that are all different: whole numbers or words. Actors keep plans and detectors; every batch gives
a state, and states are merged by their smallest keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _passes, _taste
from ._detector import Detector
from ._errors import DataError
from ._models import ModelLike
from ._passes import Table
from ._results import ShiftReport

if TYPE_CHECKING:
    import pyarrow
    import ray.data

__all__ = ["fit", "score", "test"]

#: Samples that a test looks at: those with the smallest hashes of their keys.
DRAWN = 20_000


def fit(
    model: ModelLike,
    dataset: ray.data.Dataset,
    *,
    key: str,
    columns: Sequence[str] | None = None,
    labels: str | None = None,
    calibration: ray.data.Dataset | None = None,
    batch_size: int = 65_536,
    actors: int | tuple[int, int] = (1, 8),
    **options: Any,
) -> Detector:
    """Makes a detector of a model and a data set of Ray; options are those of `taste_ood.fit`."""
    train = _table(dataset, key, columns, labels)
    apart = None if calibration is None else _table(calibration, key, train.columns, None)
    sets = {"train": (dataset, train), "calibration": (calibration, apart)}

    def run(plan: _taste.Plan, reading: str) -> _taste.State:
        own, table = sets[plan.source]
        if own is None or table is None:
            raise DataError("there are no calibration data")
        label = labels if plan.source == "train" else None
        return _pass(own, plan, reading, key, table, label, batch_size, actors)

    return _passes.fit(model, train, apart, options, run)


def score(
    detector: Detector,
    dataset: ray.data.Dataset,
    *,
    key: str | None = None,
    columns: Sequence[str] | None = None,
    keep: Sequence[str] = (),
    batch_size: int = 8_192,
    actors: int | tuple[int, int] = (1, 8),
) -> ray.data.Dataset:
    """A data set with the score, p_value and flag of every row, beside its key and the columns to keep."""
    import ray

    taken = _columns(dataset, detector, key, columns)
    kept = [*([key] if key else []), *keep]
    needed = list(dict.fromkeys([*kept, *taken]))
    arguments = {"detector": ray.put(detector.to_bytes()), "columns": taken, "kept": kept}
    return _map(dataset.select_columns(needed), _Score, arguments, batch_size, actors)


def test(
    detector: Detector,
    dataset: ray.data.Dataset,
    *,
    key: str,
    columns: Sequence[str] | None = None,
    **options: Any,
) -> ShiftReport:
    """Tests the data set as one batch, by 20,000 rows that are drawn by their keys; options are those of Detector.test."""
    import pyarrow as pa

    taken = _columns(dataset, detector, key, columns)
    parts = []
    for batch in dataset.select_columns([key, *taken]).iter_batches(batch_format="pyarrow", batch_size=65_536):
        parts.append(_smallest(batch, key))
        if len(parts) > 8:
            parts = [_smallest(pa.concat_tables(parts), key)]
    if not parts:
        raise DataError("the data set has no rows")
    table = _smallest(pa.concat_tables(parts), key).combine_chunks()
    return detector.test(_passes.samples(table, taken).array, **options)


def _smallest(table: pyarrow.Table, key: str) -> pyarrow.Table:
    """The rows with the smallest hashes of their keys."""
    hashed = _passes.keys(table.column(key), key) * np.uint64(0x9E3779B97F4A7C15)
    return table.take(np.argsort(hashed, kind="stable")[:DRAWN])


def _columns(dataset: Any, detector: Detector, key: str | None, columns: Sequence[str] | None) -> list[str]:
    if columns is not None:
        return list(columns)
    names = dataset.columns()
    fitted = detector.manifest["data"]["columns"]
    if fitted and all(name in names for name in fitted):
        return list(fitted)
    return [name for name in names if name != key]


def _table(dataset: Any, key: str, columns: Sequence[str] | None, labels: str | None) -> Table:
    names = dataset.columns()
    if names is None:
        raise DataError("the data set has no rows")
    for name in [key, *(columns or ()), *([labels] if labels else [])]:
        if name not in names:
            raise DataError(f"no column {name!r}; there are {', '.join(names)}")
    taken = list(columns) if columns else [name for name in names if name not in (key, labels)]
    first = next(iter(dataset.select_columns(taken).iter_batches(batch_format="pyarrow", batch_size=1)), None)
    if first is None:
        raise DataError("the data set has no rows")
    data = _passes.samples(first.combine_chunks(), taken)
    array = data.array
    width = 0 if array is None else array.shape[1]
    count = _check_keys(dataset, key)
    return Table("data set", taken, width, count, len(taken) == 1 and width != 1, data.bytes is not None)


def _check_keys(dataset: Any, key: str) -> int:
    """Rows with one key would fall on one side of the division together, which breaks what p-values promise."""
    parts = [
        _passes.keys(batch.column(key), key)
        for batch in dataset.select_columns([key]).iter_batches(batch_format="pyarrow", batch_size=1_000_000)
    ]
    found = np.sort(np.concatenate(parts))
    twice = np.flatnonzero(found[1:] == found[:-1])
    if len(twice):
        raise DataError(
            f"the key column {key!r} has the same key in several rows ({found[twice[0]]}): every row needs a key of its own, "
            "as rows are held out by their keys"
        )
    return len(found)


def _map(dataset: Any, worker: type, arguments: dict[str, Any], batch_size: int, actors: int | tuple[int, int]) -> Any:
    import ray

    least, most = (actors, actors) if isinstance(actors, int) else actors
    return dataset.map_batches(
        worker,
        fn_constructor_kwargs=arguments,
        batch_format="pyarrow",
        batch_size=batch_size,
        zero_copy_batch=True,
        compute=ray.data.ActorPoolStrategy(min_size=least, max_size=most),
        num_cpus=1,
    )


def _pass(
    dataset: Any,
    plan: _taste.Plan,
    reading: str,
    key: str,
    table: Table,
    label: str | None,
    batch_size: int,
    actors: int | tuple[int, int],
) -> _taste.State:
    import ray

    context = ray.data.DataContext.get_current()
    if context.max_errored_blocks:
        raise DataError("max_errored_blocks lets Ray leave blocks out: a fit needs every row; set it to 0")
    names = [key, *table.columns, *([label] if label else [])]
    arguments = {
        "plan": ray.put(plan.to_bytes()),
        "reading": reading,
        "key": key,
        "columns": table.columns,
        "label": label,
    }
    rows = _map(dataset.select_columns(names), _Gather, arguments, batch_size, actors).take_all()
    state = _passes.merged([bytes(row["state"]) for row in rows])
    if state.rows != table.count:
        raise DataError(f"a pass saw {state.rows} rows of a data set that has {table.count}: it changes while it is read")
    return state


def _value(reference: Any) -> bytes:
    import ray

    return bytes(ray.get(reference)) if isinstance(reference, ray.ObjectRef) else bytes(reference)


class _Gather:
    """An actor that keeps a plan."""

    def __init__(self, plan: Any, reading: str, key: str, columns: Sequence[str], label: str | None) -> None:
        self.plan = _taste.Plan.from_bytes(_value(plan))
        self.reading, self.key, self.columns, self.label = reading, key, list(columns), label

    def __call__(self, batch: pyarrow.Table) -> pyarrow.Table:
        import pyarrow as pa

        batch = batch.combine_chunks()
        rows = list(_passes.numbered([batch], self.key, self.columns, self.label))
        if not rows:
            return pa.table({"state": pa.array([], pa.binary())})
        # Retries see the same rows, and no other batch has this key.
        part = int(rows[0][0].min())
        state = _passes.gather(self.plan, rows, self.reading, part)
        return pa.table({"state": pa.array([state.to_bytes()], pa.binary())})


class _Score:
    """An actor that keeps a detector."""

    def __init__(self, detector: Any, columns: Sequence[str], kept: Sequence[str]) -> None:
        self.detector = Detector.from_bytes(_value(detector))
        self.columns, self.kept = list(columns), list(kept)

    def __call__(self, batch: pyarrow.Table) -> pyarrow.Table:
        import pyarrow as pa

        batch = batch.combine_chunks()
        found = _passes.score_columns(self.detector, batch, self.columns)
        return pa.table({**{name: batch.column(name) for name in self.kept}, **found})
