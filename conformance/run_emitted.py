"""Runs the models that TASTE_NODE_TESTS_EMIT=DIR wrote in onnxruntime and compares with the expected outputs."""

import argparse
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

# Models are written in these types; 16-bit floats are computed in 32 bits and compared loosely.
WRITTEN = {"f": np.float32, "V": np.float32, "i": np.int64, "u": np.int64, "b": np.bool_}


def tensors(folder, side):
    for path in sorted(folder.glob(f"{side}_*.pb"), key=lambda p: int(p.stem.split("_")[1])):
        proto = onnx.load_tensor(path)
        value = numpy_helper.to_array(proto)
        loose = value.dtype.itemsize == 2 and value.dtype.kind in "fV"
        yield proto.name, value.astype(WRITTEN[value.dtype.kind]), loose


def run(folder):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
    used = {i.name for i in session.get_inputs()}
    feeds = {name: value for name, value, _ in tensors(folder, "input") if name in used}
    wanted = list(tensors(folder, "output"))
    results = session.run([name for name, _, _ in wanted], feeds)
    for (name, want, loose), got in zip(wanted, results, strict=True):
        assert got.dtype == want.dtype and got.shape == want.shape, f"{name}: {got.dtype} {got.shape}"
        rtol, atol = (5e-2, 1e-2) if loose else (1e-3, 1e-5)
        np.testing.assert_allclose(got, want, rtol=rtol, atol=atol, err_msg=name)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    folders = sorted(p.parent for p in parser.parse_args().folder.glob("*/model.onnx"))
    failed = 0
    for folder in folders:
        try:
            run(folder)
        except Exception as e:
            failed += 1
            print(f"{folder.name}: {' '.join(str(e).split())[:300]}")
    print(f"{len(folders) - failed} of {len(folders)} agree")
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
