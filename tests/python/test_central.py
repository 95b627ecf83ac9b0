"""Central events, curves, matrices and groups, through the library."""

import json
import math
import sys

import pytest

from tombola_accountant import (AccountantError, ComposedDpEvent, CurveDpEvent, GaussianDpEvent, GuaranteeDpEvent,
                                IncrementalAccountant, LaplaceDpEvent, MatrixDpEvent, NeighboringRelation,
                                PLDAccountant, PoissonSampledDpEvent, ShuffledDpEvent, optimise_budget)

ROUND = ShuffledDpEvent("grr", k=4, eps0=2, n=500)
RESPONSE = [[math.exp(2) / (math.exp(2) + 3) if x == y else 1 / (math.exp(2) + 3) for y in range(4)] for x in range(4)]


def tail(z):
    return math.erfc(z / math.sqrt(2)) / 2


def gauss(mu, epsilon):
    return tail(epsilon / mu - mu / 2) - math.exp(epsilon) * tail(epsilon / mu + mu / 2)


def of(*events):
    return PLDAccountant().compose(ComposedDpEvent(events))


def test_normal_answers_are_one():
    lower, upper = of(*[GaussianDpEvent(10)] * 50, *[GaussianDpEvent(20)] * 200).get_delta_bounds(2)
    assert lower <= gauss(1, 2) <= upper < 1.01 * lower


def test_laplace_and_guarantees_have_their_closed_forms():
    assert of(LaplaceDpEvent(2)).get_delta(0.2) == pytest.approx(-math.expm1((0.2 - 0.5) / 2))
    assert of(GuaranteeDpEvent(1, 1e-3)).get_epsilon(1.0001e-3) == pytest.approx(1, rel=1e-4)
    assert of(GuaranteeDpEvent(1)).get_epsilon(1e-9) == pytest.approx(1)


def test_sampling_helps_and_replaced_records_lose_twice():
    all_in = of(GaussianDpEvent(0.5)).get_epsilon(1e-6)
    assert of(PoissonSampledDpEvent(1, GaussianDpEvent(1))).get_epsilon(1e-6) == all_in
    assert of(PoissonSampledDpEvent(1 - 1e-9, GaussianDpEvent(1))).get_epsilon(1e-6) == pytest.approx(all_in, rel=1e-4)
    assert of(PoissonSampledDpEvent(0.01, GaussianDpEvent(1))).get_epsilon(1e-6) < all_in / 3
    with pytest.raises(TypeError):
        PoissonSampledDpEvent(0.1, LaplaceDpEvent(1))


def test_they_grow_an_account_one_by_one():
    account = IncrementalAccountant(1e-6).compose(GaussianDpEvent(8), 5).compose(ROUND, 2)
    assert account.get_epsilon() == pytest.approx(of(*[GaussianDpEvent(8)] * 5, ROUND, ROUND).get_epsilon(1e-6), rel=2e-3)


def test_a_loss_leaves_as_json_and_comes_back():
    accountant = of(ROUND, ROUND, GaussianDpEvent(4))
    pmf = json.loads(json.dumps(accountant.to_pmf()))
    assert sum(pmf["pmf_remove"]["probs"]) + pmf["pmf_remove"]["infinity_mass"] == pytest.approx(1)
    back = CurveDpEvent.from_pmf(pmf)
    low = accountant.get_epsilon_bounds(1e-6)[0]
    assert low <= of(back).get_epsilon(1e-6) < 1.01 * low
    pmf["pessimistic_estimate"] = False
    with pytest.raises(ValueError, match="dominates"):
        CurveDpEvent.from_pmf(pmf)
    with pytest.raises(ValueError, match="cannot be kept"):
        of(back).state_dict()
    with pytest.raises(ValueError, match="neighbours"):
        CurveDpEvent.from_pmf({**accountant.to_pmf(), "neighbours": None})


class Half:
    """What CurveDpEvent uses of dp_accounting's DensePLDPmf."""

    def __init__(self, lower, probs, pessimistic=True):
        self._discretization, self._lower_loss, self._probs = 0.5, lower, probs
        self._infinity_mass, self._pessimistic_estimate = 0.0, pessimistic

    def to_dense_pmf(self):
        return self


class Pld:
    def __init__(self, remove, add):
        self._pmf_remove, self._pmf_add = remove, add


def test_a_distribution_of_dp_accounting_is_read_in_both_directions():
    p = math.expm1(0.5) / (math.exp(0.5) - math.exp(-1))
    q = [p * math.exp(-1), (1 - p) * math.exp(0.5)]
    event = CurveDpEvent.from_dp_accounting(Pld(Half(-1, [1 - p, 0, 0, p]), Half(-2, [q[0], 0, 0, q[1]])),
                                            NeighboringRelation.REPLACE_ONE)
    # Losses are 1 and -1/2: the larger of both directions is the first's.
    assert of(event).get_delta(0.7) == pytest.approx(p * -math.expm1(0.7 - 1))
    assert of(event).get_epsilon(1e-9) == pytest.approx(1, abs=1e-6)
    with pytest.raises(ValueError, match="optimistic"):
        CurveDpEvent.from_dp_accounting(Pld(Half(0, [1.0], False), Half(0, [1.0])),
                                        NeighboringRelation.REPLACE_ONE)


def test_a_distribution_for_removed_records_is_turned_into_one_for_replaced_ones():
    p = math.expm1(0.5) / (math.exp(0.5) - math.exp(-1))
    q = [p * math.exp(-1), (1 - p) * math.exp(0.5)]
    pld = Pld(Half(-1, [1 - p, 0, 0, p]), Half(-2, [q[0], 0, 0, q[1]]))
    same = of(CurveDpEvent.from_dp_accounting(pld, NeighboringRelation.REPLACE_ONE))
    for relation in (NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_SPECIAL):
        turned = of(CurveDpEvent.from_dp_accounting(pld, relation))
        for epsilon in (0.0, 0.1, 0.4, 0.9):
            least = min(1, (1 + math.exp(epsilon)) * same.get_delta(epsilon))
            # The curve is convex, so a chord may be below the inequality at single points.
            assert 0.75 * least <= turned.get_delta(2 * epsilon) <= least * 1.01
            assert turned.get_delta(epsilon) > 1.2 * same.get_delta(epsilon)
    with pytest.raises(TypeError):
        CurveDpEvent.from_dp_accounting(pld)
    with pytest.raises(TypeError, match="neighboring_relation"):
        CurveDpEvent.from_dp_accounting(pld, "replace one")


def test_a_poisson_sample_of_a_shuffled_round_loses_less_than_all():
    sampled = of(PoissonSampledDpEvent(0.1, ROUND)).get_epsilon(1e-6)
    assert sampled == of(ShuffledDpEvent("grr", k=4, eps0=2, n=500, poisson=0.1)).get_epsilon(1e-6)
    assert sampled < 0.3 * of(ROUND).get_epsilon(1e-6)
    with pytest.raises(TypeError, match="Poisson-sampled"):
        PoissonSampledDpEvent(0.1, LaplaceDpEvent(1))


def test_a_budget_is_allocated():
    rounds = ["grr:k=4,eps0=?,n=5000", ShuffledDpEvent("grr", k=4, eps0=0.5, n=5000), "gaussian:sigma=?"]
    best = optimise_budget(rounds, 0.8, 1e-6, weights=[100, 1, 1e-6])
    assert of(*best.events).get_epsilon(1e-6) <= best.epsilon * (1 + 1e-12) <= 0.8
    assert best.events[1] == rounds[1] and math.isnan(best.values[1]) and best.values[2] > 1
    assert optimise_budget(["rr:eps0=?,n=100", "rr:eps0=3,n=10"], 0.01, 1e-6) is None
    with pytest.raises(ValueError, match="2 numbers for 1 rounds"):
        optimise_budget(["rr:eps0=?,n=100"], 1, 1e-6, errors=[1, 2])
    with pytest.raises(AccountantError, match="rr:eps=1,n=9: rr: no such key 'eps'"):
        optimise_budget(["rr:eps0=?,n=100", "rr:eps=1,n=9"], 1, 1e-6)


def test_divergences_and_deltas_bound_what_they_came_from():
    orders = [1.1 * 1.12**i for i in range(60)]
    own = of(GaussianDpEvent(5)).get_epsilon(1e-6)
    assert own <= of(CurveDpEvent.from_rdp(orders, [a / 50 for a in orders])).get_epsilon(1e-6) < 1.4 * own
    epsilons = [0.01 * i for i in range(150)]
    curve = CurveDpEvent.from_deltas(epsilons, [gauss(0.2, e) * (1 + 1e-9) for e in epsilons])
    assert own * (1 - 1e-6) <= of(curve).get_epsilon(1e-6) < 1.01 * own
    with pytest.raises(ValueError, match="as many"):
        CurveDpEvent.from_deltas([0, 1], [0.1])
    with pytest.raises(AccountantError, match="increase"):
        CurveDpEvent.from_deltas([0, 1], [0.1, 0.2])
    with pytest.raises(AccountantError, match="out of range"):
        CurveDpEvent.from_trade_off([2], [0.1])


def test_a_matrix_is_the_randomizer():
    event = MatrixDpEvent(RESPONSE, n=500)
    assert of(event, event).get_epsilon(1e-6) == pytest.approx(of(ROUND, ROUND).get_epsilon(1e-6), rel=1e-6)
    assert event == MatrixDpEvent(RESPONSE, n=500) != MatrixDpEvent(RESPONSE, n=501)
    with pytest.raises(ValueError, match="one length"):
        MatrixDpEvent([[0.5, 0.5], [1]], n=5)
    with pytest.raises(AccountantError, match="sum to 1"):
        MatrixDpEvent([[0.5, 0.4], [0.5, 0.5]], n=5)
    with pytest.raises(AccountantError, match="no such key"):
        of(MatrixDpEvent(RESPONSE, n=5, k=3))
    with pytest.raises(AccountantError, match="nothing is kept"):
        of(ShuffledDpEvent("matrix:99999,n=5"))
    with pytest.raises(AccountantError, match="nothing is kept"):
        of(ShuffledDpEvent("curve:x"))


def test_a_group_loses_more():
    accountant = of(*[GaussianDpEvent(8)] * 3)
    at = accountant.get_group_epsilon(1e-6, 3)
    assert gauss(3 * math.sqrt(3) / 8, at) < 1e-6 < accountant.get_delta(at / 3) * 100
    assert accountant.get_group_delta(at, 3) == pytest.approx(1e-6, rel=0.01)
    assert accountant.get_group_epsilon(1e-6, 1) == accountant.get_epsilon(1e-6)
    with pytest.raises(ValueError):
        accountant.get_group_epsilon(1e-6, 0)


def test_numpy_arrays_go_in_and_come_out():
    numpy = pytest.importorskip("numpy")
    deltas = numpy.array([1e-9, 1e-6, 1e-3])
    out = of(ROUND).get_epsilon(deltas)
    assert isinstance(out, numpy.ndarray) and out.dtype == numpy.float64 and out.shape == (3,)
    assert out.tolist() == of(ROUND).get_epsilon([1e-9, 1e-6, 1e-3]) and (numpy.diff(out) < 0).all()
    assert isinstance(of(ROUND).get_delta(numpy.linspace(0, 1, 4)), numpy.ndarray)
    assert of(ROUND).get_epsilon(numpy.float64(1e-6)) == of(ROUND).get_epsilon(1e-6)
    assert MatrixDpEvent(numpy.array(RESPONSE), n=numpy.int64(500)) == MatrixDpEvent(RESPONSE, n=500)
    curve = CurveDpEvent.from_trade_off(numpy.array([0.25]), numpy.array([0.25]))
    assert of(curve).get_epsilon(1e-9) == pytest.approx(math.log(3))
    marginals = ShuffledDpEvent("marginals", k=numpy.array([6, 4]), eps0=numpy.float32(2), n=10)
    assert marginals == ShuffledDpEvent("marginals", k=[6, 4], eps0=2.0, n=10)
    assert "numpy" in sys.modules
