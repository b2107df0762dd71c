"""Commands of the program taste as functions: what takes files and leaves files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from typing import Union

from ._errors import Error

Argument = Union[str, int, float, bool, None, "os.PathLike[str]", Iterable[Union[str, int, float, "os.PathLike[str]"]]]


def run(*arguments: str | os.PathLike[str], check: bool = True) -> subprocess.CompletedProcess[str]:
    """Runs the program taste with these arguments in a process of its own and returns what it printed.

    >>> print(run("--version").stdout.split()[0])
    taste
    """
    command = [sys.executable, "-m", "taste_ood", *(os.fspath(argument) for argument in arguments)]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    if check and done.returncode not in (0, 1):
        raise Error(done.stderr.strip().removeprefix("error: ") or f"taste ended with {done.returncode}")
    return done


def _flags(options: dict[str, Argument]) -> list[str]:
    """Arguments by name as flags: n_epochs=3 is --n-epochs 3, quiet=True is --quiet, a list has one value each."""
    flags: list[str] = []
    for name, value in options.items():
        flag = "-o" if name == "out" else "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        flags.append(flag)
        if value is True:
            continue
        if isinstance(value, (str, int, float, os.PathLike)):
            flags.append(os.fspath(value) if isinstance(value, os.PathLike) else str(value))
        else:
            flags.extend(os.fspath(v) if isinstance(v, os.PathLike) else str(v) for v in value)
    return flags


def train(what: str, **options: Argument) -> str:
    """Trains a network as `taste train score|classifier|regressor` does; arguments are its flags.

    >>> np.save(folder / "x.npy", train), np.save(folder / "y.npy", labels)
    (None, None)
    >>> options = {"data": folder / "x.npy", "labels": folder / "y.npy", "steps": 200, "quiet": True}
    >>> _ = taste_ood.train("classifier", out=folder / "classifier.onnx", **options)
    >>> taste_ood.fit(folder / "classifier.onnx", train)
    Detector(taste:set=task of ...classifier.onnx, samples 2, alpha 0.05)
    """
    return run("train", what, *_flags(options)).stdout


def bench(**options: Argument) -> str:
    """Compares many methods on one model and many sets as `taste bench` does; arguments are its flags.

    >>> sets = {"model": folder / "model.onnx", "train": folder / "train.npy", "id": folder / "new.npy"}
    >>> table = bench(**sets, ood=[f"up={folder / 'moved.npy'}"], methods=["msp", "taste"], quiet=True)
    >>> "AUROC" in table.splitlines()[0]
    True
    """
    return run("bench", *_flags(options)).stdout


def reproduce(experiment: str, **options: Argument) -> str:
    """Repeats an experiment as `taste reproduce` does; arguments are its flags.

    >>> reproduce("digits", out=folder / "pages")
    Traceback (most recent call last):
    taste_ood._errors.Error: no experiment "digits"; there are directional, ...
    """
    return run("reproduce", experiment, *_flags(options)).stdout
