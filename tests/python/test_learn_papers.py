"""The papers' learning experiments: their mechanisms' laws, and the epsilons beside them."""
import math

import numpy
import pytest

from tombola_learn import papers, papers_gspa

D, N, C = 50, 400, 0.5


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(papers, "D", D)


def repeated(kind, k, padded, truth, users=N, times=300):
    """Mean and deviation of the estimates of the mean of vectors that are all the same, over many draws."""
    mean = papers.flame(numpy.random.default_rng(5), kind, 2.0, k, padded)
    g = numpy.tile(truth, (users, 1))
    found = numpy.array([mean(g, C, N) for _ in range(times)])
    return found.mean(axis=0), found.std(axis=0)


@pytest.mark.parametrize("kind,k,padded", [("simple", D, 0), ("double", 10, 200), ("topk", 10, N)])
@pytest.mark.parametrize("users", [N, N // 8])
def test_estimates_are_those_of_the_values(small, kind, k, padded, users):
    """Of coordinates inside the clip and one outside it; whether users are drawn one by one or their noise is normal.  Five
    standard errors over 50 coordinates and 6 cases: a false alarm has chance 1e-4, with this seed none."""
    truth = numpy.linspace(-0.4, 0.413, D)  # magnitudes all differ, so that the largest are the same to everybody
    truth[7] = 3.0
    wanted = numpy.clip(truth, -C, C)
    if kind == "topk":
        wanted = wanted * papers.kept_top(wanted[None], k)[0]
    mean, deviation = repeated(kind, k, padded, truth, users)
    assert (abs(mean - wanted) < 5 * deviation / 300**0.5 + 1e-9).all(), mean - wanted
    says = math.tanh(1.0)
    expected = C / says * {"simple": N**-0.5, "double": padded**0.5 / (N * k / D), "topk": N**-0.5}[kind]
    if kind == "simple" or users != N:
        assert deviation.mean() == pytest.approx(expected, rel=0.1)


def test_more_than_padded_messages_are_not_kept(small):
    """Everybody sends the same coordinates, of which the shuffler keeps a quarter: so is the estimate."""
    truth = numpy.where(numpy.arange(D) < 10, C, 0.0)
    mean, _ = repeated("topk", 10, N // 4, truth, times=50)
    assert mean[:10].mean() == pytest.approx(C / 4, rel=0.1)


def test_a_normal_mechanism_cuts_lengths():
    g = numpy.zeros((4, papers.D))
    g[:, 0] = 10
    assert papers.normal(numpy.random.default_rng(1), 0)(g, 2.0, 4)[0] == pytest.approx(2)
    assert papers.normal(numpy.random.default_rng(1), 0.5)(g, 2.0, 4)[1:].std() == pytest.approx(1, rel=0.05)


# epsilon at delta 1e-4 of mu-GDP: the accountant's certified intervals of `gaussian:sigma=1/mu`.
@pytest.mark.parametrize("mu,epsilon", [(0.05, 0.126044), (0.5, 1.69807), (1.0, 3.80443)])
def test_gaussian_epsilons_are_the_accountants(mu, epsilon):
    assert papers_gspa.of_gaussian(mu, 1e-4) == pytest.approx(epsilon, abs=2e-5)


def test_gaussian_epsilons_of_little_noise_are_near_the_limit():
    """For a large mu the loss is normal of mean mu^2 / 2 and deviation mu, and delta its tail."""
    assert papers_gspa.of_gaussian(400.0, 1e-4) == pytest.approx(400**2 / 2 + 3.719 * 400, rel=1e-3)


def test_line_7_has_the_rows_of_a_client_too_often():
    """Its noise hides a move of 2 C / m; replacing a client's rows moves the clipped gradient by 2 C."""
    assert papers_gspa.noise(600, 0.5) * 600 == pytest.approx(papers_gspa.noise(1, 0.5))
    epsilons = numpy.full(100, 0.5)
    assert papers_gspa.printed(epsilons) < 10
