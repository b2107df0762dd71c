"""Networks of Keras 3, exported by Keras itself."""

import os
import tempfile
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "torch")

from families import Export, Table, blobs, ids, images, read  # noqa: E402

TABLE = Table("Keras")


def network(name: str, holds: str, make, data):
    @TABLE.add(name, holds)
    def export() -> Export:
        import keras

        keras.utils.set_random_seed(0)
        model = make(keras, keras.layers)
        train, fresh = data()
        model(train[:2])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            model.export(path, format="onnx", verbose=False)
            return Export(read(path), train, fresh)


def table():
    train, _, fresh = blobs("keras", 2)
    return train, fresh


def pictures():
    train, fresh = images("keras", (3, 16, 16))
    return (x.transpose(0, 2, 3, 1).copy() for x in (train, fresh))


def sequences():
    return images("keras sequences", (9, 4))


def texts():
    train, fresh = ids("keras texts", 100, 12)
    return train.astype("int32"), fresh.astype("int32")


network("Dense, one sigmoid", "binary", lambda k, l: k.Sequential(
    [k.Input((6,)), l.Dense(16, "relu"), l.Dense(8, "relu"), l.Dense(1, "sigmoid")]), table)
network("Dense, softmax", "classes", lambda k, l: k.Sequential(
    [k.Input((6,)), l.Normalization(), l.Dense(16, "swish"), l.Dropout(0.1), l.Dense(3, "softmax")]), table)
network("Conv2D, channels last", "classes", lambda k, l: k.Sequential(
    [k.Input((16, 16, 3)), l.Conv2D(8, 3, activation="relu"), l.MaxPooling2D(), l.BatchNormalization(),
     l.Conv2D(8, 3, activation="relu"), l.GlobalAveragePooling2D(), l.Dense(5, "softmax")]), pictures)
network("LSTM", "classes", lambda k, l: k.Sequential(
    [k.Input((9, 4)), l.LSTM(12), l.Dense(3, "softmax")]), sequences)
network("Embedding, one sigmoid; token ids", "binary", lambda k, l: k.Sequential(
    [k.Input((12,), dtype="int32"), l.Embedding(100, 8), l.GlobalAveragePooling1D(), l.Dense(1, "sigmoid")]), texts)
network("SeparableConv2D, Rescaling, several numbers", "numbers", lambda k, l: k.Sequential(
    [k.Input((16, 16, 3)), l.Rescaling(0.5), l.SeparableConv2D(8, 3, activation="gelu"), l.Flatten(), l.Dense(2)]), pictures)
