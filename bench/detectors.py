"""Times detectors beside pytorch-ood 0.4.0: the same networks, data and threads, in one run.

    pip install torch==2.15.0 pytorch-ood==0.4.0 onnx numpy scikit-learn
    cargo build --release && python bench/detectors.py --taste target/release/taste [--threads 2] [--methods knn,energy]

A residual network for images of 32 × 32 with 64 features is fitted on 5,000 samples and scores 2,000. A dense network with
512 features has 50,000 training samples, for what depends on how many there are. Weights and samples are random: no time
depends on them. Times are of `taste fit` and `taste score` as programs, start and files included, and of `fit` and
`predict` in batches of 100 there, with the model in memory. Fits of ours also calibrate, on 500 samples.

With `--processor` times are of processors, which a machine that is shared does not change much; one thread then, as threads
that wait for each other use processors too. With `--passes` the residual network's passes are counted instead: what a
sample more costs a fit or a score, over what it costs a forward pass of `taste` (`derive --target logit:0 --value`), beside
the passes that `taste list methods` states.
"""

import argparse
import json
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from pytorch_ood import detector as ood
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

BATCH = 100


class Block(nn.Module):
    def __init__(self, width, out, stride):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(width, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU())
        self.second = nn.Sequential(nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out))
        same = stride == 1 and width == out
        self.short = nn.Identity() if same else nn.Conv2d(width, out, 1, stride, bias=False)

    def forward(self, x):
        return F.relu(self.second(self.first(x)) + self.short(x))


class Network(nn.Module):
    def __init__(self, backbone, pool, head):
        super().__init__()
        self.backbone, self.pool, self.head = backbone, pool, head

    def encoder(self, x):
        return self.pool(self.backbone(x))

    def forward(self, x):
        return self.head(self.encoder(x))

    def behind(self, activations):
        return self.head(self.pool(activations))


def residual():
    """ResNet-20."""
    layers = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
    width = 16
    for out, stride in ((16, 1), (32, 2), (64, 2)):
        for i in range(3):
            layers.append(Block(width, out, stride if i == 0 else 1))
            width = out
    return Network(nn.Sequential(*layers), nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()), nn.Linear(64, 10)).eval()


def dense():
    body = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU())
    return Network(body, nn.Identity(), nn.Linear(512, 10)).eval()


def detectors(network):
    weight, bias, features = network.head.weight, network.head.bias, network.head.in_features
    unit = lambda x: F.normalize(network.encoder(x))
    maps = {
        "react": ood.ReAct(network.backbone, network.behind),
        "ash": ood.ASH(network.backbone, network.behind),
        "scale": ood.SCALE(network.backbone, network.behind),
    }
    return (maps if isinstance(network.pool, nn.Sequential) else {}) | {
        "msp": ood.MaxSoftmax(network),
        "max-logit": ood.MaxLogit(network),
        "energy": ood.EnergyBased(network),
        "entropy": ood.Entropy(network),
        "gen": ood.GEN(network),
        "kl-matching": ood.KLMatching(network),
        "odin": ood.ODIN(network),
        "mahalanobis": ood.Mahalanobis(network.encoder),
        "mahalanobis:paper": ood.MahalanobisODIN(unit, eps=0.002),
        "mahalanobis-odin": ood.MahalanobisODIN(network.encoder),
        "relative-mahalanobis": ood.RMD(network.encoder),
        "gmm": ood.GMM(network.encoder),
        "knn": ood.KNN(network.encoder),
        "nnguide": ood.NNGuide(network.encoder, network.head),
        "vim": ood.ViM(network.encoder, d=features // 2, w=weight, b=bias),
        "she": ood.SHE(network.encoder, network.head),
        "dice": ood.DICE(network.encoder, w=weight, b=bias, p=0.7),
        "fdbd": ood.fDBD(network.encoder, network.head),
        "gradnorm": ood.GradNorm(network, param_filter=lambda name: name == "head.weight"),
    }


def answers(network, x):
    """The network's own, so that every class has answers that are right; those that it never gives come on top."""
    with torch.no_grad():
        found = torch.cat([network(part).argmax(1) for part in x.split(500)])
    return found


def spread(network, x):
    """Makes the classes about equally frequent: a random network answers one or two."""
    with torch.no_grad():
        z = network.encoder(x[:1000])
        network.head.weight.copy_(torch.randn_like(network.head.weight) / z.std(0).clamp(min=1e-3))
        network.head.bias.copy_(-(z.mean(0) @ network.head.weight.T))
    return network


def processor() -> float:
    """Seconds of processors, of this program and those that it started."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


clock = time.perf_counter


def seconds(work) -> float:
    start = clock()
    work()
    return clock() - start


@torch.no_grad()
def theirs(detector, x, y, test):
    detector.to("cpu")
    loader = DataLoader(TensorDataset(x, y), batch_size=BATCH)
    fit = seconds(lambda: detector.fit(loader)) if detector.requires_fit else 0.0
    return fit, seconds(lambda: [detector.predict(part) for part in test.split(BATCH)])


def ours(program, method, folder, threads):
    run = lambda *words: subprocess.run([program, *map(str, words), "-q"], check=True, stdout=subprocess.DEVNULL)
    file, shared = folder / "detector.onnx", ["--threads", threads]
    data = ["--data", folder / "train.npy", "--labels", folder / "labels.npy", "--calibration", folder / "held-out.npy"]
    fit = seconds(lambda: run("fit", "--model", folder / "model.onnx", "--method", method, *data, "-o", file, *shared))
    return fit, seconds(lambda: run("score", file, folder / "test.npy", "-o", folder / "scores.npy", *shared))


def save(folder, network, arrays):
    for file, array in arrays.items():
        np.save(folder / f"{file}.npy", array.numpy())
    torch.onnx.export(
        network, (arrays["train"][:2],), str(folder / "model.onnx"), input_names=["x"], output_names=["logits"],
        dynamic_axes={"x": {0: "n"}, "logits": {0: "n"}}, opset_version=17, dynamo=False,
    )


def compare(program, name, network, shape, count, only, threads):
    torch.manual_seed(0)
    x, test, held_out = (torch.randn(n, *shape) for n in (count, 2000, 500))
    y = answers(spread(network, x), x)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        save(folder, network, {"train": x, "labels": y, "test": test, "held-out": held_out})
        forward = seconds(lambda: theirs(ood.MaxLogit(network), x, y, test))
        print(f"\n{name}: {count} training samples, 2000 scored; a forward pass of these in PyTorch takes {forward:.2f} s")
        print("| method | fit: pytorch-ood | taste | score: pytorch-ood | taste | both: times as fast |")
        print("|---|---|---|---|---|---|")
        for method, detector in detectors(network).items():
            if only and method not in only:
                continue
            (a, b), (c, d) = theirs(detector, x, y, test), ours(program, method, folder, threads)
            print(f"| `{method}` | {a:.2f} s | {c:.2f} s | {b:.2f} s | {d:.2f} s | {(a + b) / (c + d):.1f} |", flush=True)


def passes(program, only, rounds):
    """What a sample more costs, in forward passes: the least of some rounds, each by the difference of two sizes."""
    torch.manual_seed(0)
    few, many = 1000, 3000
    network, x = residual(), torch.randn(many, 3, 32, 32)
    y = answers(spread(network, x), x)
    listed = json.loads(subprocess.run([program, "list", "methods", "--json"], check=True, stdout=subprocess.PIPE).stdout)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        save(folder, network, {"train": x, "labels": y, "held-out": torch.randn(300, 3, 32, 32)})
        for count in (few, many):
            np.save(folder / f"x{count}.npy", x[:count].numpy())
            np.save(folder / f"y{count}.npy", y[:count].numpy())
        file, model = folder / "detector.onnx", folder / "model.onnx"

        def run(*words):
            command = [program, *map(str, words), "-q", "--threads", "1"]
            return lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

        def each(command):
            """Seconds of a sample."""
            least = {count: min(seconds(command(count)) for _ in range(rounds)) for count in (few, many)}
            return (least[many] - least[few]) / (many - few)

        forward = each(lambda n: run("derive", model, "-i", folder / f"x{n}.npy", "--target", "logit:0", "--value", folder / "v.npy"))
        print(f"ResNet-20: a forward pass takes {1e3 * forward:.3f} ms of one processor")
        print("| method | fit: passes stated | passes | score: passes stated | passes |")
        print("|---|---|---|---|---|")
        for entry in listed[0]["entries"]:
            method = entry["name"]
            if only and method not in only:
                continue
            data = ["--calibration", folder / "held-out.npy", "-o", file]
            fit = each(lambda n: run("fit", "--model", model, "--method", method, "--data", folder / f"x{n}.npy", "--labels",
                                     folder / f"y{n}.npy", *data))
            score = each(lambda n: run("score", file, folder / f"x{n}.npy", "-o", folder / "scores.npy"))
            print(f"| `{method}` | {entry['fit']} | {fit / forward:.2f} | {entry['score']} | {score / forward:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--taste", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--methods", default="")
    parser.add_argument("--processor", action="store_true")
    parser.add_argument("--passes", action="store_true")
    parser.add_argument("--rounds", type=int, default=3, help="of --passes")
    arguments = parser.parse_args()
    if arguments.processor or arguments.passes:
        global clock
        clock, arguments.threads = processor, 1
    torch.set_num_threads(arguments.threads)
    only = [name for name in arguments.methods.split(",") if name]
    program = arguments.taste.resolve()
    if arguments.passes:
        passes(program, only, arguments.rounds)
        return
    compare(program, "ResNet-20", residual(), (3, 32, 32), 5000, only, arguments.threads)
    many = only or ["mahalanobis", "relative-mahalanobis", "knn", "nnguide", "vim"]
    compare(program, "dense, 512 features", dense(), (256,), 50_000, many, arguments.threads)


if __name__ == "__main__":
    main()
