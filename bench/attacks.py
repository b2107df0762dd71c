"""Holds `taste attack` against torchattacks 3.5.1 and pyautoattack 0.2.0 on the same networks, images and settings.

    attacks.py train MNIST_DIR mnist_robust.onnx        an adversarially trained MNIST network, in a minute or two
    attacks.py compare TASTE MODEL DATA --attack apgd-ce --eps 4/255 --seeds 3 --images 500
    attacks.py time TASTE MODEL DATA --eps 2/255 --images 500

MODEL is the network that `train` wrote, or a ResNet-20 for CIFAR-10 in ONNX with convolutions and batch norms folded; it
is rebuilt in PyTorch from the weights in the file, and held against ONNX Runtime before anything else. DATA is a folder
with the files of MNIST or CIFAR-10 (`test_batch.bin`, gzip or not). Accuracy is always that of the PyTorch network, also
for samples that `taste` moved. Lines of JSON go to standard output. With fewer `--peer-seeds` than `--seeds` the PyTorch
side, which is slower, runs less often.
"""

import argparse
import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn
from torch.nn import functional as F

class Small(nn.Module):
    """Two convolutions with stride and two linear layers, as in Wong, Rice and Kolter 2020."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 4, stride=2, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 4, stride=2, padding=1)
        self.fc1 = nn.Linear(32 * 7 * 7, 100)
        self.fc2 = nn.Linear(100, 10)

    def forward(self, x):
        x = F.relu(self.conv2(F.relu(self.conv1(x))))
        return self.fc2(F.relu(self.fc1(x.flatten(1))))

    def save(self, path):
        nodes, weights = [], []
        for name, tensor in self.state_dict().items():
            weights.append(numpy_helper.from_array(tensor.numpy(), name))
        for name, inside in [("conv1", "x"), ("conv2", "r1")]:
            arguments = [inside, f"{name}.weight", f"{name}.bias"]
            nodes.append(helper.make_node("Conv", arguments, [name], kernel_shape=[4, 4], strides=[2, 2], pads=[1, 1, 1, 1]))
            nodes.append(helper.make_node("Relu", [name], [{"conv1": "r1", "conv2": "r2"}[name]]))
        nodes.append(helper.make_node("Flatten", ["r2"], ["flat"]))
        nodes.append(helper.make_node("Gemm", ["flat", "fc1.weight", "fc1.bias"], ["h"], transB=1))
        nodes.append(helper.make_node("Relu", ["h"], ["r3"]))
        nodes.append(helper.make_node("Gemm", ["r3", "fc2.weight", "fc2.bias"], ["logits"], transB=1))
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 1, 28, 28])
        y = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10])
        graph = helper.make_graph(nodes, "mnist", [x], [y], weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


class ResNet20(nn.Module):
    """A ResNet for CIFAR-10 whose shortcuts take every second pixel and pad channels with zeros."""

    def __init__(self, graph):
        super().__init__()
        weights = {t.name: torch.tensor(numpy_helper.to_array(t).copy()) for t in graph.initializer}
        convolutions = [node for node in graph.node if node.op_type == "Conv"]
        self.filters = [[weights[name] for name in node.input[1:]] for node in convolutions]
        head = next(node for node in graph.node if node.op_type == "Gemm")
        self.head = [weights[name] for name in head.input[1:]]
        sub, div = (next(n for n in graph.node if n.op_type == kind) for kind in ("Sub", "Div"))
        self.mean, self.std = weights[sub.input[1]], weights[div.input[1]]

    def forward(self, x):
        x = F.relu(F.conv2d((x - self.mean) / self.std, *self.filters[0], padding=1))
        for first, second in zip(self.filters[1::2], self.filters[2::2]):
            wide = first[0].shape[0] // first[0].shape[1]
            y = F.relu(F.conv2d(x, *first, padding=1, stride=wide))
            y = F.conv2d(y, *second, padding=1)
            if wide == 2:
                quarter = first[0].shape[0] // 4
                x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, quarter, quarter))
            x = F.relu(y + x)
        return F.linear(x.mean((2, 3)), *self.head)


def opened(path):
    return gzip.open(path) if path.suffix == ".gz" else open(path, "rb")


def found(folder, stem):
    return next(path for path in sorted(Path(folder).iterdir()) if path.name.startswith(stem))


def mnist(folder, part):
    with opened(found(folder, f"{part}-images")) as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 1, 28, 28)
    with opened(found(folder, f"{part}-labels")) as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    return images.astype(np.float32) / np.float32(255), labels.astype(np.int64)


def cifar(folder):
    with opened(found(folder, "test_batch")) as file:
        rows = np.frombuffer(file.read(), np.uint8).reshape(-1, 3073)
    return rows[:, 1:].reshape(-1, 3, 32, 32).astype(np.float32) / np.float32(255), rows[:, 0].astype(np.int64)


def network(path):
    graph = onnx.load(path).graph
    if any(t.name == "fc2.weight" for t in graph.initializer):
        net = Small()
        net.load_state_dict({t.name: torch.tensor(numpy_helper.to_array(t).copy()) for t in graph.initializer})
    else:
        net = ResNet20(graph)
    return net.eval().requires_grad_(False)


def samples(net, folder, count):
    x, y = mnist(folder, "t10k") if isinstance(net, Small) else cifar(folder)
    return x[:count].copy(), y[:count].copy()


def answers(net, x):
    with torch.no_grad():
        parts = [net(torch.from_numpy(x[i:i + 250])).argmax(1) for i in range(0, len(x), 250)]
    return torch.cat(parts).numpy()


def check(net, path, x):
    session = onnxruntime.InferenceSession(path)
    want = session.run(["logits"], {"x": x[:50]})[0]
    with torch.no_grad():
        got = net(torch.from_numpy(x[:50])).numpy()
    assert np.abs(got - want).max() < 1e-3 * np.abs(want).max(), "the network is not that of the file"


def train(arguments):
    torch.manual_seed(0)
    x, y = (torch.from_numpy(a) for a in mnist(arguments.data, "train"))
    x, y = x[:arguments.images], y[:arguments.images]
    net, eps, step = Small(), 0.3, 0.375
    steps = arguments.epochs * len(x) // 100
    adam = torch.optim.Adam(net.parameters())
    rate = torch.optim.lr_scheduler.OneCycleLR(adam, 5e-3, steps)
    for epoch in range(arguments.epochs):
        for places in torch.randperm(len(x))[:len(x) // 100 * 100].split(100):
            a, b = x[places], y[places]
            # One step from a random point, with eps that grows in the first epoch.
            most = eps * min(1.0, (rate.last_epoch + 1) / (steps / arguments.epochs))
            moved = (a + torch.empty_like(a).uniform_(-most, most)).clamp(0, 1).requires_grad_()
            slope, = torch.autograd.grad(F.cross_entropy(net(moved), b), moved)
            moved = (moved + step / eps * most * slope.sign()).clamp(a - most, a + most).clamp(0, 1).detach()
            loss = F.cross_entropy(net(moved), b)
            adam.zero_grad()
            loss.backward()
            adam.step()
            rate.step()
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}", file=sys.stderr)
    net.save(arguments.out)


def peer(net, name, norm, eps, seed, x, y):
    """The moved samples of the PyTorch side."""
    import pyautoattack
    import torchattacks

    torch.manual_seed(seed)
    x, y = torch.from_numpy(x), torch.from_numpy(y)
    kind, _, settings = name.partition(":")
    given = dict(part.partition("=")[::2] for part in settings.split(",") if part)
    if kind == "fgsm":
        return torchattacks.FGSM(net, eps=eps)(x, y).numpy()
    if kind == "pgd":
        steps, random = int(given.get("steps", 50)), "random" in given
        if norm == "linf":
            attack = torchattacks.PGD(net, eps=eps, alpha=eps / 4, steps=steps, random_start=random)
        else:
            attack = torchattacks.PGDL2(net, eps=eps, alpha=eps / 5, steps=steps, random_start=random)
        return attack(x, y).numpy()
    norm = {"linf": "Linf", "l2": "L2"}[norm]
    if kind == "autoattack":
        whole = pyautoattack.AutoAttack(net, norm=norm, eps=eps, seed=seed, version="standard")
    else:
        whole = pyautoattack.AutoAttack(net, norm=norm, eps=eps, seed=seed, version="custom", attacks=[kind])
        whole.apgd.n_restarts = 1
        if kind == "square":
            whole.square.n_queries = int(given.get("queries", 5000))
        if "steps" in given:
            raise SystemExit("only the default number of steps is the same on both sides")
    return whole.run_standard_evaluation(x, y, batch_size=250)[0].numpy()


def ours(program, model, name, norm, eps, seed, threads, x, y, folder):
    """The moved samples of `taste attack`, and what it says."""
    out = folder / "out.npy"
    np.save(folder / "x.npy", x)
    np.save(folder / "y.npy", y)
    command = [program, "attack", model, folder / "x.npy", "--labels", folder / "y.npy", "--attack", name, "--eps", repr(eps),
               "--norm", norm, "--seed", str(seed), "--threads", str(threads), "--json", "-q", "-o", out]
    said = subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True).stdout
    return np.load(out), json.loads(said)


def processor() -> float:
    """Seconds of processors, of this program and those that it started."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def lengths(norm, x, moved):
    change = (moved.astype(np.float64) - x).reshape(len(x), -1)
    return np.abs(change).max(1) if norm == "linf" else np.sqrt((change ** 2).sum(1))


def outcome(net, norm, eps, x, y, moved, slack):
    far = lengths(norm, x, moved)
    assert moved.min() >= 0 and moved.max() <= 1, "outside of the box"
    assert far.max() <= eps * (1 + slack), f"outside of the ball: {far.max()} for {eps}"
    right, before = answers(net, moved) == y, answers(net, x) == y
    misled = before & ~right
    return float(right.mean()), float(np.median(far[misled])) if misled.any() else None


def compare(arguments):
    net = network(arguments.model)
    x, y = samples(net, arguments.data, arguments.images)
    check(net, arguments.model, x)
    for text in arguments.eps:
        above, _, below = text.partition("/")
        eps = float(above) / float(below or 1)
        sides = {"peer": [], "taste": []}
        for seed in range(arguments.seeds):
            if seed < arguments.peer_seeds:
                start, used = time.time(), processor()
                moved = peer(net, arguments.attack, arguments.norm, eps, seed, x, y)
                taken = time.time() - start, processor() - used
                sides["peer"].append((*outcome(net, arguments.norm, eps, x, y, moved, 1e-4), *taken))
            with tempfile.TemporaryDirectory() as folder:
                used = processor()
                moved, said = ours(arguments.program, arguments.model, arguments.attack, arguments.norm, eps, seed,
                                   arguments.threads, x, y, Path(folder))
                # In double precision, without any slack.
                used = processor() - used
                found = outcome(net, arguments.norm, eps, x, y, moved, 0)
                sides["taste"].append((*found, said["seconds"], used))
                assert abs(said["accuracy_after"] - found[0]) < 0.005, "both networks agree on what was moved"
        line = {"model": Path(arguments.model).name, "attack": arguments.attack, "norm": arguments.norm, "eps": text,
                "images": len(x), "seeds": arguments.seeds, "clean": float((answers(net, x) == y).mean())}
        for side, runs in sides.items():
            line[side] = {"accuracy": round(float(np.mean([r[0] for r in runs])), 4), "each": [r[0] for r in runs],
                          "median_change": runs[0][1], "seconds": round(float(np.mean([r[2] for r in runs])), 1),
                          "processor": round(float(np.mean([r[3] for r in runs])), 1)}
        line["points"] = round(100 * (line["taste"]["accuracy"] - line["peer"]["accuracy"]), 2)
        print(json.dumps(line), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    made = commands.add_parser("train")
    made.add_argument("data")
    made.add_argument("out")
    made.add_argument("--images", type=int, default=30000)
    made.add_argument("--epochs", type=int, default=4)
    made.set_defaults(run=train)
    for name, attack in [("compare", None), ("time", "autoattack")]:
        made = commands.add_parser(name)
        made.add_argument("program")
        made.add_argument("model")
        made.add_argument("data")
        made.add_argument("--attack", default=attack, required=attack is None)
        made.add_argument("--norm", default="linf", choices=["linf", "l2"])
        made.add_argument("--eps", nargs="+", required=True)
        made.add_argument("--seeds", type=int, default=3 if attack is None else 1)
        made.add_argument("--peer-seeds", type=int, default=3)
        made.add_argument("--images", type=int, default=500)
        made.set_defaults(run=compare)
    parser.add_argument("--threads", type=int, default=2, help="of either side")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    arguments.run(arguments)


if __name__ == "__main__":
    main()
