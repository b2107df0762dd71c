"""scikit-learn's own checks of estimators."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("skl2onnx")
from sklearn.utils.estimator_checks import parametrize_with_checks

from taste_ood.sklearn import TasteOutlierDetector

FEW = "a calibration needs more samples than the check has"
REASONS: dict[str, str] = {}


@parametrize_with_checks([TasteOutlierDetector(alpha=0.2)], expected_failed_checks=lambda _: REASONS)
def test_checks(estimator, check):
    check(estimator)


def test_a_model_decides(train, fresh, shifted, model):
    own = TasteOutlierDetector(model).fit(train)
    assert set(own.predict(fresh)) <= {1, -1} and (own.predict(shifted) == -1).mean() > 0.3
    assert np.allclose(own.decision_function(fresh), own.score_samples(fresh) - own.offset_)
