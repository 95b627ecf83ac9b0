"""Each learner against its model made without noise, by other formulas, of the same rows."""
import numpy
import pytest

from tombola_learn import STOP, Training
from tombola_learn.learners import Anomaly, Forest, KMeans, Logistic, NaiveBayes, Ridge, Tree, accuracy, auc, macro_f1
from tombola_learn.learners.bins import binned, edges_between
from tombola_learn.learners.kmeans import inertia
from trainings import clusters, fake, repeated

TRAIN, TEST = clusters(600), clusters(400, seed=6)
EDGES = edges_between([-4] * 4, [4] * 4, 16)


def ran(folder, learner, entries, data=TRAIN):
    return Training(fake(str(folder), entries, *data), learner, folder / "t", None).run()


def test_measures():
    truth = numpy.array([0, 0, 0, 1, 1, 2])
    said = numpy.array([0, 0, 1, 1, 2, 2])
    assert accuracy(said, truth) == pytest.approx(4 / 6)
    assert macro_f1(said, truth, 4) == pytest.approx((0.8 + 0.5 + 2 / 3 + 0) / 4)
    assert auc([1, 2, 2, 3], [False, False, True, True]) == pytest.approx(3.5 / 4)


def test_edges_are_counted_as_the_device_counts_them():
    edges = edges_between([0.0], [4.0], 4)
    assert edges.tolist() == [[1, 2, 3]]
    assert binned(numpy.array([[-9.0], [0.99], [1.0], [3.0], [99.0]]), edges)[:, 0].tolist() == [0, 0, 1, 3, 3]


def test_naive_bayes_is_that_of_the_counts(tmp_path):
    learner = NaiveBayes("nb", EDGES, 3, test=TEST, floor=0)
    history = ran(tmp_path, learner, [{"query": "nb", "map": "statistics", "classes": 3}])
    assert learner.propose(history) is STOP
    at, y = binned(TRAIN[0], EDGES), TRAIN[1]
    prior, likelihood = learner.fit(history[0].estimate)
    assert numpy.exp(prior) == pytest.approx(numpy.bincount(y) / len(y), abs=1e-5)
    for k in range(3):
        share = numpy.bincount(at[y == k, 2], minlength=16) / (y == k).sum()
        assert numpy.exp(likelihood[2][:, k]) == pytest.approx(share, abs=1e-4)
    assert history[0].score["accuracy"] > 0.97 and history[0].score["macro-F1"] > 0.97


def test_naive_bayes_survives_noise(tmp_path):
    learner = NaiveBayes("nb", EDGES, 3, test=TEST)
    history = ran(tmp_path, learner, [{"query": "nb", "map": "statistics", "classes": 3, "deviation": 5.0}])
    assert history[0].score["accuracy"] > 0.9


def test_anomalies_are_where_few_are(tmp_path):
    x = numpy.vstack([TRAIN[0], numpy.full((6, 4), 3.7, numpy.float32)])
    odd = numpy.arange(len(x)) >= 600
    learner = Anomaly("h", EDGES, test=(x, odd))
    history = ran(tmp_path, learner, [{"query": "h", "map": "statistics", "deviation": 3.0}], (x, odd * 1))
    assert history[0].score["AUC"] > 0.98


def test_k_means_moves_as_lloyd_does(tmp_path):
    first = TRAIN[0][:3] + 0.5
    learner = KMeans("km", first, 4, test=TEST[0])
    history = ran(tmp_path, learner, repeated(4, query="km", map="nearest-centroid", clip=50.0))
    at = first.astype(float)
    for _ in range(4):
        near = ((TRAIN[0][:, None] - at[None])**2).sum(axis=2).argmin(axis=1)
        at = numpy.array([TRAIN[0][near == k].mean(axis=0) if (near == k).any() else at[k] for k in range(3)])
    assert learner.centroids(history) == pytest.approx(at, abs=1e-3)
    assert history[-1].score["inertia"] == pytest.approx(inertia(TEST[0], at), rel=1e-3)


FAR = numpy.array([[0, 0, 0, 0], [90, 90, 90, 90]], numpy.float32)
NEAREST = {"query": "km", "map": "nearest-centroid", "clip": 50.0, "deviation": 1e-3}


def test_a_centroid_without_devices_stays(tmp_path):
    learner = KMeans("km", FAR, 2)
    history = ran(tmp_path, learner, repeated(2, **NEAREST))
    assert (learner.centroids(history)[1] == FAR[1]).all()


def test_a_centroid_without_devices_begins_anew_at_a_public_row(tmp_path):
    learner, stays = KMeans("km", FAR, 4, spare=TEST[0]), KMeans("km", FAR, 4)
    history = ran(tmp_path, learner, repeated(4, **NEAREST))
    assert any((history[1].payload["centroids"][1] == row).all() for row in TEST[0])
    assert (history[0].estimate.values.reshape(2, 5)[:, 4] > 0.5).tolist() == [True, False]
    (tmp_path / "stays").mkdir()
    without = stays.centroids(ran(tmp_path / "stays", stays, repeated(4, **NEAREST)))
    assert inertia(TEST[0], learner.centroids(history)) < 0.7 * inertia(TEST[0], without)


def test_logistic_regression_descends(tmp_path):
    learner = Logistic("g", 4, 3, rounds=8, step=2.0, momentum=0.5, test=TEST)
    history = ran(tmp_path, learner, repeated(8, query="g", map="linear-gradient", clip=50.0))
    f, onehot = numpy.hstack([TRAIN[0], numpy.ones((600, 1))]), numpy.eye(3)[TRAIN[1]]
    w, speed, path = numpy.zeros((3, 5)), 0, []
    for t in range(8):
        z = numpy.exp(f @ w.T)
        speed = 0.5 * speed + (z / z.sum(axis=1, keepdims=True) - onehot).T @ f / 600
        w = w - 2.0 * (1 - t / 8) * speed
        path.append(w)
    assert learner.weights(history)["weights"] == pytest.approx(w, abs=1e-3)
    assert learner.model(history)["weights"] == pytest.approx((path[5] + path[6] + path[7]) / 3, abs=1e-3)
    assert history[-1].score["accuracy"] > 0.97


@pytest.mark.parametrize("rounds", [1, 3])
def test_ridge_solves_the_moments(tmp_path, rounds):
    learner = Ridge("m", 4, 3, scale=0.5, mean_query="mean", rounds=rounds, test=TEST, strength=1.0)
    m = {"query": "m", "map": "moments", "clip": 200.0, "classes": 3}
    history = ran(tmp_path, learner, [{"query": "mean", "map": "moments", "part": "mean", "clip": 50.0},
                                      *(repeated(rounds, **m) if rounds > 1 else [m])])
    # Of several rounds each has signs of its own.
    assert len(history.of("m")) == rounds
    assert (len({tuple(s.payload["scale"]) for s in history.of("m")}) > 1) == (rounds > 1)
    f = numpy.hstack([(TRAIN[0] - TRAIN[0].mean(axis=0)) * 0.5, numpy.ones((600, 1))])
    w = numpy.linalg.solve(f.T @ f, f.T @ numpy.eye(3)[TRAIN[1]]).T
    assert learner.weights(history) == pytest.approx(w, abs=1e-3)
    assert history[-1].score["accuracy"] > 0.97


def levels(name, count, **more):
    return [{"query": f"{name}{i}", "map": "tree-path", "leaves": max(2, 2**i), "classes": 2, **more} for i in range(count)]


def chessboard(n, seed):
    """No single feature says anything of the class; two together say all."""
    x = numpy.random.default_rng(seed).uniform(0, 4, (n, 3)).astype(numpy.float32)
    return x, ((x[:, 0] > 2) ^ (x[:, 1] > 2)).astype(int)


@pytest.mark.parametrize("deviation", [0.01, 1.0])
def test_a_tree_finds_what_depth_shows(tmp_path, deviation):
    edges = edges_between([0] * 3, [4] * 3, 8)
    x, y = chessboard(2000, 1)
    # A board whose halves differ a little, so that the first split has something to gain.
    keep = (x[:, 0] > 2) | (y == 0) | (numpy.arange(2000) % 3 > 0)
    tree = Tree(["l0", "l1", "l2", "l3"], edges, 2, test=chessboard(500, 2), bayes=False)
    history = ran(tmp_path, tree, levels("l", 4, deviation=deviation), (x[keep], y[keep]))
    assert tree.grown(history)[0].feature[0] in (0, 1)
    assert history[-1].score["accuracy"] > 0.93
    flat = NaiveBayes("nb", edges, 2, test=chessboard(500, 2))
    (tmp_path / "nb").mkdir()
    other = ran(tmp_path / "nb", flat, [{"query": "nb", "map": "statistics", "classes": 2}], (x[keep], y[keep]))
    assert other[-1].score["accuracy"] < 0.75


def test_noise_alone_splits_nothing(tmp_path):
    x, y = chessboard(400, 3)
    tree = Tree(["l0", "l1"], edges_between([0] * 3, [4] * 3, 8), 2)
    history = ran(tmp_path, tree, levels("l", 2, deviation=300.0), (x, y))
    assert tree.grown(history)[0].leaves == 1


def test_trees_vote(tmp_path):
    names = [["a0", "a1", "a2"], ["b0", "b1", "b2"], ["c0", "c1", "c2"]]
    forest = Forest(names, EDGES, 3, share=0.5, test=TEST)
    entries = [{**e, "classes": 3} for n in "abc" for e in levels(n, 3, deviation=1.0)]
    history = ran(tmp_path, forest, entries)
    assert len({tuple(t.features) for t in forest.trees}) > 1
    assert len(history) == 9 and history[-1].score["accuracy"] > 0.95
