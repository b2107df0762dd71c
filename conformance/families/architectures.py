"""Published architectures with random weights: torchvision, timm, transformers."""

import torch

from families import Export, Table, ids, images, lists, padded
from families.pytorch import to_onnx

TORCHVISION, TIMM, TRANSFORMERS = (Table(n) for n in ("torchvision", "timm", "transformers"))
TABLES = [TORCHVISION, TIMM, TRANSFORMERS]
PICTURES = 300


def pictures(table: Table, name: str, make, dynamo: bool, size: int = 32, holds: str = "classes"):
    @table.add(name, holds)
    def export() -> Export:
        torch.manual_seed(0)
        train, fresh = images(name, (3, size, size), PICTURES)
        model = make().eval()
        return Export(to_onnx(model, torch.from_numpy(train[:2]), dynamo), train, fresh)


def torchvision(name: str, **options):
    def make():
        import torchvision

        return getattr(torchvision.models, name)(weights=None, num_classes=10, **options)

    return make


def timm(name: str, **options):
    def make():
        import timm

        return timm.create_model(name, pretrained=False, num_classes=10, **options)

    return make


pictures(TORCHVISION, "resnet18", torchvision("resnet18"), True)
pictures(TORCHVISION, "mobilenet_v2", torchvision("mobilenet_v2"), False)
pictures(TORCHVISION, "shufflenet_v2_x0_5", torchvision("shufflenet_v2_x0_5"), True)
pictures(TORCHVISION, "efficientnet_b0", torchvision("efficientnet_b0"), True)
pictures(TORCHVISION, "densenet121", torchvision("densenet121"), False, 64)
pictures(TIMM, "mobilenetv3_small_050", timm("mobilenetv3_small_050"), True)
pictures(TIMM, "vit_tiny_patch16_224", timm("vit_tiny_patch16_224", img_size=32, depth=3), True)
pictures(TIMM, "convnext_atto", timm("convnext_atto"), False)
pictures(TIMM, "resnet10t", timm("resnet10t"), True)
pictures(TIMM, "efficientnet_lite0", timm("efficientnet_lite0"), True)
pictures(TIMM, "mixer_s32_224", timm("mixer_s32_224", img_size=32), False)


class Logits(torch.nn.Module):
    """The logits alone of a model that returns a record."""

    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, x):
        return self.body(x).logits


def small(kind: str):
    import transformers

    sizes = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, num_labels=3)
    if kind == "ViT":
        return transformers.ViTForImageClassification(transformers.ViTConfig(image_size=32, patch_size=8, **sizes))
    if kind == "DistilBERT":
        config = transformers.DistilBertConfig(
            vocab_size=100, dim=32, n_layers=2, n_heads=2, hidden_dim=64, num_labels=3, max_position_embeddings=32
        )
        return transformers.DistilBertForSequenceClassification(config)
    config = transformers.BertConfig(vocab_size=100, max_position_embeddings=32, **sizes)
    config._attn_implementation = "eager"
    return transformers.BertForSequenceClassification(config)


pictures(TRANSFORMERS, "ViTForImageClassification", lambda: Logits(small("ViT")), True)


def of_ids(name: str, kind: str, dynamo: bool):
    @TRANSFORMERS.add(name, "classes")
    def export() -> Export:
        torch.manual_seed(0)
        train, fresh = ids(name, 100, 12)
        model = Logits(small(kind)).eval()
        return Export(to_onnx(model, torch.from_numpy(train[:2]), dynamo, names=["input_ids"]), train, fresh)


class Masked(torch.nn.Module):
    """The logits of a model that takes token ids and their mask."""

    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, input_ids, attention_mask):
        return self.body(input_ids=input_ids, attention_mask=attention_mask).logits


def of_texts(name: str, kind: str, dynamo: bool):
    """Texts of different lengths: lists of token ids alone, of which the mask is made. Any length is taken."""

    @TRANSFORMERS.add(name, "classes")
    def export() -> Export:
        torch.manual_seed(0)
        names = ["input_ids", "attention_mask"]
        train, fresh = ids(name, 98, 12)
        tables = [{"input_ids": lists(x, name)} for x in (train + 1, fresh + 1)]
        longest = max(len(row) for row in tables[0]["input_ids"])
        example = tuple(torch.from_numpy(v[:2]) for v in padded(tables[0], longest).values())
        model = to_onnx(Masked(small(kind)).eval(), example, dynamo, names=names, sequences=True)
        return Export(model, *tables, lambda table: padded(table, longest))


of_texts("BertForSequenceClassification, texts of any length with a mask; torch.export", "BERT", True)
of_texts("BertForSequenceClassification, texts of any length with a mask; TorchScript", "BERT", False)
of_texts("DistilBertForSequenceClassification, texts of any length with a mask", "DistilBERT", True)
of_ids("BertForSequenceClassification, token ids", "BERT", True)
of_ids("DistilBertForSequenceClassification, token ids", "DistilBERT", True)
