"""Evidence maps on a category of MVTec AD: fits detectors with `taste fit`, runs the files in stock ONNX Runtime, and holds
the maps against the masks. Prints the tables of docs/results/evidence-maps.md, and draws its figure.

    python bench/evidence_maps.py --taste PROGRAM --model efficientnet_lite0.onnx --category mvtec/hazelnut --figure F.png
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
from PIL import Image, ImageDraw
from scipy.ndimage import binary_erosion, label


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--taste", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--category", type=Path, required=True)
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--alpha", type=float, default=0.1)
    return parser.parse_args()


def pixels(path, side):
    picture = Image.open(path).convert("RGB").resize((side, side), Image.BILINEAR)
    return np.asarray(picture, np.float32).transpose(2, 0, 1) / 255


def test_pictures(category, side):
    for path in sorted(category.glob("test/*/*.png")):
        kind = path.parent.name
        mask = None
        if kind != "good":
            mask = np.asarray(Image.open(category / "ground_truth" / kind / f"{path.stem}_mask.png").convert("L")) > 127
        yield kind, pixels(path, side), mask


def auroc(scores, positive):
    order = np.argsort(scores, kind="stable")
    ordered, positive = scores[order], positive[order]
    ranks = np.arange(1, len(scores) + 1, dtype=np.float64)
    _, first, counts = np.unique(ordered, return_index=True, return_counts=True)
    ranks = np.repeat(ranks[first] + (counts - 1) / 2, counts)
    n = positive.sum()
    return (ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(scores) - n))


def precision(scores, positive):
    hits = positive[np.argsort(-scores, kind="stable")]
    found = np.cumsum(hits)
    return float((found / np.arange(1, len(hits) + 1))[hits].mean())


def region_overlap(maps, masks, limit=0.3):
    weight = np.zeros(masks.shape)
    regions = 0
    for own, mask in zip(weight, masks):
        names, count = label(mask, np.ones((3, 3)))
        for region in range(1, count + 1):
            own[names == region] = 1 / (names == region).sum()
        regions += count
    order = np.argsort(-maps.ravel(), kind="stable")
    wrong = np.cumsum(~masks.ravel()[order]) / (~masks).sum()
    overlap = np.cumsum(weight.ravel()[order]) / regions
    end = np.searchsorted(wrong, limit)
    x, y = np.append(wrong[:end], limit), np.append(overlap[:end], np.interp(limit, wrong, overlap))
    return float(np.trapezoid(y, x) / limit)


def fitted(arguments, folder, method, data, seed=0):
    file = folder / f"{method.replace(':', '-')}-{seed}.onnx"
    command = [arguments.taste, "fit", "--method", method, "--model", arguments.model, "--data", data, "-o", file]
    command += ["--resize", f"{arguments.side}x{arguments.side}", "--alpha", arguments.alpha, "--seed", seed, "-q"]
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    return onnxruntime.InferenceSession(str(file))


def run(detector, pictures):
    maps, flags = [], []
    for picture in pictures:
        found, flag = detector.run(["map", "flag"], {detector.get_inputs()[0].name: picture[None]})
        maps.append(found[0, 0])
        flags.append(bool(flag[0]))
    return np.array(maps), np.array(flags)


def outlined(picture, inside, side):
    image = Image.fromarray((picture.transpose(1, 2, 0) * 255).astype(np.uint8)).resize((side, side))
    inside = np.asarray(Image.fromarray(inside).resize((side, side)))
    edge = inside & ~binary_erosion(inside, iterations=2)
    drawn = np.asarray(image).copy()
    drawn[edge] = (255, 0, 255)
    return Image.fromarray(drawn)


def figure(path, kinds, pictures, masks, maps, threshold, side=256):
    shown = [kinds.index(kind) for kind in dict.fromkeys(kinds)]
    sheet = Image.new("RGB", (4 * (side + 8), len(shown) * (side + 24)), "white")
    draw = ImageDraw.Draw(sheet)
    top = np.quantile(maps, 0.999)
    for row, i in enumerate(shown):
        level = (np.clip(maps[i] / top, 0, 1) * 255).astype(np.uint8)
        mask = masks[i] if masks[i] is not None else np.zeros(maps[i].shape, bool)
        cells = [
            (kinds[i], Image.fromarray((pictures[i].transpose(1, 2, 0) * 255).astype(np.uint8)).resize((side, side))),
            ("map", Image.fromarray(255 - level).convert("RGB").resize((side, side))),
            ("outline", outlined(pictures[i], maps[i] > threshold, side)),
            ("mask", outlined(pictures[i], mask, side)),
        ]
        for column, (name, image) in enumerate(cells):
            at = (column * (side + 8), row * (side + 24))
            sheet.paste(image, (at[0], at[1] + 16))
            draw.text((at[0] + 2, at[1] + 2), name, fill="black")
    sheet.save(path)


def main() -> int:
    arguments = options()
    kinds, pictures, masks = map(list, zip(*test_pictures(arguments.category, arguments.side)))
    size = next(mask.shape for mask in masks if mask is not None)
    marked = np.array([np.zeros(size, bool) if mask is None else mask for mask in masks])
    defective = marked.any((1, 2))

    def row(name, maps):
        large = np.array([np.asarray(Image.fromarray(m).resize(size[::-1], Image.BILINEAR)) for m in maps])
        scores = maps.reshape(len(maps), -1).max(1)
        flat, truth = large.ravel(), marked.ravel()
        numbers = [auroc(flat, truth), precision(flat, truth), region_overlap(large, marked)]
        numbers += [auroc(scores, defective), precision(scores, defective)]
        print(f"| {name} | " + " | ".join(f"{v:.3f}" for v in numbers) + " |", flush=True)

    good, test = arguments.category / "train/good", arguments.category / "test"
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        print("| map | pixel AUROC | pixel AP | AUPRO | image AUROC | image AP |\n|---|---:|---:|---:|---:|---:|")
        for name, method, data in [
            ("F", "evidence-map", good),
            ("Z+", "evidence-map:zero-shot", good),
            ("B", "evidence-map:batch", test),
        ]:
            maps, _ = run(fitted(arguments, folder, method, data), pictures)
            row(name, maps)
            if name == "F" and arguments.figure:
                threshold = float(
                    subprocess.run(
                        [arguments.taste, "inspect", folder / "evidence-map-0.onnx", "--json"],
                        check=True,
                        stdout=subprocess.PIPE,
                        text=True,
                    ).stdout.split('"threshold":')[1].split(",")[0].strip(" \n}")
                )
                figure(arguments.figure, kinds, pictures, masks, maps, threshold)
        print("\n| seed | good outlined | defective outlined |\n|---:|---:|---:|")
        for seed in range(1, arguments.splits + 1):
            _, flags = run(fitted(arguments, folder, "evidence-map", good, seed), pictures)
            print(
                f"| {seed} | {flags[~defective].sum()} of {(~defective).sum()} "
                f"| {flags[defective].sum()} of {defective.sum()} |",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
