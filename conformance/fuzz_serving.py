"""schemathesis on the document of the service: whatever is sent, no answer is a 5xx.

    python conformance/fuzz_serving.py --taste target/debug/taste [--short]
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

DETECTOR = Path(__file__).resolve().parent.parent / "crates/serve/tests/fixtures/plane.onnx"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--taste", type=Path, required=True)
    parser.add_argument("--short", action="store_true", help="ten examples for each operation instead of a hundred")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [args.taste.resolve(), "serve", f"plane={DETECTOR}", "--listen", "127.0.0.1:0"]
        command += ["--state", Path(folder) / "state", "--drain", "0"]
        service = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        base = next(line.split()[-1] for line in service.stderr if line.startswith("listening on "))
        # Events have no end, so that path is left out.
        run = subprocess.run(
            [
                Path(sys.executable).with_name("schemathesis"),
                "run",
                f"{base}/openapi.json",
                "--url",
                base,
                "--checks",
                "not_a_server_error",
                "--exclude-path-regex",
                "/stream$",
                "--max-examples",
                "10" if args.short else "100",
                "--phases",
                "examples,fuzzing",
                "--seed",
                "1",
                "--suppress-health-check",
                "all",
                "--request-timeout",
                "60",
            ],
            cwd=folder,
        )
        service.terminate()
        code = service.wait(timeout=60)
    sys.exit(run.returncode or code)


if __name__ == "__main__":
    main()
