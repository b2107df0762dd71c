"""Networks whose forward passes `pytorch_side.py` times: random weights, batch norms folded, and the inputs that they take."""

import timm
import torch
import torchvision
from torch import nn
from torch.fx.experimental.optimization import fuse
from torch.nn import functional


def folded(net):
    """For inference, with batch norms in the convolutions before them; their statistics are not those of no data."""
    generator = torch.Generator().manual_seed(4)
    for layer in net.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.running_mean.normal_(0, 0.05, generator=generator)
            layer.running_var.uniform_(0.5, 1.5, generator=generator)
    return fuse(net.eval())


def mobilenet():
    torch.manual_seed(0)
    return folded(torchvision.models.mobilenet_v2(weights=None)), (3, 224, 224)


def efficientnet():
    torch.manual_seed(0)
    return folded(timm.create_model("efficientnet_lite0", pretrained=False)), (3, 224, 224)


def vit():
    """Twelve layers of width 192 over 196 patches of 224 × 224 pixels."""
    torch.manual_seed(0)
    return timm.create_model("vit_tiny_patch16_224", pretrained=False), (3, 224, 224)


def mlp():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)), (784,)


class Residual(nn.Module):
    """Two convolutions behind group norms, and a shortcut; the time is fixed, so that it is a bias."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(8, inputs), nn.GroupNorm(8, outputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.shortcut = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x):
        h = self.conv1(functional.silu(self.norm1(x)))
        return self.shortcut(x) + self.conv2(functional.silu(self.norm2(h)))


class Attention(nn.Module):
    def __init__(self, width, heads=8):
        super().__init__()
        self.heads = heads
        self.norm = nn.GroupNorm(8, width)
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x):
        n, c, h, w = x.shape
        entries = self.norm(x).flatten(2).transpose(1, 2)
        q, k, v = (part(entries).view(n, h * w, self.heads, -1).transpose(1, 2) for part in (self.q, self.k, self.v))
        mixed = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, h * w, c)
        return x + self.out(mixed).transpose(1, 2).reshape(n, c, h, w)


class Unet(nn.Module):
    """A noise predictor for 32 × 32 pixels with attention at 8 × 8, 1.1 million parameters."""

    def __init__(self):
        super().__init__()
        self.enter = nn.Conv2d(3, 32, 3, padding=1)
        self.down = nn.ModuleList([Residual(32, 32), Residual(32, 64), Residual(64, 64)])
        self.shrink = nn.ModuleList(nn.Conv2d(c, c, 3, 2, 1) for c in (32, 64))
        self.middle = nn.Sequential(Attention(64), Residual(64, 64), Attention(64), Residual(64, 64))
        sizes = [(128, 64), (128, 64), (128, 64), (96, 64), (96, 32), (64, 32)]
        self.up = nn.ModuleList(Residual(*size) for size in sizes)
        self.mix = nn.ModuleList(Attention(64) for _ in range(2))
        self.grow = nn.ModuleList(nn.Conv2d(64, 64, 3, padding=1) for _ in range(2))
        self.leave = nn.Sequential(nn.GroupNorm(8, 32), nn.SiLU(), nn.Conv2d(32, 3, 3, padding=1))

    def forward(self, x):
        h = self.enter(x)
        kept = [h]
        for level, block in enumerate(self.down):
            h = block(h)
            kept.append(h)
            if level < 2:
                h = self.shrink[level](h)
                kept.append(h)
        h = self.middle(h)
        for level in range(3):
            for i in (2 * level, 2 * level + 1):
                h = self.up[i](torch.cat([h, kept.pop()], 1))
                h = self.mix[i](h) if level == 0 else h
            if level < 2:
                h = self.grow[level](functional.interpolate(h, scale_factor=2.0, mode="nearest"))
        return self.leave(h)


def unet():
    torch.manual_seed(0)
    return Unet(), (3, 32, 32)


# Each with the samples of a batch.
NETWORKS = {"mobilenet": (mobilenet, 16), "efficientnet": (efficientnet, 16), "vit": (vit, 16), "unet": (unet, 32), "mlp": (mlp, 1024)}


def network(name):
    """The network and a batch of inputs, the same every time."""
    make, batch = NETWORKS[name]
    net, shape = make()
    return net.eval(), torch.rand((batch, *shape), generator=torch.Generator().manual_seed(1))
