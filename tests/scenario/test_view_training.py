"""A training through all three daemons: nothing that anybody sees beside answers depends on what is computed, neither of which device
holds what, nor of which payload."""
import pytest

import cluster as c
import maps
from houses import Houses, alike
from test_payload import payload, step

N = 24
# What stands in the file of device 7, in place of "7,b": a reading, and lines of which nothing can be computed.
READINGS = {"another": "23,a", "missing": ",b", "not finite": "nan,b", "no class": "7,c"}


def gradient():
    """A row of words of a rotated vector, so that two kinds of messages are seen."""
    return {"query": "gradient", "type": "vector", "protocol": "rotated", "field": "w", "dimension": 4, "range": [-1.0, 1.0],
            "epsilon0": 3.0, "slots": 3, "size": 1, "min_reports": N, "target": N, "window": "1h", "payload": "later", "none": "even",
            "compute": {"map": "linear-gradient", "columns": ["v"], "label": "class", "classes": ["a", "b"]}}


def weights(w):
    return maps.pack({"weights": [[w, 0.5], [-w, 0.0]]})


@pytest.fixture(scope="module")
def houses(tmp_path_factory):
    cluster = c.Cluster(tmp_path_factory.mktemp("training"))
    cluster.configure(min_batch=N, epsilon=100.0, devices=N, max_epsilon0="inf")
    cluster.write("devices.txt", "".join(f"d{i}\n" for i in range(N)))
    with open(cluster.path("client.conf")) as f:
        text = f.read().replace('device_field = "device";', 'device_field = "device"; devices = "devices.txt";')
    cluster.write("client.conf", text.replace("show_readings = true;\n", "") + 'proofs = 0; connections = 1; fetch = "4s";\n')
    cluster.plan([step(repeat=2), gradient()], epsilon=95.0, tries=1)
    made = Houses(cluster, 300)
    yield made
    cluster.close()


def seen(houses, seventh="7,b", edges=(11.5, 3.5), w=0.25):
    """The world in which device 7 has this line, and these are the payloads."""
    cluster = houses.cluster
    cluster.write("readings.csv", "device,v,class\n" + "".join(
        f"d{i},{seventh if i == 7 else f'{i},' + 'ab'[i % 2]}\n" for i in range(N)))
    asked = []
    for number, data in enumerate((payload(edges[0]), payload(edges[1]), weights(w)), 1):
        path = cluster.path(f"{number}.payload")
        with open(path, "wb") as f:
            f.write(data)
        asked.append((str(number), path))
    return houses.run(payloads=asked)


@pytest.fixture(scope="module")
def first(houses):
    house = seen(houses)
    assert house.public["exit"] == [0] * 5 and [r["stage"] for r in house.public["rounds"]] == ["settled"] * 3
    assert [r["messages"] for r in house.results] == [N, N, 3 * N]
    return house


@pytest.mark.parametrize("what", READINGS)
def test_what_a_device_computes_of_shows_in_nothing_but_its_messages(houses, first, what):
    other = seen(houses, READINGS[what])
    alike(first, other)
    for a, b in zip(first.results, other.results, strict=True):
        for key in ("participants", "messages", "opened", "duplicates", "bad", "reports", "epsilon_round"):
            assert a[key] == b[key], (a["query"], key)
        moved = sum(abs(x - y) for x, y in zip(a["counts"], b["counts"], strict=True))
        if c.seeded():  # the others drew the same numbers: as much as the messages of one device may move
            assert moved <= 2 * a["messages"] // N * (4 if a["query"] == "gradient" else 1), (a["query"], moved)


def test_which_payload_it_was_shows_in_nothing_but_the_answers(houses, first):
    other = seen(houses, edges=(2.5, 20.5), w=-7.0)
    alike(first, other)
    assert [r["items"] for r in first.results[:2]] != [r["items"] for r in other.results[:2]]
