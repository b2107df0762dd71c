"""The PyTorch side of the training benchmark, asked line by line: each line names a case, each answer is the seconds of a step.

    python bench/training_side.py

Adam, the losses and the batches of the other side; evaluation of the loss, backward pass and update are all counted.
"""

import os
import sys
import time

KEEP = {"MALLOC_TRIM_THRESHOLD_": str(1 << 32), "MALLOC_MMAP_MAX_": "0", "OMP_NUM_THREADS": "2"}
if any(os.environ.get(name) != value for name, value in KEEP.items()):
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | KEEP)

import torch  # noqa: E402
from torch import nn  # noqa: E402

torch.set_num_threads(2)


def conv(i, o, stride=1):
    return nn.Conv2d(i, o, 3, stride, 1)


class Block(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        groups = o // 8
        self.body = nn.Sequential(
            conv(i, o, stride), nn.GroupNorm(groups, o), nn.ReLU(), conv(o, o), nn.GroupNorm(groups, o)
        )
        self.shortcut = nn.Identity() if (i, stride) == (o, 1) else nn.Conv2d(i, o, 1, stride)

    def forward(self, x):
        return torch.relu(self.shortcut(x) + self.body(x))


def resnet20():
    layers = [conv(3, 16), nn.GroupNorm(2, 16), nn.ReLU()]
    inputs = 16
    for width in (16, 32, 64):
        for at in range(3):
            layers.append(Block(inputs, width, 2 if at == 0 and width > 16 else 1))
            inputs = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def digits():
    relu, pool = nn.ReLU(), nn.AvgPool2d(2)
    return nn.Sequential(
        conv(1, 64), relu, pool, conv(64, 192), relu, pool, conv(192, 384), relu, conv(384, 256), relu,
        conv(256, 256), relu, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 512), relu, nn.Linear(512, 128),
        relu, nn.Linear(128, 10),
    )  # fmt: skip


def mlp():
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def small():
    return nn.Sequential(
        conv(1, 16), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(1024, 64), nn.ReLU(), nn.Linear(64, 10)
    )


def score():
    relu = nn.ReLU()
    return nn.Sequential(conv(1, 32), relu, conv(32, 64), relu, conv(64, 64), relu, conv(64, 1))


CASES = {
    "mlp": (mlp, (784,), 128),
    "small-convolutions": (small, (1, 16, 16), 128),
    "paper-digits": (digits, (1, 64, 64), 32),
    "resnet20": (resnet20, (3, 32, 32), 64),
    "paper-score": (score, (1, 64, 64), 32),
}


class Run:
    def __init__(self, case):
        torch.manual_seed(0)
        make, shape, batch = CASES[case]
        self.denoises = case == "paper-score"
        self.network = make()
        self.optimizer = torch.optim.Adam(self.network.parameters(), 1e-4)
        self.x, self.labels = torch.rand(batch, *shape), torch.arange(batch) % 10

    def loss(self):
        if not self.denoises:
            return nn.functional.cross_entropy(self.network(self.x), self.labels)
        noise = torch.randn_like(self.x)
        return ((0.2 * self.network(self.x + 0.2 * noise) + noise) ** 2).mean()

    def step(self):
        start = time.perf_counter()
        loss = self.loss()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return time.perf_counter() - start


runs = {}
for line in sys.stdin:
    case = line.strip()
    if case not in runs:
        runs = {case: Run(case)}
        runs[case].step()
    print(runs[case].step(), flush=True)
