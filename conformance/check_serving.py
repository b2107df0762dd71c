"""Unmodified clients against `taste serve`: tritonclient (HTTP), KServe's REST client and plain requests score the same
samples in every form that the protocol has, and get the scores of `taste score`.

    python conformance/check_serving.py --taste target/debug/taste [--detector D.onnx --data X.npy] [--short]

Without a detector, `taste demo --fast` makes one of drawn glyphs.
"""

import argparse
import asyncio
import csv
import io
import signal
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import requests
from PIL import Image


def start(taste: Path, detector: Path, state: Path) -> tuple[subprocess.Popen, str]:
    """The service, and where it listens."""
    command = [taste, "serve", f"model={detector}", "--listen", "127.0.0.1:0", "--state", state, "--drain", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if line.startswith("listening on "):
            return process, line.split("//")[1].strip()
        print(line, end="")
    raise SystemExit(f"the service did not start: {process.wait()}")


def table(taste: Path, detector: Path, data: Path) -> dict[str, np.ndarray]:
    """What `taste score` says."""
    text = subprocess.run([taste, "score", detector, data, "-q"], check=True, capture_output=True, text=True).stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    return {name: np.array([float(row[name]) for row in rows]) for name in ("score", "p_value")}


def triton(address: str, x: np.ndarray, wanted: dict[str, np.ndarray]) -> None:
    import tritonclient.http as client_module

    client = client_module.InferenceServerClient(address)
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("model")
    metadata = client.get_model_metadata("model")
    assert client.get_server_metadata()["name"] == "taste"
    assert client.get_model_repository_index()[0]["name"] == "model"
    client.get_inference_statistics("model")
    name = metadata["inputs"][0]["name"]
    for binary in (True, False):
        for sent in (None, "gzip", "deflate"):
            for answered in (None, "gzip", "deflate"):
                for outputs in (None, ["score", "p_value"]):
                    samples = client_module.InferInput(name, list(x.shape), "FP32")
                    samples.set_data_from_numpy(x, binary_data=binary)
                    asked = outputs and [client_module.InferRequestedOutput(o, binary_data=binary) for o in outputs]
                    result = client.infer(
                        "model",
                        [samples],
                        outputs=asked,
                        request_id=f"{binary} {sent} {answered} {outputs}",
                        request_compression_algorithm=sent,
                        response_compression_algorithm=answered,
                        timeout=5_000_000,
                    )
                    for key, values in wanted.items():
                        np.testing.assert_allclose(result.as_numpy(key), values, rtol=1e-4, atol=1e-6)
    half = client_module.InferInput(name, list(x.shape), "FP16")
    half.set_data_from_numpy(x.astype(np.float16))
    assert client.infer("model", [half]).as_numpy("score").shape == (len(x),)
    try:
        client.get_model_metadata("moon")
        raise AssertionError("a model that is not there was described")
    except client_module.InferenceServerException as error:
        assert "no detector" in str(error), error
    print("ok  tritonclient: JSON and binary; plain, gzip and deflate; half precision; errors")


def kserve(address: str, x: np.ndarray, wanted: dict[str, np.ndarray]) -> None:
    from kserve import InferenceRESTClient, InferInput, InferRequest, RESTConfig

    async def run() -> None:
        client = InferenceRESTClient(RESTConfig(protocol="v2"))
        base = f"http://{address}"
        assert await client.is_server_live(base) and await client.is_server_ready(base)
        assert await client.is_model_ready(base, "model")
        metadata = requests.get(f"{base}/v2/models/model", timeout=30).json()
        for binary in (False, True):
            samples = InferInput(metadata["inputs"][0]["name"], list(x.shape), "FP32")
            samples.set_data_from_numpy(x, binary_data=binary)
            request = InferRequest(model_name="model", infer_inputs=[samples])
            answer = await client.infer(base, request, model_name="model")
            found = {output.name: np.asarray(output.as_numpy(), dtype=float) for output in answer.outputs}
            for key, values in wanted.items():
                np.testing.assert_allclose(found[key], values, rtol=1e-4, atol=1e-6)

    asyncio.run(run())
    print("ok  kserve: JSON and binary")


def pictures(address: str, x: np.ndarray) -> None:
    """Bytes as pictures give what bytes as a tensor give."""
    if x.ndim != 4 or x.shape[1] not in (1, 3):
        return
    import tritonclient.http as client_module

    client = client_module.InferenceServerClient(address)
    name = client.get_model_metadata("model")["inputs"][0]["name"]
    pixels = (np.clip(x[:4], 0, 1) * 255).round().astype(np.uint8)
    bytes_ = client_module.InferInput(name, list(pixels.shape), "UINT8")
    bytes_.set_data_from_numpy(pixels)
    wanted = client.infer("model", [bytes_]).as_numpy("score")
    files = []
    for image in pixels:
        file = io.BytesIO()
        array = image[0] if image.shape[0] == 1 else image.transpose(1, 2, 0)
        Image.fromarray(array).save(file, "PNG")
        files.append(file.getvalue())
    tensor = client_module.InferInput(name, [len(files)], "BYTES")
    tensor.set_data_from_numpy(np.array(files, dtype=np.object_))
    np.testing.assert_allclose(client.infer("model", [tensor]).as_numpy("score"), wanted, rtol=1e-5)
    raw = requests.post(
        f"http://{address}/v2/models/model/infer",
        data=files[0],
        headers={"Inference-Header-Content-Length": "0"},
        timeout=30,
    )
    assert raw.status_code == 200 and "Inference-Header-Content-Length" in raw.headers
    one = requests.post(f"http://{address}/v1/score", data=files[1], timeout=30).json()
    np.testing.assert_allclose(one["samples"][0]["score"], wanted[1], rtol=1e-5)
    print("ok  pictures: BYTES, raw body, /v1/score")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--taste", type=Path, required=True)
    parser.add_argument("--detector", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--short", action="store_true", help="without KServe's client, which has many dependencies")
    args = parser.parse_args()
    taste = args.taste.resolve()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        detector, data = args.detector, args.data
        if detector is None:
            subprocess.run([taste, "demo", "--fast", "-q", "--json", "--out", place / "demo"], check=True, stdout=subprocess.DEVNULL)
            detector, data = place / "demo/glyphs-detector.onnx", place / "demo/glyphs-new.npy"
        x = np.load(data)[:16].astype(np.float32)
        np.save(place / "x.npy", x)
        wanted = table(taste, detector, place / "x.npy")
        process, address = start(taste, detector, place / "state")
        try:
            triton(address, x, wanted)
            if not args.short:
                kserve(address, x, wanted)
            pictures(address, x)
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait(timeout=60)
        assert code == 0, f"the service ended with {code}"
        print("ok  the service ended in order")


if __name__ == "__main__":
    main()
