"""tombola_learn - train models on devices' data through Tombola's rounds, inside a fixed budget (doc/learning.md).

    from tombola_learn import Analyzer, Training
    from tombola_learn.learners import Logistic

    learner = Logistic("gradient", features=177, classes=10, rounds=20, step=60.0)
    history = Training(Analyzer("analyzer.conf"), learner, "training").run()
    weights = learner.model(history)["weights"]

It speaks the analyzer's command line and its JSON, and needs numpy.  Everything is kept in the training's folder: run it again
after any crash.
"""
from .analyzer import Analyzer, Entry, Estimate
from .driver import STOP, History, Step, Training
from .faults import EXIT, Fault
from .payload import BadPayload, pack, unpack

__all__ = ["EXIT", "STOP", "Analyzer", "BadPayload", "Entry", "Estimate", "Fault", "History", "Step", "Training", "pack", "unpack"]
