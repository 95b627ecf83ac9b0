#!/usr/bin/python3
"""Exact delta of Gaussian differential privacy, for tests/unit/test_acct_filter.c.

delta(epsilon; mu) = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)   (Dong, Roth, Su 2022)
"""
from mpmath import mp, mpf, exp, ncdf

mp.dps = 60
for eps, mu in (("0", "1"), ("1", "1"), ("0.5", "0.05"), ("0.004", "0.0005"), ("3", "0.5"), ("50", "10"), ("0.01", "20")):
    e, m = mpf(float(eps)), mpf(float(mu))
    print("{ %s, %s, %s }," % (eps, mu, mp.nstr(ncdf(-e / m + m / 2) - exp(e) * ncdf(-e / m - m / 2), 20)))
