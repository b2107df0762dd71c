"""The reference: examples run, everything is typed, and names and defaults are those of the program."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
import typing

import numpy as np
import pytest

import taste_ood as taste

#: What the program has and a function does not need: files to write, and what is printed.
_FILES = {"out", "report", "json", "quiet", "help"}
#: Flags that are one argument with two values.
_PAIRS = {"no_map": "map", "no_rows": "keep_rows"}

_COMMANDS = {
    "fit": (taste.fit, set()),
    "score": (taste.Detector.score, {"skip_bad", "keep", "backend", "ort_library", "threads"}),
    "test": (taste.Detector.test, {"skip_bad", "top", "backend", "ort_library", "threads", "batch"}),
    "explain": (taste.Detector.explain, {"skip_bad", "backend", "ort_library", "threads", "batch"}),
    "monitor": (
        taste.Detector.monitor,
        {"skip_bad", "backend", "ort_library", "threads", "batch", "watch", "idle", "key", "webhook", "alertmanager"}
        | {"acknowledge", "restart"},
    ),
}


def flags(command: str) -> dict[str, str | None]:
    """Flags by name, with the defaults that are values of their own."""
    found: dict[str, str | None] = {}
    name = None
    for line in taste.run(command, "--help").stdout.splitlines():
        flag = re.match(r"\s+(?:-\w, )?--([a-z-]+)", line)
        if flag:
            name = flag[1].replace("-", "_")
            found[name] = None
        default = re.match(r"\s+\[default: (\S+)\]$", line)
        if default and name:
            found[name] = default[1]
    return found


@pytest.mark.parametrize("command", _COMMANDS)
def test_names_and_defaults_are_those_of_the_program(command):
    function, elsewhere = _COMMANDS[command]
    own = inspect.signature(function).parameters
    for name, default in flags(command).items():
        name = _PAIRS.get(name, name)
        if name in _FILES | elsewhere:
            continue
        assert name in own, f"taste {command} --{name} is no argument"
        value = own[name].default
        if default is not None and isinstance(value, (int, float, str)) and not isinstance(value, bool):
            assert str(value) == default or float(value) == float(default), name


@pytest.mark.parametrize("name", [n for n in taste.__all__ if callable(getattr(taste, n))])
def test_everything_is_typed_and_documented(name):
    thing = getattr(taste, name)
    members = {name: thing}
    if inspect.isclass(thing):
        members = {n: m for n, m in vars(thing).items() if not n.startswith("_")}
    for own, member in members.items():
        member = getattr(member, "fget", None) or getattr(member, "__func__", member)
        if inspect.isclass(member) or not callable(member):
            continue
        assert inspect.getdoc(member), own
        signature = inspect.signature(member)
        for parameter in signature.parameters.values():
            assert parameter.name in ("self", "cls") or parameter.annotation is not inspect.Parameter.empty, (own, parameter)
        assert signature.return_annotation is not inspect.Signature.empty, own


def modules():
    for module in pkgutil.iter_modules(taste.__path__, "taste_ood."):
        if module.name.startswith("taste_ood._") and module.name not in ("taste_ood._taste", "taste_ood.__main__"):
            yield importlib.import_module(module.name)


def examples() -> dict[str, doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [test for module in modules() for test in finder.find(module)]
    return {test.name: test for test in found if test.examples}


EXAMPLES = examples()


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name, tmp_path, model, train, labels, fresh, shifted, detector):
    """`folder` is empty but for the model and the samples, `new` are like `train`, and `moved` are not."""
    test = EXAMPLES[name]
    files = {"train": train, "new": fresh, "moved": shifted}
    (tmp_path / "model.onnx").write_bytes(model)
    for own, array in files.items():
        np.save(tmp_path / f"{own}.npy", array)
    given = {"np": np, "taste_ood": taste, "folder": tmp_path, "model": model, "labels": labels, "detector": detector}
    test.globs.update({n: getattr(taste, n) for n in taste.__all__}, **files, **given)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    said: list[str] = []
    runner.run(test, out=said.append)
    assert not runner.failures, "".join(said)


def test_every_call_has_an_example():
    have = {name.rsplit("taste_ood.")[-1].split(".", 1)[1] for name in EXAMPLES}
    calls = ["fit", "load", "derive", "train", "bench", "reproduce", "run"]
    methods = ["score", "predict", "test", "explain", "monitor", "evaluate", "save", "with_alpha", "manifest"]
    missing = {*calls, *(f"Detector.{m}" for m in methods)} - have
    assert not missing, missing


def test_a_detector_is_repeated_for_another_model(model, train, fresh, tmp_path):
    first = taste.fit(model, train, method="msp", alpha=0.02, seed=3)
    first.save(tmp_path / "first.onnx")
    for like in (first, tmp_path / "first.onnx"):
        again = taste.fit(model, train, like=like)
        assert again.to_bytes() == first.to_bytes()
    with pytest.raises(taste.ChoiceError, match="alpha= can't be given beside"):
        taste.fit(model, train, like=first, alpha=0.1)


def test_hints_are_names_that_exist():
    for function in (taste.fit, taste.load, taste.derive, taste.Detector.score, taste.Detector.test):
        assert typing.get_type_hints(function)
