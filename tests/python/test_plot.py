"""Pictures of curves: what `tombola-accountant curve` prints, drawn."""

import math
import os
import subprocess
import sys
import xml.etree.ElementTree

import pytest

from conftest import BUILD, SOURCE
from tombola_accountant import Worth
from tombola_accountant.plot import Plot, Point, Series, from_csv, to_csv, to_svg

SVG = "{http://www.w3.org/2000/svg}"


def plot(*arguments, curves=""):
    return subprocess.run([sys.executable, "-B", "-m", "tombola_accountant.plot", *arguments], input=curves, text=True,
                          capture_output=True, errors="surrogateescape",
                          env={**os.environ, "PYTHONPATH": str(SOURCE / "accountant/python"), "PYTHONIOENCODING": "utf-8"})


def words_of(svg):
    """The text of a picture that is XML, of few kinds of elements, and holds nothing from elsewhere."""
    root = xml.etree.ElementTree.fromstring(svg)
    assert root.tag == SVG + "svg"
    assert {e.tag for e in root.iter()} <= {SVG + t for t in ("svg", "title", "style", "rect", "path", "text", "tspan")}
    assert "href" not in svg and "nan" not in svg and "inf" not in svg and "-0<" not in svg
    return " ".join(t for e in root.iter(SVG + "text") for t in e.itertext())


@pytest.mark.parametrize("arguments,said,not_said", [
    (["--round", "vrr:s=2,eps0=2,n=10000,count=16", "--points", "7", "--method", "pld", "--method", "clones", "--method",
      "clt"], ["pld: proved upper bound (dotted: the same from below)", "clt: approximate (not a guarantee)"], ["finite"]),
    (["--over", "n", "--from", "100", "--to", "1e6", "--delta", "1e-6", "--round", "grr:k=16,eps0=3", "--points", "7"],
     ["pld: proved upper bound", "10 4"], ["clt"]),
    (["--over", "n", "--from", "100", "--to", "100.2", "--delta", "1e-6", "--round", "rr:eps0=4", "--points", "4"],
     ["pld: proved upper bound"], []),
    (["--round", "bins:k=4,dummies=200", "--points", "5", "--method", "rdp"], ["rdp: proved upper bound, nowhere finite"], []),
    (["--round", "rr:eps0=1,n=100", "--points", "5", "--method", "lower"], ["lower: proved lower bound"], ["upper"])])
def test_what_curve_prints_is_drawn(arguments, said, not_said):
    curves = subprocess.run([BUILD / "bin/tombola-accountant", "curve", *arguments], text=True, capture_output=True, check=True)
    run = plot(curves=curves.stdout)
    assert run.returncode == 0 and not run.stderr, run.stderr
    words = words_of(run.stdout)
    assert "epsilon (nats)" in words and all(text in words for text in said) and not any(text in words for text in not_said)
    assert to_csv(from_csv(curves.stdout.splitlines(), "")) == curves.stdout


def test_a_title_may_hold_anything(tmp_path):
    curves = tmp_path / "a.csv"
    curves.write_text("method,worth,delta,epsilon_lower,epsilon_upper\npld,proved,1e-6,0.1,0.2\npld,proved,1e-5,0.05,0.15\n")
    run = plot("--title", "a<b> & 'c' \"d\" ä \x01 \udcff", "-o", str(tmp_path / "a.svg"), str(curves))
    assert run.returncode == 0 and not run.stdout, run.stderr
    svg = (tmp_path / "a.svg").read_text()
    assert "a&lt;b&gt; &amp; 'c' \"d\" ä ? ?</title>" in svg
    words_of(svg)


def test_points_stand_where_axes_say():
    """An axis from 0 to 5 and one from 0 to 10: ends and middle."""
    points = [Point(0, 0, 0), Point(2.5, 0, 5), Point(5, 0, 10)]
    svg = to_svg(Plot("t", "x", "y", False, [Series("line", Worth.PAPER_VALUE, points)]))
    assert 'd="M84.0 398.0L438.0 228.0L792.0 58.0" stroke="#1f83c4" stroke-width="2" stroke-dasharray="7 5"/>' in svg
    # In decades, where values span more than two of them; what is not known is a gap.
    points = [Point(1, 0, 1e-3), Point(10, 0, math.inf), Point(100, 0, 1)]
    svg = to_svg(Plot("t", "x", None, True, [Series("line", Worth.PROVED, points)]))
    assert 'd="M84.0 398.0M792.0 58.0" stroke="#1f83c4" stroke-width="2"/>' in svg


@pytest.mark.parametrize("curves,said", [
    ("", "line 1 is not"), ("delta,epsilon\n", "line 1 is not"),
    ("method,worth,n,epsilon_lower,epsilon_upper\npld,proved,1,2,3\npld,true,1,2,3\n", "line 3 is not a name"),
    ("method,worth,n,epsilon_lower,epsilon_upper\npld,proved,1,2\n", "line 2 is not a name"),
    ("method,worth,n,epsilon_lower,epsilon_upper\npld,proved,1,nan,2\n", "line 2 has a number"),
    ("method,worth,n,epsilon_lower,epsilon_upper\npld,proved,inf,1,2\n", "line 2 has a number")])
def test_what_is_no_curve_is_one_line(curves, said):
    run = plot(curves=curves)
    assert run.returncode == 65 and not run.stdout and said in run.stderr and run.stderr.count("\n") == 1, run.stderr
    assert run.stderr.startswith("python3 -m tombola_accountant.plot: standard input: ")


def test_faults_have_the_codes_of_sysexits(tmp_path):
    curves = "method,worth,n,epsilon_lower,epsilon_upper\npld,proved,1,1,2\n"
    for arguments, code in ((["--nonsense"], 64), (["/nonexistent/a.csv"], 66), (["-o", "/nonexistent/a.svg"], 73),
                            (["-o", "/dev/full"], 74)):
        run = plot(*arguments, curves=curves)
        assert run.returncode == code and run.stderr.count("\n") == 1, (arguments, run)
