"""`encode --dry-run --plan`: readings are judged against every round of a plan before anything is deployed.  No daemon runs."""
import json
import re
import subprocess

import pytest

from cluster import program

N = 250
PLAN = """name = "pipeline"; population = "p"; budget = { epsilon = 4.0; delta = 1e-6; };
rounds = (
  { query = "t"; type = "mean"; field = "t"; protocol = "levels"; epsilon0 = 2.0; range = [ 10.0, 30.0 ];
    min_reports = 250; target = 250; window = "1h"; },
  { query = "s"; type = "histogram"; field = "s"; protocol = "grr"; epsilon0 = 2.0; values = [ "on", "off" ];
    min_reports = 250; target = 250; window = "1h"; every = "24h"; count = 3; }
);
"""
CONF = """shuffler = "127.0.0.1:1"; state_dir = "state"; population = "p"; policy = "policy.conf";
analyzer_key = "pki/client/analyzer-sign.pub"; shuffler_key = "pki/client/shuffler-sign.pub";
tls = { cert = "pki/client/client.crt"; key = "pki/client/client.key"; services_ca = "pki/client/services-ca.crt"; };
"""
POLICY = """population = "p"; max_epsilon0 = 6.0; max_epsilon = 4.0; delta = 1e-6; honest_fraction = 1.0; colluders = 0;
min_batch = %d;
"""


@pytest.fixture
def owner(tmp_path):
    """Somebody with a client's configuration, a plan, and readings."""
    subprocess.run([program("tombola"), "pki", "init", str(tmp_path / "pki"), "--hosts", "localhost"], check=True, capture_output=True)
    for name, text in (("client.conf", CONF), ("plan.conf", PLAN), ("policy.conf", POLICY % N)):
        (tmp_path / name).write_text(text)
    return tmp_path


def judge(owner, name, text, *args):
    if text is not None:
        (owner / name).write_text(text)
    plan = () if "--plan" in args else ("--plan", "plan.conf")
    return subprocess.run([program("tombola-client"), "--config", "client.conf", "encode", "--dry-run", *plan, "--device-field", "device",
                           *([name] if name else []), *args], cwd=owner, capture_output=True, text=True)


def rows(t="20.5", s="on", n=N):
    """CSV, where t and s are texts or functions of the device's number."""
    text = [[v(i) if callable(v) else v for v in (t, s)] for i in range(n)]
    return "device,t,s\n" + "".join(f"d{i},{','.join(pair)}\n" for i, pair in enumerate(text))


def table(run):
    return [line.split() for line in run.stdout.splitlines() if line[:5].strip()[:1].isdigit()]


def test_good_readings_are_said_to_be_good(owner):
    run = judge(owner, "good.csv", rows())
    assert run.returncode == 0 and run.stdout.endswith("nothing is wrong\n") and not run.stderr, run
    # A question that recurs is judged once.
    assert table(run) == [["1", "t", "250", "250", "0", "0", "250", "250"], ["2-4", "s", "250", "250", "0", "0", "250", "250"]]


@pytest.mark.parametrize("name,text,said,advice", [
    ("comma.csv", rows(t='"20,5"'), "in 250 rows the field 't' has a decimal comma, first comma.csv:2 (d0): \"20,5\"", "with a point"),
    ("comma.csv", rows(t="20,5"), "250 rows cannot be read, first comma.csv:2 (d0): 4 columns, the header has 3", "with a point"),
    ("unit.csv", rows(t="20.5 C"), "in 250 rows the field 't' has more behind the number, perhaps its unit, first unit.csv:2 (d0)",
     "write the number alone"),
    # 68 is 20 degrees Celsius, 77 is 25.
    ("hot.csv", rows(t=lambda i: "68" if i % 2 else "77"), "250 of 250 numbers are outside the range 10 .. 30: they are 68 to 77",
     "as degrees Fahrenheit they are 20 to 25 degrees Celsius"),
    ("tenths.csv", rows(t="205"), "250 of 250 numbers are outside the range 10 .. 30: they are 205 to 205", "read as tenths"),
    ("few.csv", rows(n=99), "99 devices for min_reports = 250 (plan.conf:3): 151 more must take part", "--others 151"),
    ("many.csv", rows(n=260), "260 devices for target = 250 (plan.conf:3): the round ends when so many have reported, and 10 are left",
     "raise target to 260"),
    ("case.csv", rows(s="On"), "in 250 rows the field 's' is one of the plan's values but for its spelling, first case.csv:2 (d0): \"On\"",
     "write it as in the plan"),
    # One reading that cannot be taken is enough: which one, its owner wants to know.
    ("one.csv", rows(t=lambda i: "20.5 C" if i == 41 else "20.5"), "in 1 row the field 't' has more behind the number, perhaps its unit, "
     "first one.csv:43 (d41): \"20.5 C\"", "write the number alone"),
    ("none.csv", rows(t=""), "no device has a reading that the round can use", "compare the plan's fields"),
])
def test_wrong_readings_are_named_with_their_place_and_what_to_do(owner, name, text, said, advice):
    run = judge(owner, name, text)
    assert run.returncode == 65 and f"wrong: {said}" in run.stdout and name in run.stderr, (run.stdout, run.stderr)
    after = run.stdout.split(said)[1].split("\n")[1]
    assert after.startswith("  what to do: ") and advice in after, after


def test_json_is_read_whatever_its_form(owner):
    array = json.dumps([{"device": f"d{i}", "t": None if i < 10 else 20.5, "s": "on"} for i in range(N)])
    run = judge(owner, "array.json", array)
    assert run.returncode == 0 and table(run)[0] == ["1", "t", "250", "240", "0", "10", "250", "250"], run.stdout
    assert "note: in 10 rows the field 't' has no reading, first array.json:1 (d0)" in run.stdout
    wrong = judge(owner, "array.csv", array)
    assert wrong.returncode == 65 and "array.csv:1: " in wrong.stderr and 'format = "ndjson"' in wrong.stderr, wrong.stderr
    assert judge(owner, "array.csv", None, "--format", "ndjson").returncode == 0


def test_few_outliers_and_devices_without_a_reading_are_no_fault(owner):
    run = judge(owner, "few.csv", rows(t=lambda i: "31" if i < 12 else "unavailable" if i < 20 else "20.5"))
    assert run.returncode == 0 and table(run)[0] == ["1", "t", "250", "242", "12", "8", "250", "250"], run.stdout
    assert "note: 12 of 242 numbers are outside the range 10 .. 30" in run.stdout
    more = judge(owner, "more.csv", rows(t=lambda i: "31" if i < 13 else "20.5"))
    assert more.returncode == 65, "more than one in twenty"


def test_every_device_has_its_line(owner):
    (owner / "devices.txt").write_text("".join(f"d{i}\n" for i in range(N + 1)))
    run = judge(owner, "each.csv", rows(t=lambda i: "x" if i == 0 else "99" if i == 1 else "20.5") + "stranger,1,on\n",
                "--each", "--devices", "devices.txt")
    lines = run.stdout.splitlines()
    assert f"each.csv:2: round 1 (t): d0: NONE: the field 't' is no number" in lines
    assert "each.csv:3: round 1 (t): d1: clamped" in lines and "each.csv:4: round 1 (t): d2: taken" in lines
    assert f"devices.txt:{N + 1}: round 1 (t): NONE: no row in each.csv" in lines
    assert len([line for line in lines if ": round 1 (t): " in line]) == N + 1
    assert "1 row is of devices that devices.txt does not list" in run.stdout
    answer = json.loads(judge(owner, "each.csv", None, "--each", "--devices", "devices.txt", "--json").stdout)
    first, other = answer["rounds"]
    assert answer["wrong"] and [first[k] for k in ("devices", "taken", "clamped", "none")] == [N + 1, N - 1, 1, 2]
    assert first["device"][0] == {"device": "d0", "state": "NONE", "place": "each.csv:2", "reason": "the field 't' is no number"}
    assert (other["round"], other["recurrences"], other["none"]) == (2, 3, 1)


def test_several_rows_of_a_device_are_one_device(owner):
    twice = rows(t="") + rows().split("\n", 1)[1]
    run = judge(owner, "twice.csv", twice)
    assert run.returncode == 0 and table(run)[0][2:6] == ["250", "250", "0", "0"], run.stdout
    assert "500 rows of 250 devices" in run.stdout


def test_what_the_configuration_says_is_judged(owner):
    # The file of the configuration, other clients' devices, and this client's own policy.
    with open(owner / "client.conf", "a", encoding="utf-8") as f:
        f.write('input = { path = "few.csv"; };\n')
    (owner / "few.csv").write_text(rows(n=100))
    assert judge(owner, None, None, "--others", "150").returncode == 0
    run = judge(owner, None, None, "--others", "149")
    assert run.returncode == 65 and "100 devices and 149 of other clients for min_reports = 250" in run.stdout
    (owner / "policy.conf").write_text(POLICY % 1000)
    run = judge(owner, None, None, "--others", "150")
    assert run.returncode == 65 and "this client would refuse it: policy: " in run.stdout and "min_batch" in run.stdout, run.stdout


@pytest.mark.parametrize("args,code,words", [
    (("--plan", "none.conf"), 66, "none.conf"), (("--descriptor", "x"), 64, "--descriptor"), (("--others", "x"), 64, "--others")])
def test_wrong_use_is_said(owner, args, code, words):
    run = judge(owner, "good.csv", rows(), *args)
    assert run.returncode == code and words in run.stderr, run
    bare = subprocess.run([program("tombola-client"), "--config", "client.conf", "encode", "--dry-run", "--each", "good.csv"], cwd=owner,
                          capture_output=True, text=True)
    assert bare.returncode == 64 and "--plan" in bare.stderr


def test_rows_of_every_kind_are_judged(owner):
    """Sets, marginals and places: part of a reading counts, and a set of which nothing is known is no empty one."""
    (owner / "plan.conf").write_text("""name = "kinds"; population = "p"; budget = { epsilon = 9.0; delta = 1e-6; };
rounds = (
  { query = "basket"; type = "sets"; field = "basket"; protocol = "privset"; epsilon0 = 2.0; size = 2; values = [ "milk", "bread", "tea" ];
    min_reports = 250; target = 250; window = "1h"; },
  { query = "both"; type = "marginals"; protocol = "marginals"; epsilon0 = 2.0; marginals = ( [ "s", "c" ] );
    columns = ( { field = "s"; values = [ "on", "off" ]; }, { field = "c"; values = [ "1", "2" ]; } );
    min_reports = 250; target = 250; window = "1h"; }
);
""")
    text = "device,basket,s,c\n" + "".join(f"d{i},{'milk|bread' if i < 3 else 'milk;bread' if i < 9 else ''},on,{'1.0' if i < 5 else 2}\n"
                                           for i in range(N))
    run = judge(owner, "kinds.csv", text)
    assert run.returncode == 65 and "in 3 rows the field 'basket' has none of the plan's items" in run.stdout, run
    assert "in 5 rows the field 'c' is one of the plan's values but for its spelling" in run.stdout
    assert [r[2:6] for r in table(run)] == 2 * [["250", "250", "0", "0"]]


def test_what_devices_would_send_is_shown_beside_what_they_hold(owner):
    (owner / "good.csv").write_text(rows(s=lambda i: "on" if i % 3 else "off"))
    run = judge(owner, "good.csv", None, "--show", "200", "--json")
    first, other = json.loads(run.stdout)["rounds"]
    assert run.returncode == 0 and len(first["shown"]) == len(other["shown"]) == 200
    shown = other["shown"]
    assert all(e["device"] == f"d{i}" and e["place"] == f"good.csv:{i + 2}" and e["holds"] == ("on" if i % 3 else "off")
               for i, e in enumerate(shown))
    # epsilon0 2 of three symbols keeps 7.39 of 9.39: outside these bounds once in 10^9.
    assert 115 < sum(e["sends"] == e["holds"] for e in shown) < 191 and {e["sends"] for e in shown} == {"on", "off", "(no reading)"}
    people = judge(owner, "good.csv", None, "--show", "1")
    assert re.search(r"^good.csv:2: round 2-4 \(s\): d0: holds off, would send (on|off|\(no reading\))$", people.stdout, re.M), people.stdout


def test_readings_are_judged_as_the_configuration_reads_them(owner):
    """By its map: Fahrenheit converted, and what stands for no reading; by its form of CSV: decimal commas."""
    (owner / "hot.csv").write_text(rows(t=lambda i: "-127" if i < 5 else "68"))
    conf = (owner / "client.conf").read_text()
    line = "scale = 0.5555555556; offset = -17.77777778; invalid = [ -127.0 ];"
    (owner / "client.conf").write_text(f'{conf}input = {{ path = "hot.csv"; map = {{ t = {{ path = "t"; {line} }}; }}; }};\n')
    run = judge(owner, None, None)
    assert run.returncode == 0 and table(run)[0][2:6] == ["250", "245", "0", "5"], run
    (owner / "client.conf").write_text(f'{conf}input = {{ path = "semi.csv"; delimiter = ";"; decimal_comma = true; }};\n')
    run = judge(owner, "semi.csv", rows(t="20;5").replace(",", ";").replace("20;5", "20,5"))
    assert run.returncode == 0 and table(run)[0][2:6] == ["250", "250", "0", "0"], run
    run = judge(owner, "point.csv", rows(t="20.5").replace(",", ";"))
    assert run.returncode == 65 and "what to do: write decimals with a comma, or leave out input.decimal_comma" in run.stdout, run
