"""Nothing that anybody sees beside the sealed messages depends on a reading that a map makes of what a payload has: worlds that differ
in one device's row, of nested JSON and of CSV with semicolons, decimal commas and comments."""
import json

import pytest

from test_views import BIG, CHANGED, NAMES, pseudonym_of_the_changed, set_out
from views import same

pytestmark = pytest.mark.quiet

# Where a payload has what the analyzer asks for, and who says it.
MAP = 'map = { colour = { path = "%s"; invalid = ( -127.0, "off" ); }; device = { path = "%s"; }; };'
KEYS = {"ndjson": MAP % ("sensor.lights[1].colour", "dev.id"),
        "csv": 'delimiter = ";"; decimal_comma = true; comment = "#"; ' + MAP % ("Farbe", "Ger\xe4t")}


def nested(device, colour):
    return json.dumps({"dev": {"id": device}, "sensor": {"lights": [{}, {"colour": colour}]}}).encode()


NESTED = {
    "invalid": nested(CHANGED, -127), "no number": nested(CHANGED, "21.5 \xb0C"),
    "a long array": b'{"dev":{"id":"d2"},"sensor":{"lights":[' + b'{"colour":"c1"},' * 200_000 + b'{}]}}',
    "a fault within": b'{"dev":{"id":"d2"},"sensor":{"dev":{"id":"d3"},"lights":[0,{"colour":"c1",,}]}}',
    "several": nested(CHANGED, "c1") + b"\n" + nested(CHANGED, -127) + b"\n" + nested(CHANGED, "x" * BIG),
}
FORM = {
    "invalid": b"d2;-127,00", "an open quote": b'd2;"1.234,5', "commas": b"d2;" + b"1," * BIG,
    "comments": b"d2;c2\n" + b"#d2;c1\n" * 20_000, "several": b"d2;c1\nd2;off\n#\nd2,c3\nd2;c2",
}
CHANGES = {"ndjson": NESTED, "csv": FORM}


@pytest.mark.parametrize("ext", CHANGES)
def test_a_map_shows_nothing_of_one_devices_reading(tmp_path, ext):
    """JSON by the daemon, CSV by the command."""
    worlds = set_out(tmp_path, ext, listed=True)
    with open(worlds.cluster.path("client.conf")) as f:
        text = f.read()
    worlds.cluster.write("client.conf", text.replace('devices = "devices.txt";', f'devices = "devices.txt"; {KEYS[ext]}'))

    def look(changed):
        rows = [nested(d, f"c{i % 4}") if ext == "ndjson" else f"{d};c{i % 4}".encode() for i, d in enumerate(NAMES)]
        rows = [r if d != CHANGED else changed for r, d in zip(rows, NAMES)]
        path = worlds.cluster.path(f"readings.{ext}")
        with open(path, "wb") as f:
            f.write(("# logger\nGer\xe4t;Farbe\n".encode() if ext == "csv" else b"") + b"".join(r + b"\n" for r in rows))
        return worlds.run(lambda: None) if ext == "ndjson" else worlds.send(path, "--wait", "3m")

    good = nested(CHANGED, "c2") if ext == "ndjson" else b"d2;c2"
    plain = look(good)
    assert len(plain.sealed) == len(NAMES)
    for kind, changed in CHANGES[ext].items():
        print(kind)  # shown where it fails
        after = look(changed)
        differing = pseudonym_of_the_changed(plain, after)
        assert len(differing) <= 1
        same(plain, after, differing)
    worlds.cluster.close()
