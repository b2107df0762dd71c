"""Does this input, batch or stream differ from a model's training data in a way that matters to that model?

>>> import numpy as np, taste_ood as taste
>>> detector = taste.fit(model, train)                  # doctest: +SKIP
>>> detector.score(new).p_value, detector.test(new)     # doctest: +SKIP
"""

from ._commands import bench, reproduce, run, train
from ._detector import Detector, load
from ._errors import Cancelled, ChoiceError, DataError, DetectorError, Error, ModelError
from ._fit import derive, fit
from ._monitor import Monitor, Update
from ._results import Evaluation, Maps, Scores, ShiftReport
from ._taste import VERSION as __version__

__all__ = [
    "Cancelled",
    "ChoiceError",
    "DataError",
    "Detector",
    "DetectorError",
    "Error",
    "Evaluation",
    "Maps",
    "ModelError",
    "Monitor",
    "Scores",
    "ShiftReport",
    "Update",
    "__version__",
    "bench",
    "derive",
    "fit",
    "load",
    "reproduce",
    "run",
    "train",
]
