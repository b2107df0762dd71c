"""scikit-learn's own checks of estimators."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("skl2onnx")
from sklearn.utils.estimator_checks import parametrize_with_checks

from taste_ood.sklearn import TasteOutlierDetector

#: Checks that fit to 5 to 20 samples, of which some are held out. What they ask is asked below with more.
FEW = "a detector needs more samples than the check has"
CHECKS = ["n_features_in_after_fitting", "estimators_nan_inf", "classifier_data_not_an_array", "fit2d_1feature"]
REASONS = {f"check_{name}": FEW for name in CHECKS}


@parametrize_with_checks([TasteOutlierDetector(alpha=0.2)], expected_failed_checks=lambda _: REASONS)
def test_checks(estimator, check):
    check(estimator)


def test_a_model_decides(train, fresh, shifted, model):
    own = TasteOutlierDetector(model).fit(train)
    assert set(own.predict(fresh)) <= {1, -1} and (own.predict(shifted) == -1).mean() > 0.3
    assert np.allclose(own.decision_function(fresh), own.score_samples(fresh) - own.offset_)


def test_what_the_checks_ask_with_more_samples(train, fresh):
    own = TasteOutlierDetector(alpha=0.2).fit(train.tolist())
    assert own.n_features_in_ == 2 and np.array_equal(own.predict(fresh.tolist()), own.predict(fresh))
    with pytest.raises(ValueError, match="3 features"):
        own.predict(np.zeros((4, 3)))
    for odd in (np.nan, np.inf):
        x = train.copy()
        x[5, 1] = odd
        for use in (own.predict, own.decision_function, TasteOutlierDetector().fit):
            with pytest.raises(ValueError, match="NaN|infinity"):
                use(x)
    alone = TasteOutlierDetector(alpha=0.2).fit(train[:, :1])
    assert set(alone.predict(fresh[:, :1])) <= {1, -1}
