"""Memory and disk of `taste monitor` and `taste serve` over long runs: docs/results/monitoring.md.

    python bench/endurance.py --taste target/release/taste --detector detector.onnx --data rows.npy --work WORK

Rows are sent again from the start when they are at an end. The monitor watches a folder that is filled with files of
20,000 rows, the service gets binary tensors of 500 rows under names of their own. Prints Markdown.
"""

import argparse
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np

FILE, REQUEST = 20_000, 500


class Watched:
    """A process and its state, with the most that both ever took."""

    def __init__(self, command, state, log):
        self.state, self.log, self.most = state, log, 0.0
        with log.open("w") as file:
            self.process = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=file)

    def memory(self, name):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(name + r":\s+(\d+)", status)[1]) / 1024

    def disk(self):
        total = 0
        for path in self.state.rglob("*"):
            try:
                total += path.stat().st_size if path.is_file() else 0
            except FileNotFoundError:
                pass
        self.most = max(self.most, total / 2**20)
        return total / 2**20

    def row(self, name, samples):
        print(f"| {name} | {samples:,} | {self.memory('VmRSS'):.1f} | {self.memory('VmHWM'):.1f} | {self.disk():.2f} | {self.most:.2f} |", flush=True)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)


def rows(data, first, count):
    return np.take(data, range(first, first + count), axis=0, mode="wrap")


def monitor(options, data, points):
    state, folder = options.work / "monitor", options.work / "incoming"
    folder.mkdir()
    run = Watched([options.taste, "monitor", options.detector, "--watch", folder, "--state", state], state, options.work / "monitor.log")
    for number in range(points[-1] // FILE):
        np.save(options.work / "part.npy", rows(data, number * FILE, FILE))
        os.replace(options.work / "part.npy", folder / f"{number:06}.npy")
        sent = (number + 1) * FILE
        while sent % 100_000 == 0 or sent in points:
            lines = re.findall(r"^([\d ,  ]+) samples:", run.log.read_text(), re.M)
            run.disk()
            if lines and int(re.sub(r"\D", "", lines[-1])) > sent - 10_000:
                break
            if run.process.poll() is not None:
                raise SystemExit(run.log.read_text()[-500:])
            time.sleep(0.1)
        if sent in points:
            time.sleep(1.0)
            run.row("monitor", sent)
    run.end()


def service(options, data, points):
    state = options.work / "serve"
    command = [options.taste, "serve", f"model={options.detector}", "--listen", "127.0.0.1:0", "--state", state, "--drain", "0"]
    run = Watched(command, state, options.work / "serve.log")
    ends = time.monotonic() + 30
    while not (found := re.search(r"listening on http://(\S+)\n", run.log.read_text())):
        if run.process.poll() is not None or time.monotonic() > ends:
            raise SystemExit(run.log.read_text()[-500:])
        time.sleep(0.05)
    connection = http.client.HTTPConnection(found[1], timeout=60)
    connection.request("GET", "/v2/models/model")
    name = json.loads(connection.getresponse().read())["inputs"][0]["name"]
    for number in range(points[-1] // REQUEST):
        x = rows(data, number * REQUEST, REQUEST).astype(np.float32)
        tensor = {"name": name, "shape": x.shape, "datatype": "FP32", "parameters": {"binary_data_size": x.nbytes}}
        head = json.dumps({"id": f"request {number}", "inputs": [tensor]}).encode()
        connection.request("POST", "/v2/models/model/infer", head + x.tobytes(), {"Inference-Header-Content-Length": str(len(head))})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise SystemExit(text.decode())
        sent = (number + 1) * REQUEST
        if sent % 10_000 == 0:
            run.disk()
        if sent in points:
            run.row("service", sent)
    run.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--taste", type=Path, required=True)
    parser.add_argument("--detector", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("endurance"))
    parser.add_argument("--samples", type=int, default=5_000_000)
    parser.add_argument("--parts", default="monitor,service")
    options = parser.parse_args()
    shutil.rmtree(options.work, ignore_errors=True)
    options.work.mkdir(parents=True)
    data = np.load(options.data)
    points = [p for p in (20_000, 100_000, 500_000, 1_000_000, 2_000_000, 3_000_000, 4_000_000, 5_000_000, 10_000_000, 15_000_000) if p <= options.samples]
    print("| | samples | memory, MiB | the most so far | folder, MiB | the most so far |\n|---|---:|---:|---:|---:|---:|")
    for part, what in (("monitor", monitor), ("service", service)):
        if part in options.parts.split(","):
            what(options, data, points)


if __name__ == "__main__":
    main()
