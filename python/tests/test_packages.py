"""Inputs and models of other packages; each test is skipped where its package is not installed."""

from __future__ import annotations

import numpy as np
import pytest

import taste_ood as taste
from taste_ood import _models
from moons import moons, network, trained


@pytest.fixture(scope="module")
def table(train, labels):
    pd = pytest.importorskip("pandas")
    return pd.DataFrame({"a": train[:, 0], "b": train[:, 1], "label": labels})


def test_tensors_share_their_memory(detector, fresh):
    torch = pytest.importorskip("torch")
    from taste_ood._data import of_array

    tensor = torch.from_numpy(fresh)
    assert np.shares_memory(of_array(tensor, "x").single, fresh)
    want = detector.score(fresh).score
    for other in (tensor, tensor.requires_grad_(), tensor.double()):
        assert np.allclose(detector.score(other).score, want, atol=1e-5)
    assert detector.score(tensor.half()).score.shape == want.shape
    assert np.array_equal(detector.score(np.asfortranarray(fresh)).score, want)


def test_tables_of_all_packages(model, table, fresh):
    pd = pytest.importorskip("pandas")
    detector = taste.fit(model, table, labels="label")
    assert detector.manifest["data"]["columns"] == ["a", "b"]
    want = detector.score(fresh).score
    frame = pd.DataFrame({"b": fresh[:, 1], "more": "x", "a": fresh[:, 0]})
    tables = [frame]
    for package, make in [("polars", lambda m: m.DataFrame(frame.to_dict("list"))), ("pyarrow", lambda m: m.table(frame))]:
        try:
            tables.append(make(__import__(package)))
        except ImportError:
            pass
    for own in tables:
        assert np.allclose(detector.score(own).score, want, atol=1e-5)
    with pytest.raises(taste.DataError, match="no column"):
        detector.score(frame.drop(columns="a"))
    with pytest.raises(taste.DataError, match="'a'|\"a\""):
        detector.score(frame.assign(a=[object()] * len(frame)))
    assert detector.score(frame).to_pandas().columns[0] == "index"
    by = detector.test(frame.assign(country=["de", "fr"] * 250), by="country")
    assert len(by.batches) == 2


def test_tables_of_other_kinds(detector, fresh):
    pa = pytest.importorskip("pyarrow")
    pl = pytest.importorskip("polars")
    want = detector.score(fresh).score
    table = pa.table({"a": fresh[:, 0], "b": fresh[:, 1]})
    lists = pa.table({"x": pa.FixedSizeListArray.from_arrays(fresh.reshape(-1), 2)})
    frame = pl.DataFrame(fresh, schema=["a", "b"])
    for own in (table, table.to_batches()[0], table.to_reader(), table.to_batches(100), lists, frame.lazy()):
        assert np.allclose(detector.score(own).score, want, atol=1e-5)
    alike = pa.table({"a": fresh[:, 0], "b": fresh[:, 0]})
    assert len(detector.score(alike)) == len(fresh)
    for own in (table["a"], frame["a"]):
        with pytest.raises(taste.DataError, match="no table with columns"):
            detector.score(own)
    with pytest.raises(taste.DataError, match="data: no column"):
        taste.fit(network(trained()), frame, columns=["c", "d"])


def test_streams_of_arrow(detector, fresh):
    pa = pytest.importorskip("pyarrow")

    class Stream:
        def __init__(self, table):
            self.table = table

        def __arrow_c_stream__(self, requested_schema=None):
            return self.table.__arrow_c_stream__(requested_schema)

    stream = Stream(pa.table({"a": fresh[:, 0], "b": fresh[:, 1]}))
    assert np.allclose(detector.score(stream).score, detector.score(fresh).score, atol=1e-5)
    assert pa.table(detector.score(fresh)).num_rows == len(fresh)


def test_modules_of_torch_are_exported_and_left_as_they_were(train, fresh):
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    (w, b), (top, bias) = trained()
    module = torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.ReLU(), torch.nn.Dropout(), torch.nn.Linear(32, 2))
    with torch.no_grad():
        for layer, weight, shift in ((module[0], w, b), (module[3], top, bias)):
            layer.weight.copy_(torch.tensor(weight.T))
            layer.bias.copy_(torch.tensor(shift))
    module.train()
    module[0].eval()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.from_numpy(train)), 100)
    detector = taste.fit(module, loader)
    assert [m.training for m in module] == [False, True, True, True] and module.training
    with torch.no_grad():
        want = module.eval()(torch.from_numpy(fresh)).numpy()
    assert np.allclose(detector.score(fresh, prediction=True).prediction, want, atol=1e-4)
    with pytest.raises(taste.ModelError, match="two samples"):
        taste.fit(module, "somewhere.npy")

    class Odd(torch.nn.Module):
        def forward(self, x):
            return x + torch.tensor(np.random.default_rng().normal(size=2) * 9, dtype=torch.float32)

    with pytest.raises(taste.ModelError, match="Odd"):
        taste.fit(Odd(), train)


def test_modules_on_tables_and_on_ids(table, train, fresh):
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    pytest.importorskip("pyarrow")
    layers = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    program = torch.export.export(layers, (torch.from_numpy(train[:4]),), dynamic_shapes=({0: torch.export.Dim("n")},))
    want = taste.fit(layers, train).calibration
    for other in (torch.compile(layers), program):
        assert np.allclose(taste.fit(other, train).calibration, want, atol=1e-4)
    detector = taste.fit(layers, table, labels="label", name="a frame")
    assert detector.manifest["data"]["columns"] == ["a", "b"]
    with pytest.raises(taste.ModelError, match="refuses samples of shape"):
        taste.fit(layers, np.zeros((500, 3), np.float32))

    class Words(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.top = torch.nn.Embedding(50, 8), torch.nn.Linear(8, 3)

        def forward(self, ids):
            return self.top(self.words(ids).mean(1))

    ids = np.random.default_rng(0).integers(0, 50, (1500, 12))
    module = Words()
    found = taste.fit(module, ids).score(ids[:50], prediction=True).prediction
    with torch.no_grad():
        assert np.allclose(found, module(torch.from_numpy(ids[:50])).numpy(), atol=1e-4)
    short = taste.fit(_models.read(module, ids), ids[:, :8], length=12, padding=0)
    whole = np.pad(ids[:50, :8], ((0, 0), (0, 4)))
    assert short.sample_shape == (12,) and np.array_equal(short.score(ids[:50, :8]).score, short.score(whole).score)


def test_datasets_of_torch(model, train, fresh, detector):
    torch = pytest.importorskip("torch")
    pairs = torch.utils.data.TensorDataset(torch.from_numpy(fresh), torch.zeros(len(fresh)))
    want = detector.score(fresh).score
    for data in (pairs, torch.utils.data.TensorDataset(torch.from_numpy(fresh)), torch.utils.data.DataLoader(pairs, 60)):
        assert np.array_equal(detector.score(data).score, want)
    assert np.array_equal(detector.score(torch.from_numpy(fresh).to_sparse()).score, want)
    with pytest.raises(taste.DataError, match="device meta"):
        detector.score(torch.empty(3, 2, device="meta"))
    with pytest.raises(taste.DataError, match="gives a tuple for a sample"):
        detector.score(torch.utils.data.TensorDataset(*[torch.zeros(9, 2)] * 3))
    whole = taste.fit(model, torch.utils.data.TensorDataset(torch.from_numpy(train)))
    assert np.array_equal(whole.score(fresh).score, want)


def test_sparse_matrices(detector, fresh):
    sparse = pytest.importorskip("scipy.sparse")
    for data in (sparse.csr_matrix(fresh), sparse.coo_array(fresh)):
        assert np.array_equal(detector.score(data).score, detector.score(fresh).score)


def test_estimators_of_scikit_learn(table, fresh):
    pytest.importorskip("skl2onnx")
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x = table[["a", "b"]].to_numpy(np.float32)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(x, table.label)
    detector = taste.fit(pipeline, x)
    found = detector.score(fresh, prediction=True).prediction
    assert np.allclose(found, pipeline.predict_proba(fresh), atol=1e-4)
    with pytest.raises(taste.ModelError, match="not been fitted"):
        taste.fit(LogisticRegression(), x)


def test_joblib(detector, fresh):
    joblib = pytest.importorskip("joblib")
    want = detector.score(fresh).score
    found = joblib.Parallel(2)(joblib.delayed(detector.score)(part) for part in np.array_split(fresh, 4))
    assert np.allclose(np.concatenate([f.score for f in found]), want, atol=1e-5)


def test_pytorch_ood_runs_its_benchmark(model, train):
    torch = pytest.importorskip("torch")
    pytest.importorskip("pytorch_ood")
    from pytorch_ood.benchmark import Benchmark

    from taste_ood.pytorch_ood import TasteDetector

    def pairs(x, y):
        return torch.utils.data.TensorDataset(torch.from_numpy(x), torch.as_tensor(y))

    class Moons(Benchmark):
        ood_names = ["up"]

        def train_set(self):
            return pairs(*moons(2000, 3))

        def test_sets(self, known=True, unknown=True):
            x, y = moons(300, 9)
            up = x + np.float32([0, 2])
            return [pairs(np.concatenate([x, up]), np.concatenate([y, -np.ones(300, y.dtype)]))]

    benchmark = Moons()
    own = TasteDetector(model).fit(torch.utils.data.DataLoader(benchmark.train_set(), 200))
    found = benchmark.evaluate(own, loader_kwargs={"batch_size": 100}, device="cpu")
    assert found[0]["AUROC"] > 0.8
