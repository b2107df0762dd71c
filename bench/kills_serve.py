"""Kills `taste serve` under load at random moments, again and again, and compares with a run that was left alone.

    python bench/kills_serve.py --taste target/release/taste --detector detector.onnx --data rows.npy --kills 1000

Four connections send rows, each under its own name. What was not answered is sent again under that name after the next
start. In the end every row that was sent must be counted just once, under a record of its own, and the evidence must be
that of another service that was sent the rows in the order of those records, to the last bit. Exit code 1 otherwise.
"""

import argparse
import http.client
import json
import random
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np


class Service:
    def __init__(self, options, state):
        self.log = options.work / "log"
        command = [options.taste, "serve", f"model={options.detector}", "--listen", "127.0.0.1:0", "--state", state, "--drain", "0"]
        with self.log.open("w") as file:
            self.process = subprocess.Popen(command, stderr=file)

    def listens(self, seconds=30.0):
        """Waits for the address; none if the time is over."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            for line in self.log.read_text().splitlines(True):
                if line.startswith("listening on ") and line.endswith("\n"):
                    self.address = line.split("//")[1].strip()
                    connection = http.client.HTTPConnection(self.address, timeout=60)
                    self.input = self.ask(connection, "/v2/models/model")[1]["inputs"][0]["name"]
                    return True
            if self.process.poll() is not None:
                sys.exit(self.log.read_text())
            time.sleep(0.005)
        return False

    def kill(self):
        self.process.kill()
        self.process.wait()

    def ask(self, connection, path, value=None):
        body = None if value is None else json.dumps(value)
        connection.request("GET" if value is None else "POST", path, body)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def send(self, connection, rows, name=""):
        tensor = {"name": self.input, "shape": rows.shape, "datatype": "FP32", "data": rows.ravel().tolist()}
        return self.ask(connection, "/v2/models/model/infer", {"id": name, "inputs": [tensor]})


class Load:
    """Rows that are sent, and the records under which they were counted."""

    def __init__(self, rows):
        self.rows, self.next, self.open, self.records, self.lock = rows, 0, [], {}, threading.Lock()
        self.odd, self.repeated = [], 0

    def take(self, fresh):
        with self.lock:
            if self.open:
                return self.open.pop()
            if not fresh or self.next >= len(self.rows):
                return None
            self.next += 1
            return self.next - 1

    def run(self, service, fresh=True):
        connection = http.client.HTTPConnection(service.address, timeout=60)
        while (row := self.take(fresh)) is not None:
            try:
                status, answer = service.send(connection, self.rows[row : row + 1], f"row {row}")
            except (OSError, http.client.HTTPException, ValueError):
                with self.lock:
                    self.open.append(row)
                return
            with self.lock:
                if status == 200:
                    self.records[row] = answer["parameters"]["sequence"]
                    self.repeated += bool(answer["parameters"].get("duplicate"))
                else:
                    self.odd.append((row, status, answer))


def known(service):
    return service.ask(http.client.HTTPConnection(service.address, timeout=60), "/v1/monitors/model")[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--taste", type=Path, required=True)
    parser.add_argument("--detector", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("kills"))
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    shutil.rmtree(options.work, ignore_errors=True)
    options.work.mkdir(parents=True)
    load, state, opening = Load(np.load(options.data).astype(np.float32)), options.work / "state", 0
    for kill in range(options.kills):
        service = Service(options, state)
        if kill % 10 == 9:  # while the state is opened
            time.sleep(draw.uniform(0, 0.05))
            opening += 1
            service.kill()
            continue
        assert service.listens()
        workers = [threading.Thread(target=load.run, args=(service,)) for _ in range(4)]
        for worker in workers:
            worker.start()
        time.sleep(draw.uniform(0, 0.3))
        service.kill()
        for worker in workers:
            worker.join()
        if load.odd:
            sys.exit(f"answers that are neither 200 nor cut off: {load.odd[:3]}")
        if kill % 100 == 98:
            print(f"{kill + 1} kills, {len(load.records)} rows answered", flush=True)
    service = Service(options, state)
    assert service.listens()
    load.run(service, fresh=False)
    disturbed = known(service)
    service.kill()
    order = sorted(load.records, key=load.records.get)
    calm = Service(options, options.work / "calm")
    assert calm.listens()
    connection = http.client.HTTPConnection(calm.address, timeout=60)
    for start in range(0, len(order), 64):
        status, answer = calm.send(connection, load.rows[order[start : start + 64]])
        assert status == 200, answer
    wanted = known(calm)
    calm.kill()
    wrong = [name for name in ("samples", "log_evidence", "flagged") if disturbed[name] != wanted[name]]
    once = len(set(load.records.values())) == len(order) == load.next == disturbed["samples"]
    print(f"{options.kills} kills, {opening} of them while the state was opened: {load.next} rows sent, {len(order)} answered, "
          f"{load.repeated} of them sent again and known, {disturbed['samples']} counted, each {'once' if once else 'NOT once'}; "
          f"evidence {disturbed['log_evidence']} beside {wanted['log_evidence']} undisturbed; "
          f"{'nothing differs' if not wrong else f'{wrong} differ'}")
    sys.exit(0 if once and not wrong else 1)


if __name__ == "__main__":
    main()
