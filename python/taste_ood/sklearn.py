"""A detector as an estimator of scikit-learn: an outlier detector whose scores are low for outliers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted, validate_data

from ._fit import fit
from ._models import ModelLike

#: Without a model, so many principal components stand for one.
_COMPONENTS = 8


class TasteOutlierDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Flags samples that matter to a model, or that are new to it.

    model: what `taste_ood.fit` takes; None for the leading principal components of the data, which make sense with the goal
    novelty alone. alpha is the share of samples like the training data that may be flagged; y is ignored.
    """

    def __init__(
        self,
        model: ModelLike = None,
        *,
        method: str | None = None,
        goal: str | None = None,
        alpha: float = 0.05,
        held_out: int = 10_000,
        random_state: int | None = None,
        threads: int | None = None,
    ) -> None:
        self.model = model
        self.method = method
        self.goal = goal
        self.alpha = alpha
        self.held_out = held_out
        self.random_state = random_state
        self.threads = threads

    def fit(self, X: Any, y: Any = None) -> TasteOutlierDetector:
        """Fits the detector to samples."""
        X = validate_data(self, X, dtype=np.float32, ensure_min_samples=2)
        model, goal = self.model, self.goal
        if model is None:
            width = max(1, min(_COMPONENTS, X.shape[1] - 1, len(X) - 1))
            model = PCA(n_components=width).fit(X)
            goal = goal or "novelty"
        seed = int(np.random.RandomState(self.random_state).randint(2**31)) if self.random_state is not None else 0
        self.detector_ = fit(
            model,
            X,
            method=self.method,
            goal=goal or "harm",
            alpha=self.alpha,
            held_out=self.held_out,
            seed=seed,
            threads=self.threads,
        )
        decision = self.detector_.manifest["decision"]
        self._by = "score" if decision["threshold"] is not None else "novelty"
        limit = decision["threshold"] if self._by == "score" else decision["novelty_threshold"]
        self.offset_ = -float(limit)
        return self

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Minus the score, or minus the novelty where that flags: low for outliers."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, reset=False)
        found = self.detector_.score(X)
        values = found.score if self._by == "score" else found.novelty
        return -np.nan_to_num(np.asarray(values, np.float64), nan=np.inf)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Below zero for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """-1 for outliers, 1 for others."""
        return np.where(self.decision_function(X) < 0, -1, 1)
