"""The experiments of the numerical-composition literature: Wang et al. 2025, "Shuffle Model of Differential Privacy: Numerical
Composition for Federated Learning", sections 8.1 and 8.2."""

from __future__ import annotations

import itertools
import math
from typing import Dict, Iterator, List, NamedTuple, Tuple

from .._library import Account, Answer
from . import numbers

DELTA = 1e-6
# Columns, and the method of each.
COLUMNS = {"published": "published", "proved": "pld", "clones": "strong-clones", "basic": "basic", "advanced": "advanced"}


class Setting(NamedTuple):
    experiment: str
    label: str
    texts: List[str]
    epsilon: Dict[str, float]  # by column; nan: not computed

    @property
    def before(self) -> float:
        """The better of the earlier bounds."""
        clones = self.epsilon["clones"]
        return min(self.epsilon["basic"], self.epsilon["advanced"]) if math.isnan(clones) else clones

    def saved(self, column: str) -> float:
        """In percent, against the better of the earlier bounds."""
        return 100 * (1 - self.epsilon[column] / self.before)


def _ask(experiment: str, label: str, texts: List[str], *left_out: str) -> Setting:
    account = Account()
    for text in texts:
        account.add(text, 1)

    def epsilon(column: str) -> float:
        answer: Answer = account.epsilon(DELTA, COLUMNS[column])
        return answer.upper
    return Setting(experiment, label, texts, {c: math.nan if c in left_out else epsilon(c) for c in COLUMNS})


def learning(eps0: int, n: str, rounds: int) -> Setting:
    """Section 8.1: a gradient of s = eps0 sampled bits each round, each bit flipped with chance 1/(e+1)."""
    return _ask("learning", f"eps0={eps0} n={n} T={rounds}", [f"vrr:s={eps0},eps0={eps0},n={n},count={rounds}"])


def tree(trees: int, levels: int, d: int, n_exponent: int, m: int, through: bool = False) -> Setting:
    """Section 8.2: trees of H levels over d attributes of two values; level h asks d-h histograms of 2^(h+1) bins of everybody,
    who send one true message and m-1 uniform ones.  The published reduction is right here: a truthful message hides no other,
    so no residual blanket is left.  The paper sums over h of [0, H], and says that a tree has H levels, the root's being 0:
    `through` H, or to H-1."""
    texts = [f"bins:k={2 << h},dummies={10 ** n_exponent * (m - 1)},count={trees * (d - h)}"
             for h in range(levels + 1 if through else levels)]
    label = f"S={trees} H={levels} d={d:<2} n=1e{n_exponent} m={m}{' h<=H' if through else ''}"
    return _ask("trees", label, texts, "clones")


def all_learning() -> Iterator[Setting]:
    for eps0, n, rounds in itertools.product((2, 4), ("1e4", "1e5"), (2, 4, 8, 16, 32, 64, 128, 256)):
        yield learning(eps0, n, rounds)


def all_trees(trees: int, d: int, through: bool = False) -> Iterator[Setting]:
    for levels, n, m in itertools.product((5, 8), (4, 5), (2, 4, 6)):
        # None of d attributes is left for level d: both sums are one.
        if not through or levels < d:
            yield tree(trees, levels, d, n, m, through)


def csv_lines() -> Iterator[str]:
    """Both experiments: every setting, a tree's with the root's level to H-1, and to H."""
    yield f"experiment,setting,{','.join(COLUMNS)},published_saved_percent,saved_percent\n"
    both = (all_trees(trees, d, through) for trees, d, through in itertools.product((1, 5), (8, 32), (False, True)))
    for s in itertools.chain(all_learning(), *both):
        values = ",".join("" if math.isnan(x) else f"{x:.17g}" for x in s.epsilon.values())
        yield f"{s.experiment},{s.label},{values},{s.saved('published'):.1f},{s.saved('proved'):.1f}\n"


# What the verb prints: what each table is of, and its settings.
def _tables() -> List[Tuple[str, Iterator[Setting]]]:
    return [("Federated learning: T rounds of vector randomized response", all_learning()),
            ("\nDecision trees: S trees of H levels over d attributes, m messages each",
             itertools.chain(all_trees(1, 8), all_trees(5, 32)))]


def _row(s: Setting) -> str:
    values = "".join(f" {'-' if math.isnan(x) else numbers.up(x):>10}" for x in s.epsilon.values())
    return f"{s.label:<26}{values} {s.saved('published'):9.1f}% {s.saved('proved'):9.1f}%\n"


def text_lines() -> Iterator[str]:
    """Both experiments as tables."""
    yield f"epsilon at delta {DELTA:g} of Wang et al. 2025 (Appl. Sci. 15(3), 1595), sections 8.1 and 8.2\n\n"
    names = "".join(f" {name:>10}" for name in (*COLUMNS, "published", "proved"))
    for what, settings in _tables():
        yield f"{what}\n{'saving of':>{31 + 11 * (len(COLUMNS) + 1)}}\n{'':<26}{names}\n"
        yield from map(_row, settings)
    yield ("\npublished: the two-count reduction, a paper value (not a guarantee); for the trees\n"
           "it is right: the proved value up to its width\n"
           "proved, clones (Feldman, McMillan, Talwar 2023), basic, advanced: proved upper bounds\n"
           "saving: against clones; for the trees, against the better of basic and advanced\n")


def _object(s: Setting) -> Dict[str, object]:
    return {"experiment": s.experiment, "setting": s.label, "round": s.texts,
            **{c: numbers.known(x) for c, x in s.epsilon.items()},
            "published_saved_percent": s.saved("published"), "saved_percent": s.saved("proved")}


def as_object() -> Dict[str, object]:
    """Both experiments for a program."""
    return {"delta": DELTA, "rows": [_object(s) for _, settings in _tables() for s in settings]}
