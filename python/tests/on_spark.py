"""Detectors on a Spark of two executors, one of which is killed in the middle of every pass; on rows of a table and on images.

on_spark.py [ROWS] [IMAGES] [--connect]
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent))
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable

from pyspark.sql import SparkSession

import taste_ood as taste
from taste_ood import spark as on_spark
from moons import moons, network, trained

numbers = [int(a) for a in sys.argv[1:] if a.isdigit()]
ROWS, IMAGES = (*numbers, *(20_000, 2_000)[len(numbers) :])
CONNECT = "--connect" in sys.argv
KILLS = Path(tempfile.mkdtemp(prefix="kills-"))


def kill_once(name: str) -> None:
    """The first attempt at partition 1 of a pass ends its executor, a process of Java with workers below it."""
    from pyspark import TaskContext

    context = TaskContext.get()
    flag = KILLS / name
    if context is None or context.partitionId() != 1 or flag.exists():
        return
    flag.touch()
    daemon = os.getppid()
    executor = int(Path(f"/proc/{daemon}/stat").read_text().rsplit(")", 1)[1].split()[1])
    os.kill(executor, signal.SIGKILL)
    time.sleep(60)


class Deadly(on_spark._Gather):
    def __call__(self, batches):
        kill_once(f"gather-{self.name}")
        return super().__call__(batches)


class DeadlyScore(on_spark._Score):
    def __call__(self, batches):
        for i, batch in enumerate(super().__call__(batches)):
            yield batch
            if i == 0:
                kill_once(f"score-{self.name}")


def fit_and_score(folder, what, model, frame, table, key, columns, want):
    """Undisturbed and with executors that die; both held against one machine. Scores go to files, as they may be more than a driver holds."""
    rows = want.score(table)
    for deadly in (False, True):
        on_spark._Gather = Deadly if deadly else Gather
        on_spark._Score = DeadlyScore if deadly else Score
        start = time.monotonic()
        detector = on_spark.fit(model, frame, key=key, columns=columns)
        took = time.monotonic() - start
        start = time.monotonic()
        written = f"{folder}/{what}-scores-{deadly}.parquet"
        on_spark.score(detector, frame, key=key, columns=columns).write.parquet(written)
        scoring = time.monotonic() - start
        scored = pd.read_parquet(written, columns=[key, "score", "flag"]).sort_values(key)
        assert np.array_equal(scored[key], np.arange(len(table))), "rows were lost or doubled"
        own = detector.score(table)
        assert np.array_equal(own.score, scored.score) and np.array_equal(own.flag, scored.flag)
        off = float(np.max(np.abs(own.score - rows.score) / np.maximum(1, np.abs(rows.score))))
        flags = int((own.flag != rows.flag).sum())
        kills = len(list(KILLS.iterdir()))
        print(
            f"{what}: executors killed {kills if deadly else 0}, fit {took:.0f} s, scored in {scoring:.0f} s, {len(table)} rows, each "
            f"once; scores differ from one machine's by {off:.1e}, flags in {flags}",
            flush=True,
        )
        assert off < 1e-6 and flags == 0
        assert not deadly or kills >= 2, "nothing was killed"
    for flag in KILLS.iterdir():
        flag.unlink()


Gather, Score = on_spark._Gather, on_spark._Score
builder = SparkSession.builder.config("spark.sql.shuffle.partitions", "4").config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
builder = builder.config("spark.executor.pyspark.memory", "1g").config("spark.task.maxFailures", "8")
builder = builder.remote("local-cluster[2,1,1024]") if CONNECT else builder.master("local-cluster[2,1,1024]")
session = builder.getOrCreate()
with tempfile.TemporaryDirectory() as folder:
    x, label = moons(ROWS, 3)
    table = pd.DataFrame({"a": x[:, 0], "b": x[:, 1]})
    table.assign(id=np.arange(ROWS)).to_parquet(f"{folder}/table.parquet", row_group_size=max(1, ROWS // 8))
    frame = session.read.parquet(f"{folder}/table.parquet").repartition(6)
    model = network(trained())
    start = time.monotonic()
    want = taste.fit(model, x, name="table")
    print(f"table: one machine fits in {time.monotonic() - start:.0f} s", flush=True)
    fit_and_score(folder, "table", model, frame, x, "id", ["a", "b"], want)

    on_spark._Gather, on_spark._Score = Gather, Score
    exact = on_spark.fit(model, frame, key="id", columns=["a", "b"], exact=True)
    same = np.array_equal(exact.calibration, want.calibration) and np.array_equal(exact.score(x).score, want.score(x).score)
    print(f"table: exact=True gives the same calibration and scores to the last bit as one machine: {same}", flush=True)
    assert same
    report = on_spark.test(exact, frame, key="id")
    print(f"table: test of the table itself: {report!r}", flush=True)
    doubled = frame.union(frame.limit(1))
    try:
        on_spark.fit(model, doubled, key="id")
        raise SystemExit("a repeated key passed")
    except taste.DataError as error:
        print(f"table: {error}", flush=True)

    random = np.random.default_rng(1)
    images = random.normal(size=(IMAGES, 784)).astype(np.float32)
    layers = [(random.normal(0, 0.05, (784, 32)), np.zeros(32)), (random.normal(0, 0.3, (32, 10)), np.zeros(10))]
    pixels = network(layers)
    rows = pd.DataFrame({"id": np.arange(IMAGES), "pixels": list(images)})
    rows.to_parquet(f"{folder}/images.parquet", row_group_size=max(1, IMAGES // 8))
    frame = session.read.parquet(f"{folder}/images.parquet").repartition(4)
    want = taste.fit(pixels, images, map=False)
    fit_and_score(folder, "images", pixels, frame, images, "id", ["pixels"], want)
session.stop()
print("done", flush=True)
