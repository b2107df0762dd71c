"""Threads, processes, memory."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import taste_ood as taste


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_eight_threads_score_at_once(detector, fresh):
    want = detector.score(fresh).score
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: detector.score(fresh).score, range(64)))
    assert all(np.array_equal(f, want) for f in found)


def test_python_runs_while_samples_are_scored(detector):
    x = np.random.default_rng(0).normal(size=(400_000, 2)).astype(np.float32)
    ticks, done = 0, threading.Event()

    def work() -> None:
        detector.score(x)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        ticks += 1
        time.sleep(0.001)
    thread.join()
    assert ticks > 3


@pytest.mark.skipif(not os.environ.get("TASTE_SLOW"), reason="scores three million samples: TASTE_SLOW=1 runs it")
def test_single_precision_is_not_copied(detector):
    x = np.zeros((3_000_000, 2), np.float32)
    detector.score(x[:1000])
    peak = 0
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.is_set():
            peak = max(peak, resident())
            time.sleep(0.001)

    gc.collect()
    before = resident()
    thread = threading.Thread(target=watch)
    thread.start()
    for start in range(0, len(x), 100_000):
        detector.score(x[start : start + 100_000])
    done.set()
    thread.join()
    # The results of a part are some megabytes; the whole array has 24.
    assert peak - before < 20_000_000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts pages as Linux does")
def test_many_calls_leak_nothing(detector, fresh):
    x = fresh[:10]
    for _ in range(200):
        detector.score(x)
    gc.collect()
    before = resident()
    for _ in range(int(os.environ.get("TASTE_CALLS", "2000"))):
        detector.score(x)
    gc.collect()
    assert resident() - before < 3_000_000


def _scores(detector: taste.Detector, x: np.ndarray, queue: multiprocessing.Queue) -> None:
    queue.put(detector.score(x).score)


@pytest.mark.parametrize("how", [h for h in ("fork", "spawn") if h in multiprocessing.get_all_start_methods()])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_processes_score(detector, fresh, how):
    want = detector.score(fresh).score
    context = multiprocessing.get_context(how)
    queue = context.Queue()
    child = context.Process(target=_scores, args=(detector, fresh, queue))
    child.start()
    found = queue.get(timeout=120)
    child.join(60)
    assert np.array_equal(found, want) and child.exitcode == 0
