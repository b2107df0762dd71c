"""The steps of `throughput.rs` in PyTorch: `python throughput.py [CASE]`."""

import sys
import time

import torch
from torch import nn

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


CASES = [
    ("mlp 784-512-512-10", mlp, (784,), 128),
    ("small convolutions", small, (1, 16, 16), 128),
    ("paper digits", digits, (1, 64, 64), 32),
    ("resnet-20", resnet20, (3, 32, 32), 64),
    ("paper score", score, (1, 64, 64), 32),
]

for name, make, shape, batch in CASES:
    if len(sys.argv) > 1 and sys.argv[1] not in name:
        continue
    network = make()
    optimizer = torch.optim.Adam(network.parameters(), 1e-4)
    x, labels = torch.rand(batch, *shape), torch.arange(batch) % 10
    times = []
    for _ in range(8 if "paper" in name else 40):
        start = time.perf_counter()
        if name == "paper score":
            noise = torch.randn_like(x)
            loss = ((network(x + 0.2 * noise) + noise) ** 2).mean()
        else:
            loss = nn.functional.cross_entropy(network(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        times.append(time.perf_counter() - start)
    times = sorted(times[1:])
    print(f"{name}, batch {batch}: {times[len(times) // 2] * 1e3:.1f} ms a step (best {times[0] * 1e3:.1f})", flush=True)
