"""Estimators and transformers of scikit-learn through skl2onnx."""

import warnings

import numpy as np
import pandas
from skl2onnx import convert_sklearn, to_onnx
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType, StringTensorType
from sklearn import (
    calibration,
    compose,
    cross_decomposition,
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_extraction,
    feature_selection,
    gaussian_process,
    impute,
    linear_model,
    multiclass,
    multioutput,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)

from families import FRESH, ROWS, Export, Table, blobs, generator

warnings.filterwarnings("ignore")
TABLE = Table("scikit-learn, skl2onnx")
LOGISTIC = linear_model.LogisticRegression(max_iter=1000)


OPSETS = {"": 18, "ai.onnx.ml": 3}


def exported(estimator, example: np.ndarray, zipmap: bool = True) -> bytes:
    last = estimator.steps[-1][1] if isinstance(estimator, pipeline.Pipeline) else estimator
    options = {id(estimator): {"zipmap": False}} if not zipmap and hasattr(last, "predict_proba") else None
    return to_onnx(estimator, example, options=options, target_opset=OPSETS).SerializeToString()


def classifier(name: str, estimator, holds: str = "classes", classes: int = 3, zipmap: bool = False, change=lambda x: x, corrected=lambda y: y):
    """A classifier of a table of numbers, by default without the map of names to probabilities."""

    @TABLE.add(name, holds)
    def make() -> Export:
        train, labels, fresh = blobs(name, classes)
        train, fresh = change(train), change(fresh)
        estimator.fit(train, labels)
        return Export(exported(estimator, train[:1], zipmap), train, fresh, corrected=corrected)


def regressor(name: str, estimator, outputs: int = 1, holds: str = "numbers", positive: bool = False):
    @TABLE.add(name, holds)
    def make() -> Export:
        train, _, fresh = blobs(name)
        weights = generator(name + " target").normal(size=(train.shape[1], outputs))
        target = np.tanh(train @ weights) + 0.3 * train @ weights
        target = np.exp(target / 4) if positive else target
        estimator.fit(train, target if outputs > 1 else target[:, 0])
        return Export(exported(estimator, train[:1]), train, fresh)


def with_holes(x: np.ndarray, name: str) -> np.ndarray:
    x = x.copy()
    x[generator(name + " holes").random(x.shape) < 0.05] = np.nan
    return x


def counts(x: np.ndarray) -> np.ndarray:
    return np.floor(np.abs(2 * x))


classifier("LogisticRegression", LOGISTIC)
classifier("LogisticRegression, two classes", linear_model.LogisticRegression(), classes=2)
classifier("LogisticRegression with ZipMap", linear_model.LogisticRegression(max_iter=1000), zipmap=True)
classifier("StandardScaler, LogisticRegression", pipeline.make_pipeline(preprocessing.StandardScaler(), LOGISTIC))
classifier(
    "RobustScaler, MinMaxScaler, SGDClassifier",
    pipeline.make_pipeline(preprocessing.RobustScaler(), preprocessing.MinMaxScaler(), linear_model.SGDClassifier(random_state=0)),
    zipmap=True,
)
classifier("LinearSVC", svm.LinearSVC(), zipmap=True)
classifier("PolynomialFeatures, LogisticRegression", pipeline.make_pipeline(preprocessing.PolynomialFeatures(2), LOGISTIC))
classifier(
    "QuantileTransformer, LogisticRegression",
    pipeline.make_pipeline(preprocessing.QuantileTransformer(n_quantiles=50), LOGISTIC),
)
classifier("PowerTransformer, LogisticRegression", pipeline.make_pipeline(preprocessing.PowerTransformer(), LOGISTIC))
classifier(
    "KBinsDiscretizer, LogisticRegression",
    pipeline.make_pipeline(preprocessing.KBinsDiscretizer(5, encode="onehot-dense"), LOGISTIC),
)
classifier("Normalizer, MaxAbsScaler, RidgeClassifier", pipeline.make_pipeline(
    preprocessing.Normalizer(), preprocessing.MaxAbsScaler(), linear_model.RidgeClassifier()), zipmap=True)
classifier("KNNImputer, LogisticRegression", pipeline.make_pipeline(impute.KNNImputer(n_neighbors=3), LOGISTIC))
classifier("TruncatedSVD, LogisticRegression", pipeline.make_pipeline(decomposition.TruncatedSVD(3), LOGISTIC))
classifier("PCA, LogisticRegression", pipeline.make_pipeline(decomposition.PCA(3), LOGISTIC))
classifier(
    "FeatureUnion, SelectKBest, LogisticRegression",
    pipeline.make_pipeline(
        pipeline.FeatureUnion([("pca", decomposition.PCA(2)), ("scaled", preprocessing.StandardScaler())]),
        feature_selection.SelectKBest(k=5),
        LOGISTIC,
    ),
)
classifier("SVC, RBF kernel", svm.SVC())
# ONNX Runtime gives the scores of the two classes the wrong way round: its label is that of the lower one.
classifier("SVC, two classes", svm.SVC(), classes=2, corrected=lambda y: y[:, ::-1] if y.ndim == 2 else y)
classifier("KNeighborsClassifier", neighbors.KNeighborsClassifier())
classifier("GaussianNB", naive_bayes.GaussianNB())
classifier("BernoulliNB", naive_bayes.BernoulliNB())
classifier("MultinomialNB; counts", naive_bayes.MultinomialNB(), change=counts)
classifier("ComplementNB; counts", naive_bayes.ComplementNB(), change=counts)
classifier("CategoricalNB; codes", naive_bayes.CategoricalNB(min_categories=12), change=lambda x: np.clip(counts(x), 0, 11))
classifier("LinearDiscriminantAnalysis", discriminant_analysis.LinearDiscriminantAnalysis())
classifier("QuadraticDiscriminantAnalysis", discriminant_analysis.QuadraticDiscriminantAnalysis())
classifier("DecisionTreeClassifier", tree.DecisionTreeClassifier(max_depth=6))
classifier("RandomForestClassifier", ensemble.RandomForestClassifier(20, max_depth=6, random_state=0))
classifier("ExtraTreesClassifier, two classes", ensemble.ExtraTreesClassifier(20, max_depth=6, random_state=0), classes=2)
classifier("GradientBoostingClassifier", ensemble.GradientBoostingClassifier(n_estimators=10))
classifier("GradientBoostingClassifier, two classes", ensemble.GradientBoostingClassifier(n_estimators=10), classes=2)
classifier("AdaBoostClassifier", ensemble.AdaBoostClassifier(n_estimators=5, random_state=0))
classifier("BaggingClassifier", ensemble.BaggingClassifier(n_estimators=5, random_state=0))
classifier(
    "VotingClassifier",
    ensemble.VotingClassifier([("nb", naive_bayes.GaussianNB()), ("lr", LOGISTIC)], voting="soft", flatten_transform=False),
)
classifier(
    "StackingClassifier",
    ensemble.StackingClassifier([("nb", naive_bayes.GaussianNB()), ("tree", tree.DecisionTreeClassifier(max_depth=4))], LOGISTIC),
)
classifier("CalibratedClassifierCV", calibration.CalibratedClassifierCV(naive_bayes.GaussianNB(), cv=3))
classifier("OneVsOneClassifier", multiclass.OneVsOneClassifier(linear_model.LogisticRegression()), zipmap=True)
classifier("OneVsRestClassifier", multiclass.OneVsRestClassifier(linear_model.LogisticRegression()))
classifier("MLPClassifier", neural_network.MLPClassifier((16,), max_iter=200, random_state=0))
classifier("MLPClassifier, two classes", neural_network.MLPClassifier((16,), max_iter=200, random_state=0), classes=2)
regressor("LinearRegression, two outputs", linear_model.LinearRegression(), 2)
regressor("PoissonRegressor", linear_model.PoissonRegressor(), positive=True)
regressor("BayesianRidge", linear_model.BayesianRidge())
regressor("PLSRegression", cross_decomposition.PLSRegression(2))
regressor("ElasticNet", linear_model.ElasticNet(0.01))
regressor("MLPRegressor", neural_network.MLPRegressor(hidden_layer_sizes=(16,), max_iter=200, random_state=0))
regressor("SVR", svm.SVR())
regressor("KNeighborsRegressor", neighbors.KNeighborsRegressor())
regressor("RandomForestRegressor", ensemble.RandomForestRegressor(20, max_depth=6, random_state=0))
regressor("GradientBoostingRegressor", ensemble.GradientBoostingRegressor(n_estimators=10))
regressor("MultiOutputRegressor of trees", multioutput.MultiOutputRegressor(tree.DecisionTreeRegressor(max_depth=5)), 2)
regressor("GaussianProcessRegressor", gaussian_process.GaussianProcessRegressor(alpha=0.1))
regressor("IsolationForest", ensemble.IsolationForest(n_estimators=20, random_state=0))


@TABLE.add("SimpleImputer, StandardScaler, LogisticRegression; missing values", "classes")
def imputer() -> Export:
    name = "imputer"
    train, labels, fresh = blobs(name)
    train, fresh = with_holes(train, name), with_holes(fresh, name + " fresh")
    model = pipeline.make_pipeline(impute.SimpleImputer(strategy="median"), preprocessing.StandardScaler(), LOGISTIC)
    model.fit(train, labels)
    columns = [f"c{i}" for i in range(train.shape[1])]
    return Export(
        exported(model, train[:1], False), dict(zip(columns, train.T)), dict(zip(columns, fresh.T)), lambda t: {"X": np.stack(list(t.values()), 1)}
    )


def mixed_table(name: str) -> tuple[dict, dict, np.ndarray]:
    train, labels, fresh = blobs(name, 2, 3)
    cities = np.array(["Aachen", "Bonn", "Cologne", "Dresden"])

    def table(x, salt):
        random = generator(name + salt)
        rows = len(x)
        held = with_holes(x[:, :2], name + salt)
        city = cities[(np.digitize(x[:, 2], [-1, 0, 1]) + random.integers(2, size=rows)) % 4]
        return {"income": held[:, 0], "age": held[:, 1], "city": city, "grade": random.choice(["a", "b"], size=rows)}

    return table(train, "train"), table(fresh, "fresh"), labels


def column_transformer(name: str, last, holds: str = "classes"):
    @TABLE.add(name, holds)
    def make() -> Export:
        train, fresh, labels = mixed_table(name)
        numbers = pipeline.make_pipeline(impute.SimpleImputer(), preprocessing.StandardScaler())
        encoder = preprocessing.OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        both = compose.ColumnTransformer([("n", numbers, ["income", "age"]), ("c", encoder, ["city", "grade"])])
        model = pipeline.make_pipeline(both, last).fit(pandas.DataFrame(train), labels)
        kinds = [(n, FloatTensorType([None, 1])) for n in ("income", "age")]
        kinds += [(n, StringTensorType([None, 1])) for n in ("city", "grade")]
        options = {id(model): {"zipmap": False}} if hasattr(last, "predict_proba") else None
        onnx = convert_sklearn(model, initial_types=kinds, options=options, target_opset=OPSETS)
        return Export(onnx.SerializeToString(), train, fresh, lambda t: {n: v[:, None] for n, v in t.items()})


column_transformer("ColumnTransformer with OneHotEncoder, LogisticRegression; words, missing values", linear_model.LogisticRegression())
column_transformer("ColumnTransformer with OneHotEncoder, RandomForestClassifier; words", ensemble.RandomForestClassifier(10, max_depth=5, random_state=0))


@TABLE.add("MLPClassifier, several labels", "labels")
def labels() -> Export:
    train, classes, fresh = blobs("labels", 4)
    target = np.stack([classes % 2, classes // 2, train[:, 0] > 0], 1).astype(int)
    model = neural_network.MLPClassifier((16,), max_iter=200, random_state=0).fit(train, target)
    return Export(exported(model, train[:1], False), train, fresh)


@TABLE.add("TfidfVectorizer, LogisticRegression; texts", "refused")
def texts() -> Export:
    random = generator("texts")
    words = np.array("good bad fine poor great awful nice dull".split())
    rows = np.array([" ".join(random.choice(words, 6)) for _ in range(ROWS + FRESH)])
    labels = np.array([row.count("good") + row.count("great") > 1 for row in rows]).astype(int)
    model = pipeline.make_pipeline(feature_extraction.text.TfidfVectorizer(), LOGISTIC).fit(rows[:ROWS], labels[:ROWS])
    onnx = convert_sklearn(model, initial_types=[("text", StringTensorType([None, 1]))], target_opset=OPSETS)
    return Export(onnx.SerializeToString(), {"text": rows[:ROWS]}, {"text": rows[ROWS:]}, lambda t: {"text": t["text"][:, None]})


def typed(name: str, kind: type, number: type):
    """A table of whole numbers, or in double precision."""

    @TABLE.add(name, "classes")
    def make() -> Export:
        train, labels, fresh = blobs(name)
        train, fresh = (np.round(4 * x).astype(number) for x in (train, fresh))
        model = pipeline.make_pipeline(preprocessing.StandardScaler(), LOGISTIC).fit(train, labels)
        onnx = convert_sklearn(
            model, initial_types=[("X", kind([None, train.shape[1]]))], options={id(model): {"zipmap": False}}, target_opset=OPSETS
        )
        return Export(onnx.SerializeToString(), train, fresh)


typed("StandardScaler, LogisticRegression; int64 inputs", Int64TensorType, np.int64)
typed("StandardScaler, LogisticRegression; double inputs", DoubleTensorType, np.float64)


@TABLE.add("OrdinalEncoder, ExtraTreesClassifier; words", "classes")
def ordinal() -> Export:
    name = "ordinal"
    train, fresh, labels = mixed_table(name)
    encoder = preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    both = compose.ColumnTransformer([("n", impute.SimpleImputer(), ["income", "age"]), ("c", encoder, ["city", "grade"])])
    model = pipeline.make_pipeline(both, ensemble.ExtraTreesClassifier(10, max_depth=5, random_state=0))
    model.fit(pandas.DataFrame(train), labels)
    kinds = [(n, FloatTensorType([None, 1])) for n in ("income", "age")]
    kinds += [(n, StringTensorType([None, 1])) for n in ("city", "grade")]
    onnx = convert_sklearn(model, initial_types=kinds, options={id(model): {"zipmap": False}}, target_opset=OPSETS)
    return Export(onnx.SerializeToString(), train, fresh, lambda t: {n: v[:, None] for n, v in t.items()})
