"""The service beside the command and the engine, on one machine in one run; the table of docs/results/serving.md.

    python bench/serving.py --taste target/release/taste --detector D.onnx --data X.npy [--seconds 10]

Throughput: batches of 64 as binary tensors over two connections, in turns with `taste score` on the same samples.
Latency: one sample at a time over one connection, beside the engine's own time of that (`taste_scoring_seconds`), with a
state on the disk, whose flush is measured beside it, and without one.
Overload: more connections than it can serve, with a short queue.
Everything goes to 127.0.0.1 and ends after the seconds that are given.
"""

import argparse
import http.client
import json
import os
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import numpy as np


class Service:
    def __init__(self, taste: Path, detector: Path, log: Path, *more: str):
        command = [taste, "serve", f"model={detector}", "--listen", "127.0.0.1:0", "--drain", "0", *more]
        with log.open("w") as file:
            self.process = subprocess.Popen(command, stderr=file)
        ends = time.monotonic() + 60
        while not (lines := [line for line in log.read_text().splitlines(True) if line.startswith("listening on ") and line.endswith("\n")]):
            if self.process.poll() is not None or time.monotonic() > ends:
                raise SystemExit(log.read_text())
            time.sleep(0.02)
        self.address = lines[0].split("//")[1].strip()
        self.input = json.loads(self.get("/v2/models/model"))["inputs"][0]["name"]

    def get(self, path: str) -> str:
        connection = http.client.HTTPConnection(self.address)
        connection.request("GET", path)
        return connection.getresponse().read().decode()

    def body(self, x: np.ndarray) -> tuple[bytes, dict[str, str]]:
        head = json.dumps(
            {
                "inputs": [{"name": self.input, "shape": x.shape, "datatype": "FP32", "parameters": {"binary_data_size": x.nbytes}}],
                "parameters": {"binary_data_output": True},
            }
        ).encode()
        return head + x.tobytes(), {"Inference-Header-Content-Length": str(len(head))}

    def metric(self, name: str) -> float:
        return sum(float(line.split()[-1]) for line in self.get("/metrics").splitlines() if line.split("{")[0] == name)

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=60)


def post(connection: http.client.HTTPConnection, body: bytes, headers: dict[str, str]) -> int:
    connection.request("POST", "/v2/models/model/infer", body, headers)
    answer = connection.getresponse()
    answer.read()
    return answer.status


def load(service: Service, bodies: list, threads: int, seconds: float, rate: float = 0.0) -> list[tuple[int, float]]:
    """Statuses and times of requests that several connections send one after the other, at a rate of all if one is given."""
    ends, found, lock = time.monotonic() + seconds, [], threading.Lock()

    def run(which: int) -> None:
        connection, own, at = http.client.HTTPConnection(service.address, timeout=60), [], which
        start = time.monotonic() + (which / rate if rate else 0)
        while time.monotonic() < ends:
            if rate:
                time.sleep(max(0, start + len(own) * threads / rate - time.monotonic()))
            begin = time.monotonic()
            own.append((post(connection, *bodies[at % len(bodies)]), time.monotonic() - begin))
            at += threads
        with lock:
            found.extend(own)

    workers = [threading.Thread(target=run, args=(k,)) for k in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return found


def flush(folder: Path) -> float:
    """The median time of the disk to make a few bytes durable."""
    times = []
    with (folder / "flushed").open("wb", buffering=0) as file:
        for _ in range(100):
            file.write(b"." * 64)
            begin = time.monotonic()
            os.fdatasync(file.fileno())
            times.append(time.monotonic() - begin)
    return statistics.median(times)


def alone(service: Service, bodies: list, seconds: float, name: str) -> None:
    """One sample at a time, beside the engine's own time."""
    load(service, bodies, 1, 1.0)
    before = service.metric("taste_scoring_seconds_sum"), service.metric("taste_scoring_seconds_count")
    times = [t for status, t in load(service, bodies, 1, seconds) if status == 200]
    after = service.metric("taste_scoring_seconds_sum"), service.metric("taste_scoring_seconds_count")
    engine = (after[0] - before[0]) / max(after[1] - before[1], 1)
    median = statistics.median(times)
    verdict = "within" if median <= 1.5 * engine + 1e-3 else "above"
    print(
        f"one sample  {name}: median {median * 1e3:.2f} ms, mean {statistics.mean(times) * 1e3:.2f} ms, engine {engine * 1e3:.2f} ms (mean),"
        f" {len(times)} requests: {verdict} 1.5 times plus 1 ms",
        flush=True,
    )


def overload(name: str, outcome: list[tuple[int, float]], seconds: float) -> None:
    taken = sorted(t for status, t in outcome if status == 200)
    refused = sorted(t for status, t in outcome if status == 503)
    odd = {status for status, _ in outcome} - {200, 503}
    print(f"overload    {name}: {len(outcome) / seconds:.0f} requests/s sent, {len(taken)} answered", end="")
    if taken:
        print(f", half within {statistics.median(taken) * 1e3:.0f} ms, the slowest after {taken[-1] * 1e3:.0f} ms", end="")
    print(f"; {len(refused)} refused", end="")
    if refused:
        late = refused[int(0.99 * (len(refused) - 1))], refused[-1]
        print(f", half within {statistics.median(refused) * 1e3:.1f} ms, 99 % within {late[0] * 1e3:.0f} ms, all within {late[1] * 1e3:.0f} ms", end="")
    print(f"; other statuses {odd or 'none'}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--taste", type=Path, required=True)
    parser.add_argument("--detector", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    taste = args.taste.resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        x = np.load(args.data)[:4096].astype(np.float32)
        np.save(folder / "x.npy", x)
        service = Service(taste, args.detector.resolve(), folder / "log", "--state", folder / "state")
        bodies = [service.body(x[i : i + 64]) for i in range(0, len(x) - 63, 64)]
        load(service, bodies, 2, 2.0)
        ratios, rates = [], []
        for _ in range(args.rounds):
            served = load(service, bodies, 2, args.seconds)
            rate = 64 * sum(status == 200 for status, _ in served) / args.seconds
            rates.append(rate)
            begin = time.monotonic()
            subprocess.run([taste, "score", args.detector.resolve(), folder / "x.npy", "-o", folder / "s.csv", "-q"], check=True)
            command = len(x) / (time.monotonic() - begin)
            ratios.append(rate / command)
            print(f"throughput  service {rate:8.0f} samples/s   taste score {command:8.0f}   ratio {rate / command:.2f}", flush=True)
        print(f"throughput  median ratio {statistics.median(ratios):.2f}")

        single = [service.body(x[i : i + 1]) for i in range(200)]
        print(f"one sample  the disk makes a few bytes durable in {flush(folder) * 1e3:.2f} ms (median)")
        alone(service, single, args.seconds, "state on the disk")
        service.close()
        service = Service(taste, args.detector.resolve(), folder / "log")
        alone(service, single, args.seconds, "without a state")
        service.close()

        service = Service(taste, args.detector.resolve(), folder / "log", "--state", folder / "other", "--queue", "128", "--timeout", "5")
        for name, pace in (("twice the load", 2 * statistics.median(rates) / 64), ("no pause at all", 0.0)):
            overload(name, load(service, bodies, 16, args.seconds, pace), args.seconds)
        service.close()


if __name__ == "__main__":
    main()
