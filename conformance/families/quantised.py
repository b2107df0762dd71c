"""Networks in fewer bits: quantised by ONNX Runtime, and half precision."""

import tempfile
from pathlib import Path

import numpy as np
import onnx
import torch

from families import Export, Table, blobs, images, read
from families.pytorch import cnn, mlp, to_onnx

TABLE = Table("ONNX Runtime")


def changed(model: bytes, change) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        before, after = (Path(folder) / n for n in ("before.onnx", "after.onnx"))
        before.write_bytes(model)
        change(before, after)
        return read(after)


class Reader:
    def __init__(self, x: np.ndarray):
        self.rows = iter(x[i : i + 8] for i in range(0, 64, 8))

    def get_next(self):
        rows = next(self.rows, None)
        return None if rows is None else {"x": rows}


@TABLE.add("MLP, dynamic quantisation", "classes")
def dynamic() -> Export:
    from onnxruntime.quantization import quantize_dynamic

    torch.manual_seed(0)
    train, _, fresh = blobs("dynamic")
    model = to_onnx(mlp(6, 4), torch.from_numpy(train[:2]), False)
    # The scale of a layer is that of the whole batch in ONNX Runtime, and that of each sample in a detector.
    return Export(changed(model, quantize_dynamic), train, fresh, alone=True)


@TABLE.add("CNN, static quantisation (QDQ)", "classes")
def static() -> Export:
    from onnxruntime.quantization import QuantFormat, quantize_static

    torch.manual_seed(0)
    train, fresh = images("static", (3, 16, 16))
    model = to_onnx(cnn(), torch.from_numpy(train[:2]), False)

    def change(before, after):
        quantize_static(before, after, Reader(train), quant_format=QuantFormat.QDQ)

    return Export(changed(model, change), train, fresh)


@TABLE.add("CNN, static quantisation (QOperator)", "classes")
def operators() -> Export:
    from onnxruntime.quantization import QuantFormat, quantize_static

    torch.manual_seed(0)
    train, fresh = images("operators", (3, 16, 16))
    model = to_onnx(cnn(), torch.from_numpy(train[:2]), False)

    def change(before, after):
        quantize_static(before, after, Reader(train), quant_format=QuantFormat.QOperator)

    return Export(changed(model, change), train, fresh)


@TABLE.add("CNN, half precision inside", "classes")
def half() -> Export:
    from onnxconverter_common.float16 import convert_float_to_float16

    torch.manual_seed(0)
    train, fresh = images("half", (3, 16, 16))
    model = onnx.load_from_string(to_onnx(cnn(), torch.from_numpy(train[:2]), False))
    return Export(convert_float_to_float16(model, keep_io_types=True).SerializeToString(), train, fresh)


@TABLE.add("MLP, half precision, inputs too", "classes")
def half_inputs() -> Export:
    torch.manual_seed(0)
    train, _, fresh = blobs("half inputs")
    model = to_onnx(mlp(6, 4).half(), torch.from_numpy(train[:2]).half(), True)
    # The detector computes in single precision.
    return Export(model, train, fresh, lambda x: {"x": x.astype(np.float16)}, tolerance=2e-3)
