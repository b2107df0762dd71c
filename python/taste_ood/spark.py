"""Detectors on Spark: fit, score and test where the table is.

Rows need a column of keys that are all different: whole numbers or words. Which rows are held out follows from the keys
alone, so neither retries nor another division of the table change it. Every pass gathers one state a partition; lost and
doubled rows are errors.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _passes, _taste
from ._detector import Detector
from ._errors import DataError
from ._models import ModelLike
from ._passes import Table, cached, digest
from ._results import ShiftReport

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

__all__ = ["fit", "score", "test"]

#: Samples that a test looks at: those with the smallest hashes of their keys.
DRAWN = 20_000


def fit(
    model: ModelLike,
    frame: DataFrame,
    *,
    key: str,
    columns: Sequence[str] | None = None,
    labels: str | None = None,
    calibration: DataFrame | None = None,
    exact: bool = False,
    **options: Any,
) -> Detector:
    """Makes a detector of a model and a table of Spark; options are those of `taste_ood.fit`.

    columns: those that a sample is made of, or one of lists of numbers; all but key and labels if there are none.
    exact: where keys are the numbers of rows, 0, 1, 2 and so on, the table is sorted by them in every pass, and the detector
    is the same to the last bit as on one machine. Without, sums are merged partition by partition, and their last bits
    depend on the division.
    """
    train = _table(frame, key, columns, labels)
    apart = None if calibration is None else _table(calibration, key, train.columns, None)
    frames = {"train": (frame, train), "calibration": (calibration, apart)}
    for own, table in frames.values():
        if own is not None and table is not None:
            _check_keys(own, key, table.count, exact)

    def run(plan: _taste.Plan, reading: str) -> _taste.State:
        own, table = frames[plan.source]
        if own is None or table is None:
            raise DataError("there are no calibration data")
        label = labels if plan.source == "train" else None
        return _pass(own, plan, reading, key, table, label, exact)

    return _passes.fit(model, train, apart, options, run)


def score(
    detector: Detector,
    frame: DataFrame,
    *,
    key: str | None = None,
    columns: Sequence[str] | None = None,
    keep: Sequence[str] = (),
) -> DataFrame:
    """A table with the score, p_value and flag of every row, beside its key and the columns to keep."""
    from pyspark.sql.types import BooleanType, FloatType, StructField, StructType

    taken = _columns(frame, detector, key, columns)
    name = _send(frame.sparkSession, detector.to_bytes())
    kept = [*([key] if key else []), *keep]
    found = [StructField(n, BooleanType() if n == "flag" else FloatType()) for n in _names(detector)]
    schema = StructType([*(frame.schema[n] for n in kept), *found])
    needed = list(dict.fromkeys([*kept, *taken]))
    return frame.select(*needed).mapInArrow(_Score(name, taken, kept), schema)


def test(
    detector: Detector,
    frame: DataFrame,
    *,
    key: str,
    columns: Sequence[str] | None = None,
    **options: Any,
) -> ShiftReport:
    """Tests the table as one batch, by 20,000 rows that are drawn by their keys; options are those of Detector.test."""
    from pyspark.sql import functions as F

    taken = _columns(frame, detector, key, columns)
    drawn = frame.select(key, *taken).orderBy(F.xxhash64(F.col(key)), F.col(key)).limit(DRAWN)
    table = drawn.toArrow()
    if table.num_rows == 0:
        raise DataError("the table has no rows")
    data = _passes.samples(table.combine_chunks(), taken)
    return detector.test(data.array, **options)


def _names(detector: Detector) -> list[str]:
    novelty = ["novelty", "novelty_p_value"] if detector.manifest["has_novelty"] else []
    return ["score", "p_value", "flag", *novelty]


def _columns(frame: DataFrame, detector: Detector, key: str | None, columns: Sequence[str] | None) -> list[str]:
    """The columns of a sample: those that are named, those that the detector was fitted to, or all but the key."""
    if columns is not None:
        return list(columns)
    fitted = detector.manifest["data"]["columns"]
    if fitted and all(name in frame.columns for name in fitted):
        return list(fitted)
    return [name for name in frame.columns if name != key]


def _table(frame: DataFrame, key: str, columns: Sequence[str] | None, labels: str | None) -> Table:
    for name in [key, *(columns or ()), *([labels] if labels else [])]:
        if name not in frame.columns:
            raise DataError(f"no column {name!r}; there are {', '.join(frame.columns)}")
    taken = list(columns) if columns else [name for name in frame.columns if name not in (key, labels)]
    first = frame.select(*taken).limit(1).toArrow()
    if first.num_rows == 0:
        raise DataError("the table has no rows")
    data = _passes.samples(first.combine_chunks(), taken)
    array = data.array
    width = 0 if array is None else array.shape[1]
    lists = len(taken) == 1 and width != 1
    return Table("table", taken, width, frame.count(), lists, data.bytes is not None)


def _check_keys(frame: DataFrame, key: str, count: int, exact: bool) -> None:
    """Rows with one key would fall on one side of the division together, which breaks what p-values promise."""
    from pyspark.sql import functions as F

    column = F.col(key)
    if frame.where(column.isNull()).limit(1).count():
        raise DataError(f"the key column {key!r} has rows without a key: every row needs one of its own")
    twice = frame.groupBy(column).count().where(F.col("count") > 1).limit(1).collect()
    if twice:
        raise DataError(
            f"the key column {key!r} has {twice[0][0]!r} in {twice[0][1]} rows: every row needs a key of its own, as rows are "
            "held out by their keys"
        )
    if exact:
        low, high = frame.agg(F.min(column), F.max(column)).collect()[0]
        if (low, high) != (0, count - 1):
            raise DataError(f"exact=True needs keys from 0 to {count - 1}, the numbers of rows; these go from {low} to {high}")


def _pass(
    frame: DataFrame, plan: _taste.Plan, reading: str, key: str, table: Table, label: str | None, exact: bool
) -> _taste.State:
    from pyspark.sql import functions as F

    name = _send(frame.sparkSession, plan.to_bytes())
    rows = frame.select(key, *table.columns, *([label] if label else []))
    if exact and plan.block < table.count:
        parts = int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions", "200") or 200)
        span = max(1, -(-table.count // parts) // plan.block) * plan.block
        rows = rows.repartition(F.floor(F.col(key) / span)).sortWithinPartitions(key)
    elif exact:
        rows = rows.coalesce(1).sortWithinPartitions(key)
    states = rows.mapInArrow(_Gather(name, reading, key, table.columns, label, exact), "part int, state binary").collect()
    states.sort(key=lambda row: row[0])
    state = _passes.merged([bytes(row[1]) for row in states])
    if state.rows != table.count:
        raise DataError(f"a pass saw {state.rows} rows of a table that has {table.count}: it changes while it is read")
    return state


#: Files that executors may ask for, as long as this process lives.
_SENT: tempfile.TemporaryDirectory[str] | None = None


def _send(session: Any, data: bytes) -> str:
    """Sends a file to all executors, once; its name tells what it holds. Executors fetch it when they need it."""
    global _SENT
    if _SENT is None:
        _SENT = tempfile.TemporaryDirectory(prefix=f"taste-{os.getpid()}-spark-", ignore_cleanup_errors=True)
    name = f"taste-{digest(data)}.bin"
    path = Path(_SENT.name) / name
    if not path.exists():
        path.write_bytes(data)
    try:
        session.addArtifacts(str(path), file=True)
    except Exception as error:
        # The same contents under the same name are there already.
        if "ALREADY_EXISTS" not in str(error):
            raise
    return name


def _fetched(name: str) -> bytes:
    from pyspark import SparkFiles

    for path in (SparkFiles.get(name), os.path.join(SparkFiles.getRootDirectory(), "files", name), name):
        if os.path.exists(path):
            return Path(path).read_bytes()
    raise FileNotFoundError(f"{name} has not reached this executor")


class _Gather:
    """Runs where a partition is."""

    def __init__(
        self, name: str, reading: str, key: str, columns: Sequence[str], label: str | None, exact: bool
    ) -> None:
        self.name, self.reading, self.key, self.columns = name, reading, key, list(columns)
        self.label, self.exact = label, exact

    def __call__(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        part = 0 if context is None else context.partitionId()
        plan = cached(self.name, lambda: _taste.Plan.from_bytes(_fetched(self.name)))
        rows = _passes.numbered(batches, self.key, self.columns, self.label)
        state = _passes.gather(plan, rows, self.reading, None if self.exact else part)
        if state.rows:
            columns = [pa.array([part], pa.int32()), pa.array([state.to_bytes()], pa.binary())]
            yield pa.RecordBatch.from_arrays(columns, names=["part", "state"])


class _Score:
    """Runs where a partition is."""

    def __init__(self, name: str, columns: Sequence[str], kept: Sequence[str]) -> None:
        self.name, self.columns, self.kept = name, list(columns), list(kept)

    def __call__(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        detector = cached(self.name, lambda: Detector.from_bytes(_fetched(self.name)))
        for batch in batches:
            if not len(batch):
                continue
            found = _passes.score_columns(detector, batch, self.columns)
            arrays = [*(batch.column(name) for name in self.kept), *(pa.array(values) for values in found.values())]
            yield pa.RecordBatch.from_arrays(arrays, names=[*self.kept, *found])
