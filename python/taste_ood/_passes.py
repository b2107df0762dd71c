"""What every engine needs to fit a detector where the data are.

A fit is a few passes. Each has a plan, which goes to the parts of the table as bytes; `gather` makes a state of every part;
states come back as bytes, are merged, and lead to the next plan. Rows need a key of their own: it decides which rows are held
out, so that neither retries nor another division of the table change that.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _models, _taste
from ._data import Data
from ._detector import Detector
from ._engine import engine
from ._errors import ChoiceError, DataError
from ._fit import Order, _defaults

if TYPE_CHECKING:
    import pyarrow

#: One key a row, and the rows.
Batch = tuple[NDArray[np.uint64], Data]


def keys(column: pyarrow.Array, name: str) -> NDArray[np.uint64]:
    """Keys as numbers: whole numbers as they are, words by a hash."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if column.null_count:
        raise DataError(f"the key column {name!r} has rows without a key: every row needs one of its own")
    if pa.types.is_integer(column.type):
        return np.ascontiguousarray(column.cast(pa.int64(), safe=False).to_numpy(zero_copy_only=False)).view(np.uint64)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        words = (hashlib.blake2b(word.encode(), digest_size=8).digest() for word in column.to_pylist())
        return np.frombuffer(b"".join(words), dtype=np.uint64)
    raise DataError(f"the key column {name!r} holds {column.type}: keys are whole numbers or words")


def samples(batch: Any, columns: Sequence[str], label: str | None = None) -> Data:
    """Rows of a batch of Arrow as an array: columns of numbers, or one column of lists of numbers."""
    import pyarrow as pa

    arrays = [_column(batch, name) for name in columns]
    if len(arrays) == 1 and _is_list(arrays[0].type):
        values = _lists(arrays[0], columns[0])
    else:
        for name, array in zip(columns, arrays):
            kind = array.type
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
                raise DataError(f"column {name!r} holds {kind}, not numbers: leave it out with columns=")
        values = np.empty((len(batch), len(arrays)), np.float32)
        for i, array in enumerate(arrays):
            values[:, i] = array.cast(pa.float32(), safe=False).to_numpy(zero_copy_only=False)
    data = Data(name="table")
    if values.dtype == np.uint8:
        data.bytes = values
    else:
        data.single = values
    if label is not None:
        data.labels = _column(batch, label).cast(pa.float64()).to_numpy(zero_copy_only=False)
    return data


def _column(batch: Any, name: str) -> Any:
    import pyarrow as pa

    column = batch.column(name)
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _lists(array: Any, name: str) -> NDArray[Any]:
    """Lists of one length as rows, without an object for each."""
    import pyarrow as pa

    if array.null_count:
        raise DataError(f"column {name!r} has rows without a list")
    flat = array.flatten()
    rows = len(array)
    if rows == 0:
        return np.empty((0, 1), np.float32)
    width = len(flat) // rows
    if not pa.types.is_fixed_size_list(array.type):
        lengths = array.value_lengths().to_numpy(zero_copy_only=False)
        odd = np.flatnonzero(lengths != lengths[0])
        if len(odd):
            raise DataError(f"column {name!r} has lists of {lengths[0]} and of {lengths[odd[0]]} entries: all must have one length")
    if not (pa.types.is_integer(flat.type) or pa.types.is_floating(flat.type)):
        raise DataError(f"column {name!r} holds lists of {flat.type}, not of numbers")
    kind = pa.uint8() if pa.types.is_uint8(flat.type) else pa.float32()
    values: NDArray[Any] = flat.cast(kind, safe=False).to_numpy(zero_copy_only=False)
    return values.reshape(rows, width)


def gather(plan: _taste.Plan, batches: Iterable[Batch], reading: str, part: int | None) -> _taste.State:
    """Goes through a part of the data. With the number of the part, rows come in any order; without, their keys are the
    numbers of rows and ascend."""
    return _taste.gather(plan, batches, reading, _taste.Engine(), part)


def merged(states: Sequence[bytes]) -> _taste.State:
    """States of all parts as one; a part that comes twice is an error."""
    if not states:
        raise DataError("there are no rows")
    read = [_taste.State.from_bytes(state) for state in states]
    return read[0].merged(read[1:])


def digest(data: bytes) -> str:
    """What tells one file from another."""
    return hashlib.sha256(data).hexdigest()


class Table:
    """What is known of a table before it is read."""

    def __init__(self, name: str, columns: Sequence[str], width: int, count: int, lists: bool, bytes: bool) -> None:
        self.name, self.columns, self.width, self.count = name, list(columns), width, count
        self.lists, self.bytes = lists, bytes

    def known(self, model: _taste.Model) -> tuple[str, list[int], list[str] | None, int, bool]:
        """For the extension module."""
        shape = model.sample_shape
        sizes = [self.width] if shape is None else list(shape)
        if int(np.prod(sizes)) != self.width:
            named = f"{self.width} columns" if not self.lists else f"lists of {self.width} numbers"
            raise DataError(f"{self.name}: {named} can't be made samples of shape {tuple(sizes)}, which the model takes")
        return self.name, sizes, None if self.lists else self.columns, self.count, self.bytes


def fit(
    model: _models.ModelLike,
    train: Table,
    calibration: Table | None,
    options: dict[str, Any],
    run: Callable[[_taste.Plan, str], _taste.State],
) -> Detector:
    """Fits where the data are: `run` takes a plan and how rows are read, and returns the merged state of all parts."""
    unknown = set(options) - set(_defaults())
    if unknown:
        raise ChoiceError(f"there is no argument {sorted(unknown)[0]!r}")
    order = Order({**_defaults(), **options})
    own = _models.read(model)
    shape = own.sample_shape
    reading = {**json.loads(order.reading), "columns": [] if train.lists else train.columns}
    for name in ("resize", "crop", "pad"):
        if reading.get(name) is not None:
            raise ChoiceError(f"{name}= is not done on a cluster: store images in the size that the model takes")
    if order.padding != (None, 0.0):
        raise ChoiceError("length= and padding= are not done on a cluster: store sequences in the length that the model takes")
    at_rows = json.dumps({**reading, "columns": [], "sample_shape": shape})
    runs = engine(options.get("backend"), options.get("ort_library"), options.get("threads"))
    inner = _taste.fit_passes(
        own,
        train.known(own),
        None if calibration is None else calibration.known(own),
        order.method,
        order.options,
        order.settings,
        json.dumps(reading),
        runs,
        lambda plan: run(plan, at_rows),
    )
    return Detector(inner)


#: Detectors and plans of this process, by the hash of their bytes.
_CACHE: dict[str, Any] = {}
_MOST = 4


def cached(name: str, make: Callable[[], Any]) -> Any:
    """Something that is made once in a process."""
    if name not in _CACHE:
        while len(_CACHE) >= _MOST:
            _CACHE.pop(next(iter(_CACHE)))
        _CACHE[name] = make()
    return _CACHE[name]


def score_columns(detector: Detector, batch: Any, columns: Sequence[str]) -> dict[str, NDArray[Any]]:
    """The columns of scores for a batch of Arrow."""
    found, _ = detector._inner.score(samples(batch, columns))
    names = ["score", "p_value", "flag", "novelty", "novelty_p_value"]
    return {name: found[name] for name in names if name in found}


def numbered(batches: Iterable[Any], key: str, columns: Sequence[str], label: str | None) -> Iterator[Batch]:
    """Batches of Arrow as pairs of keys and samples; empty ones are left out."""
    for batch in batches:
        if len(batch):
            yield keys(_column(batch, key), key), samples(batch, columns, label)
