"""Bad input: exceptions by kind that name the thing, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np
import pytest

import taste_ood as taste
from moons import network, trained


@pytest.fixture(autouse=True)
def nothing_left(tmp_path_factory):
    folder = Path(tempfile.gettempdir())
    own = f"taste-{os.getpid()}-*"
    yield
    assert not list(folder.glob(own))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (np.zeros((9, 3), np.float32), "3"),
        (np.zeros((0, 2), np.float32), "no samples"),
        (np.float32(1), "single number"),
        (np.array([["a", "b"]]), "not of numbers"),
        (np.array([[object(), 1.0]]), "objects"),
        (np.array([[1j, 2j]]), "complex"),
        ({"a": 1}, "dict"),
        (b"abc", "bytes"),
        (7, "single number"),
        (None, "NoneType"),
        ([], "no batches"),
        ([[1.0, 2.0], [3.0]], "can't be made an array"),
        (iter(()), "no batches"),
        ([{"x": 1}], "batches"),
    ],
)
def test_data_that_do_not_fit_are_named(detector, model, data, words):
    for use in (detector.score, detector.test, lambda d: taste.fit(model, d)):
        with pytest.raises(taste.DataError, match=words):
            use(data)
    assert issubclass(taste.DataError, ValueError)


def test_a_generator_serves_a_fit_once_and_is_empty_then(model, train, detector):
    def rows():
        yield from np.array_split(train, 7)

    once = rows()
    assert taste.fit(model, once).calibration.tolist() == detector.calibration.tolist()
    with pytest.raises(taste.DataError, match="no batches; a generator"):
        taste.fit(model, once)
    with pytest.raises(taste.DataError, match="after others of"):
        taste.fit(model, iter([train[:9], train[:9, :1]]))


def test_files_that_are_not_there_are_oserrors(model, detector, tmp_path):
    for use in (lambda: taste.fit(model, tmp_path / "none.npy"), lambda: detector.score(tmp_path / "none.npy")):
        with pytest.raises(FileNotFoundError, match="none.npy"):
            use()
    for use in (taste.load, lambda path: taste.fit(path, np.zeros((9, 2), np.float32))):
        with pytest.raises(FileNotFoundError, match="none.onnx"):
            use(tmp_path / "none.onnx")
        with pytest.raises(taste.ModelError, match="folder"):
            use(tmp_path)
    closed = open(__file__)
    closed.close()
    for use in (detector.score, detector.test, lambda data: taste.fit(model, data)):
        with pytest.raises(taste.DataError, match="closed file.*test_trouble"):
            use(closed)


def test_other_files_are_no_detectors(model, tmp_path, detector):
    with pytest.raises(taste.Error, match="detector"):
        taste.Detector.from_bytes(model)
    with pytest.raises(taste.Error, match="ONNX"):
        taste.Detector.from_bytes(b"nothing of the kind")
    with pytest.raises(taste.Error, match="already"):
        taste.fit(detector.to_bytes(), np.zeros((100, 2), np.float32))
    later = detector.to_bytes().replace(b"taste.format\x12\x012", b"taste.format\x12\x019")
    assert later != detector.to_bytes()
    with pytest.raises(taste.DetectorError, match="from_bytes reads them"):
        taste.load(detector.to_bytes())
    with pytest.raises(taste.DetectorError, match="9"):
        taste.Detector.from_bytes(later)


def test_choices_are_named(model, train, detector):
    for options, words in [
        ({"method": "tast"}, "taste"),
        ({"alpha": 0}, "alpha"),
        ({"goal": "harms"}, "goal=.*harms"),
        ({"threshold": "exact"}, "threshold=.*exact"),
        ({"layout": "chw"}, "layout=.*chw"),
        ({"map": "yes"}, "map="),
        ({"alpha": "small"}, "alpha='small'"),
        ({"seed": -1}, "seed=-1"),
        ({"memory": 0}, "memory=0"),
        ({"held_out": 0.5}, "held_out=0.5"),
        ({"batch": 0}, "batch=0"),
        ({"std": 0}, "std"),
        ({"resize": "x"}, "resize"),
        ({"threads": 0}, "threads"),
        ({"backend": "gpu"}, "gpu"),
        ({"method": "msp", "score_model": "gaussian"}, "score model"),
    ]:
        with pytest.raises(taste.ChoiceError, match=words):
            taste.fit(model, train, **options)
    for use, words in [
        (lambda: detector.score(train, batch=0), "batch=0"),
        (lambda: detector.test(train, batch_size=-1), "batch_size=-1"),
        (lambda: detector.test(train, by="a", batch_size=3), "both divide"),
        (lambda: detector.explain(train, most=0), "most=0"),
        (lambda: detector.explain(train, samples=[-1]), "samples=-1"),
        (lambda: detector.with_alpha(2), "alpha"),
        (lambda: detector.with_goal("x"), "goal"),
    ]:
        with pytest.raises(taste.ChoiceError, match=words):
            use()
    with pytest.raises(taste.DataError, match="calibration samples"):
        taste.fit(model, train[:30])
    with pytest.raises(taste.DataError, match="labels"):
        taste.fit(model, train, labels=[0, 1])
    with pytest.raises(TypeError):
        taste.fit(model, train, scores="gaussian")


def test_models_that_are_none(train):
    for model, words in [(7, "int"), (b"", "model"), (b"\x00" * 50, "not an ONNX model")]:
        with pytest.raises(taste.ModelError, match=words):
            taste.fit(model, train)


def test_a_fixed_batch_works(train, fresh, detector):
    fixed = taste.fit(network(trained(), batch=4), train)
    assert np.allclose(fixed.score(fresh).score, detector.score(fresh).score, atol=1e-3)


def test_what_is_no_number_is_flagged(detector, fresh):
    x = fresh.copy()
    x[3, 1] = np.nan
    found = detector.score(x)
    assert found.flag[3] and np.isfinite(np.delete(found.score, 3)).all()
    hidden = np.ma.masked_array(fresh, mask=np.isnan(x))
    assert np.array_equal(detector.score(hidden).score, found.score, equal_nan=True)


def test_masked_bytes_are_bytes(detector, fresh):
    x = np.clip(100 * np.abs(fresh), 0, 255).astype(np.uint8)
    found = detector.score(np.ma.masked_array(x, mask=np.zeros(x.shape, bool)))
    assert np.array_equal(found.score, detector.score(x).score)
    with pytest.raises(taste.DataError, match="can't lack entries"):
        detector.score(np.ma.masked_array(x, mask=x == x[0, 0]))


def test_samples_of_different_shapes_are_told(detector):
    class Odd:
        def __len__(self):
            return 2

        def __getitem__(self, i):
            return np.zeros(2 + i, np.float32)

    with pytest.raises(taste.DataError, match=r"shape \(2,\) without a label for sample 0, and an array of shape \(3,\)"):
        detector.score(Odd())


def test_labels_may_be_words(model, train, labels, tmp_path):
    words = np.where(labels == 1, "up", "down")
    want = taste.fit(model, train, labels=labels, method="mahalanobis").calibration
    (tmp_path / "labels.csv").write_text("label\n" + "\n".join(words))
    np.save(tmp_path / "labels.npy", labels)
    for own in (words, list(words), tmp_path / "labels.csv", str(tmp_path / "labels.npy")):
        detector = taste.fit(model, train, labels=own, method="mahalanobis")
        assert np.array_equal(detector.calibration, want)
        named = detector.manifest["data"]["reading"].get("classes")
        assert named == (None if str(own).endswith(".npy") else ["down", "up"])
    with pytest.raises(taste.DataError, match="'up' is none of the classes"):
        taste.fit(model, train, labels=words, class_names=["down", "left"])
    with pytest.raises(taste.DataError, match="neither a file nor a column"):
        taste.fit(model, train, labels="label")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_interrupts_stop_a_fit_and_leave_nothing(tmp_path):
    script = textwrap.dedent(
        """
        import signal, sys, numpy as np, taste_ood as taste
        # What runs in the background inherits that interrupts are ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.path.insert(0, sys.argv[1])
        from moons import network, trained
        x = np.random.default_rng(0).normal(size=(2_000_000, 2)).astype(np.float32)
        print("ready", flush=True)
        try:
            while True:
                taste.fit(network(trained()), x)
        except KeyboardInterrupt:
            print("stopped", flush=True)
        """
    )
    line = [sys.executable, "-c", script, str(Path(__file__).parent)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        try:
            child.wait(2)
        except subprocess.TimeoutExpired:
            pass
        child.send_signal(signal.SIGINT)
        try:
            said = child.communicate(timeout=60)[0]
        finally:
            child.kill()
        assert said == "stopped\n" and child.returncode == 0
