"""Prints the path of ONNX Runtime's shared library inside the Python package."""

from pathlib import Path

import onnxruntime

capi = Path(onnxruntime.__file__).parent / "capi"
print(next(path for pattern in ("libonnxruntime.so*", "libonnxruntime*.dylib", "onnxruntime.dll") for path in capi.glob(pattern)))
