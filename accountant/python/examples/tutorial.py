"""From a question to a budget: python3 tutorial.py, with tombola_accountant installed.  Tested as it stands."""

from tombola_accountant import (GaussianDpEvent, MatrixDpEvent, PLDAccountant, PoissonSampledDpEvent, ShuffledDpEvent,
                                optimise_budget, personal_event)

DELTA = 1e-6

# 1. Ten thousand people answer a question of sixteen choices by randomized response of local epsilon 3, shuffled.
question = ShuffledDpEvent("grr", k=16, eps0=3, n=10000)
accountant = PLDAccountant().compose(question)
lower, upper = accountant.get_epsilon_bounds(DELTA)
print(f"one question: epsilon at most {upper:.4f}, and no less than {lower:.4f} for its pair")
assert lower <= upper < 0.2  # publish and decide on the upper end: rounding is in it

# 2. Repeat it, and ask at many deltas at once: the rounds are composed once.
accountant.compose(question, count=49)
for delta, epsilon in zip([1e-9, 1e-6, 1e-3], accountant.get_epsilon([1e-9, 1e-6, 1e-3])):
    print(f"fifty questions: epsilon {epsilon:.3f} at delta {delta:g}")

# 3. Other analyses of the same rounds say what they are worth: only PROVED ones are guarantees.
for name, answer in accountant.compare(DELTA).items():
    print(f"  {name:14} {answer.upper:8.3f}  {answer.worth.name}")
assert accountant.epsilon_by("lower", DELTA).lower <= accountant.get_epsilon(DELTA)

# 4. Whoever takes part by chance loses less: each of the ten thousand with chance 0.1.
sampled = PLDAccountant().compose(PoissonSampledDpEvent(0.1, question)).get_epsilon(DELTA)
print(f"a tenth of them, drawn by chance: {sampled:.4f}")
assert sampled < 0.5 * upper

# 5. Personal guarantees: a list, an array, or the path of a file with one number a line.
mixed = personal_event([0.5] * 6000 + [1.0] * 3000 + [2.0] * 1000, k=16)
print(f"personal guarantees: {PLDAccountant().compose(mixed).get_epsilon(DELTA):.4f}")

# 6. A randomizer of your own, by its chances; and a sum with normal noise by a trusted party beside it.
mine = MatrixDpEvent([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]], n=10000)
both = PLDAccountant().compose(mine, 10).compose(GaussianDpEvent(8), 2)
print(f"ten of my own and two sums: {both.get_epsilon(DELTA):.3f}")

# 7. Allocate a budget: a histogram to 0.01 and a mean to 0.02, as nearly as epsilon 0.5 allows in this proportion.
best = optimise_budget(["grr:k=16,eps0=?,n=10000", "levels:b=8,eps0=?,n=10000"], 0.5, DELTA, errors=[0.01, 0.02])
assert best is not None and best.epsilon <= 0.5
for event, error in zip(best.events, best.errors):
    print(f"  {event.spec}: standard error {error:.4f} of a share")
