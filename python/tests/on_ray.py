"""Detectors on a Ray of three nodes on one machine, one of which is removed in the middle; on rows of a table.

on_ray.py [ROWS]
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import ray
from ray.cluster_utils import Cluster

import taste_ood as taste
from taste_ood import ray as on_ray
from moons import moons, network, trained

numbers = [int(a) for a in sys.argv[1:] if a.isdigit()]
ROWS = numbers[0] if numbers else 200_000
NODE = {"num_cpus": 1, "object_store_memory": 256 << 20}
cluster = Cluster(initialize_head=True, head_node_args=NODE)
nodes = [cluster.add_node(**NODE) for _ in range(2)]
cluster.wait_for_nodes()
places = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
ray.init(address=cluster.address, runtime_env={"env_vars": {"PYTHONPATH": places}})
ray.data.DataContext.get_current().enable_progress_bars = False

x, _ = moons(ROWS, 3)
model = network(trained())
want = taste.fit(model, x, name="data set")
columns = {"id": np.arange(ROWS), "a": x[:, 0], "b": x[:, 1]}
import pyarrow as pa

dataset = ray.data.from_arrow(pa.table(columns)).repartition(12).materialize()


def compare(what: str) -> None:
    start = time.monotonic()
    detector = on_ray.fit(model, dataset, key="id", columns=["a", "b"], batch_size=max(1000, ROWS // 12), actors=(1, 2))
    took = time.monotonic() - start
    scored = on_ray.score(detector, dataset, key="id", columns=["a", "b"], actors=(1, 2)).to_pandas().sort_values("id")
    assert scored["id"].tolist() == list(range(ROWS)), "rows were lost or doubled"
    own, rows = detector.score(x), want.score(x)
    assert np.array_equal(own.score, scored.score.to_numpy())
    off = float(np.max(np.abs(own.score - rows.score) / np.maximum(1, np.abs(rows.score))))
    flags = int((own.flag != rows.flag).sum())
    print(f"{what}: fit {took:.0f} s, {ROWS} rows, each once; scores differ from one machine's by {off:.1e}, flags in {flags}", flush=True)
    assert off < 1e-6 and flags == 0


compare("three nodes")
timer = threading.Timer(3, lambda: cluster.remove_node(nodes[1], allow_graceful=False))
timer.start()
compare("a node removed in the middle")
timer.join()
print("test:", repr(on_ray.test(want, dataset, key="id", columns=["a", "b"])), flush=True)
ray.shutdown()
cluster.shutdown()
print("done", flush=True)
