"""Networks of PyTorch by both exporters."""

import io
import logging
import tempfile
import warnings
from pathlib import Path

import numpy as np
import torch
from torch import nn

from families import Export, Table, blobs, ids, images, lists, padded, read

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
# The fused layer has no ONNX operator.
torch.backends.mha.set_fastpath_enabled(False)
TABLE = Table("PyTorch")
EXPORTERS = {"torch.export": True, "TorchScript": False}


def to_onnx(
    model: nn.Module, example, dynamo: bool, batch: bool = True, names: list[str] | None = None, sequences: bool = False
) -> bytes:
    """The model as a file with everything in it, and a batch of any size unless that is not wanted; sequences of any length
    if they are."""
    model.eval()
    names = names or ["x"]
    example = example if isinstance(example, tuple) else (example,)
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        path = Path(folder) / "model.onnx"
        if dynamo:
            axes = {0: torch.export.Dim.DYNAMIC} | ({1: torch.export.Dim.DYNAMIC} if sequences else {})
            shapes = tuple(dict(axes) for _ in example) if batch else None
            torch.onnx.export(model, example, str(path), input_names=names, dynamic_shapes=shapes, dynamo=True,
                              external_data=False, verbose=False)
            return read(path)
        buffer = io.BytesIO()
        axes = {n: {0: "n"} | ({1: "length"} if sequences else {}) for n in names} if batch else None
        torch.onnx.export(model, example, buffer, input_names=names, dynamic_axes=axes, dynamo=False)
        return buffer.getvalue()


def family(name: str, holds: str, exporters=EXPORTERS, batch: bool = True):
    """Declares a network by each exporter: the function gives a network, training and fresh samples."""

    def declare(make):
        for exporter in exporters:

            def export(exporter=exporter) -> Export:
                torch.manual_seed(0)
                model, train, fresh = make()
                example = torch.from_numpy(train[:2] if batch is True else train[:batch])
                if batch == 0:
                    example = torch.from_numpy(train[0])
                return Export(to_onnx(model, example, EXPORTERS[exporter], batch is True), train, fresh)

            TABLE.add(f"{name}; {exporter}", holds)(export)
        return make

    return declare


def mlp(width: int, outputs: int, *last: nn.Module) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, outputs), *last)


def table(name: str):
    train, _, fresh = blobs(name)
    return train, fresh


@family("MLP, logits", "classes")
def mlp_logits():
    return mlp(6, 4), *table("mlp")


@family("MLP, softmax", "classes", ["TorchScript"])
def mlp_softmax():
    return mlp(6, 4, nn.Softmax(1)), *table("softmax")


@family("MLP, one sigmoid", "binary")
def mlp_sigmoid():
    return mlp(6, 1, nn.Sigmoid()), *table("sigmoid")


@family("MLP, several sigmoids", "labels", ["torch.export"])
def mlp_labels():
    return mlp(6, 5, nn.Sigmoid()), *table("labels")


@family("MLP, one number", "numbers", ["torch.export"])
def mlp_number():
    return mlp(6, 1), *table("number")


def cnn(*last: nn.Module) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10), *last,
    )


@family("CNN", "classes")
def cnn_logits():
    return cnn(), *images("cnn", (3, 16, 16))


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.RNNBase]):
        super().__init__()
        self.body, self.head = kind(4, 12, batch_first=True), nn.Linear(12, 3)

    def forward(self, x):
        return self.head(self.body(x)[0][:, -1])


@family("LSTM", "classes")
def lstm():
    return Recurrent(nn.LSTM), *images("lstm", (9, 4))


@family("GRU", "classes", ["TorchScript"])
def gru():
    return Recurrent(nn.GRU), *images("gru", (9, 4))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Linear(4, 16), nn.Linear(16, 3)
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, activation="gelu")
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x):
        return self.head(self.body(self.first(x)).mean(1))


@family("Transformer encoder", "classes")
def transformer():
    return Transformer(), *images("transformer", (9, 4))


class Texts(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Embedding(100, 16), mlp(16, 3)

    def forward(self, x):
        return self.head(self.body(x).mean(1))


@family("Text classifier of token ids", "classes")
def texts():
    return Texts(), *ids("texts", 100, 12)


class Segmentation(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 4, 1))

    def forward(self, x):
        return self.body(x)


class MaskedTexts(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Embedding(100, 16), mlp(16, 3)

    def forward(self, input_ids, attention_mask):
        mask = attention_mask.to(torch.float32)[..., None]
        return self.head((self.body(input_ids) * mask).sum(1) / mask.sum(1))


def masked_texts(exporter: str):
    @TABLE.add(f"Text classifier of token ids and a mask, any length; {exporter}", "classes")
    def export() -> Export:
        torch.manual_seed(0)
        train, fresh = ids("masked", 98, 12)
        tables = [{"input_ids": lists(x, "masked")} for x in (train + 1, fresh + 1)]
        longest = max(len(row) for row in tables[0]["input_ids"])
        example = tuple(torch.from_numpy(v[:2]) for v in padded(tables[0], longest).values())
        names = ["input_ids", "attention_mask"]
        model = to_onnx(MaskedTexts(), example, EXPORTERS[exporter], names=names, sequences=True)
        return Export(model, *tables, lambda table: padded(table, longest))


for exporter in EXPORTERS:
    masked_texts(exporter)


@family("MLP, double precision", "classes", ["TorchScript"])
def mlp_double():
    train, fresh = table("double")
    return mlp(6, 4).double(), train.astype(np.float64), fresh.astype(np.float64)


@family("Signals: Conv1d and a GRU", "classes", ["TorchScript"])
def signals():
    class Signals(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.body, self.head = nn.Conv1d(2, 8, 5), nn.GRU(8, 12, batch_first=True, bidirectional=True), nn.Linear(24, 3)

        def forward(self, x):
            return self.head(self.body(self.first(x).relu().transpose(1, 2))[0].mean(1))

    return Signals(), *images("signals", (2, 40))


@family("Segmentation network", "refused", ["torch.export"])
def segmentation():
    return Segmentation(), *images("segmentation", (3, 16, 16))


class Detection(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, stride=2), nn.ReLU())
        self.boxes, self.classes = nn.Conv2d(8, 12, 1), nn.Conv2d(8, 15, 1)

    def forward(self, x):
        h = self.body(x)
        boxes, classes = (part.flatten(2).transpose(1, 2) for part in (self.boxes(h), self.classes(h)))
        return boxes.reshape(len(x), -1, 4), classes.reshape(len(x), -1, 5).softmax(2)


@family("Object detector", "refused", ["torch.export"])
def detection():
    return Detection(), *images("detection", (3, 16, 16))


class Boxes(nn.Module):
    """A face detector's last stage: a box, landmarks and whether there is a face."""

    def __init__(self):
        super().__init__()
        self.body, self.box, self.face = cnn()[:-1], nn.Linear(16, 4), nn.Linear(16, 2)

    def forward(self, x):
        h = self.body(x)
        return self.box(h), self.face(h).softmax(1)


@family("Box and softmax side by side", "classes", ["TorchScript"])
def boxes():
    return Boxes(), *images("boxes", (3, 16, 16))


@family("MLP, batch of 8 fixed", "classes", ["TorchScript"], batch=8)
def fixed_batch():
    return mlp(6, 4), *table("fixed")


@family("MLP, no batch axis", "classes", ["TorchScript"], batch=0)
def no_batch():
    return mlp(6, 4), *table("no batch")
