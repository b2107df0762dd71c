"""Streams: evidence is that of the command, states last, nothing counts twice."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import taste_ood as taste
from moons import moons


@pytest.fixture(scope="module")
def calibrated(model, train) -> taste.Detector:
    """Calibrated on samples that the model has not seen."""
    return taste.fit(model, train, calibration=moons(1500, 8)[0])


def test_evidence_is_that_of_the_command(calibrated, fresh, shifted, tmp_path):
    calibrated.save(tmp_path / "d.onnx")
    np.save(tmp_path / "stream.npy", np.concatenate([fresh, shifted]))
    done = taste.run("monitor", tmp_path / "d.onnx", tmp_path / "stream.npy", "--state", tmp_path / "theirs", "--json", "--quiet")
    wanted = json.loads(done.stdout)
    with calibrated.monitor(tmp_path / "ours") as monitor:
        assert not monitor and monitor.alarm is None and monitor.evidence == 0.0
        updates = [monitor.update(part) for part in np.array_split(np.concatenate([fresh, shifted]), 20)]
        found = monitor.to_dict()
        alarm = monitor.alarm
        assert monitor and alarm is not None and alarm["raised"]["sample"] > len(fresh)
        assert alarm["reasons"] and alarm["began"]["likely"]["sample"] > 450
        assert sum(map(bool, updates)) == 1 and [u.raised for u in updates if u] == [1]
        assert "alarm 1 stands" in repr(monitor) and "evidence" in str(monitor)
        page = monitor._repr_html_()
        assert page.startswith("<iframe srcdoc=") and "prefers-color-scheme" in page
    assert done.returncode == 1 and wanted["samples"] == found["samples"] == 1000
    assert wanted["log_evidence"] == pytest.approx(found["log_evidence"])
    assert wanted["alarms"][0]["raised"]["sample"] == alarm["raised"]["sample"]


def test_states_last_and_go_on_with_the_command(calibrated, fresh, shifted, tmp_path):
    calibrated.save(tmp_path / "d.onnx")
    np.save(tmp_path / "more.npy", shifted)
    state = tmp_path / "state"
    with calibrated.monitor(state) as monitor:
        assert monitor.update(fresh, id="monday") == taste.Update(500, False, None)
        assert monitor.update(fresh, id="monday") == taste.Update(0, True, None)
        before = monitor.evidence
    done = taste.run("monitor", tmp_path / "d.onnx", tmp_path / "more.npy", "--state", state, "--quiet")
    assert done.returncode == 1
    with calibrated.monitor(state) as monitor:
        assert monitor.samples == 1000 and monitor and len(monitor.alarms) == 1
        assert monitor.update(fresh, id="monday").duplicate
        monitor.acknowledge("the new camera", by="Ada")
        assert monitor.alarm["acknowledged"]["note"] == "the new camera"
        monitor.restart()
        assert not monitor and monitor.alarms[0]["resolved"] is not None and monitor.evidence <= before


def test_threads_share_a_monitor(calibrated, fresh, tmp_path):
    with calibrated.monitor(tmp_path / "state") as monitor, ThreadPoolExecutor(4) as pool:
        counted = list(pool.map(lambda i: monitor.update(fresh[:50], id=str(i % 8)).counted, range(16)))
        assert sum(counted) == 400 == monitor.samples


def test_the_head_of_a_stream_may_be_the_calibration(detector, fresh, shifted, tmp_path):
    with pytest.raises(taste.DetectorError, match="recalibrate="):
        detector.monitor(tmp_path / "refused")
    with detector.monitor(tmp_path / "state", recalibrate=300) as monitor:
        monitor.update(fresh)
        assert not monitor
        monitor.update(shifted)
        assert monitor


def test_trouble_is_named_and_nothing_is_counted(calibrated, fresh, tmp_path):
    state = tmp_path / "state"
    monitor = calibrated.monitor(state)
    monitor.update(fresh)
    with pytest.raises(taste.DataError, match="3"):
        monitor.update(np.zeros((9, 3), np.float32))
    assert monitor.samples == 500
    with pytest.raises(OSError, match="another process"):
        calibrated.monitor(state)
    with pytest.raises(taste.ChoiceError, match="no alarm"):
        monitor.acknowledge("what?")
    monitor.close()
    monitor.close()
    with pytest.raises(taste.ChoiceError, match="closed"):
        monitor.update(fresh)
    with pytest.raises(taste.ChoiceError, match="run length"):
        calibrated.monitor(state, run_length=500)
    with pytest.raises(taste.ChoiceError, match="another detector"):
        calibrated.with_alpha(0.2).monitor(state)
    for options, words in [({"run_length": 0}, "run length"), ({"delta": 2}, "guarantee"), ({"every": 0}, "every"), ({"recalibrate": -1}, "recalibrate")]:
        with pytest.raises(taste.ChoiceError, match=words):
            calibrated.monitor(tmp_path / "new", **options)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        calibrated.monitor(tmp_path / "file")
