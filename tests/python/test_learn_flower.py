"""The Flower strategy and mod against a stub of Flower's interfaces: no update crosses its link."""
import dataclasses
import json
import sys
import types

import numpy
import pytest

from tombola_learn import EXIT, Fault
from tombola_learn.flower import TombolaStrategy, cut, ndjson_writer, tombola_mod
from trainings import asked, fake, repeated

D = 4


@dataclasses.dataclass
class Parameters:
    tensors: list
    tensor_type: str


@dataclasses.dataclass
class FitIns:
    parameters: Parameters
    config: dict


@dataclasses.dataclass
class FitRes:
    status: object
    parameters: Parameters
    num_examples: int
    metrics: dict


@dataclasses.dataclass
class EvaluateRes:
    status: object
    loss: float
    num_examples: int
    metrics: dict


@dataclasses.dataclass
class Message:
    """Of flwr.common: content, and the kind of it in the metadata."""
    content: object
    kind: str

    @property
    def metadata(self):
        return types.SimpleNamespace(message_type=self.kind)

    def create_reply(self, content):
        return Message(content, self.kind)


@pytest.fixture(autouse=True)
def flwr(monkeypatch):
    """flwr.common and flwr.common.recordset_compat, as far as they are used; a record set is what it was made of."""
    common, compat = types.ModuleType("flwr.common"), types.ModuleType("flwr.common.recordset_compat")
    common.Code = types.SimpleNamespace(OK=0)
    common.Status = lambda code, message: (code, message)
    common.Parameters, common.FitIns, common.FitRes, common.EvaluateRes = Parameters, FitIns, FitRes, EvaluateRes
    common.ndarrays_to_parameters = lambda arrays: Parameters([a.tobytes() for a in arrays], "numpy.ndarray")
    common.parameters_to_ndarrays = lambda p: [numpy.frombuffer(t, numpy.float32) for t in p.tensors]
    compat.recordset_to_fitins = lambda content, keep_input: content
    compat.recordset_to_fitres = lambda content, keep_input: content
    compat.fitres_to_recordset = lambda res, keep_input: res
    compat.evaluateres_to_recordset = lambda res: res
    for name, module in (("flwr", types.ModuleType("flwr")), ("flwr.common", common), ("flwr.common.recordset_compat", compat)):
        monkeypatch.setitem(sys.modules, name, module)
    return common


def moved(by):
    """A client app that moves the model and tells everything about its data."""
    def fit(message, context):
        old = numpy.frombuffer(message.content.parameters.tensors[0], numpy.float32)
        return Message(FitRes((1, "secret"), Parameters([(old + by).astype(numpy.float32).tobytes()], "numpy.ndarray"), 77,
                              {"loss": 0.3}), "train")
    return fit


def fails(message, context):
    raise ValueError("of the data")


def ask(app, written, flwr, kind="train"):
    message = Message(FitIns(flwr.ndarrays_to_parameters([numpy.ones(D, numpy.float32)]), {}), kind)
    return tombola_mod(written.append, clip=1.0)(message, None, app)


def test_the_update_goes_to_the_devices_client_and_not_over_flowers_link(flwr):
    written = []
    replies = [ask(moved(by), written, flwr) for by in (numpy.array([3.0, 0, 4.0, 0]), numpy.full(D, 0.1),
                                                        numpy.full(D, numpy.nan), numpy.full(D, numpy.inf))]
    replies.append(ask(fails, written, flwr))
    # All replies are the same, whatever the data.
    assert all(r == replies[0] for r in replies)
    assert replies[0].content == FitRes((0, ""), Parameters([], ""), 1, {})
    assert written[0] == pytest.approx([0.6, 0, 0.8, 0]) and written[1] == pytest.approx(numpy.full(D, 0.1), abs=1e-6)
    assert all(not w.any() for w in written[2:]) and len(written) == 5


def test_no_loss_is_told_and_other_messages_pass(flwr):
    written = []
    said = ask(fails, written, flwr, "evaluate")
    assert said.content == EvaluateRes((0, ""), 0.0, 1, {}) and not written
    assert ask(lambda message, context: "as it is", written, flwr, "query") == "as it is"


@pytest.mark.parametrize("seed", range(20))
def test_an_update_is_never_longer_than_the_clip(seed):
    drawn = numpy.random.default_rng(seed)
    update = drawn.normal(0, 10.0**drawn.integers(-3, 100), D)
    assert numpy.linalg.norm(cut(update, 1.0)) <= 1 + 1e-12
    assert not cut(numpy.zeros(D), 1.0).any()


def test_the_reading_is_one_line_of_the_device(tmp_path):
    ndjson_writer(tmp_path / "r.ndjson", "d7")(numpy.array([0.5, -1]))
    ndjson_writer(tmp_path / "r.ndjson", "d7")(numpy.array([0.25, 0]))
    assert json.loads((tmp_path / "r.ndjson").read_text()) == {"device": "d7", "update": [0.25, 0]}


class Clients:
    def all(self):
        return {"a": "client a", "b": "client b"}


def strategy(folder, **more):
    """Over daemons that answer the mean of `update`, without a map."""
    x = numpy.tile([[0.5, 0, -0.25, 0]], (9, 1)).astype(numpy.float32)
    entries = repeated(3, query="update", map="moments", part="mean", clip=1.0)
    return TombolaStrategy(fake(str(folder), entries, x, numpy.zeros(9, int)), "update",
                           [numpy.ones((2, 1)), numpy.zeros(2)], folder / "t", **more)


EMPTY = ("client a", FitRes((0, ""), Parameters([], ""), 1, {}))


def test_the_model_moves_by_the_estimates(tmp_path, flwr):
    s = strategy(tmp_path, rate=2.0, evaluate=lambda arrays: (float(arrays[0][0]), {}))
    first = s.initialize_parameters(Clients())
    assert [len(t) for t in first.tensors] == [8, 8]
    asks = s.configure_fit(1, first, Clients())
    assert [c for c, _ in asks] == ["client a", "client b"] and asks[0][1].parameters == first
    for n in (1, 2, 3):
        parameters, said = s.aggregate_fit(n, [EMPTY, EMPTY], [])
        assert said["answered"] == 1 and said["epsilon"] == pytest.approx(n / 3)
        at = numpy.concatenate(flwr.parameters_to_ndarrays(parameters))
        assert at == pytest.approx([1 + n, 1, -n / 2, 0], abs=1e-4)
        assert s.evaluate(n, parameters)[0] == pytest.approx(1 + n, abs=1e-4)
    # The plan has no more: the model stays.
    assert s.aggregate_fit(4, [EMPTY], []) == (None, {"answered": 0})
    assert len(asked(tmp_path)) == 3 and s.configure_evaluate(1, first, Clients()) == []
    # A server that was killed goes on.
    assert numpy.concatenate([a.ravel() for a in strategy(tmp_path, rate=2.0).model()]) == pytest.approx([4, 1, -1.5, 0], abs=1e-4)


@pytest.mark.parametrize("reply", [FitRes((0, ""), Parameters([b"1234"], ""), 1, {}),
                                   FitRes((0, ""), Parameters([], ""), 1, {"loss": 1.0})])
def test_an_update_over_flowers_link_ends_it_before_anything_is_asked(tmp_path, reply):
    with pytest.raises(Fault, match="without tombola_mod") as fault:
        strategy(tmp_path).aggregate_fit(1, [EMPTY, ("client b", reply)], [])
    assert fault.value.code == EXIT["protocol"] and not (tmp_path / "asked.log").exists()
