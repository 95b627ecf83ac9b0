// trend.js - charts the answers to a recurring query: one small chart for each of its largest items, with a point and its
// interval for each recurrence, and a gap where an answer is missing.
import {count, decimalsOf, element, fixed, number, svg} from "./show.js";

const CHARTS = 3;
const WIDTH = 420, HEIGHT = 110, LEFT = 60, RIGHT = 10, TOP = 8, BOTTOM = 20;

function day(ms) {
	return new Date(ms).toISOString().slice(0, 10);
}

// [{recurrence, opens, value, lower, upper}] of the item with this label.
function seriesOf(points, label) {
	return points.flatMap(({round, result}) => result.items.filter((i) => i.label === label).map((i) => ({
		recurrence: round.recurrence,
		opens: round.opens_ms,
		value: number(i.value),
		lower: number(i.joint_lower),
		upper: number(i.joint_upper),
	}))).filter((p) => [p.value, p.lower, p.upper].every(Number.isFinite));
}

function chart(title, series, counts) {
	const first = series[0], last = series[series.length - 1];
	const low = Math.min(...series.map((p) => p.lower)), high = Math.max(...series.map((p) => p.upper));
	const decimals = counts ? 0 : decimalsOf((last.upper - last.lower) / 2);
	const text = (v) => counts ? count(v) : fixed(v, decimals);
	const x = (p) => last.recurrence === first.recurrence ? (LEFT + WIDTH - RIGHT) / 2
		: LEFT + 6 + (WIDTH - LEFT - RIGHT - 12) * (p.recurrence - first.recurrence) / (last.recurrence - first.recurrence);
	const y = (v) => high > low ? TOP + (HEIGHT - TOP - BOTTOM) * (high - v) / (high - low) : HEIGHT / 2;
	const label = (at, anchor, px, py) => svg("text", {x: px, y: py, "text-anchor": anchor}, at);
	const picture = svg("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "trend", role: "img",
		"aria-label": `${title}: ${text(first.value)} on ${day(first.opens)}, ${text(last.value)} on ${day(last.opens)}, ` +
			`${series.length} answers between ${text(low)} and ${text(high)}`},
	svg("line", {class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM}),
	label(text(high), "end", LEFT - 6, TOP + 8), label(text(low), "end", LEFT - 6, HEIGHT - BOTTOM),
	label(day(first.opens), "start", LEFT, HEIGHT - 4), label(day(last.opens), "end", WIDTH - RIGHT, HEIGHT - 4));

	for (const p of series)
		picture.append(svg("line", {class: "span", x1: x(p), x2: x(p), y1: y(p.upper), y2: y(p.lower)}));
	for (const p of series) {
		const hint = svg("title", {}, `#${p.recurrence}, ${day(p.opens)}: ${text(p.value)} (${text(p.lower)} to ${text(p.upper)})`);
		picture.append(svg("circle", {cx: x(p), cy: y(p.value), r: 3.5, "data-recurrence": p.recurrence,
			"data-value": p.value}, hint));
	}
	return element("figure", "", element("figcaption", "", title), picture);
}

// points: [{round, result}] of one query, the oldest first; the charts show the newest answer's largest items.
export function trends(points, counts) {
	const newest = points[points.length - 1].result;
	const items = newest.items.filter((i) => i.below_noise !== true);
	const shown = (counts ? items.sort((a, b) => number(b.value) - number(a.value)) : items).slice(0, CHARTS);

	return shown.map((i) => [i.label === newest.query ? newest.type : i.label, seriesOf(points, i.label)])
		.filter(([, series]) => series.length > 1)
		.map(([title, series]) => chart(title, series, counts));
}
