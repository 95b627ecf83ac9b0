"""FLAME's trainings through real daemons, with few users: what `./learn.sh flame` does with the paper's."""
import argparse
import os
import sys

import numpy
import pytest

from cluster import BUILD
from wire import ROOT

sys.path.insert(0, os.path.join(ROOT, "deploy/learn"))
from tombola_learn import papers, papers_live  # noqa: E402
from tombola_learn.driver import Training  # noqa: E402

pytestmark = pytest.mark.heavy  # up to 7,850 messages of each of 24 devices, and as many of the shuffler
USERS, CLIP = 24, 0.02


class Parties:
    """Users with two drawn pictures each."""

    def __init__(self):
        drawn = numpy.random.default_rng(11)
        images, labels = drawn.integers(0, 256, (2 * USERS, 28, 28)), drawn.integers(0, 10, 2 * USERS)
        self.users = self.judge = papers.Users(images, labels, USERS, 0.5)


@pytest.mark.parametrize("kind,k,padded,epsilon0", [("simple", papers.D, 0, 0.4), ("double", 157, 30, 2.0), ("topk", 157, 30, 0.5)])
def test_a_round_estimates_the_mean_of_the_users_gradients(tmp_path, kind, k, padded, epsilon0):
    """The gradients at weights 0, each coordinate cut to the clip; of ss-topk only those that a user sends."""
    parties, row = Parties(), papers.Row("x", kind, k, padded, epsilon0, 0.0, "")
    args = argparse.Namespace(programs=os.path.join(BUILD, "bin"), epochs=1)
    accuracy, charged, _ = papers_live.asked(args, row, parties, (CLIP, 1.0), str(tmp_path), None)
    step, = Training(None, None, os.path.join(tmp_path, "training"), None).answered()
    found, deviation = step.estimate.values, step.estimate.variances**0.5
    g = numpy.clip(parties.users.gradients(numpy.zeros(papers.D, numpy.float32)), -CLIP, CLIP)
    exact = (g * papers.kept_top(g, k) if kind == "topk" else g).mean(axis=0)
    assert len(found) == papers.D and step.estimate.reports == USERS
    # Of 7,850 squares the mean is 1 within 0.016 as deviation; the stated variance is what it may be at most.
    assert 0.8 < (((found - exact) / deviation)**2).mean() < 1.1
    assert 0 <= accuracy <= 1 and 0 < charged < float("inf")
