"""What runs graphs."""

from __future__ import annotations

import os

from . import _taste
from ._checks import whole


def engine(backend: str | None, ort_library: str | os.PathLike[str] | None, threads: int | None) -> _taste.Engine:
    """A backend, or the ONNX Runtime of a library, with its threads."""
    threads = None if threads is None else whole("threads", threads, 1)
    library = None if ort_library is None else os.fspath(ort_library)
    return _taste.Engine("ort" if backend is None and library else backend, library, threads)
