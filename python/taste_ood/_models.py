"""Models as people have them: paths, bytes, onnx.ModelProto, torch modules, scikit-learn estimators."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _taste
from ._errors import ModelError

#: A path, bytes, an onnx.ModelProto, a torch.nn.Module, an ExportedProgram or ONNXProgram of torch, or a fitted estimator of scikit-learn.
ModelLike = Any

#: Samples that outputs are compared on before anything is fitted.
_COMPARED = 8
#: Outputs in single precision agree within this, relative to their size.
_TOLERANCE = 1e-3


def read(model: ModelLike, example: NDArray[Any] | None = None) -> _taste.Model:
    """The model; `example` holds samples as the model takes them, where it has to be exported first."""
    if isinstance(model, _taste.Model):
        return model
    if isinstance(model, (str, os.PathLike)):
        return _taste.Model.open(os.fspath(model))
    if isinstance(model, (bytes, bytearray, memoryview)):
        return _taste.Model.from_bytes("model", bytes(model))
    if hasattr(model, "model_proto"):
        return of_proto(model.model_proto, "torch.onnx.ONNXProgram")
    if hasattr(model, "SerializeToString") and hasattr(model, "graph"):
        return of_proto(model, "onnx.ModelProto")
    if _is_of(model, "torch.export.exported_program", "ExportedProgram"):
        return _of_program(model)
    if _is_of(model, "torch.nn.modules.module", "Module"):
        return _of_torch(model, example)
    if hasattr(model, "get_params") and (hasattr(model, "predict") or hasattr(model, "transform")):
        return _of_sklearn(model, example)
    known = "a path, bytes, an onnx.ModelProto, a torch.nn.Module or an estimator of scikit-learn"
    raise ModelError(f"the model is a {type(model).__name__}, and none of {known}")


def of_proto(proto: Any, name: str) -> _taste.Model:
    """A message of the onnx package."""
    return _taste.Model.from_bytes(name, proto.SerializeToString())


def _is_of(thing: Any, module: str, name: str) -> bool:
    return any(c.__module__ == module and c.__name__ == name for c in type(thing).__mro__)


def _of_torch(module: Any, example: NDArray[Any] | None) -> _taste.Model:
    """Exports a module as it is in evaluation, and holds the file against it. The module is left as it was."""
    import torch

    # What torch.compile makes can't be exported, and what it was made of can.
    module = getattr(module, "_orig_mod", module)
    name = type(module).__name__
    if example is None or len(example) < 2:
        raise ModelError(f"{name}: a module is exported with two samples or more: give an array, a tensor or batches, or export it")
    training = {part: part.training for part in module.modules()}
    first = next(iter(module.parameters()), None)
    where = torch.device("cpu") if first is None else first.device
    floating = first is None or not first.is_floating_point()
    kind = torch.float32 if floating or first is None else first.dtype
    x = torch.as_tensor(np.ascontiguousarray(example[:_COMPARED], dtype=np.float32)).to(where, kind)
    try:
        module.eval()
        x, wanted = _answers(module, x, name)
        model = _exported(module, x, name)
    finally:
        for part, was in training.items():
            part.training = was
    outputs = list(_tensors(wanted))
    if outputs:
        _compare(model, x, outputs, name)
    return model


def _of_program(program: Any) -> _taste.Model:
    """What torch.export has made of a module."""
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made: Any = torch.onnx.export(program, dynamo=True, verbose=False)
    except Exception as e:
        raise ModelError(f"the ExportedProgram can't be made ONNX: {_first_line(e)}") from e
    return of_proto(made.model_proto, "ExportedProgram")


def _answers(module: Any, x: Any, name: str) -> tuple[Any, Any]:
    """Samples as a module takes them and what it makes of them: whole numbers, such as the ids of tokens, where it refuses
    others."""
    import torch

    whole = x.long()
    kinds = [x, whole] if bool((whole == x).all()) else [x]
    problems: list[str] = []
    with torch.no_grad():
        for own in kinds:
            try:
                return own, module(own)
            except Exception as e:
                problems.append(f"{type(e).__name__}: {_first_line(e)}")
    raise ModelError(f"{name} refuses samples of shape {tuple(x.shape[1:])}: {problems[0]}")


def _exported(module: Any, x: Any, name: str) -> _taste.Model:
    import torch

    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as e:
        raise ModelError(f"{name}: to export a module torch needs onnx and onnxscript (pip install taste-ood[torch]): {e}") from None
    problems: list[str] = []
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            shapes = ({0: torch.export.Dim.DYNAMIC},)
            program = torch.onnx.export(module, (x,), dynamo=True, dynamic_shapes=shapes, verbose=False)
            if program is not None:
                return of_proto(program.model_proto, name)
        except Exception as e:
            problems.append(f"{type(e).__name__}: {_first_line(e)}")
        try:
            return _by_tracing(module, x, name)
        except Exception as e:
            problems.append(f"{type(e).__name__}: {_first_line(e)}")
    raise ModelError(f"{name} can't be exported: with torch.export {problems[0]}; by tracing {problems[-1]}")


def _by_tracing(module: Any, x: Any, name: str) -> _taste.Model:
    import io

    import torch

    file = io.BytesIO()
    names = {"input_names": ["x"], "output_names": ["output"]}
    torch.onnx.export(module, (x,), file, dynamo=False, dynamic_axes={"x": {0: "n"}, "output": {0: "n"}}, **names)
    return _taste.Model.from_bytes(name, file.getvalue())


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:200] if lines else "no reason given"


def _tensors(results: Any) -> Any:
    """The tensors of what a module returns, in order."""
    if hasattr(results, "detach"):
        yield results
    elif isinstance(results, dict) or hasattr(results, "values"):
        for value in results.values():
            yield from _tensors(value)
    elif isinstance(results, (list, tuple)):
        for value in results:
            yield from _tensors(value)


def _compare(model: _taste.Model, x: Any, wanted: list[Any], name: str) -> None:
    """An export that computes something else is refused before anything is fitted to it."""
    names = [output[0] for output in model.outputs][: len(wanted)]
    floats = [(n, w) for n, w in zip(names, wanted) if w.is_floating_point()]
    if not floats:
        return
    values = np.ascontiguousarray(x.detach().float().cpu().numpy())
    found = model.run(values, [n for n, _ in floats], _taste.Engine())
    for (output, tensor), got in zip(floats, found):
        want = tensor.detach().float().cpu().numpy()
        if want.size != got.size:
            raise ModelError(f"{name}: output {output!r} of the exported file has shape {got.shape}, and that of torch {want.shape}")
        size = max(float(np.abs(want).max(initial=0.0)), 1e-6)
        error = float(np.abs(want.reshape(-1) - got.reshape(-1)).max(initial=0.0)) / size
        if not error <= _TOLERANCE:
            raise ModelError(
                f"{name}: output {output!r} of the exported file differs from torch's by {error:.2g} of its size on "
                f"{len(want)} samples: export it by hand and give the path"
            )


def _of_sklearn(estimator: Any, example: NDArray[Any] | None) -> _taste.Model:
    name = type(estimator).__name__
    try:
        from skl2onnx import to_onnx
    except ImportError as e:
        raise ModelError(f"{name}: an estimator needs skl2onnx to become ONNX (pip install taste-ood[sklearn]): {e}") from None
    width = getattr(estimator, "n_features_in_", None)
    if width is None:
        raise ModelError(f"{name} has not been fitted")
    columns = getattr(estimator, "feature_names_in_", None)
    sample = np.zeros((2, int(width)), np.float32) if example is None else np.asarray(example[:2], np.float32)
    options: dict[Any, Any] = {}
    if hasattr(estimator, "predict_proba"):
        options = {id(_last(estimator)): {"zipmap": False}}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            initial = _inputs_by_column(estimator, columns) if _selects_columns(estimator) else None
            if initial is not None:
                proto = to_onnx(estimator, initial_types=initial, options=options)
            else:
                proto = to_onnx(estimator, sample, options=options)
    except Exception as e:
        raise ModelError(f"{name} can't be made ONNX by skl2onnx: {_first_line(e)}") from e
    return of_proto(proto, name)


def _last(estimator: Any) -> Any:
    steps = getattr(estimator, "steps", None)
    return _last(steps[-1][1]) if steps else estimator


def _selects_columns(estimator: Any) -> bool:
    """Whether columns are chosen by their names, as a ColumnTransformer does."""
    steps = getattr(estimator, "steps", None)
    parts = [part for _, part in steps] if steps else [estimator]
    for part in parts:
        for _, _, columns in getattr(part, "transformers_", ()):
            if isinstance(columns, str) or (len(np.atleast_1d(columns)) and isinstance(np.atleast_1d(columns)[0], str)):
                return True
    return False


def _inputs_by_column(estimator: Any, columns: Any) -> Any:
    """One input a column: words where an encoder takes them, else numbers."""
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType

    if columns is None:
        return None
    words: set[str] = set()
    steps = getattr(estimator, "steps", None)
    for part in [part for _, part in steps] if steps else [estimator]:
        for _, inner, chosen in getattr(part, "transformers_", ()):
            categories = getattr(_first(inner), "categories_", None) or getattr(_last(inner), "categories_", None)
            if categories is not None:
                for column, own in zip(np.atleast_1d(chosen), categories):
                    if any(isinstance(word, str) for word in own):
                        words.add(str(column))
    kinds = {True: StringTensorType, False: FloatTensorType}
    return [(str(column), kinds[str(column) in words]([None, 1])) for column in columns]


def _first(estimator: Any) -> Any:
    steps = getattr(estimator, "steps", None)
    return _first(steps[0][1]) if steps else estimator
