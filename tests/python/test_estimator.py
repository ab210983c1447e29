# SPDX-License-Identifier: BSD-3-Clause
"""What scikit-learn's users expect of an estimator."""

import copy
import io
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
import sklearn.cluster
from conftest import HANG, bits, run_python
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import kopse

# scikit-learn excuses its own KMeans from these two: drawn starts differ between weights and repeated rows.
# (From given starts they are the same bits: test_exact.py.)
EXCUSED = {
    "check_sample_weight_equivalence_on_dense_data": "starts are drawn from other rows",
    "check_sample_weight_equivalence_on_sparse_data": "starts are drawn from other rows",
}


@pytest.fixture
def X(rng):
    return rng.normal(size=(200, 3))


@pytest.mark.parametrize("estimator", [kopse.KMeans(), kopse.XMeans()], ids=lambda e: type(e).__name__)
def test_check_estimator(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checks = check_estimator(estimator, expected_failed_checks=EXCUSED, on_fail=None, on_skip=None)
    failed = {check["check_name"]: check["exception"] for check in checks if check["status"] == "failed"}
    assert not failed
    assert len(checks) > 50


# Whole tests of scikit-learn's own file for KMeans that ours differs from, with reasons: docs/coming_from.md.
OWN_TESTS = {
    "test_kmeans_init_auto_with_initial_centroids": "looks at the private _n_init",
    "test_n_init_auto": "looks at the private _n_init",
    "test_sample_weight_init": "calls the private _init_centroids",
    "test_sample_weight_zero": "calls the private _init_centroids",
    "test_kmeans_verbose": "the lines of verbose are others, and on stderr",
    "test_float_precision": "centers are float64 for float32 data too",
    "test_warning_elkan_1_cluster": "elkan of one cluster is elkan",
}


def test_own_tests_of_scikit_learn(tmp_path):
    """scikit-learn's test file, with our class in the place of its own; tests of sparse data are left out."""
    (tmp_path / "in_place.py").write_text("import sklearn.cluster, kopse\nsklearn.cluster.KMeans = kopse.KMeans\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "in_place", "-p", "no:cacheprovider", "-q", "--tb=line", "-W", "ignore", "-rfE",
         "-k", "not sparse and not csr and not minibatch and not MiniBatch", "--pyargs", "sklearn.cluster.tests.test_k_means"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, timeout=HANG,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    different = {line.split("::")[1].split("[")[0].split(" ")[0] for line in lines}
    assert different == set(OWN_TESTS), done.stdout
    last = done.stdout.splitlines()[-1].split()
    passed = int(last[last.index("passed,") - 1 if "passed," in last else last.index("passed") - 1])
    assert passed >= 70, done.stdout


def test_the_same_parameters(X):
    ours, theirs = kopse.KMeans().get_params(), sklearn.cluster.KMeans().get_params()
    assert set(theirs) <= set(ours)
    different = {name for name in theirs if theirs[name] != ours[name]}
    assert different == {"algorithm"}
    model = kopse.KMeans(4, random_state=0).fit(X)
    for name, value in vars(sklearn.cluster.KMeans(4, n_init=1, random_state=0).fit(X)).items():
        if name.endswith("_") and not name.startswith("_"):
            assert hasattr(model, name), name
            assert np.shape(getattr(model, name)) == np.shape(value)


def test_attributes(X):
    model = kopse.KMeans(4, random_state=0).fit(X)
    assert model.cluster_centers_.shape == (4, 3) and model.cluster_centers_.dtype == np.float64
    assert model.labels_.shape == (200,) and model.labels_.dtype == np.int32
    assert isinstance(model.inertia_, float) and isinstance(model.n_iter_, int) and model.converged_ in (True, False)
    assert model.n_features_in_ == 3 and not hasattr(model, "feature_names_in_")
    assert model.get_feature_names_out().tolist() == ["kmeans0", "kmeans1", "kmeans2", "kmeans3"]
    stats = model.stats_
    assert (stats["n"], stats["d"], stats["k"], stats["algorithm"], stats["tree"]) == (200, 3, 4, "auto", "")
    assert stats["choices"] == [{"iteration": 1, "algorithm": "lloyd", "why": "little work"}]
    assert len(stats["trace"]) == model.n_iter_ == stats["iterations"]
    assert stats["trace"][-1]["inertia"] == pytest.approx(model.inertia_, rel=1e-3)
    assert (model.fit_predict(X) == model.labels_).all()
    assert model.fit_transform(X).shape == (200, 4)


def test_private_state_is_none(X):
    """Of a fitted model: parameters, and attributes that end with _."""
    model = kopse.KMeans(4).fit(X)
    assert {name for name in vars(model) if not name.endswith("_")} == set(model.get_params())


@pytest.mark.parametrize(
    "settings, said",
    [
        ({"n_clusters": 0}, "n_clusters must be an int >= 1. Got 0"), ({"n_clusters": 2.5}, "n_clusters .* 2.5"),
        ({"n_clusters": True}, "n_clusters .* True"), ({"init": "best"}, "unknown init 'best'.*k-means"),
        ({"n_init": 0}, "n_init"), ({"max_iter": 0}, "max_iter"), ({"algorithm": "fast"}, "unknown algorithm 'fast'.*dualtree"),
        ({"algorithm": None}, "algorithm must be a name"), ({"tree": "oak", "algorithm": "dualtree"}, "unknown tree 'oak'.*kd"),
        ({"tree": 1}, "tree must be"), ({"leaf_size": 0}, "leaf_size"), ({"n_jobs": 0}, "n_jobs == 0"),
        ({"n_jobs": "all"}, "n_jobs"), ({"empty_clusters": "drop"}, "empty_clusters must be one of 'relocate', 'keep'"),
        ({"random_state": -1}, "random_state"), ({"random_state": "x"}, "cannot be used to seed"),
        ({"init": None}, "initial centers"), ({"verbose": "x"}, "verbose must be an int >= 0. Got 'x'"), ({"verbose": -1}, "verbose"),
        ({"n_init": np.array([1, 2])}, "n_init must be an int"), ({"callback": 5}, "callback must be callable or None. Got 5"),
        ({"tol": -(10**400)}, "tol must be"), ({"tree": None}, "tree must be one of 'kd'"), ({"n_jobs": 10**400}, "n_jobs"),
    ],
)  # fmt: skip
def test_parameters_that_cannot_be(X, settings, said):
    with pytest.raises(ValueError, match=said):
        kopse.KMeans(**{"n_clusters": 3, **settings}).fit(X)


@pytest.mark.parametrize(
    "use, said",
    [
        (lambda X: kopse.kmeans(X, 3, verbose="x"), "verbose must be an int >= 0. Got 'x'"),
        (lambda X: kopse.kmeans(X, 3, callback="x"), "callback must be callable"),
        (lambda X: kopse.choose_k(X, 3, callback="x"), "callback must be callable"),
        (lambda X: kopse.XMeans(callback="x").fit(X), "callback must be callable"),
        (lambda X: kopse.XMeans(verbose="x").fit(X), "verbose must be"),
        (lambda X: kopse.kmeans(X, 3, verify=np.array([1, 2])), "verify must be True or False"),
        (lambda X: kopse.choose_k(X, 3, silhouette="no"), "silhouette must be True or False. Got 'no'"),
        (lambda X: kopse.choose_k(X, 3, warm=None), "warm must be True or False"),
        (lambda X: kopse.kmeans_plusplus(X, 3, n_local_trials=0), "n_local_trials must be"),
        (lambda X: kopse.Tree(X, None), "tree must be one of 'kd'.* Got None"),
        (lambda X: kopse.Tree(X, "kd", None), "leaf_size must be an int >= 1|leaf_size must be an int in .* Got None"),
    ],
)
def test_settings_that_cannot_be(X, use, said):
    with pytest.raises(ValueError, match=said):
        use(X)


def test_settings_of_other_types(X):
    """A truth is verbose; a tolerance that no float holds is infinite."""
    assert kopse.KMeans(3, verbose=np.True_, tol=10**400, random_state=0).fit(X).n_iter_ == 1


def test_numpy_s_own_generator_is_what_none_means(X):
    """As in scikit-learn, by either name."""
    for init in ("random", lambda X, k, random_state: X[random_state.permutation(200)[:k]]):
        found = []
        for state in (None, np.random):
            np.random.seed(7)
            found.append(bits(kopse.KMeans(5, init=init, random_state=state).fit(X)))
        assert found[0] == found[1]


def test_one_start_where_centers_are_given(X):
    with pytest.warns(RuntimeWarning, match="performing only one init in KMeans instead of n_init=5"):
        kopse.KMeans(3, init=X[:3], n_init=5).fit(X)


def test_warnings_are_those_of_both(X):
    for kind in (kopse.ConvergenceWarning, ConvergenceWarning):
        with pytest.warns(kind, match="max_iter = 1"):
            kopse.KMeans(5, max_iter=1).fit(X)
    with pytest.warns(kopse.ConvergenceWarning, match="max_iter = 1"):
        kopse.kmeans(X, 5, max_iter=1)


@pytest.mark.parametrize(
    "use",
    [
        lambda X: kopse.KMeans(5, max_iter=1).fit(X), lambda X: kopse.KMeans(5, max_iter=1).fit_predict(X),
        lambda X: kopse.KMeans(5, max_iter=1).fit_transform(X), lambda X: kopse.XMeans(5, max_iter=1).fit_predict(X),
        lambda X: kopse.KMeans(5, max_iter=1).set_output(transform="pandas").fit_transform(X),
        lambda X: make_pipeline(StandardScaler(), kopse.KMeans(5, max_iter=1)).fit_predict(X),
        lambda X: GridSearchCV(kopse.KMeans(max_iter=1), {"n_clusters": [20]}, cv=2).fit(X),
        lambda X: kopse.KMeans(5, max_iter=1, init=lambda X, k, random_state: X[:k]).fit(X), lambda X: kopse.kmeans(X, 5, max_iter=1),
        lambda X: kopse.choose_k(X, 5, max_iter=1), lambda X: kopse.KMeans(3, init=X[:3], n_init=2).fit_predict(X),
        lambda X: kopse.kmeans_plusplus(np.ones((9, 1)), 5), lambda X: kopse.KMeans(5).fit_predict(np.ones((9, 1))),
    ],
)  # fmt: skip
def test_warnings_point_to_the_line_of_the_user(X, use):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        use(X)
    assert caught and {(one.filename, one.lineno) for one in caught} <= {(__file__, use.__code__.co_firstlineno + i) for i in range(2)}


def test_not_fitted(X):
    for use in ("predict", "transform", "score"):
        with pytest.raises(NotFittedError):
            getattr(kopse.KMeans(), use)(X)


def test_in_pipelines_and_searches(X):
    pipeline = make_pipeline(StandardScaler(), kopse.KMeans(random_state=0))
    search = GridSearchCV(pipeline, {"kmeans__n_clusters": [2, 4, 8], "kmeans__algorithm": ["lloyd", "dualtree"]}, n_jobs=2).fit(X)
    assert search.best_params_["kmeans__n_clusters"] == 8
    scores = search.cv_results_["mean_test_score"]
    assert (scores[:3] == scores[3:]).all()  # another algorithm, the same bits
    assert cross_val_score(kopse.KMeans(3, random_state=0), X).shape == (5,)


def test_copies(X, tmp_path):
    model = kopse.KMeans(4, random_state=0, init=X[:4]).fit(X)
    again = clone(model)
    assert not hasattr(again, "labels_") and bits(again.fit(X)) == bits(model)
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    for other in (copy.deepcopy(model), copy.copy(model), pickle.loads(pickle.dumps(model)), joblib.load(file)):
        assert bits(other) == bits(model) and (other.predict(X) == model.labels_).all()
    (tmp_path / "model.pickle").write_bytes(pickle.dumps((model, X)))
    assert run_python(
        "import pickle, sys; model, X = pickle.load(open(sys.argv[1], 'rb'))\n"
        "print((model.predict(X) == model.labels_).all(), model.score(X) == -model.inertia_)".replace(
            "sys.argv[1]", repr(str(tmp_path / "model.pickle"))
        )
    ).split() == ["True", "True"]


def test_a_tree_survives_pickling_and_cloning(X):
    tree = kopse.Tree(X, tree="ball", leaf_size=7)
    again = pickle.loads(pickle.dumps(tree))
    assert repr(again) == repr(tree) and again.node_count == tree.node_count > 1
    assert bits(kopse.KMeans(5, random_state=0).fit(again)) == bits(kopse.KMeans(5, random_state=0).fit(X))


def test_a_tree_takes_the_place_of_x_everywhere(X):
    tree = kopse.Tree(X)
    model = kopse.KMeans(5, random_state=0).fit(tree)
    assert (model.predict(tree) == model.labels_).all() and model.score(tree) == -model.inertia_
    assert (model.transform(tree) == model.transform(X)).all()
    assert (kopse.kmeans_plusplus(tree, 5)[1] == kopse.kmeans_plusplus(X, 5)[1]).all()
    assert len(tree) == 200 and tree.shape == (200, 3)


def test_a_tree_keeps_its_rows(X):
    with pytest.raises(AttributeError):
        kopse.Tree(X).rows = X[:5]


def test_a_tree_notices_that_its_rows_have_changed(X):
    tree = kopse.Tree(X)
    X[3, 1] += 1
    with pytest.raises(ValueError, match="not built on these rows"):
        kopse.kmeans(tree, 5)


@pytest.mark.parametrize("kind", ["pandas", "pandas float32", "pandas of arrow", "polars", "pyarrow"])
def test_data_frames(X, kind):
    names = ["x", "y", "z"]
    frame = pd.DataFrame(X, columns=names)
    data = {
        "pandas": lambda: frame,
        "pandas float32": lambda: frame.astype("float32"),
        "pandas of arrow": lambda: frame.convert_dtypes(dtype_backend="pyarrow"),
        "polars": lambda: pl.DataFrame(X, schema=names),
        "pyarrow": lambda: pa.table({name: X[:, i] for i, name in enumerate(names)}),
    }[kind]()
    model = kopse.KMeans(4, random_state=0).fit(data)
    plain = kopse.KMeans(4, random_state=0).fit(X.astype(np.float32) if kind == "pandas float32" else X)
    assert bits(model) == bits(plain) and (model.predict(data) == plain.labels_).all()
    if kind != "pyarrow":  # of which scikit-learn does not read the names
        assert model.feature_names_in_.tolist() == names
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frame.rename(columns={"x": "u"}))
    assert kopse.kmeans(data, 4, tol=1e-4).inertia == plain.inertia_


def test_columns_of_weights(X):
    w = np.arange(200) % 3 + 1.0
    expected = bits(kopse.KMeans(4, random_state=0).fit(X, sample_weight=w))
    for weights in (pd.Series(w), pl.Series(w), pa.chunked_array([w]), w.tolist(), w.astype(np.float32), w.astype(int)):
        assert bits(kopse.KMeans(4, random_state=0).fit(X, sample_weight=weights)) == expected


@pytest.mark.parametrize("container, kind", [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_set_output(X, container, kind):
    out = kopse.KMeans(3, random_state=0).set_output(transform=container).fit_transform(X)
    assert isinstance(out, kind) and list(out.columns) == ["kmeans0", "kmeans1", "kmeans2"]


def test_transform_keeps_the_type(X):
    model = kopse.KMeans(3, random_state=0).fit(X)
    assert model.transform(X.astype(np.float32)).dtype == np.float32 and model.transform(X).dtype == np.float64


def test_metadata_routing(X):
    w = np.arange(200) % 2 + 0.0
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), kopse.KMeans(3, random_state=0).set_fit_request(sample_weight=True).set_score_request(sample_weight=True))
        # The scaler would weigh too, were it asked to.
        pipeline.steps[0][1].set_fit_request(sample_weight=False)
        pipeline.fit(X, sample_weight=w)
        scaled = StandardScaler().fit_transform(X)
        assert pipeline[-1].inertia_ == kopse.KMeans(3, random_state=0).fit(scaled, sample_weight=w).inertia_
        assert pipeline.score(X, sample_weight=w) == -pipeline[-1].inertia_


def test_fewer_threads_where_the_environment_says_so(monkeypatch):
    from kopse._settings import threads

    cores = kopse._core.available_threads()
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert threads(None) == 0 and threads(-1) == 0 and threads(3) == 3
    assert threads(-2) == max(1, cores - 1) and threads(-1000) == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert threads(None) == 1 and threads(-1) == 0 and threads(3) == 3
    for some in ("2", " 2 ", "02", "2,1"):
        monkeypatch.setenv("OMP_NUM_THREADS", some)
        assert threads(None) == min(2, cores)
    for none in ("no number", "", "0", "-1", "²", "٣", "1e3", "9" * 5000):
        monkeypatch.setenv("OMP_NUM_THREADS", none)
        assert threads(None) == 0


def test_threads_have_a_bound(rng):
    """However many are asked for: as the process sees it while a fit is under way."""
    X = rng.normal(size=(100_000, 3))
    bound, seen = max(64, 4 * kopse._core.available_threads()), []

    def count(*_):
        seen.append(len(os.listdir("/proc/self/task")))

    before = len(os.listdir("/proc/self/task"))
    many = kopse.kmeans(X, 50, n_jobs=2000, callback=count, algorithm="lloyd", tol=0.01)
    assert max(seen) - before <= bound + 1  # the one that waits for Python
    assert many.centers.tobytes() == kopse.kmeans(X, 50, n_jobs=1, algorithm="lloyd", tol=0.01).centers.tobytes()


def test_the_stub_lists_what_there_is():
    import ast

    stub = ast.parse((Path(kopse.__file__).parent / "_core.pyi").read_text())
    listed = {
        getattr(node, "name", None) or node.target.id for node in stub.body if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AnnAssign))
    }
    assert {name for name in listed if name[0] != "_"} == {name for name in dir(kopse._core) if name[0] != "_"}
    for node in stub.body:
        if isinstance(node, ast.ClassDef):
            members = {getattr(part, "name", None) or part.target.id for part in node.body}
            assert members - {"__init__"} == {m for m in dir(getattr(kopse._core, node.name)) if m[0] != "_"}, node.name


def test_mypy(tmp_path):
    (tmp_path / "user.py").write_text(
        "import numpy as np, kopse\n"
        "run = kopse.kmeans(np.zeros((4, 2)), 2, init=np.zeros((2, 2)), callback=lambda i, r: print(i, r['inertia']))\n"
        "x: float = run.inertia\n"
        "labels: np.typing.NDArray[np.int32] = kopse.KMeans(2).fit_predict([[1, 2], [3, 4]])\n"
        "tree = kopse.Tree(np.zeros((4, 2)))\n"
        "n: int = kopse.KMeans(2).fit(tree).n_iter_\n"
    )
    config = Path(__file__).resolve().parents[2] / "pyproject.toml"
    for target in (["-p", "kopse"], ["user.py"]):
        done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", str(config), "--cache-dir", str(tmp_path / "cache"), *target],
                              cwd=tmp_path, capture_output=True, text=True, timeout=HANG)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "wrong.py").write_text("import kopse\nkopse.kmeans([[1.0]], 1, max_iter='many')\n")
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", str(config), "--cache-dir", str(tmp_path / "cache"), "wrong.py"],
                          cwd=tmp_path, capture_output=True, text=True, timeout=HANG)  # fmt: skip
    assert done.returncode == 1 and "max_iter" in done.stdout
