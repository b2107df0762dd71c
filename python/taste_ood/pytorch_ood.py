"""A detector as one of pytorch-ood, to run in its benchmarks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from pytorch_ood.api import GradientDetector, RequiresFittingException

from ._detector import Detector
from ._errors import DataError
from ._fit import fit
from ._models import ModelLike


class TasteDetector(GradientDetector):  # type: ignore[misc]
    """Scores of a detector, larger for what is further out. Options are those of `taste_ood.fit`."""

    requires_fit = True

    def __init__(self, model: ModelLike, **options: Any) -> None:
        super().__init__()
        self.model, self.options = model, options
        self.detector: Detector | None = None

    def fit(self, data_loader: Iterable[Any], **_: Any) -> TasteDetector:
        """Fits to the samples of a loader whose labels are not negative."""
        known = [(x[y >= 0], y[y >= 0]) for x, y in data_loader]
        known = [(x, y) for x, y in known if len(x)]
        if not known:
            raise DataError("the loader gives no samples with labels from 0 on")
        self.detector = fit(self.model, known, **self.options)
        return self

    def predict(self, x: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        """The score of every sample, where the samples are."""
        if self.detector is None:
            raise RequiresFittingException
        return torch.from_numpy(self.detector.score(x).score).to(x.device)

    def to(self, device: Any) -> TasteDetector:
        """It computes on the CPU, wherever samples are."""
        return self
