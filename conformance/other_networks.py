"""Makes networks that no fixture has, with data and the scores that pytorch-ood 0.4.0 gives them, for `check_scores.py`.

    pip install torch==2.15.0 torchvision==0.29.2 pytorch-ood==0.4.0 onnx numpy scikit-learn
    python conformance/other_networks.py cases [NAMES] && python conformance/check_scores.py --taste target/debug/taste --cases cases

A ResNet-18 and a small DenseNet of torchvision with random weights and 100 and 12 classes, a convolutional network without
bias in its last layer, one that flattens instead of pooling, a network of two classes with GELU, whose features are
negative too, one whose features are all zero for some samples, and one with more features than training samples.
"""

import sys
from pathlib import Path

import numpy as np
import torch
import torchvision
from torch import nn

sys.path.insert(0, str(Path(__file__).parent.parent / "crates/zoo/tests/fixtures"))
from make_detectors import Network, clusters, train, write

TEST = 64


def settled(network, x, y):
    """Batch norms that know the data, and a last layer that is mostly right about them."""
    with torch.no_grad():
        network.train()
        for _ in range(3):
            for part in x.split(100):
                network.encoder(part)
        network.eval()
        z = torch.cat([network.encoder(part) for part in x.split(100)]).double()
        centre, width = z.mean(0), z.std(0).clamp(min=1e-6)
        z = (z - centre) / width
        wanted = nn.functional.one_hot(y).double() - 1 / (int(y.max()) + 1)
        ridge = torch.linalg.solve(z.T @ z + len(z) * torch.eye(z.shape[1]), z.T @ wanted)
        weight = 20 * (ridge.T / width)
        network.head.weight.copy_(weight)
        if network.head.bias is not None:
            network.head.bias.copy_(-(weight @ centre))
    return network


def resnet18(classes):
    net = torchvision.models.resnet18(num_classes=classes)
    body = nn.Sequential(net.conv1, net.bn1, net.relu, net.maxpool, net.layer1, net.layer2, net.layer3, net.layer4)
    return Network(body, nn.Sequential(net.avgpool, nn.Flatten()), net.fc)


def densenet(classes):
    net = torchvision.models.DenseNet(growth_rate=12, block_config=(2, 2, 2), num_init_features=16, num_classes=classes)
    body = nn.Sequential(net.features, nn.ReLU())
    return Network(body, nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()), net.classifier)


def convolutional(classes, bias, pool):
    body = nn.Sequential(
        nn.Conv2d(1, 12, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(12), nn.ReLU(),
        nn.Conv2d(12, 20, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(20), nn.ReLU(),
    )
    if pool:
        return Network(body, nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()), nn.Linear(20, classes, bias=bias))
    return Network(nn.Sequential(body, nn.Flatten()), nn.Identity(), nn.Linear(20 * 9, classes, bias=bias))


def dense(width, features, classes, kind):
    body = nn.Sequential(nn.Linear(width, 24), kind(), nn.Linear(24, features), kind())
    return Network(body, nn.Identity(), nn.Linear(features, classes))


def networks():
    """Name, network, samples, labels."""
    torch.manual_seed(3)
    x, y = clusters((3, 32, 32), 100, 8, 0.5)
    yield "resnet18", settled(resnet18(100), x, y), x, y
    x, y = clusters((3, 40, 40), 12, 50, 0.7)
    yield "densenet", settled(densenet(12), x, y), x, y
    x, y = clusters((1, 12, 12), 7, 60, 1.5)
    yield "pooled_without_bias", train(convolutional(7, False, True), x, y, 60), x, y
    x, y = clusters((1, 12, 12), 6, 60, 1.5)
    yield "flattened", train(convolutional(6, True, False), x, y, 60), x, y
    x, y = clusters((9,), 2, 150, 1.5)
    yield "two_classes_gelu", train(dense(9, 14, 2, nn.GELU), x, y, 60), x, y
    x, y = clusters((6,), 5, 80, 1.2)
    network = train(dense(6, 16, 5, nn.ReLU), x, y, 60)
    with torch.no_grad():
        network.backbone[2].bias -= 3.0
    yield "zero_features", network, x, y
    x, y = clusters((8,), 3, 20, 1.0)
    yield "more_features_than_samples", train(dense(8, 96, 3, nn.ReLU), x, y, 60), x, y


def main():
    for name, network, x, y in networks():
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        expected, test = write(Path(sys.argv[1]) / name, network, x, y, TEST)
        with torch.no_grad():
            right, zero = (network(x).argmax(1) == y).float().mean(), (network.encoder(test) == 0).all(1).sum()
        nans = [method for method, values in expected.items() if not np.isfinite(values).all()]
        print(f"{name}: {len(x)} samples, right on {100 * right:.0f} %, {int(zero)} of {TEST} without features; not finite: {nans}")


if __name__ == "__main__":
    main()
