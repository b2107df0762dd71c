"""The package with numpy alone: fit, score, test, explain, evaluate, files, and what the command line makes of the same."""

from __future__ import annotations

import copy
import csv
import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import taste_ood as taste


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "taste_ood", *map(str, arguments)]
    return subprocess.run(line, text=True, capture_output=True, check=False)


def test_clean_samples_pass_and_shifted_ones_do_not(detector, fresh, shifted):
    clean, moved = detector.score(fresh), detector.score(shifted)
    assert clean.flag.mean() < 0.1 < 0.3 < moved.flag.mean()
    assert clean.score.dtype == np.float32 and clean.flag.dtype == bool and len(clean) == 500
    assert np.allclose(sum(clean.evidence.values()), clean.score, atol=1e-4)
    assert not detector.test(fresh) and detector.test(shifted)
    report = detector.test(shifted)
    assert report.verdict == "shift" and report.effect > 0.5 and report.p_value < 0.05 and report.reasons
    assert "verdict" in str(report) and "shift" in repr(report)


def test_the_command_line_makes_the_same_file(files: Path, model, train, tmp_path):
    out = tmp_path / "cli.onnx"
    done = command("fit", "--model", files / "model.onnx", "--data", files / "train.npy", "-o", out, "--quiet")
    assert done.returncode == 0, done.stderr
    own = taste.fit(files / "model.onnx", train, name=str(files / "train.npy"))
    assert own.to_bytes() == out.read_bytes()
    by_path = taste.fit(files / "model.onnx", files / "train.npy")
    assert by_path.to_bytes() == out.read_bytes()
    own.save(tmp_path / "own.onnx")
    assert (tmp_path / "own.onnx").read_bytes() == out.read_bytes()


def test_the_command_line_gives_the_same_scores(files: Path, detector, fresh, tmp_path):
    detector.save(tmp_path / "d.onnx")
    done = command("score", tmp_path / "d.onnx", files / "fresh.npy", "-o", tmp_path / "s.csv")
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "s.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    found = detector.score(fresh)
    columns = found.to_dict()
    assert [n for n in rows[0] if n in columns] == list(columns)
    for name in ("score", "p_value", "novelty"):
        assert np.array_equal(np.float32([r[name] for r in rows]), columns[name])
    assert [r["flag"] == "true" for r in rows] == found.flag.tolist()
    assert np.array_equal(detector.score(files / "fresh.npy").score, found.score)


def test_the_program_tests_explains_and_fails_as_it_does_elsewhere(files: Path, detector, tmp_path):
    detector.save(tmp_path / "d.onnx")
    found = command("test", tmp_path / "d.onnx", files / "fresh.npy", "--json")
    assert found.returncode == 0
    batch = json.loads(found.stdout)["batches"][0]
    assert batch["effect"] == detector.test(files / "fresh.npy").effect
    wrong = command("score", tmp_path / "none.onnx", files / "fresh.npy")
    assert wrong.returncode == 2 and wrong.stderr.startswith("error: ")
    assert taste.run("--version").stdout.split()[1] == taste.__version__


def test_pickles_copies_and_bytes_are_the_file(detector, fresh):
    want = detector.score(fresh).score
    for other in (
        pickle.loads(pickle.dumps(detector)),
        copy.copy(detector),
        copy.deepcopy(detector),
        taste.Detector.from_bytes(detector.to_bytes()),
        taste.Detector.from_bytes(detector.to_bytes(), threads=1),
        detector.with_engine(threads=1),
    ):
        assert np.array_equal(other.score(fresh).score, want)


def test_other_thresholds_need_no_fit(detector, fresh):
    strict = detector.with_alpha(0.01)
    assert strict.threshold > detector.threshold and strict.alpha == 0.01 and detector.alpha == 0.05
    assert strict.predict(fresh).sum() <= detector.predict(fresh).sum()
    assert detector.with_threshold(-1.0).predict(fresh).all()
    assert detector.with_goal("both").manifest["decision"]["goal"] == "both"


def test_maps_name_entries(detector, shifted):
    maps = detector.explain(shifted, most=4)
    assert len(maps) == 4 and maps.values.shape == (4, 2) and np.all(np.diff(maps.score) <= 0)
    named = detector.explain(shifted, samples=[7, 3])
    assert sorted(named.index.tolist()) == [3, 7] and len(named.largest(1)[0]) == 1
    assert detector.score(shifted, map=True).map.shape == shifted.shape
    with pytest.raises(taste.ChoiceError, match="no sample 900"):
        detector.explain(shifted, samples=[900])


def test_evaluation_ranks_sets(detector, fresh, shifted, labels, train):
    found = detector.evaluate(fresh, {"up": shifted, "same": train[:300]})
    assert "up" in repr(found) and found.metric("auroc")["up"] > 0.8


def test_labels_of_calibration_samples_give_estimates(model, train, fresh, labels):
    from moons import moons

    calibration, truth = moons(1500, 8)
    # An estimate needs wrong answers to learn from.
    truth = np.where(np.arange(1500) % 10 == 0, 1 - truth, truth)
    detector = taste.fit(model, train, labels=labels, calibration=calibration, calibration_labels=truth)
    estimate = detector.test(fresh).estimate
    assert estimate is not None and detector.manifest["errors"] is not None


def test_methods_goals_and_options_are_those_of_the_command(model, train, labels):
    assert taste.fit(model, train, method="msp").manifest["method"]["name"] == "msp"
    assert taste.fit(model, train, score_model="gaussian").manifest["method"]["name"] == "stein"
    assert taste.fit(model, train, method="mahalanobis", labels=labels).manifest["method"]["name"] == "mahalanobis"
    assert taste.fit(model, train, goal="novelty").manifest["decision"]["goal"] == "novelty"


def test_derivatives_agree_with_differences(model, fresh):
    x = fresh[:20]
    found = taste.derive(model, x, target="logit:0", want=["gradient", "laplacian", "diagonal"])
    assert found["gradient"].shape == x.shape and found["diagonal"].shape == x.shape and np.all(found["laplacian"] == 0)
    step = np.float32(1e-3)
    for axis in range(2):
        move = np.zeros(2, np.float32)
        move[axis] = step
        up = taste.derive(model, x + move, target="logit:0", want=[])["value"]
        down = taste.derive(model, x - move, target="logit:0", want=[])["value"]
        close = np.isclose((up - down) / (2 * step), found["gradient"][:, axis], atol=0.02)
        # A kink may lie within a step.
        assert close.mean() > 0.8


def test_pages_have_both_themes(detector, shifted):
    pages = [detector, detector.score(shifted), detector.test(shifted)]
    for shown in pages:
        page = shown._repr_html_()
        assert page.startswith("<iframe srcdoc=") and "prefers-color-scheme" in page and "&lt;svg" in page
    assert "<table>" in detector.explain(shifted)._repr_html_()
    assert "prefers-color-scheme" in detector.report()


def test_batches_of_scores(detector, fresh):
    found = detector.score(fresh)
    assert len(found[:7]) == 7 and found[found.flag].flag.all() and np.array_equal(np.asarray(found), found.score)
    again = pickle.loads(pickle.dumps(found))
    assert np.array_equal(again.score, found.score) and again.evidence.keys() == found.evidence.keys()
    assert "500 samples" in again._repr_html_()
    assert "500 samples" in repr(found) and np.array_equal(found[3:5].score, found.score[3:5])


def test_progress_is_told_and_may_stop(model, train):
    heard = []
    taste.fit(model, train, progress=lambda purpose, done, total: heard.append((purpose, done, total)))
    assert any("calibration" in purpose for purpose, _, _ in heard)

    class Enough(Exception):
        pass

    def stop(purpose: str, done: int, total: int | None) -> None:
        raise Enough

    with pytest.raises(Enough):
        taste.fit(model, train, progress=stop)


def test_progress_over_batches_goes_on(detector, fresh):
    heard = []
    detector.score(np.array_split(fresh, 5), progress=lambda *told: heard.append(told))
    done = [count for _, count, _ in heard]
    assert done == sorted(done) and done[-1] == len(fresh) and {total for *_, total in heard} == {None}
