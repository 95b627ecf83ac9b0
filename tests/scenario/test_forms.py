"""The form of a file is no reading: the same readings give the same messages in every form, and what is no form is refused by name."""
import json

import pytest

from test_views import NAMES, set_out
from views import same

ROWS = [{"device": d, "colour": f"c{i % 4}"} for i, d in enumerate(NAMES)]
# What nobody asked for, beside a valid reading.
BESIDE = ['"n":18446744073709551616,', '"n":1e400,"m":"a\\u0000b",', '"n":{"a":1,"a":2},', '"n":{"Temperature":nan},', '"n":"\xe9",',
          '"n":' + "[" * 3000 + "]" * 3000 + ","]
FORMS = {
    "an array": json.dumps(ROWS),
    "an array in lines": "[\n" + ",\n".join(json.dumps(r) for r in ROWS) + "\n]\n\n",
    "a printed array": json.dumps(ROWS, indent=2) + "\n",
    "printed objects": "".join(json.dumps(r, indent=4) + "\n" for r in ROWS),
    "a byte order mark": "\ufeff" + "".join(json.dumps(r) + "\r\n" for r in ROWS),
    **{f"beside {one[:20]}": "".join("{" + one + json.dumps(r)[1:] + "\n" for r in ROWS) for one in BESIDE},
    **{f"behind {one[:20]}": "".join(json.dumps(r)[:-1] + "," + one[:-1] + "}\n" for r in ROWS) for one in BESIDE[3:4]},
}
NO_FORMS = {
    "readings.ndjson": {"CSV": ("device,colour\nd0,c1\n", "no JSON"), "numbers": ("[1, 2]\n", "no array of JSON objects"),
                        "half an array": (json.dumps(ROWS)[:-2], "no array of JSON objects"),
                        "more than an array": (json.dumps(ROWS) + "[]", "no array of JSON objects")},
    "readings.csv": {"JSON": (json.dumps(ROWS[0]) + "\n", "this is JSON"), "an array": (json.dumps(ROWS, indent=1), "this is JSON"),
                     "semicolons": ("device;colour\nd0;c1\n", "not semicolons")},
}


def send(worlds, name, text):
    return worlds.send(worlds.cluster.write(name, text), "--wait", "3m")


def test_every_form_of_json_says_the_same(tmp_path):
    worlds = set_out(tmp_path, "ndjson", listed=True)
    plain = send(worlds, "readings.ndjson", "".join(json.dumps(r) + "\n" for r in ROWS))
    assert len(plain.sealed) == len(NAMES)
    # So that a comparison is one: without their readings the devices' messages are others.
    other = send(worlds, "readings.ndjson", "".join(json.dumps({**r, "colour": "none of them"}) + "\n" for r in ROWS))
    assert other.sealed != plain.sealed
    for form, text in FORMS.items():
        print(form)  # shown where it fails
        same(plain, send(worlds, "readings.ndjson", text))
    worlds.cluster.close()


@pytest.mark.parametrize("name", NO_FORMS)
def test_what_is_no_form_is_refused_by_name(tmp_path, name):
    """By the command, when nobody is listed."""
    worlds = set_out(tmp_path, name.rsplit(".")[-1])
    watcher = worlds.begin()
    for form, (text, said) in NO_FORMS[name].items():
        run = worlds.cluster.run("client", "send", worlds.cluster.write(name, text), "--device-field", "device", "--wait", "30s")
        assert run.returncode == 65, (form, run.stderr)
        assert any(f"{name}:" in line and said in line for line in run.stderr.splitlines()), (form, run.stderr)
    watcher.close()
    assert not watcher.received
    worlds.cluster.close()


def test_a_blank_last_line_is_no_device(tmp_path):
    worlds = set_out(tmp_path, "csv")
    worlds.cluster.write("client.conf", open(worlds.cluster.path("client.conf")).read().replace('device_field = "device";', ""))
    one, other = (send(worlds, "readings.csv", "colour\nc1\nc2\n\nc3\n" + end) for end in ("", "\n"))
    assert len(one.sealed) == 4
    same(one, other)
    worlds.cluster.close()
