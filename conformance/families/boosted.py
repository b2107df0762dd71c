"""Gradient boosting: XGBoost and LightGBM through onnxmltools."""

import numpy as np
from onnxmltools.convert import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType

from families import Export, Table, blobs

TABLE = Table("onnxmltools")


def boosted(name: str, make_model, convert, holds: str, classes: int = 3, **options):
    @TABLE.add(name, holds)
    def make() -> Export:
        train, labels, fresh = blobs(name, classes)
        target = np.tanh(train[:, 0]) + train[:, 1] if holds == "numbers" else labels
        model = make_model().fit(train, target)
        onnx = convert(model, initial_types=[("input", FloatTensorType([None, train.shape[1]]))], **options)
        return Export(onnx.SerializeToString(), train, fresh)


def xgboost(kind: str):
    import xgboost

    return lambda: getattr(xgboost, kind)(n_estimators=10, max_depth=4)


def lightgbm(kind: str):
    import lightgbm

    return lambda: getattr(lightgbm, kind)(n_estimators=10, max_depth=4, verbose=-1)


boosted("XGBClassifier, two classes", xgboost("XGBClassifier"), convert_xgboost, "classes", 2)
boosted("XGBClassifier", xgboost("XGBClassifier"), convert_xgboost, "classes")
boosted("XGBRegressor", xgboost("XGBRegressor"), convert_xgboost, "numbers")
boosted("LGBMClassifier, two classes", lightgbm("LGBMClassifier"), convert_lightgbm, "classes", 2, zipmap=False)
boosted("LGBMClassifier with ZipMap", lightgbm("LGBMClassifier"), convert_lightgbm, "classes")
boosted("LGBMRegressor", lightgbm("LGBMRegressor"), convert_lightgbm, "numbers")
