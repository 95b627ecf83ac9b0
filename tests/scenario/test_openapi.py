"""deploy/openapi.yaml says what the analyzer's HTTP address answers: no field more, none less."""
import copy
import json
import os
import re

import pytest

import wire
from cluster import wait_for
from openapi import faults, load
from test_dashboard import EVIL, MEAN, N, ask, get, prepared, run, settled_plan, wait_state
from test_payload import Steps

DOCUMENT = load(os.path.join(wire.ROOT, "deploy", "openapi.yaml"))


def answers(cluster, path, status=200, **words):
    """The answer to a path of the document, which must fit it."""
    code, headers, text = get(cluster, path.format(**words))
    said = DOCUMENT["paths"][path]["get"]["responses"]
    assert code == status and str(code) in said, (path, code)
    kind, = said[str(code)]["content"]
    assert headers["Content-Type"].split(";")[0] == kind
    if kind != "application/json":
        return text
    value = json.loads(text)
    wrong = faults(DOCUMENT, said[str(code)]["content"][kind]["schema"], value)
    assert not wrong, (path, wrong)
    return value


def test_every_answer_fits_the_document(cluster):
    settled_plan(cluster)
    seen = {path: answers(cluster, path, query="labels") for path in DOCUMENT["paths"]}
    assert len(seen["/api/v1/refusals"]["refusals"]) == 1 and len(seen["/api/v1/rounds"]["rounds"]) == 4
    answers(cluster, "/api/v1/estimates/{query}", query="celsius")
    answers(cluster, "/api/v1/estimates/{query}", status=404, query="too-much")
    answers(cluster, "/api/v1/estimates/{query}", status=404, query="nothing")
    # A check that cannot fail would be none: each field that is left out, added or of another kind is found.
    for path, value in seen.items():
        schema = DOCUMENT["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        required = DOCUMENT["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]["required"]
        for key in value:
            less, other = copy.deepcopy(value), copy.deepcopy(value)
            del less[key]
            other[key] = {"of": "another kind"}
            assert bool(faults(DOCUMENT, schema, less)) == (key in required), (path, key)
            assert faults(DOCUMENT, schema, other), (path, key)
        assert faults(DOCUMENT, schema, {**value, "new": 1}) == ["$.new is not in the document"]


def test_answers_while_the_plan_is_not_begun_and_of_recurring_and_other_kinds(cluster):
    prepared(cluster, [ask("labels", "label", EVIL, 1.0, every="1d", count=2), MEAN], epsilon=4.0)
    cluster.start("analyzer", "run")
    wait_state(cluster, "unsigned")
    for path in ("status", "budget", "rounds", "refusals"):
        answers(cluster, f"/api/v1/{path}")
    answers(cluster, "/api/v1/estimates/{query}", status=404, query="labels")
    for d in cluster.daemons:
        d.kill()
    run(cluster)
    wait_for("the first result", lambda: get(cluster, "/api/v1/estimates/labels")[0] == 200)
    first = answers(cluster, "/api/v1/estimates/{query}", query="labels%231")
    assert first["recurrence"] == 1 and first["participants"] == N
    assert {r.get("recurrence") for r in answers(cluster, "/api/v1/rounds")["rounds"]} == {1, 2, None}
    wait_state(cluster, "scheduled")
    answers(cluster, "/api/v1/status")


def test_answers_of_rounds_in_which_devices_compute(cluster):
    s = Steps(cluster, steps=2).start()
    s.settle(1, 4.5)
    cluster.start("analyzer", "run")
    wait_for("the first result", lambda: get(cluster, "/api/v1/estimates/below%231")[0] == 200)
    for path in ("status", "budget", "refusals"):
        answers(cluster, f"/api/v1/{path}")
    answers(cluster, "/api/v1/estimates/{query}", query="below%231")
    given, waiting = answers(cluster, "/api/v1/rounds")["rounds"]
    assert (given["compute"], given["payload_max"], given["waits_for_payload"]) == ("statistics", 100_000, False), given
    assert given["payload_bytes"] > 0 and len(given["payload_hash"]) == 64, given
    assert (waiting["payload_bytes"], waiting["payload_hash"], waiting["waits_for_payload"]) == (0, None, True), waiting


def test_the_document_is_whole():
    named = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(DOCUMENT)))
    assert named == set(DOCUMENT["components"]["schemas"]) and DOCUMENT["openapi"].startswith("3.1")
    with open(os.path.join(wire.ROOT, "analyzer", "daemon", "an_web.c"), encoding="utf-8") as f:
        routes = set(re.findall(r'\{ API "(\w+)[/"]', f.read()))
    assert {p.split("/")[3] for p in DOCUMENT["paths"]} == routes
    with pytest.raises(AssertionError):
        faults(DOCUMENT, {"minLength": 3}, "ab")
