"""Writes the ONNX project's backend node tests, one folder each: model.onnx, input_*.pb, output_*.pb.

The tests are made by the generator in the `onnx` package. Where an input or output is not a tensor (a sequence,
an optional) the folder holds the model alone.
"""

import argparse
import pathlib
import shutil
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases


def tensor(value, info):
    if isinstance(value, onnx.TensorProto):
        return value
    return numpy_helper.from_array(np.asarray(value), info.name)


def write(case, folder):
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    graph = case.model.graph
    if not all(v.type.HasField("tensor_type") for v in [*graph.input, *graph.output]):
        return
    ((inputs, outputs),) = case.data_sets
    for side, values, infos in [("input", inputs, graph.input), ("output", outputs, graph.output)]:
        for i, (value, info) in enumerate(zip(values, infos, strict=True)):
            (folder / f"{side}_{i}.pb").write_bytes(tensor(value, info).SerializeToString())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder to write; replaced if it is there")
    out = parser.parse_args().out
    if out.exists():
        if not (out / "VERSION").exists():
            parser.error(f"{out} is there and was not written by this script")
        shutil.rmtree(out)
    with warnings.catch_warnings():
        # The generator computes logarithms of zero and the like on purpose.
        warnings.simplefilter("ignore")
        cases = collect_testcases()
    for case in cases:
        write(case, out / case.name)
    (out / "VERSION").write_text(f"onnx {onnx.__version__}\n")
    print(f"{len(cases)} tests of onnx {onnx.__version__} in {out}")


if __name__ == "__main__":
    main()
