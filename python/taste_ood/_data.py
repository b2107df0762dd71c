"""Data as people have them: arrays, tensors, tables, batches, paths."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from . import _taste
from ._errors import DataError

#: Anything that samples can be made of: an array (numpy, torch, jax, whatever has __array__ or __dlpack__), a table (pandas,
#: polars, pyarrow, whatever has __arrow_c_stream__), a path or several, an iterable of batches, a DataLoader.
Samples = Any
#: Labels: numbers or names of classes, true values of a regressor, the name of a column of the table, or a file.
Labels = Union[str, os.PathLike[str], Sequence[int], Sequence[str], NDArray[Any], Any, None]

#: Batches are kept in memory up to this many bytes, and in a file beyond.
_IN_MEMORY = 1 << 28


@dataclass
class Data:
    """What the extension module reads: an array or paths, and labels."""

    name: str | None = None
    single: NDArray[np.float32] | None = None
    bytes: NDArray[np.uint8] | None = None
    paths: list[str] = field(default_factory=list)
    labels: NDArray[np.float64] | None = None
    label_file: str | None = None
    label: str | None = None
    #: What classes are called, where labels are words.
    classes: list[str] = field(default_factory=list)

    @property
    def array(self) -> NDArray[Any] | None:
        """The array, if it is one."""
        return self.single if self.single is not None else self.bytes


@contextmanager
def given(
    samples: Samples, labels: Labels = None, *, name: str | None = None, what: str = "data", classes: Sequence[str] = ()
) -> Iterator[Data]:
    """Data for the extension module; files that are needed for it are gone at the end. Labels that are words are of these
    classes, or of those that there are, in the order of the alphabet."""
    if is_array(samples) and not is_table(samples):
        yield _labelled(of_array(samples, what), labels, name, what, classes)
        return
    with tempfile.TemporaryDirectory(prefix=f"taste-{os.getpid()}-", ignore_cleanup_errors=True) as folder:
        data = _labelled(_read(samples, Path(folder), what), labels, name, what, classes)
        try:
            yield data
        except (Exception, KeyboardInterrupt) as error:
            _without(error, folder, what)
            raise


def _labelled(data: Data, labels: Labels, name: str | None, what: str, classes: Sequence[str]) -> Data:
    data.name = name if name is not None else data.name
    if isinstance(labels, os.PathLike) or (isinstance(labels, str) and os.path.isfile(labels)):
        data.label_file = os.fspath(labels)
    elif isinstance(labels, str):
        if data.array is not None:
            raise DataError(f"labels={labels!r} is neither a file nor a column, as {what} is no table")
        data.label = labels
    elif labels is not None:
        found = np.asarray(_as_numpy(labels))
        if found.ndim == 1 and len(found) and all(isinstance(word, str) for word in found):
            data.labels, data.classes = _of_words(found, classes)
        else:
            data.labels = _numbers(found)
    return data


def _of_words(labels: NDArray[Any], classes: Sequence[str]) -> tuple[NDArray[np.float64], list[str]]:
    """Words as the numbers of classes."""
    names = list(classes) or sorted(set(map(str, labels)))
    numbers = {name: float(i) for i, name in enumerate(names)}
    unknown = next((word for word in labels if word not in numbers), None)
    if unknown is not None:
        raise DataError(f"labels: {str(unknown)!r} is none of the classes {', '.join(names)}")
    return np.array([numbers[word] for word in labels]), names


def _without(error: BaseException, folder: str, what: str) -> None:
    """Messages name the table and not the file that it became."""
    if error.args and isinstance(error.args[0], str):
        said = error.args[0]
        for made in ("table.arrow", "table.csv"):
            said = said.replace(f"{folder}{os.sep}{made}", what)
        error.args = (said.replace(f"{folder}{os.sep}", ""), *error.args[1:])


def _numbers(labels: Any) -> NDArray[np.float64]:
    found = np.asarray(_as_numpy(labels))
    found = found.reshape(len(found)) if found.ndim == 2 and found.shape[1] == 1 else found
    if found.ndim != 1 or found.dtype.kind not in "biuf":
        raise DataError(f"labels are one number a sample, and these have shape {found.shape} and type {found.dtype}")
    return np.ascontiguousarray(found, dtype=np.float64)


def _read(samples: Samples, folder: Path, what: str) -> Data:
    if isinstance(samples, (str, os.PathLike)):
        return Data(paths=[os.fspath(samples)])
    if isinstance(samples, bytes):
        raise DataError(f"{what} is bytes: give a path, an array or a table")
    if isinstance(samples, io.IOBase):
        state = "a closed file" if samples.closed else "an open file"
        raise DataError(f"{what} is {state}, {getattr(samples, 'name', '')!r}: give its path")
    if isinstance(samples, (list, tuple)) and samples and all(isinstance(s, (str, os.PathLike)) for s in samples):
        return Data(paths=[os.fspath(path) for path in samples])
    if is_table(samples):
        return _table(samples, folder, what)
    if is_array(samples) or _is_nested_numbers(samples):
        return of_array(samples, what)
    if isinstance(samples, (dict, set)):
        raise DataError(f"{what} is a {type(samples).__name__}: give an array, a table, batches or a path")
    if is_dataset(samples):
        samples = batched(samples)
    if isinstance(samples, Iterable):
        return _spooled(samples, folder, what)
    known = "an array, a tensor, a table, an iterable of batches or a path"
    raise DataError(f"{what} is a {type(samples).__name__}, and none of {known}")


def is_table(samples: Samples) -> bool:
    """Whether it has columns with names."""
    if hasattr(samples, "__arrow_c_stream__") or hasattr(samples, "__dataframe__"):
        return not isinstance(samples, np.ndarray)
    if _is_lazy(samples):
        return True
    return type(samples).__module__.split(".")[0] == "pandas" and hasattr(samples, "columns")


def _is_lazy(samples: Samples) -> bool:
    """Whether it is a table that has yet to be computed, as those of polars."""
    return hasattr(samples, "collect_schema") and hasattr(samples, "collect")


def is_array(samples: Samples) -> bool:
    """Whether it is one array of numbers."""
    return isinstance(samples, (np.ndarray, memoryview)) or _is_sparse(samples) or any(
        hasattr(samples, name) for name in ("__array__", "__dlpack__", "__array_interface__", "__cuda_array_interface__")
    )


def _is_sparse(samples: Any) -> bool:
    """Whether it is a sparse matrix of SciPy."""
    return type(samples).__module__.startswith("scipy.sparse") and hasattr(samples, "toarray")


def _is_nested_numbers(samples: Samples) -> bool:
    while isinstance(samples, (list, tuple)) and samples:
        samples = samples[0]
    return isinstance(samples, (int, float, np.number))


def _as_numpy(array: Any) -> Any:
    """An array of numpy that shares memory with another wherever that is possible."""
    if isinstance(array, np.ma.MaskedArray):
        return _of_masked(array)
    if isinstance(array, np.ndarray):
        return array
    if _is_sparse(array):
        return array.toarray()
    module = type(array).__module__.split(".")[0]
    if module == "torch":
        return _of_torch(array)
    if hasattr(array, "__array__") or not hasattr(array, "__dlpack__"):
        return np.asarray(array)
    return np.from_dlpack(array)


def _of_masked(array: Any) -> Any:
    """What is masked is missing."""
    if not np.ma.is_masked(array):
        return array.data
    if array.dtype == np.uint8:
        raise DataError("an array of bytes can't lack entries: give floats")
    return np.ma.filled(array.astype(array.dtype if array.dtype.kind == "f" else np.float64), np.nan)


def _of_torch(tensor: Any) -> Any:
    import torch

    tensor = tensor.detach()
    if tensor.device.type == "meta":
        raise DataError("a tensor on the device meta has no values")
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    if tensor.device.type != "cpu":
        tensor = tensor.cpu()
    if tensor.dtype in (torch.bfloat16, torch.float16):
        tensor = tensor.float()
    return tensor.resolve_conj().resolve_neg().numpy()


def of_array(samples: Any, what: str) -> Data:
    """An array as it is, if it holds float32 or uint8; else in single precision."""
    try:
        array = _as_numpy(samples)
    except (TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{what} can't be made an array: {error}") from error
    if array.dtype == np.uint8:
        return Data(name="array", bytes=array)
    if array.dtype.kind in "fiub":
        return Data(name="array", single=array if array.dtype == np.float32 else array.astype(np.float32))
    if array.dtype.kind == "O":
        try:
            return Data(name="array", single=array.astype(np.float32))
        except (TypeError, ValueError) as e:
            raise DataError(f"{what} is an array of objects, which are no numbers: {e}") from None
    raise DataError(f"{what} is an array of {array.dtype}, not of numbers")


def _table(table: Any, folder: Path, what: str) -> Data:
    path = folder / "table.arrow"
    if _is_lazy(table):
        table = table.collect()
    columns = list(getattr(table, "column_names", getattr(table, "columns", [])))
    if len(set(map(str, columns))) != len(columns):
        twice = next(c for c in columns if columns.count(c) > 1)
        raise DataError(f"{what}: there are several columns {str(twice)!r}")
    if type(table).__module__.split(".")[0] == "pandas":
        return _pandas(table, path, what)
    if not hasattr(table, "__arrow_c_stream__"):
        raise DataError(f"{what} is a {type(table).__name__} without __arrow_c_stream__: give a newer one, or an array")
    try:
        _taste.write_table(table, path)
    except (TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{what} is a {type(table).__name__}, which is no table with columns: {error}") from error
    return Data(name="table", paths=[str(path)])


def _pandas(frame: Any, path: Path, what: str) -> Data:
    frame = frame.to_frame() if frame.ndim == 1 else frame
    # The numbers of rows are no column.
    frame = frame.reset_index(drop=True)
    frame.columns = [str(column) for column in frame.columns]
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return _pandas_by_text(frame, path)
    try:
        _taste.write_table(frame, path)
    except Exception as error:
        if isinstance(error, (DataError, OSError)):
            raise
        plain = (str, int, float, bool, np.generic)
        odd = [c for c in frame.columns if not all(isinstance(v, plain) for v in frame[c].dropna())]
        odd = odd or [c for c in frame.columns if len({type(v) for v in frame[c].dropna()}) > 1]
        named = ", ".join(map(repr, odd)) or "a column"
        raise DataError(f"{what}: {named} holds objects, neither numbers nor words") from error
    return Data(name="table", paths=[str(path)])


def _pandas_by_text(frame: Any, path: Path) -> Data:
    """Without pyarrow a table goes by way of text, which keeps every digit."""
    text = path.with_suffix(".csv")
    frame.to_csv(text, index=False)
    return Data(name="table", paths=[str(text)])


def is_dataset(samples: Samples) -> bool:
    """Whether samples are got by their numbers, as those of a Dataset of torch."""
    if is_table(samples) or is_array(samples):
        return False
    kind = type(samples)
    numbered = hasattr(kind, "__getitem__") and hasattr(kind, "__len__") and not isinstance(samples, (str, bytes, dict))
    return numbered and not isinstance(samples, (list, tuple)) and not hasattr(kind, "__iter__")


def batched(dataset: Any, rows: int = 256) -> Iterator[Any]:
    """The samples of a Dataset in batches, with their labels if they have any."""
    for start in range(0, len(dataset), rows):
        items = [dataset[i] for i in range(start, min(start + rows, len(dataset)))]
        parts = [item if isinstance(item, (list, tuple)) else [item] for item in items]
        if any(len(part) not in (1, 2) or not (is_array(part[0]) or np.ndim(part[0])) for part in parts):
            kind = type(items[0]).__name__
            raise DataError(f"the {type(dataset).__name__} gives a {kind} for a sample: an array is wanted, or one and its label")
        arrays = [np.asarray(_as_numpy(part[0])) for part in parts]
        odd = next((i for i, a in enumerate(arrays) if a.shape != arrays[0].shape or len(parts[i]) != len(parts[0])), None)
        if odd is not None:
            raise DataError(
                f"the {type(dataset).__name__} gives {_words_of(parts[0], arrays[0])} for sample {start}, "
                f"and {_words_of(parts[odd], arrays[odd])} for sample {start + odd}"
            )
        arrays = np.stack(arrays)
        yield [arrays, np.asarray([np.asarray(part[1]) for part in parts])] if len(parts[0]) == 2 else arrays


def _words_of(part: Sequence[Any], array: NDArray[Any]) -> str:
    return f"an array of shape {array.shape}" + (" with a label" if len(part) == 2 else " without a label")


def batches(samples: Iterable[Any], what: str) -> Iterator[tuple[NDArray[Any], NDArray[np.float64] | None]]:
    """Batches with their labels, where a loader gives pairs."""
    for batch in samples:
        labels = None
        if isinstance(batch, (list, tuple)) and len(batch) == 2 and is_array(batch[0]):
            batch, found = batch
            labels = _numbers(found) if is_array(found) and np.asarray(_as_numpy(found)).ndim == 1 else None
        elif isinstance(batch, (list, tuple)) and len(batch) == 1 and is_array(batch[0]):
            batch = batch[0]
        if not (is_array(batch) or _is_nested_numbers(batch)):
            kind = type(batch).__name__
            raise DataError(f"{what} gives batches that are a {kind}: each is an array, or a pair of an array and labels")
        data = of_array(batch, f"a batch of {what}")
        array = data.array
        if array is None or array.ndim < 2:
            raise DataError(f"{what} gives batches of shape {getattr(array, 'shape', ())}: samples lie along the first axis")
        yield array, labels


def _spooled(samples: Iterable[Any], folder: Path, what: str) -> Data:
    """All batches one after the other: fits go through data several times, and loaders may shuffle or go only once."""
    kept: list[NDArray[Any]] = []
    labels: list[NDArray[np.float64]] = []
    size, rows, shape, dtype = 0, 0, None, None
    path, file = folder / "batches.bin", None
    try:
        for array, own in batches(samples, what):
            dtype = dtype or array.dtype
            if shape not in (None, array.shape[1:]) or array.dtype != dtype:
                raise DataError(
                    f"{what} gives samples of shape {array.shape[1:]} and type {array.dtype} after others of {shape} and {dtype}"
                )
            shape = array.shape[1:]
            rows += len(array)
            size += array.nbytes
            if own is not None:
                labels.append(own)
            if size > _IN_MEMORY and file is None:
                file = open(path, "wb")
                for earlier in kept:
                    np.ascontiguousarray(earlier).tofile(file)
                kept = []
            if file is None:
                kept.append(array.copy())
            else:
                np.ascontiguousarray(array).tofile(file)
    finally:
        if file is not None:
            file.close()
    if shape is None or dtype is None:
        raise DataError(f"{what} gives no batches; a generator that was gone through before is empty")
    if file is not None:
        whole = np.memmap(path, dtype=dtype, mode="r", shape=(rows, *shape))
        array = whole.view(np.ndarray)
    else:
        array = np.concatenate(kept)
    data = of_array(array, what)
    data.name = "batches"
    if labels and sum(map(len, labels)) == rows:
        data.labels = np.concatenate(labels)
    return data
