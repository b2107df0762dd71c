"""Corruptions of CIFAR-10-C and -P by their published formulas, in NumPy, SciPy and Pillow, beside those of taste.

The formulas are those of Hendrycks and Dietterich (2019). Frost is drawn as taste draws it, as their photographs are not
at hand. Three uses:

    corruptions.py compare --taste target/release/taste --data test_batch.bin.gz --model clf.onnx [--first 1000] [--only snow]
        mean absolute deviation and accuracy of a classifier for every corruption and severity, as Markdown
    corruptions.py fixtures FOLDER
        what the tests hold taste against: four drawn pictures, what becomes of them where nothing is random, and the
        mean absolute deviation of the rest
    corruptions.py sheet --taste target/release/taste --data test_batch.bin.gz -o sheet.png
        a contact sheet: one picture, all corruptions of taste at all severities
"""

import argparse
import gzip
import io
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image, ImageDraw
from scipy import ndimage

SIDE = 32


# ---- parts -----------------------------------------------------------------------------------------------------------


def unit(pictures):
    return pictures.astype(np.float64) / 255


def as_bytes(pictures):
    return (np.clip(pictures, 0, 1) * 255 + 1e-6).astype(np.uint8)


def blurred(pictures, sigma, truncate=4.0, mode="nearest"):
    """A Gaussian filter of every channel; pictures are N×H×W×C."""
    if sigma <= 0:
        return pictures
    radius = int(truncate * sigma + 0.5)
    for axis in (1, 2):
        pictures = ndimage.gaussian_filter1d(pictures, sigma, axis=axis, mode=mode, radius=radius)
    return pictures


def zoomed(picture, factor):
    """The middle of a picture, enlarged to its size."""
    size = picture.shape[0]
    kept = int(np.ceil(size / factor))
    top = (size - kept) // 2
    crop = picture[top : top + kept, top : top + kept]
    big = ndimage.zoom(crop, (factor, factor) + (1,) * (picture.ndim - 2), order=1)
    skip = (big.shape[0] - size) // 2
    return big[skip : skip + size, skip : skip + size]


def motion(picture, radius, sigma, degrees):
    """ImageMagick's one-sided Gaussian along a line of whole pixels."""
    taps = np.arange(2 * radius + 1)
    weights = np.exp(-0.5 * (taps / sigma) ** 2)
    weights /= weights.sum()
    angle = np.deg2rad(degrees)
    down = np.ceil(taps * np.sin(angle) - 0.5).astype(int)
    right = np.ceil(taps * np.cos(angle) - 0.5).astype(int)
    rows, columns = np.arange(picture.shape[0]), np.arange(picture.shape[1])
    out = np.zeros(picture.shape)
    for weight, dy, dx in zip(weights, down, right):
        y = np.clip(rows + dy, 0, len(rows) - 1)
        x = np.clip(columns + dx, 0, len(columns) - 1)
        out += weight * picture[np.ix_(y, x)]
    return out


def plasma(size, decay, rng):
    """Clouds by the diamond-square algorithm, with edges that meet."""
    field = np.zeros((size, size))
    step, wobble = size, 100.0

    def noisy(total):
        return total / 4 + wobble * rng.uniform(-wobble, wobble, total.shape)

    while step >= 2:
        half = step // 2
        corners = field[::step, ::step]
        total = corners + np.roll(corners, -1, axis=0)
        field[half::step, half::step] = noisy(total + np.roll(total, -1, axis=1))
        middles, corners = field[half::step, half::step], field[::step, ::step]
        above = middles + np.roll(middles, 1, axis=0) + corners + np.roll(corners, -1, axis=1)
        field[::step, half::step] = noisy(above)
        beside = middles + np.roll(middles, 1, axis=1) + corners + np.roll(corners, -1, axis=0)
        field[half::step, ::step] = noisy(beside)
        step, wobble = half, wobble / decay
    field -= field.min()
    return field / field.max()


def luma(pictures):
    return pictures @ np.array([0.299, 0.587, 0.114])


def hsv(pictures, change):
    """Hue, saturation and value of every pixel, changed."""
    high, low = pictures.max(-1), pictures.min(-1)
    spread = high - low
    safe = np.where(spread > 0, spread, 1)
    r, g, b = np.moveaxis(pictures, -1, 0)
    hue = np.select([b == high, g == high], [4 + (r - g) / safe, 2 + (b - r) / safe], (g - b) / safe)
    hue = np.where(spread > 0, hue / 6 % 1, 0)
    saturation = np.where(high > 0, spread / np.where(high > 0, high, 1), 0)
    saturation, value = (np.clip(v, 0, 1) for v in change(saturation, high))
    sixth = np.floor(hue * 6).astype(int)
    part = hue * 6 - sixth
    p, q, t = value * (1 - saturation), value * (1 - part * saturation), value * (1 - (1 - part) * saturation)
    parts = [(value, t, p), (q, value, p), (p, value, t), (p, q, value), (t, p, value), (value, p, q)]
    return np.stack([np.choose(sixth % 6, [c[k] for c in parts]) for k in range(3)], -1)


def canny(layer, low, high):
    """Edges of a plane of bytes: Sobel's gradient, thinned across the edge, followed from where it is steep."""
    padded = np.pad(layer.astype(np.int64), 1, mode="edge")
    at = lambda dy, dx: padded[1 + dy : padded.shape[0] - 1 + dy, 1 + dx : padded.shape[1] - 1 + dx]
    gx = at(-1, 1) + 2 * at(0, 1) + at(1, 1) - at(-1, -1) - 2 * at(0, -1) - at(1, -1)
    gy = at(1, -1) + 2 * at(1, 0) + at(1, 1) - at(-1, -1) - 2 * at(-1, 0) - at(-1, 1)
    size = abs(gx) + abs(gy)
    around = np.pad(size, 1)
    near = lambda dy, dx: around[1 + dy : around.shape[0] - 1 + dy, 1 + dx : around.shape[1] - 1 + dx]
    flat = abs(gy) < np.tan(np.pi / 8) * abs(gx)
    steep = abs(gy) > np.tan(3 * np.pi / 8) * abs(gx)
    rising = gx * gy < 0
    ridge = np.select(
        [flat, steep, rising],
        [
            (size > near(0, -1)) & (size >= near(0, 1)),
            (size > near(-1, 0)) & (size >= near(1, 0)),
            (size > near(-1, 1)) & (size > near(1, -1)),
        ],
        (size > near(-1, -1)) & (size > near(1, 1)),
    ).astype(bool)
    candidates = ridge & (size > low)
    groups, _ = ndimage.label(candidates, np.ones((3, 3)))
    return candidates & np.isin(groups, np.unique(groups[candidates & (size > high)]))


def distance(edges):
    """Distances by steps of a king and of a knight."""
    steps = [(0, -1, 1), (-1, 0, 1), (-1, -1, 1.4), (-1, 1, 1.4), (-1, -2, 2.1969), (-1, 2, 2.1969), (-2, -1, 2.1969)]
    steps.append((-2, 1, 2.1969))
    height, width = edges.shape
    out = np.where(edges, 0.0, 1e9)
    for sign in (1, -1):
        for k in range(height * width)[::sign]:
            y, x = divmod(k, width)
            for dy, dx, step in steps:
                v, u = y + sign * dy, x + sign * dx
                if 0 <= v < height and 0 <= u < width:
                    out[y, x] = min(out[y, x], out[v, u] + step)
    return out


def equalised(plane):
    """Bytes spread over 0..255 by their rank."""
    counts = np.bincount(plane.ravel(), minlength=256)
    first = np.flatnonzero(counts)[0]
    others = plane.size - counts[first]
    if others == 0:
        return plane
    counts[first] = 0
    return np.round(255 * np.cumsum(counts) / others).astype(np.uint8)[plane]


def warp(picture, source):
    """Every pixel from where `source` says for (x, y) about the middle; black beyond the edge."""
    height, width = picture.shape[:2]
    y, x = np.mgrid[:height, :width]
    from_x, from_y = source(x - (width - 1) / 2, y - (height - 1) / 2)
    places = [from_y + (height - 1) / 2, from_x + (width - 1) / 2]
    inside = (abs(from_x) <= width / 2) & (abs(from_y) <= height / 2)
    planes = [ndimage.map_coordinates(picture[..., c], places, order=1, mode="nearest") for c in range(picture.shape[2])]
    return np.round(np.stack(planes, -1) * inside[..., None] * 255) / 255


# ---- corruptions: functions of pictures N×H×W×3 in 0..1, a severity from 0 on, and a generator ---------------------------


def noise(sigmas):
    return lambda x, s, rng: x + rng.normal(0, sigmas[s], x.shape)


def shot(photons):
    return lambda x, s, rng: rng.poisson(x * photons[s]) / photons[s]


def impulse(x, s, rng):
    hit = rng.random(x.shape) < [0.01, 0.02, 0.03, 0.05, 0.07][s]
    return np.where(hit, rng.random(x.shape) < 0.5, x)


def speckle(x, s, rng):
    return x + x * rng.normal(0, [0.06, 0.1, 0.12, 0.16, 0.2][s], x.shape)


def defocus(x, s, rng):
    radius, edge = [(0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1)][s]
    line = np.arange(-8, 9)
    disk = ((line[:, None] ** 2 + line**2) <= radius**2).astype(float)
    disk /= disk.sum()
    three = np.exp(-0.5 * (np.array([-1, 0, 1]) / edge) ** 2)
    three /= three.sum()
    for axis in (0, 1):
        disk = ndimage.correlate1d(disk, three, axis=axis, mode="mirror")
    return ndimage.correlate(x, disk[None, :, :, None], mode="mirror")


def glass(x, s, rng):
    sigma, times = [(0.05, 1), (0.25, 1), (0.4, 1), (0.25, 2), (0.4, 2)][s]
    x = unit((blurred(x, sigma) * 255 + 1e-6).astype(np.uint8))
    every = np.arange(len(x))
    for _ in range(times):
        for h in range(x.shape[1] - 1, 1, -1):
            for w in range(x.shape[2] - 1, 1, -1):
                dx, dy = rng.integers(-1, 1, (2, len(x)))
                x[:, h, w] = x[every, h + dy, w + dx]
    return blurred(x, sigma)


def motion_blur(x, s, rng):
    radius, sigma = [(6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5)][s]
    return np.stack([np.round(255 * motion(p, radius, sigma, rng.uniform(-45, 45))) / 255 for p in x])


def zoom_blur(zooms):
    def apply(x, s, rng):
        factors = zooms[s]
        return np.stack([(p + sum(zoomed(p, z) for z in factors)) / (len(factors) + 1) for p in x])

    return apply


def gaussian_blur(x, s, rng):
    return blurred(x, [0.4, 0.6, 0.7, 0.8, 1][s])


def snow(falls, angle):
    def apply(x, s, rng):
        mean, deviation, zoom, least, radius, sigma, own = falls[s]
        out = []
        for p in x:
            flakes = zoomed(rng.normal(mean, deviation, p.shape[:2]), zoom)
            flakes[flakes < least] = 0
            flakes = np.floor(np.clip(flakes, 0, 1) * 255)
            layer = np.round(motion(flakes, radius, sigma, angle(rng))) / 255
            p = own * p + (1 - own) * np.maximum(p, luma(p)[..., None] * 1.5 + 0.5)
            out.append(p + (layer + np.rot90(layer, 2))[..., None])
        return np.stack(out)

    return apply


FALLS = [
    (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
    (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
    (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
    (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
    (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
]


def frozen(side, rng):
    """Ice as taste draws it."""
    clouds = plasma(side, 2.0, rng)
    needles = np.zeros((side, side))

    def needle(y, x, degrees, length):
        far = np.arange(int(2 * length)) / 2
        rows = np.round(y + far * np.sin(np.deg2rad(degrees))).astype(int)
        columns = np.round(x + far * np.cos(np.deg2rad(degrees))).astype(int)
        inside = (rows >= 0) & (rows < side) & (columns >= 0) & (columns < side)
        np.maximum.at(needles, (rows[inside], columns[inside]), 0.5 * (1 - far[inside] / length))

    for _ in range(rng.integers(4, 8)):
        y, x = rng.uniform(-0.1, 1.1, 2) * side
        angle, length = rng.uniform(0, 360), rng.uniform(0.25, 0.6) * side
        for arm in range(6):
            way = angle + 60 * arm
            needle(y, x, way, length)
            for along in np.arange(1, 6) / 6:
                place = (y + along * length * np.sin(np.deg2rad(way)), x + along * length * np.cos(np.deg2rad(way)))
                for turn in (-60, 60):
                    needle(*place, way + turn, 0.4 * (1 - along) * length)
    needles = ndimage.gaussian_filter(needles, 0.5, mode="nearest")
    return np.minimum(0.3 + 0.35 * clouds + needles, 1)


def frost(x, s, rng):
    own, share = [(1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45)][s]
    ice = np.stack([frozen(x.shape[1], rng) for _ in x])
    return own * x + share * ice[..., None] * np.array([0.86, 0.95, 1.0])


def fog(x, s, rng):
    strength, decay = [(0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75)][s]
    most = x.max(axis=(1, 2, 3), keepdims=True)
    clouds = np.stack([plasma(x.shape[1], decay, rng) for _ in x])[..., None]
    return (x + strength * clouds) * most / (most + strength)


def spatter(x, s, rng):
    mean, deviation, sigma, least, strength, mud = [
        (0.62, 0.1, 0.7, 0.7, 0.5, 0),
        (0.65, 0.1, 0.8, 0.7, 0.5, 0),
        (0.65, 0.3, 1, 0.69, 0.5, 0),
        (0.65, 0.1, 0.7, 0.69, 0.6, 1),
        (0.65, 0.1, 0.5, 0.68, 0.6, 1),
    ][s]
    layers = blurred(rng.normal(mean, deviation, x.shape[:3])[..., None], sigma)[..., 0]
    layers[layers < least] = 0
    if mud:
        mask = blurred((layers > least).astype(float)[..., None], strength)
        mask[mask < 0.8] = 0
        return x * (1 - mask) + mask * np.array([63, 42, 20]) / 255
    out = []
    emboss = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]])
    for p, layer in zip(x, layers):
        layer = (np.floor(layer * 255) % 256).astype(np.uint8)
        far = np.minimum(distance(canny(layer, 50, 150)), 20)
        far = np.floor(ndimage.uniform_filter(far, 3, mode="mirror") + 1e-4).astype(np.uint8)
        rims = np.clip(ndimage.correlate(equalised(far).astype(float), emboss.astype(float), mode="mirror"), 0, 255)
        light = layer * np.round(ndimage.uniform_filter(rims, 3, mode="mirror"))
        light = light / max(light.max(), 1e-12) * strength
        out.append(p + light[..., None] * np.array([175, 238, 238]) / 255)
    return np.stack(out)


def brightness(steps):
    return lambda x, s, rng: hsv(x, lambda saturation, value: (saturation, value + steps[s]))


def contrast(x, s, rng):
    mean = x.mean(axis=(1, 2), keepdims=True)
    return (x - mean) * [0.75, 0.5, 0.4, 0.3, 0.15][s] + mean


def saturate(x, s, rng):
    factor, offset = [(0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2)][s]
    return hsv(x, lambda saturation, value: (saturation * factor + offset, value))


def elastic(x, s, rng):
    side = x.shape[1]
    far, smooth, pull = (side * v for v in [(0, 0, 0.08), (0.05, 0.2, 0.07), (0.08, 0.06, 0.06), (0.1, 0.04, 0.05), (0.1, 0.03, 0.03)][s])
    middle, third = side // 2, side // 3
    before = np.array([[middle + third] * 2, [middle + third, middle - third], [middle - third] * 2], float)
    grid = np.mgrid[:side, :side].astype(float)
    out = []
    for p in x:
        after = before + rng.uniform(-pull, pull, (3, 2))
        # The affine map from places after to places before, in (x, y, 1).
        matrix = np.linalg.solve(np.c_[after, np.ones(3)], before)
        flat = np.c_[grid[1].ravel(), grid[0].ravel(), np.ones(side * side)] @ matrix
        places = [flat[:, 1].reshape(side, side), flat[:, 0].reshape(side, side)]
        p = np.stack([ndimage.map_coordinates(p[..., c], places, order=1, mode="mirror") for c in range(3)], -1)
        moves = [blurred(rng.uniform(-1, 1, (1, side, side, 1)), smooth, 3.0, "reflect")[0, ..., 0] * far for _ in "xy"]
        places = [grid[0] + moves[1], grid[1] + moves[0]]
        out.append(np.stack([ndimage.map_coordinates(p[..., c], places, order=1, mode="reflect") for c in range(3)], -1))
    return np.stack(out)


def pixelate(x, s, rng):
    side = x.shape[1]
    small = int(side * [0.95, 0.9, 0.85, 0.75, 0.65][s])
    pictures = [Image.fromarray(p).resize((small, small), Image.BOX).resize((side, side), Image.BOX) for p in as_bytes(x)]
    return unit(np.stack([np.asarray(p) for p in pictures]))


def jpeg(x, s, rng):
    out = []
    for p in as_bytes(x):
        file = io.BytesIO()
        Image.fromarray(p).save(file, "JPEG", quality=[80, 65, 58, 50, 40][s])
        out.append(np.asarray(Image.open(file)))
    return unit(np.stack(out))


def geometry(source):
    return lambda x, s, rng: np.stack([warp(p, source) for p in x])


def turned(degrees):
    sine, cosine = np.sin(np.deg2rad(degrees)), np.cos(np.deg2rad(degrees))
    return lambda x, y: (cosine * x - sine * y, sine * x + cosine * y)


def tilted(x, y):
    """Turned about both axes, seen from as far as the diagonal is long; solved for the place before."""
    side = x.shape[0]
    focus, angle = np.sqrt(2 * side * side), np.deg2rad(11.25)
    about_x = np.array([[1, 0, 0], [0, np.cos(angle), -np.sin(angle)], [0, np.sin(angle), np.cos(angle)]])
    about_y = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    turn = about_y @ about_x
    whole = np.array([[*turn[0, :2], 0], [*turn[1, :2], 0], [*turn[2, :2] / focus, 1]])
    back = np.linalg.inv(whole) @ np.stack([x.ravel(), y.ravel(), np.ones(x.size)])
    return (back[0] / back[2]).reshape(x.shape), (back[1] / back[2]).reshape(x.shape)


def translated(x, s, rng):
    out = np.zeros_like(x)
    out[:, :, 8:] = x[:, :, :-8]
    return out


HUNDREDTHS = [np.arange(1, end, 0.01) for end in (1.06, 1.11, 1.16, 1.21, 1.26)]

# Name: (function, number of severities, whether anything is random).
KINDS = {
    "gaussian-noise": (noise([0.04, 0.06, 0.08, 0.09, 0.1]), 5, True),
    "shot-noise": (shot([500, 250, 100, 75, 50]), 5, True),
    "impulse-noise": (impulse, 5, True),
    "speckle-noise": (speckle, 5, True),
    "defocus-blur": (defocus, 5, False),
    "glass-blur": (glass, 5, True),
    "motion-blur": (motion_blur, 5, True),
    "zoom-blur": (zoom_blur(HUNDREDTHS), 5, False),
    "gaussian-blur": (gaussian_blur, 5, False),
    "snow": (snow(FALLS, lambda rng: rng.uniform(-135, -45)), 5, True),
    "frost": (frost, 5, True),
    "fog": (fog, 5, True),
    "spatter": (spatter, 5, True),
    "brightness": (brightness([0.05, 0.1, 0.15, 0.2, 0.3]), 5, False),
    "contrast": (contrast, 5, False),
    "saturate": (saturate, 5, False),
    "elastic-transform": (elastic, 5, True),
    "pixelate": (pixelate, 5, False),
    "jpeg-compression": (jpeg, 5, False),
    "p-gaussian-noise": (noise([0.02]), 1, True),
    "p-shot-noise": (shot([700]), 1, True),
    "p-motion-blur": (lambda x, s, rng: np.stack([np.round(255 * motion(p, 6, 1.8, 0)) / 255 for p in x]), 1, False),
    "p-zoom-blur": (zoom_blur([1 + 0.004 * np.arange(1, 31)]), 1, False),
    "p-snow": (snow([(0.05, 0.3, 2, 0.5, 10, 2, 0.85)], lambda rng: -30), 1, True),
    "p-brightness": (brightness([0.225]), 1, False),
    "p-translate": (translated, 1, False),
    "p-rotate": (geometry(turned(15)), 1, False),
    "p-scale": (geometry(lambda x, y: (x / 1.3, y / 1.3)), 1, False),
    "p-shear": (geometry(lambda x, y: (x + np.tan(np.deg2rad(15)) * y, y)), 1, False),
    "p-tilt": (geometry(tilted), 1, False),
}


def corrupted(name, severity, pictures, seed=0):
    """Bytes N×H×W×3, corrupted; severities count from 1."""
    function, _, _ = KINDS[name]
    return as_bytes(function(unit(pictures), severity - 1, np.random.default_rng([seed, severity])))


# ---- uses --------------------------------------------------------------------------------------------------------------


def cifar(path, first):
    data = pathlib.Path(path).read_bytes()
    data = gzip.decompress(data) if path.endswith(".gz") else data
    rows = np.frombuffer(data, np.uint8).reshape(-1, 3073)[:first]
    return np.ascontiguousarray(rows[:, 1:].reshape(-1, 3, SIDE, SIDE).transpose(0, 2, 3, 1)), rows[:, 0]


def by_taste(taste, source, name, severity, folder, seed=0):
    out = pathlib.Path(folder) / "out.npy"
    strength = [] if name.startswith("p-") else ["--severity", str(severity)]
    command = [taste, "corrupt", str(source), "--kind", name, "-o", str(out), "--quiet", "--seed", str(seed), *strength]
    subprocess.run(command, check=True)
    return np.load(out)


def compare(args):
    import onnxruntime

    pictures, labels = cifar(args.data, args.first)
    session = onnxruntime.InferenceSession(args.model)
    port = session.get_inputs()[0].name

    def accuracy(batch):
        x = np.ascontiguousarray((batch.astype(np.float32) / 255).transpose(0, 3, 1, 2))
        return float(np.mean(session.run(None, {port: x})[0].argmax(1) == labels))

    def deviation(batch):
        return float(np.mean(abs(batch.astype(float) - pictures)))

    clean = accuracy(pictures)
    print(f"{len(pictures)} pictures, accuracy {100 * clean:.1f} % as they are\n")
    print("| corruption | severity | deviation, taste | formulas | ratio | accuracy, taste | formulas | ratio of losses | bound |")
    print("|---|---|---|---|---|---|---|---|---|")
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "pictures.npy"
        np.save(source, pictures)
        for name in args.only or KINDS:
            _, severities, is_random = KINDS[name]
            for severity in range(1, severities + 1):
                theirs = corrupted(name, severity, pictures)
                ours = by_taste(args.taste, source, name, severity, folder)
                found = [deviation(ours), deviation(theirs)]
                ratio = found[0] / found[1]
                right = [accuracy(ours), accuracy(theirs)]
                lost = [clean - a for a in right]
                # What another draw of the same noise changes: three standard errors of the difference of two losses.
                again = corrupted(name, severity, pictures, seed=1) if is_random else theirs
                redraw = abs(accuracy(again) - right[1]) if is_random else 0
                error = 3 * np.sqrt(2 * max(np.mean(lost), 0.002) / len(pictures))
                bound = max(0.1 * abs(lost[1]), error if is_random else 0.1 * abs(lost[1]), 1.5 / len(pictures))
                fits = abs(ratio - 1) <= 0.1 and abs(lost[0] - lost[1]) <= bound
                if not fits:
                    failed.append(f"{name}:{severity}")
                losses = f"{lost[0] / lost[1]:.2f}" if abs(lost[1]) > 0.005 else "—"
                print(
                    f"| {name} | {severity if severities > 1 else '—'} | {found[0]:.2f} | {found[1]:.2f} | {ratio:.3f} "
                    f"| {100 * right[0]:.1f} | {100 * right[1]:.1f} | {losses} | {100 * max(bound, redraw):.1f}{'' if fits else ' ✗'} |",
                    flush=True,
                )
    print(f"\nBeyond the bounds: {', '.join(failed) if failed else 'none'}")
    return 1 if failed else 0


def drawn():
    """Four pictures with edges, gradients, texture and colour."""
    rng = np.random.default_rng(7)
    y, x = np.mgrid[:SIDE, :SIDE] / (SIDE - 1)
    out = []
    for k in range(4):
        base = np.stack([0.2 + 0.6 * x, 0.7 - 0.5 * y, 0.3 + 0.3 * np.sin(6 * (x + y) + k)], -1)
        disk = (x - 0.3 - 0.1 * k) ** 2 + (y - 0.5) ** 2 < 0.06
        base[disk] = rng.random(3)
        base[4 * k : 4 * k + 6, 20:] = [0.05, 0.9, 0.6]
        base += 0.08 * rng.normal(size=base.shape)
        out.append(as_bytes(base))
    return np.stack(out)


def fixtures(args):
    folder = pathlib.Path(args.folder)
    folder.mkdir(parents=True, exist_ok=True)
    pictures = drawn()
    np.save(folder / "pictures.npy", pictures)
    exact, names, means = [], [], {}
    for name, (_, severities, is_random) in KINDS.items():
        for severity in range(1, severities + 1):
            if is_random:
                many = np.concatenate([corrupted(name, severity, pictures, seed) for seed in range(64)])
                off = np.mean(abs(many.astype(float) - np.tile(pictures, (64, 1, 1, 1))))
                means[f"{name}:{severity}" if severities > 1 else name] = round(float(off), 4)
            else:
                exact.append(corrupted(name, severity, pictures))
                names.append(f"{name}:{severity}" if severities > 1 else name)
    np.save(folder / "exact.npy", np.stack(exact))
    (folder / "corruptions.json").write_text(json.dumps({"exact": names, "deviations": means}, indent=1) + "\n")
    return 0


def sheet(args):
    pictures, _ = cifar(args.data, args.picture + 1)
    scale, margin, line = 3, 150, 3 * SIDE + 6
    out = Image.new("RGB", (2 * (margin + 6 * line), (len(KINDS) // 2 + 2) * line), "white")
    pen = ImageDraw.Draw(out)
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "picture.npy"
        np.save(source, pictures[args.picture :])
        names = [*KINDS, "rotate", "translate"]
        half = (len(names) + 1) // 2
        for k, name in enumerate(names):
            left, top = (k // half) * (margin + 6 * line), (k % half) * line
            pen.text((left + 4, top + line // 2), name, fill="black")
            severities = KINDS[name][1] if name in KINDS else 5
            shown = [pictures[args.picture], *(by_taste(args.taste, source, name, s + 1, folder)[0] for s in range(severities))]
            for i, picture in enumerate(shown):
                big = Image.fromarray(picture).resize((scale * SIDE, scale * SIDE), Image.NEAREST)
                out.paste(big, (left + margin + i * line, top + 3))
    out.save(args.out)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    uses = parser.add_subparsers(required=True)
    use = uses.add_parser("compare")
    use.add_argument("--taste", required=True)
    use.add_argument("--data", required=True)
    use.add_argument("--model", required=True)
    use.add_argument("--first", type=int, default=1000)
    use.add_argument("--only", nargs="+", choices=list(KINDS), metavar="NAME")
    use.set_defaults(run=compare)
    use = uses.add_parser("fixtures")
    use.add_argument("folder")
    use.set_defaults(run=fixtures)
    use = uses.add_parser("sheet")
    use.add_argument("--taste", required=True)
    use.add_argument("--data", required=True)
    use.add_argument("--picture", type=int, default=0)
    use.add_argument("-o", "--out", required=True)
    use.set_defaults(run=sheet)
    args = parser.parse_args()
    return args.run(args)


if __name__ == "__main__":
    sys.exit(main())
