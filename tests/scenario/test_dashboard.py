"""The dashboard: what a browser shows is what the verbs print, and nothing a plan says becomes more than text."""
import json
import decimal
import re
import shutil
import time
import urllib.error
import urllib.request

import pytest

from browser import Browser
from cluster import EXIT, wait_for

N = 400
EVIL = ["<img src=x onerror=\"window.hurt=1\">", "</script><script>window.hurt=1</script>", "&lt;b&gt;", "plain"]
CITIES = [f"city{i:02d}" for i in range(30)]


@pytest.fixture
def browser():
    if shutil.which("chromium") is None:
        pytest.skip("chromium is not installed: deploy/setup.sh test")
    opened = Browser()
    yield opened
    opened.close()


def url(cluster, path="/"):
    return f"http://127.0.0.1:{cluster.http['analyzer']}{path}"


def get(cluster, path):
    """Status, headers, text; asked again while the daemon starts, or reads the ledger."""
    def once():
        try:
            with urllib.request.urlopen(url(cluster, path), timeout=180) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as e:
            return e.code != 503 and (e.code, e.headers, e.read().decode())
        except urllib.error.URLError:
            return None
    return wait_for(f"an answer to {path}", once)


def api(cluster, name):
    return json.loads(get(cluster, f"/api/v1/{name}")[2])


def wait_state(cluster, code):
    return wait_for(f"state {code}", lambda: api(cluster, "status")["state"]["code"] == code and api(cluster, "status"))


def ask(query, field, values, epsilon0, **keys):
    return {"query": query, "type": "histogram", "protocol": "grr", "field": field, "epsilon0": epsilon0,
            "min_reports": N, "target": N, "values": values, "window": "2m", **keys}


def prepared(cluster, rounds, **plan):
    cluster.configure(min_batch=100, devices=N)
    rows = ["device,label,city,celsius"]
    for i in range(N):
        label = EVIL[min(i % 8, 3)].replace('"', '""')
        rows.append(f'd{i},"{label}",{CITIES[i % 30]},{20 + i % 7}')
    cluster.write("readings.csv", "\n".join(rows) + "\n")
    cluster.plan(rounds, **plan)


def run(cluster):
    cluster.start("shuffler", "run")
    cluster.wait_listening()
    cluster.start("client", "run")
    return cluster.start("analyzer", "run")


MEAN = {"query": "celsius", "type": "mean", "protocol": "levels", "field": "celsius", "epsilon0": 1.0,
        "min_reports": N, "target": N, "range": [0.0, 40.0], "window": "2m"}


def wait_explained(cluster):
    wait_state(cluster, "refused")
    wait_for("the explanation", lambda: api(cluster, "status")["refusals_explained"] == 1)


def settled_plan(cluster):
    """Three rounds charged and one refused; the analyzer stays up."""
    prepared(cluster, [ask("labels", "label", EVIL, 2.0), MEAN, ask("cities", "city", CITIES, 2.0),
                       ask("too-much", "label", EVIL, 2.0)], epsilon=0.75)
    analyzer = run(cluster)
    wait_explained(cluster)
    return analyzer


def four(x, up):
    """As budget prints it."""
    exact = decimal.Decimal(repr(float(x)))
    return str(exact.quantize(decimal.Decimal("0.0001"), decimal.ROUND_CEILING if up else decimal.ROUND_FLOOR))


def instant(ms):
    return time.strftime("%m-%d %H:%M", time.gmtime(ms // 1000)) if ms else "-"


# A card of 35 counts, five of them below the noise floor: its rows, its notes, and what one of its buttons opens.
LONG = """(async () => {
    const item = (i) => ({label: `v${i}`, value: 100 + i, lower: 90 + i, upper: 110 + i, joint_lower: 80 + i, joint_upper: 120 + i,
        below_noise: i >= 30});
    const result = {query: "many", type: "histogram", field: "f", protocol: "grr", reports: 400, noise_floor: 50, no_reading: [],
        items: [...Array(35).keys()].map(item)};
    const module = await import("/dashboard/estimates.js"), real = window.fetch;
    window.fetch = async () => ({ok: true, status: 200, json: async () => result});
    await module.showEstimates({rounds: [{stage: "settled", round: 9, query: "many", descriptor_hash: "d"}]});
    window.fetch = real;
    const card = document.querySelector("[data-query=many]");
    const said = (selector) => [...card.querySelectorAll(selector)].map((e) => e.textContent);
    const heads = said("tbody th"), shown = [heads.length, heads, said(".fold"), said(".note").filter((n) => n.includes("35"))];
    card.querySelector("p button").click();
    return [...shown, said("tbody th")];
})()"""


# A card of two counts with four devices that lied, of which the plan allows for one: the pale span of the first, what it says when
# pointed at, and the card's notes and warnings.
LIARS = """(async () => {
    const item = (label, value) => ({label, value, lower: value - 5, upper: value + 5, joint_lower: value - 10, joint_upper: value + 10,
        honest_joint_lower: value - 60, honest_joint_upper: value + 20, below_noise: false});
    const result = {query: "lied", type: "histogram", field: "f", protocol: "grr", reports: 400, noise_floor: 5, no_reading: [],
        liars: {m: 1, from: "plan", seen: 4}, items: [item("a", 180), item("b", 40)]};
    const module = await import("/dashboard/estimates.js"), real = window.fetch;
    window.fetch = async () => ({ok: true, status: 200, json: async () => result});
    await module.showEstimates({rounds: [{stage: "settled", round: 10, query: "lied", descriptor_hash: "e"}]});
    window.fetch = real;
    const card = document.querySelector("[data-query=lied]"), span = card.querySelector(".honest").style;
    const said = (selector) => [...card.querySelectorAll(selector)].map((e) => e.textContent);
    return [span.left, span.width, [...card.querySelectorAll(".range")].map((e) => e.title), said(".note"), said(".warning")];
})()"""


# A map of so many columns and rows: whether all of it is inside its picture, and the least sides of a cell.
MAP = """(async ([columns, rows]) => {
    const {map} = await import("/dashboard/places.js");
    const items = [...Array(columns * rows).keys()].map((i) => ({label: `cell ${i}`, value: i, lower: i - 1, upper: i + 1, quiet: i < 9,
        low: -123456.75 + (i % columns), high: -123455.75 + (i % columns), low_2: -0.04321 * Math.floor(i / columns) - 0.04321,
        high_2: -0.04321 * Math.floor(i / columns)}));
    const parts = map({items, fields: ["a long name of a field", "another"]}, items, 9), card = document.querySelector(".card");
    card.append(...parts);
    const m = parts[0].querySelector("svg"), o = m.getBoundingClientRect(), boxes = [...m.querySelectorAll(".place, text")].map(
        (e) => e.getBoundingClientRect());
    const sides = [...m.querySelectorAll(".place")].map((e) => e.getBoundingClientRect());
    const out = {cells: sides.length, inside: boxes.every((b) => b.left >= o.left - 1 && b.right <= o.right + 1 &&
        b.top >= o.top - 1 && b.bottom <= o.bottom + 1), least: [Math.min(...sides.map((b) => b.width)), Math.min(...sides.map((b) => b.height))]};
    for (const p of parts) p.remove();
    return out;
})(COLUMNS_AND_ROWS)"""


def text(browser, selector):
    return browser.js(f"document.querySelector({json.dumps(selector)})?.textContent")


def texts(browser, selector):
    return browser.js(f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.textContent)")


def loaded(browser, cluster, cards):
    browser.go(url(cluster))
    browser.until(f"document.querySelectorAll('.card').length === {cards}")


def test_the_json_is_what_the_verbs_print(cluster):
    settled_plan(cluster)
    assert get(cluster, "/api/v1/budget")[2] == cluster.run("analyzer", "budget", "--json").stdout.rstrip("\n")
    assert get(cluster, "/api/v1/rounds")[2] == cluster.run("analyzer", "round", "list", "--json").stdout.rstrip("\n")
    refusal, = api(cluster, "refusals")["refusals"]
    explained = cluster.run("analyzer", "budget", "explain", "4")
    assert explained.returncode == EXIT["budget"] and refusal.pop("text") == explained.stdout
    assert refusal == json.loads(cluster.run("analyzer", "budget", "explain", "4", "--json").stdout)
    for query in ("labels", "celsius", "cities"):
        assert api(cluster, f"estimates/{query}") == cluster.json("analyzer", "estimate", query)
    status = api(cluster, "status")
    assert status["schema"] == "tombola.status/1" and status["round"] is None
    assert status["pipeline"] == {"rounds": 3, "participants": 3 * N, "messages": 3 * N, "accepted": 3 * N,
                                  "duplicates": 0, "bad": 0}
    assert status["certificate"]["days"] >= 88 and status["ledger"]["fault"] is None
    assert status["ledger"]["head"] == api(cluster, "budget")["ledger_head"]
    assert json.loads(get(cluster, "/status")[2])["schema"] == "tombola.status/1"
    assert get(cluster, "/api/v1/estimates/too-much")[0] == get(cluster, "/api/v1/estimates/none")[0] == 404
    assert get(cluster, "/dashboard/../index.html")[0] == get(cluster, "/dashboard/")[0] == 404
    for path in ("/", "/dashboard/dashboard.js"):
        policy = get(cluster, path)[1]["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "script-src 'self';" in policy and "unsafe" not in policy


def shown_figures(browser):
    return {what: text(browser, f"#population-{what}") for what in ("limit", "pinned", "used", "free")}


def shown_budget(browser):
    return {what: text(browser, f"#{what}") for what in ("spent", "left", "limit")}


def check_gauge(browser, share):
    """Drawn widths against the drawn limit: the blocks end at what is spent."""
    drawn = browser.js("""(() => {
        const gauge = document.getElementById("gauge").getBoundingClientRect();
        const width = (e) => e.getBoundingClientRect().width;
        return {blocks: [...document.querySelectorAll("#gauge .block")].map(width),
                limit: document.getElementById("limit-line").getBoundingClientRect().left - gauge.left,
                refused: [...document.querySelectorAll("#gauge .refused")].map((e) => {
                    const r = e.getBoundingClientRect(); return [r.left - gauge.left, r.right - gauge.left]; }),
                label: document.getElementById("gauge").getAttribute("aria-label")};})()""")
    assert sum(drawn["blocks"]) / drawn["limit"] == pytest.approx(share, abs=0.003)
    return drawn


def test_the_page_shows_what_the_verbs_print(cluster, browser):
    analyzer = settled_plan(cluster)
    budget, rounds = cluster.json("analyzer", "budget"), cluster.json("analyzer", "round", "list")["rounds"]
    loaded(browser, cluster, 3)

    # The population's figures, as `budget` prints them.
    f = budget["population_budget"]
    assert shown_figures(browser) == {"limit": f"{f['limit']:.4f}", "pinned": four(f["pinned"], True), "used": four(f["used"], True),
                                      "free": four(f["free"], False)}
    assert f["free"] == 0 and text(browser, "#population-words").endswith("no further plan fits")
    printed = re.findall(r"^(?:budget|pinned|used|free) +epsilon ([\d.]+)", cluster.run("analyzer", "budget").stdout, re.M)
    assert printed == list(shown_figures(browser).values())

    entries = budget["entries_epsilon"]
    assert shown_budget(browser) == {"spent": four(entries, True),
                                     "left": four(budget["slice_epsilon"] - entries, False), "limit": "0.7500"}
    drawn = check_gauge(browser, entries / budget["slice_epsilon"])
    assert len(drawn["blocks"]) == 3 and "round 4" in drawn["label"] and "refused" in drawn["label"]
    (start, end), = drawn["refused"]
    assert start == pytest.approx(sum(drawn["blocks"]), abs=1) and start < drawn["limit"] < end

    assert texts(browser, "#rounds tbody th") == [r["query"] for r in rounds]
    assert texts(browser, "#rounds tr[data-stage=refused] .decision") == ["REFUSED"]
    charged = browser.js("[...document.querySelectorAll('#rounds tbody tr')].map(r => r.cells[7].textContent)")
    assert charged == [four(r["epsilon_round"], True) for r in rounds]
    at = browser.js("[...document.querySelectorAll('#rounds tbody tr')].map(r => [r.cells[4], r.cells[5]].map(c => c.textContent))")
    said = [[instant(r.get(key)) for key in ("opened_ms", "ended_ms")] for r in rounds]
    assert at == said and at[3] == ["-", "-"] and all(r["opened_ms"] <= r["ended_ms"] for r in rounds[:3])
    listed = cluster.run("analyzer", "round", "list").stdout
    assert all(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(r[k] // 1000)) in listed
               for r in rounds[:3] for k in ("opened_ms", "ended_ms"))
    browser.until("document.querySelectorAll('.refusal').length === 1")
    assert texts(browser, ".refusal") == [cluster.run("analyzer", "budget", "explain", "4").stdout]
    assert browser.js("[...document.querySelectorAll('th')].every(e => e.scope || e.ariaHidden)")

    # Labels are text, whatever they look like.
    assert texts(browser, "[data-query=labels] tbody th") == EVIL
    assert browser.js("document.querySelectorAll('main img, main script').length === 0 && window.hurt === undefined")
    shown = texts(browser, "[data-query=labels] tbody td.num:nth-of-type(2)")
    items = cluster.json("analyzer", "estimate", "labels")["items"]
    assert shown == [f"{i['value']:,.0f}" for i in items if not i["below_noise"]]
    # Devices without a reading are no item.
    nobody, = cluster.json("analyzer", "estimate", "labels")["no_reading"]
    said, = [n for n in texts(browser, "[data-query=labels] .note") if n.startswith("Devices without a reading: ")]
    assert nobody["below_noise"] == ("below the noise floor" in said)
    quiet = [i for q in ("labels", "cities") for i in cluster.json("analyzer", "estimate", q)["items"] if i["below_noise"]]
    item, = cluster.json("analyzer", "estimate", "celsius")["items"]
    assert abs(float(text(browser, "[data-query=celsius] td.num")) - item["value"]) < 0.5
    low, high = text(browser, "[data-query=celsius] .range").split(" to ")
    assert float(low) < item["value"] < float(high)

    # What is not told apart from none has a row together, which opens.
    below = sum(i["below_noise"] for i in cluster.json("analyzer", "estimate", "cities")["items"])
    assert below > 3 and texts(browser, "[data-query=cities] .fold") == [f"{below} below the noise floor: show"]
    assert len(texts(browser, "[data-query=cities] tbody tr")) == min(20, len(CITIES) - below) + 1
    browser.js("document.querySelector('[data-query=cities] .fold button').click()")
    assert texts(browser, "[data-query=cities] tbody th") == CITIES
    assert texts(browser, "td.quiet") == ["below the noise floor"] * len(quiet)
    assert browser.js(LONG) == [20, [f"v{i}" for i in range(29, 9, -1)], ["5 below the noise floor: show"],
                                ["The largest 20 of 35. show all 35"], [f"v{i}" for i in range(35)]]
    left, width, titles, notes, warnings = browser.js(LIARS)
    assert (left, width) == ("60%", "40%")  # 120 to 200 of an axis from 0 to 200
    assert titles == ["of the honest devices: 120 to 200", "of the honest devices: 0 to 60"]
    assert "Pale: what is certain of the honest devices, if 4 lie." in notes
    assert warnings == ["At least 4 devices lied: wrong totals of slots, or messages that no client sends. "
                        "That is more than the 1 that the plan allows for."]

    # Where the columns do not fit, on a phone too, the decision is second; nothing scrolls sideways.
    for width, column in ((1100, "Query"), (920, "Decision"), (390, "Decision")):
        browser.size(width, 844)
        browser.until(f"document.querySelector('#rounds thead').rows[0].cells[1].textContent === '{column}'")
        assert browser.js("document.documentElement.scrollWidth") <= width
        assert browser.js("[...document.querySelectorAll('.scroll')].every(e => e.scrollWidth <= e.clientWidth)"), width
    below = texts(browser, "#rounds tr.details")
    assert len(below) == 4 and "400 reports" in below[0] and instant(rounds[0]["opened_ms"]) in below[0]

    assert browser.complaints == []
    assert all(u.startswith(url(cluster)) for u in browser.requests), browser.requests
    looks_away(browser)
    has_nothing_to_show(browser, cluster, analyzer)


def looks_away(browser):
    """Nobody looks: nothing is asked.  Somebody looks again: at once."""
    hide = "Object.defineProperty(document, 'hidden', {get: () => %s, configurable: true}); " \
           "document.dispatchEvent(new Event('visibilitychange'))"
    browser.js("new Promise(r => setTimeout(r, 300))")
    browser.js(hide % "true")
    before = len(browser.requests)
    browser.js("new Promise(r => setTimeout(r, 2500))")
    assert len(browser.requests) == before
    browser.js(hide % "false")
    browser.js("new Promise(r => setTimeout(r, 300))")
    assert len(browser.requests) > before


def has_nothing_to_show(browser, cluster, analyzer):
    """An altered result, no scripts, no analyzer: each is said."""
    with open(cluster.path("analyzer", "results", "round-0002.json"), "a") as f:
        f.write("\n")
    loaded(browser, cluster, 3)
    assert "is not the result the ledger recorded" in text(browser, "[data-query=celsius]")
    analyzer.stop()
    browser.until("document.getElementById('state')?.textContent.includes('does not answer since')")
    assert text(browser, "#spent")
    analyzer.start()
    browser.until("document.getElementById('state')?.textContent.startsWith('the budget blocks round 4')")
    browser.scripts(False)
    browser.go(url(cluster))
    browser.until("document.querySelector('noscript')?.innerText.includes('needs JavaScript')")


def test_a_filter_is_shown_in_parts_of_its_budget(cluster, browser):
    prepared(cluster, [ask("first", "label", EVIL, 1.0), ask("second", "label", EVIL, 0.5),
                       ask("third", "label", EVIL, 2.0)], epsilon=0.3, mode="adaptive")
    cluster.accept_adaptive()
    run(cluster)
    wait_explained(cluster)
    budget, rounds = cluster.json("analyzer", "budget"), cluster.json("analyzer", "round", "list")["rounds"]
    assert [r["stage"] for r in rounds] == ["settled", "settled", "refused"]
    assert sum(r["share"] for r in rounds[:2]) == pytest.approx(budget["share_spent"], rel=1e-6)
    loaded(browser, cluster, 2)
    assert float(text(browser, "#spent").rstrip(" %")) == pytest.approx(100 * budget["share_spent"], abs=0.011)
    assert len(check_gauge(browser, budget["share_spent"])["blocks"]) == 2
    assert "Part of budget" in texts(browser, "#rounds thead th")
    assert texts(browser, ".refusal") == [cluster.run("analyzer", "budget", "explain", "3").stdout]
    assert browser.complaints == []


def test_what_a_paper_says_is_shown_beside_the_answer(cluster, browser):
    prepared(cluster, [{"query": "both", "type": "vector", "protocol": "ss-simple", "fields": ["celsius", "wind"],
                        "levels": 3, "epsilon0": 2.0, "min_reports": N, "target": N, "range": [0.0, 40.0],
                        "window": "2m"}], epsilon=5.0)
    cluster.write("readings.csv", "device,celsius,wind\n" + "".join(f"d{i},{i % 40},7\n" for i in range(N)))
    run(cluster)
    wait_state(cluster, "done")
    statement = cluster.json("analyzer", "estimate", "both")["statement"]
    loaded(browser, cluster, 1)
    assert f"{statement}." in texts(browser, "[data-query=both] .note"), statement
    assert texts(browser, "[data-query=both] .warning") == [] and browser.complaints == []


def places(cluster, width, height, spots):
    """A settled round of places: devices at spots, [(x, y, how many)]."""
    total = sum(n for *_, n in spots)
    cluster.configure(min_batch=100, devices=total)
    at = [(x, y) for x, y, n in spots for _ in range(n)]
    cluster.write("readings.csv", "device,lon,lat\n" + "".join(f"d{i},{x},{y}\n" for i, (x, y) in enumerate(at)))
    cluster.plan([{"query": "where", "type": "places", "epsilon0": 12.0, "min_reports": total, "target": total, "window": "2m",
                   "axes": [{"field": "lon", "range": [5.5, 5.5 + width], "cells": width},
                            {"field": "lat", "range": [-1.0, height - 1.0], "cells": height}]}], epsilon=40.0)
    run(cluster)
    wait_state(cluster, "done")
    return cluster.json("analyzer", "estimate", "where")


def test_places_are_a_map(cluster, browser):
    result = places(cluster, 6, 4, [(6.0, -0.5, 900), (8.0, 0.5, 500), (9.0, 2.5, 300), (11.0, 1.5, 300)])
    loaded(browser, cluster, 1)
    quiet = sum(i["below_noise"] for i in result["items"])
    assert 0 < quiet < 24
    cells = browser.js("""[...document.querySelectorAll('.map .place')].map((e) => ({quiet: e.classList.contains('quiet'),
        said: e.getAttribute('aria-label'), full: Number(e.getAttribute('fill-opacity')), tab: e.tabIndex,
        box: ((b) => [b.left, b.top, b.width, b.height])(e.getBoundingClientRect())}))""")
    assert [c["quiet"] for c in cells] == [i["below_noise"] for i in result["items"]]
    assert [c["tab"] for c in cells] == [0] + [-1] * 23
    most = max(i["value"] for i in result["items"])
    for n, (cell, item) in enumerate(zip(cells, result["items"])):
        # The first field to the right, the second up, and squares.
        left, top, width, height = cell["box"]
        assert left == pytest.approx(cells[0]["box"][0] + n % 6 * width, abs=0.1) and width == pytest.approx(height, abs=0.1)
        assert top == pytest.approx(cells[0]["box"][1] - n // 6 * height, abs=0.1)
        said = f"{item['label']}: "
        if item["below_noise"]:
            said += "below the noise floor"
        else:
            said += f"{item['value']:,.0f} ({item['joint_lower']:,.0f} to {item['joint_upper']:,.0f})"
            assert cell["full"] == pytest.approx(0.1 + 0.9 * item["value"] / most)
        assert cell["said"] == said
    # Pointer and keys say the same; the table below has all of it.
    browser.js("document.querySelectorAll('.map .place')[8].dispatchEvent(new PointerEvent('pointerenter'))")
    assert text(browser, ".said") == cells[8]["said"]
    browser.js("document.querySelector('.map .place').focus()")
    assert text(browser, ".said") == cells[0]["said"]
    for key, cell in (("ArrowLeft", 0), ("ArrowRight", 1), ("ArrowUp", 7), ("ArrowUp", 13), ("ArrowLeft", 12), ("ArrowDown", 6)):
        browser.js(f"document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}', bubbles: true}}))")
        assert text(browser, ".said") == cells[cell]["said"], key
        assert browser.js("[...document.querySelectorAll('.map .place')].map((e) => e.tabIndex).indexOf(0)") == cell
    words = texts(browser, ".map text")
    assert words == ["5.5", "11.5", "lon", "-1", "3", "lat"]
    assert texts(browser, "[data-query=where] .fold") == [f"{quiet} below the noise floor: show"]
    assert browser.js("[...document.querySelectorAll('.frame')].map((f) => f.getAttribute('x') + ' ' + f.getAttribute('y'))") == [
        browser.js("((c) => c.getAttribute('x') + ' ' + c.getAttribute('y'))(document.querySelectorAll('.map .place')[6])")]
    for width in (1200, 390):
        browser.size(width, 844)
        for scheme in ("light", "dark"):
            browser.scheme(scheme)
            browser.picture(cluster.path(f"map-{scheme}-{width}.png"))
            full, empty, page = (browser.js(f"getComputedStyle(document.querySelector('{of}')).{what}") for of, what in (
                (".map .place:not(.quiet)", "fill"), (".map .place.quiet", "fill"), ("section", "backgroundColor")))
            assert full != page and empty == "rgba(0, 0, 0, 0)", (scheme, full, empty, page)
        assert browser.js("document.documentElement.scrollWidth") <= width
        # The longest grids and coordinates, too.
        for columns, rows in ((16, 16), (128, 2), (2, 128)):
            drawn = browser.js(MAP.replace("COLUMNS_AND_ROWS", f"[{columns}, {rows}]"))
            assert drawn["cells"] == columns * rows and drawn["inside"] and min(drawn["least"]) > 1.5, (width, columns, drawn)
    assert browser.complaints == []


def test_waiting_unreachable_and_a_ledger_fault_are_said(cluster, browser):
    cluster.two_colours(N)
    shuffler = cluster.start("shuffler", "run")
    cluster.wait_listening()
    cluster.start("analyzer", "run")
    status = wait_state(cluster, "waiting")
    assert status["state"]["text"].startswith(
        f"waiting for reports of round 1 (colour): it needs {N} and closes at {N} or at ")
    assert status["shuffler"]["connected"] and status["shuffler"]["last_seen_ms"] <= status["now_ms"]
    assert api(cluster, "budget")["rounds"]["reserved"] == 1
    browser.go(url(cluster))
    browser.until("document.querySelectorAll('#gauge .block.reserved').length === 1")
    assert text(browser, "#state") == api(cluster, "status")["state"]["text"]

    shuffler.stop()
    status = wait_state(cluster, "unreachable")
    assert "round 1 (colour) waits for it" in status["state"]["text"] and not status["shuffler"]["connected"]
    browser.until("document.getElementById('state').dataset.level === 'warn'")

    # The file rots while the daemon, which read it before, goes on.
    with open(cluster.path("analyzer", "ledger"), "r+b") as f:
        f.seek(60)
        byte = f.read(1)
        f.seek(60)
        f.write(bytes([byte[0] ^ 1]))
    shuffler.start()
    cluster.start("client", "run")
    status = wait_state(cluster, "fault")
    assert "/ledger: " in status["state"]["text"], status["state"]
    assert get(cluster, "/api/v1/budget")[0] == 500
    browser.until("document.getElementById('state').dataset.level === 'fault'")
    assert "ledger fault" in text(browser, "#state")
