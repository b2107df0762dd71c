"""Gradient boosting: XGBoost and LightGBM through onnxmltools."""

import numpy as np
from onnxmltools.convert import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType

from families import Export, Table, blobs, generator

TABLE = Table("onnxmltools")


def boosted(name: str, make_model, convert, holds: str, classes: int = 3, holes: bool = False, **options):
    @TABLE.add(name, holds)
    def make() -> Export:
        train, labels, fresh = blobs(name, classes)
        target = np.tanh(train[:, 0]) + train[:, 1] if holds == "numbers" else labels
        if holes:
            train, fresh = (np.where(generator(name).random(x.shape) < 0.1, np.float32(np.nan), x) for x in (train, fresh))
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
boosted("XGBClassifier, two classes; missing values", xgboost("XGBClassifier"), convert_xgboost, "classes", 2, holes=True)
boosted("LGBMClassifier; missing values", lightgbm("LGBMClassifier"), convert_lightgbm, "classes", holes=True, zipmap=False)
boosted("LGBMClassifier, two classes", lightgbm("LGBMClassifier"), convert_lightgbm, "classes", 2, zipmap=False)
boosted("LGBMClassifier with ZipMap", lightgbm("LGBMClassifier"), convert_lightgbm, "classes")
boosted("LGBMRegressor", lightgbm("LGBMRegressor"), convert_lightgbm, "numbers")
