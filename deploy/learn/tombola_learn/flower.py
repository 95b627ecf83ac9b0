"""Flower over Tombola: Flower hands out models and keeps its rounds, and no update ever crosses its link.

On a device the mod takes the update out of the reply, cuts it to a length, and hands it to the device's Tombola client as its
reading.  At the server the strategy asks the next entry of the plan and moves the model by the estimate of the mean update.
What Flower's server sees of a device is that it took part; losses, counts and errors of a device are replaced too, because
they depend on its data.  (How long it trained is seen: a device with data that needs protection there has to wait.)

The plan: a query of type `vector`, protocol `rotated`, field `update`, range [-clip, clip], as many entries as rounds.  Device
programs keep no state of their own from round to round: what a device sends may depend on its data and the public model alone.

Flower is imported when it is used.  Written for its interfaces Strategy and mod of flwr 1.8 to 1.13; tested against a stub.
"""
import json
import math
import os

import numpy

from .analyzer import Estimate
from .checkpoint import put
from .driver import Training
from .faults import EXIT, Fault

__all__ = ["TombolaStrategy", "cut", "ndjson_writer", "tombola_mod"]


def flat(arrays):
    return numpy.concatenate([numpy.asarray(a, numpy.float64).ravel() for a in arrays])


def cut(update, clip):
    """The update, no longer than clip; zeroes where it is not finite, since a device always takes part."""
    if not numpy.isfinite(update).all():
        return numpy.zeros_like(update)
    length = math.sqrt(float((update * update).sum()))
    return update * min(1.0, clip / length) if length > 0 else update


def ndjson_writer(path, device):
    """A `write` for tombola_mod: one line of NDJSON that the device's client reads (input.path, input.device_field = "device")."""
    def write(update):
        line = json.dumps({"device": device, "update": [float(v) for v in update]}) + "\n"
        put(os.fspath(path), line.encode())
    return write


def tombola_mod(write, clip):
    """A mod of Flower's client: mods=[tombola_mod(ndjson_writer("reading.ndjson", "d7"), clip=1.0)].

    Of fit it hands on the cut update by write(float64 [d]) and answers with nothing; a fit that fails hands on zeroes and
    answers the same.  Of evaluate it answers a loss of 0 of one example.  Other messages pass.
    """
    def mod(message, context, call_next):
        from flwr.common import Code, EvaluateRes, FitRes, Parameters, Status, parameters_to_ndarrays
        from flwr.common.recordset_compat import (evaluateres_to_recordset, fitres_to_recordset, recordset_to_fitins,
                                                  recordset_to_fitres)
        kind, ok = message.metadata.message_type, Status(Code.OK, "")
        if kind == "evaluate":
            return message.create_reply(evaluateres_to_recordset(EvaluateRes(ok, 0.0, 1, {})))
        if kind != "train":
            return call_next(message, context)
        before = flat(parameters_to_ndarrays(recordset_to_fitins(message.content, keep_input=True).parameters))
        try:
            reply = call_next(message, context)
            after = flat(parameters_to_ndarrays(recordset_to_fitres(reply.content, keep_input=False).parameters))
            update = cut(after - before, clip)
        except Exception:  # whether a fit fails depends on the data: nobody is to see it
            update = numpy.zeros_like(before)
        write(update)
        return message.create_reply(fitres_to_recordset(FitRes(ok, Parameters([], ""), 1, {}), keep_input=False))
    return mod


class Step:
    """What the driver asks for one Flower round: an entry without a payload, since Flower hands out the model."""

    def __init__(self, query):
        self.queries = (query,)

    def propose(self, history):
        return None


class TombolaStrategy:
    """A strategy of Flower's server.

    analyzer     tombola_learn.Analyzer
    query        whose entries are the rounds
    parameters   list of arrays: the first model
    folder       of the training: a server that was killed goes on where it was
    rate         of the mean update that the model is moved by
    evaluate     evaluate(arrays) -> (loss, metrics) on public data, or None
    """

    def __init__(self, analyzer, query, parameters, folder, rate=1.0, evaluate=None):
        self.first = [numpy.asarray(p, numpy.float32) for p in parameters]
        self.rate, self.own_evaluate = rate, evaluate
        self.training = Training(analyzer, Step(query), folder, None)

    def model(self):
        """The arrays after every answered round."""
        at = flat(self.first)
        for step in self.training.answered():
            if not step.estimate.lost:
                at = at + self.rate * self._mean(step.estimate, len(at))
        ends = numpy.cumsum([p.size for p in self.first])[:-1]
        return [a.reshape(p.shape).astype(numpy.float32) for a, p in zip(numpy.split(at, ends), self.first)]

    @staticmethod
    def _mean(estimate: Estimate, d):
        if len(estimate.values) != d:
            raise Fault(EXIT["data"], f"the plan's vector has {len(estimate.values)} numbers, the model {d}")
        return estimate.values

    # -- Flower's interface Strategy --------------------------------------------------------------------------------

    def initialize_parameters(self, client_manager):
        from flwr.common import ndarrays_to_parameters
        return ndarrays_to_parameters(self.model())

    def configure_fit(self, server_round, parameters, client_manager):
        from flwr.common import FitIns
        return [(client, FitIns(parameters, {})) for client in client_manager.all().values()]

    def aggregate_fit(self, server_round, results, failures):
        """Flower's results are looked at only to be sure that they are empty."""
        from flwr.common import ndarrays_to_parameters
        if any(r.parameters.tensors or r.metrics for _, r in results):
            raise Fault(EXIT["protocol"], "an update came over Flower's link: a client runs without tombola_mod")
        answered = len(self.training.answered())
        self.training.run(most=1)
        if len(self.training.answered()) == answered:
            return None, {"answered": 0}
        last = self.training.checkpoint.steps[-1]
        return ndarrays_to_parameters(self.model()), {"answered": 1, "epsilon": last["epsilon"]}

    def configure_evaluate(self, server_round, parameters, client_manager):
        return []  # what a model loses on a device's data depends on them

    def aggregate_evaluate(self, server_round, results, failures):
        return None, {}

    def evaluate(self, server_round, parameters):
        from flwr.common import parameters_to_ndarrays
        return self.own_evaluate(parameters_to_ndarrays(parameters)) if self.own_evaluate else None
