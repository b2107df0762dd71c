"""Kills `taste monitor` at random moments, again and again, and compares with a run that was left alone.

    python bench/kills.py --taste target/release/taste --detector detector.onnx --data stream.npy --kills 1000

The evidence must be the same to the last bit, and every sample must be counted just once. When a stream is at its end it
starts anew in another state. Exit code 1 if anything differs.
"""

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

KEPT = ("samples", "log_evidence", "lifetime_p_value", "not_finite")


def evidence(report):
    """What must not differ."""
    streams = [stream["log_evidence"] for stream in report["streams"]]
    alarms = [(alarm["raised"]["sample"], alarm["effect"], alarm["crossings"]) for alarm in report["alarms"]]
    return [report[name] for name in KEPT] + [streams, alarms, report["flagged"]["count"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--taste", type=Path, required=True)
    parser.add_argument("--detector", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("kills"))
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    options.work.mkdir(parents=True, exist_ok=True)

    def command(state, *more):
        return [str(options.taste), "monitor", str(options.detector), str(options.data), "--state", str(state), "-q",
                "--batch", str(options.batch), *more]

    def finished(state):
        run = subprocess.run(command(state, "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if run.returncode not in (0, 1):
            sys.exit(f"{state}: {run.stderr}")
        return evidence(json.loads(run.stdout))

    whole = options.work / "whole"
    shutil.rmtree(whole, ignore_errors=True)
    started = time.monotonic()
    wanted = finished(whole)
    usual = time.monotonic() - started
    kills, streams, wrong, running = 0, 0, 0, 0
    while kills < options.kills:
        streams += 1
        torn = options.work / "torn"
        shutil.rmtree(torn, ignore_errors=True)
        while kills < options.kills:
            child = subprocess.Popen(command(torn), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            # Anywhere in a run, the opening of the state included.
            time.sleep(draw.uniform(0, 0.5 * usual))
            ended = child.poll() is not None
            child.send_signal(signal.SIGKILL)
            child.wait()
            kills += 1
            running += not ended
            if ended:
                break
        if finished(torn) != wanted:
            wrong += 1
            print(f"stream {streams}: another result behind kill {kills}", flush=True)
    print(f"{kills} kills, {running} of them while the program ran, in {streams} streams of {wanted[0]} samples: "
          f"{streams - wrong} with the evidence of the undisturbed run to the last bit, {wrong} without")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
