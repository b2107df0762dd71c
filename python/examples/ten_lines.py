"""The ten lines of the README, on files that `taste demo --out demo` leaves."""

import sys

import numpy as np

import taste_ood as taste

folder = sys.argv[1] if len(sys.argv) > 1 else "demo"
train = np.load(f"{folder}/glyphs-train.npy")
detector = taste.fit(f"{folder}/glyphs.onnx", train)
scores = detector.score(np.load(f"{folder}/glyphs-new.npy"))
print(scores, scores.p_value[:3], scores.evidence.keys())
report = detector.test(np.load(f"{folder}/glyphs-new.npy"))
print(report.verdict, report.effect, report.reasons[0])
detector.with_alpha(0.01).save(f"{folder}/strict.onnx")
