// estimates.js - shows a card per settled round with its items and their intervals, for every kind of query. A long list
// shows its largest counts, or the first of its numbers, as `estimate` does.
import {count, decimalsOf, element, fixed, labelOf, number, replace} from "./show.js";
import {map} from "./places.js";
import {trends} from "./trend.js";

const NUMBERS = new Set(["mean", "sum", "quantiles", "vector"]); // all other kinds count devices
const CARDS = 24; // newest rounds shown at first; the others on request
const ITEMS = 20; // most items on a card: the largest
const QUIET = 3; // most items below the noise floor that each have a row
const RECURRENCES = 60; // most recurrences in a trend: the newest
const results = new Map(); // cache: the result of a settled round never changes
const cards = new Map(); // by round and number of recurrences in its trend
let showAll = false;

// Items with their simultaneous intervals.
function itemsOf(result) {
	const joint = result.items.length > 1 && result.items.every((i) => Number.isFinite(number(i.joint_lower)));
	return {joint, items: result.items.map((i) => ({
		label: result.items.length === 1 && i.label === result.query ? result.type : i.text !== undefined ? `"${i.text}"` : i.label,
		value: number(i.value),
		lower: number(joint ? i.joint_lower : i.lower),
		upper: number(joint ? i.joint_upper : i.upper),
		honestLower: number(joint ? i.honest_joint_lower : i.honest_lower),
		honestUpper: number(joint ? i.honest_joint_upper : i.honest_upper),
		quiet: i.below_noise === true,
		end: i.at_end,
	}))};
}

function finite(values) {
	return values.filter(Number.isFinite);
}

// The axis of counts starts at zero. That of other numbers spans about three intervals to each side, because the interval
// would be invisible on the whole range of the quantity.
function axisOf(items, counts) {
	const low = Math.min(...finite(items.flatMap((i) => [i.lower, i.value, i.honestLower])));
	const high = Math.max(...finite(items.flatMap((i) => [i.upper, i.value, i.honestUpper])));
	if (counts)
		return {from: 0, to: high > 0 ? high : 1};
	const half = Math.max(...finite(items.map((i) => (i.upper - i.lower) / 2)), 0);
	return Number.isFinite(low) && half > 0 ? {from: low - 2 * half, to: high + 2 * half, decimals: decimalsOf(half)}
		: {from: low - 1, to: high + 1, decimals: 1};
}

function at(axis, v) {
	return 100 * Math.min(1, Math.max(0, (v - axis.from) / (axis.to - axis.from)));
}

function mark(className, left, right) {
	const e = element("span", className);
	e.style.left = `${left}%`;
	if (right !== undefined)
		e.style.width = `${right - left}%`;
	return e;
}

function track(item, axis, counts, floor) {
	const e = element("td", "track");
	const box = element("span", "box");
	if (counts && !item.quiet)
		box.append(mark("bar", 0, at(axis, item.value)));
	if (Number.isFinite(item.honestLower) && Number.isFinite(item.honestUpper) && !item.quiet)
		box.append(mark("honest", at(axis, item.honestLower), at(axis, item.honestUpper)));
	if (Number.isFinite(item.lower) && Number.isFinite(item.upper) && !item.quiet)
		box.append(mark("interval", at(axis, item.lower), at(axis, item.upper)));
	if (!counts)
		box.append(mark("point", at(axis, item.value)));
	if (counts && floor > 0)
		box.append(mark("floor", at(axis, floor)));
	e.setAttribute("aria-hidden", "true");
	e.append(box);
	return e;
}

// Allow a line break after each value of a combination.
function breakable(label) {
	return label.split(/(?<=,)/).flatMap((part, i) => i === 0 ? [part] : [document.createElement("wbr"), part]);
}

function itemRow(item, axis, counts, floor) {
	const head = element("th", "", element("span", "name", ...breakable(item.label)));
	const decimals = counts ? 0 : decimalsOf((item.upper - item.lower) / 2);
	const text = (v) => counts && Number.isFinite(v) ? count(v) : fixed(v, decimals);
	const ended = item.end === undefined ? "" : " *";
	const cells = item.quiet && counts ? [element("td", "quiet", "below the noise floor")]
		: [element("td", "num", text(item.value)), element("td", "num range", `${text(item.lower)} to ${text(item.upper)}${ended}`)];
	head.scope = "row";
	head.title = item.label;
	if (Number.isFinite(item.honestLower) && cells.length > 1)
		cells[1].title = `of the honest devices: ${text(counts ? Math.max(0, item.honestLower) : item.honestLower)} to ${text(item.honestUpper)}`;
	if (cells.length === 1)
		cells[0].colSpan = 2;
	return element("tr", item.quiet && counts ? "quiet" : "", head, track(item, axis, counts, floor), ...cells);
}

function button(text, act) {
	const e = element("button", "more", text);
	e.type = "button";
	e.onclick = act;
	return e;
}

// Many items below the noise floor share a row, which opens them.
function quietRow(n, open) {
	const cell = element("td", "fold", button(`${count(n)} below the noise floor: show`, open));
	cell.colSpan = 4;
	return element("tr", "quiet", cell);
}

function table(result) {
	const counts = !NUMBERS.has(result.type);
	const floor = number(result.noise_floor);
	const {items, joint} = itemsOf(result);
	const axis = axisOf(items, counts);
	const heads = ["Item", "", "Estimate", joint ? "95 % interval, jointly" : "95 % interval"].map((text) => {
		const e = element("th", text === "Item" ? "" : "num", text);
		e.scope = "col";
		if (text === "")
			e.setAttribute("aria-hidden", "true");
		return e;
	});
	const body = element("tbody");
	const parts = result.type === "places" ? map(result, items, floor) : [];
	const quiet = counts ? items.filter((i) => i.quiet) : [];
	const loud = quiet.length > QUIET ? items.filter((i) => !i.quiet) : items;
	const sorted = counts && loud.length > ITEMS ? [...loud].sort((a, b) => b.value - a.value) : loud;
	const rows = (list) => list.map((i) => itemRow(i, axis, counts, floor));
	const left = element("p", "note");
	const unfold = () => {
		body.replaceChildren(...rows(items));
		left.remove();
	};

	parts.push(element("table", "items", element("thead", "", element("tr", "", ...heads)), body));
	body.append(...rows(sorted.slice(0, ITEMS)));
	if (loud !== items)
		body.append(quietRow(quiet.length, unfold));
	if (loud.length > ITEMS || result.items_left_out > 0) {
		const all = result.items_left_out > 0 ? `show ${count(items.length)}` : `show all ${count(items.length)}`;
		left.append(`The ${counts ? "largest" : "first"} ${Math.min(ITEMS, loud.length)} of ` +
			`${count(items.length + (result.items_left_out ?? 0))}. `, button(all, unfold));
		parts.push(left);
	}
	if (items.some((i) => Number.isFinite(i.honestLower)))
		parts.push(element("p", "note", `Pale: what is certain of the honest devices, if ${count(liarsOf(result))} lie.`));
	if (counts && floor > 0)
		parts.push(element("p", "note", `Dotted: the noise floor ${count(floor)}, the smallest count told apart from none.`));
	else if (!counts && items.length > 0)
		parts.push(element("p", "note", `Axis ${fixed(axis.from, axis.decimals)} to ${fixed(axis.to, axis.decimals)}.`));
	return parts;
}

// "600 took part; 2,400 were over max_share of the shuffler's policy."
function leftOut(result) {
	const list = result.left_out ?? [];
	return list.length === 0 ? []
		: [`${count(result.participants)} took part; ${list.map((l) => `${count(l.devices)} ${l.text}`).join("; ")}.`];
}

// How many devices are assumed to have lied: those that the plan allows for, or that were seen if these are more.
function liarsOf(result) {
	return Math.max(result.liars?.m ?? 0, result.liars?.seen ?? 0);
}

// What is seen of devices that lied.
function liars(result) {
	const {m = 0, seen = 0} = result.liars ?? {};
	const more = seen > m ? ` That is more than the ${count(m)} that the plan allows for.` : "";
	return seen === 0 ? [] : [`At least ${count(seen)} device${seen > 1 ? "s" : ""} lied: wrong totals of slots, or messages that ` +
		`no client sends.${more}`];
}

// What the asterisks mean.
function ends(result) {
	const touched = [...new Set((result.items ?? []).map((i) => i.at_end).filter((v) => v !== undefined))];
	return touched.length === 0 ? []
		: [`* At the end of its range, ${touched.sort((a, b) => a - b).join(" or ")}: readings beyond it count ` +
			`${result.type === "ranges" ? "there" : "as that value"}. Look at unit, scale and range.`];
}

// The count of devices without a reading, shown apart from the items; or how they affect the answer.
function without(result) {
	const counted = (result.no_reading ?? []).filter((i) => i.below_noise !== true);
	const text = (i) => `${count(number(i.value))} (${count(number(i.joint_lower))} to ${count(number(i.joint_upper))})`;

	const alone = (result.no_reading ?? []).length === 1;
	// A semicolon parts what a row answers from how devices without a reading count.
	const estimand = result.estimand && (!alone || result.estimand.includes(";")) ?
		[`${result.estimand[0].toUpperCase()}${result.estimand.slice(1)}.`] : [];
	if (alone)
		return [...estimand, `Devices without a reading: ${counted.length > 0 ? text(counted[0]) : "below the noise floor"}.`];
	return [...estimand, ...counted.slice(0, ITEMS).map((i) => `Without a reading, ${i.label}: ${text(i)}.`)];
}

function notes(result) {
	const lines = [...leftOut(result), ...liars(result), ...ends(result)];
	if (result.fault)
		lines.push(`No estimate: ${result.fault}`);
	if (result.warning)
		lines.push(`Warning: ${result.warning}`);
	if (result.type === "sum" && result.reports < result.participants)
		lines.push(`The sum of the ${count(result.reports)} valid reports; ${count(result.participants)} took part.`);
	if (result.duplicates > 0 || result.bad > 0)
		lines.push(`Not counted: ${count(result.duplicates)} duplicate and ${count(result.bad)} unreadable messages.`);
	if (result.shuffler_dummies > 0)
		lines.push(`The guarantee rests on the shuffler having added ${count(result.shuffler_dummies)} messages of its own.`);
	if (result.tag_messages > 0)
		lines.push(`The shuffler has evened the counts to ${count(result.tag_messages)} messages of each tag.`);
	const paper = result.statement ? [`${result.statement}.`] : [];
	const bias = Math.max(0, ...finite((result.items ?? []).map((i) => number(i.bias_bound))));
	if (bias > 0)
		lines.push("Where the choice of a class goes with the value an estimate may be off by up to " +
			`${bias.toPrecision(4)}; the intervals allow for it.`);
	return [...lines.map((l) => element("p", "warning", l)), ...[...without(result), ...paper].map((l) => element("p", "note", l))];
}

function fieldsOf(result) {
	const fields = result.fields ?? [result.field];
	return fields.length > 4 ? `${fields.slice(0, 3).join(", ")} and ${fields.length - 3} more` : fields.join(", ");
}

function card(round, result) {
	const e = element("article", "card", element("h3", "", labelOf(round)));
	e.dataset.query = round.query;
	if (typeof result === "string") {
		e.append(element("p", "warning", result));
		return e;
	}
	e.append(element("p", "note", `Round ${round.round}: ${result.type} of ${fieldsOf(result)} by ` +
		`${result.protocol}, ${count(result.reports)} reports`), ...notes(result));
	if (Array.isArray(result.items) && result.items.length > 0)
		e.append(...table(result));
	return e;
}

async function load(round, signal) {
	const key = `${round.round} ${round.descriptor_hash}`;
	if (!results.has(key)) {
		const answer = await fetch(`/api/v1/estimates/${encodeURIComponent(labelOf(round))}`, {signal});
		if (answer.status === 503)
			return null;
		if (!answer.ok)
			return `No result: ${(await answer.text()).trim()}`;
		results.set(key, await answer.json());
	}
	return results.get(key);
}

// null: its data is still being fetched. A recurring query has one card for its newest answer, with all answers as a trend.
async function cardOf(round, series, signal) {
	const key = `${round.round} ${round.descriptor_hash} ${series.length}`;
	const points = [];

	if (cards.has(key))
		return cards.get(key);
	for (const r of series) {
		const result = await load(r, signal);
		if (result === null)
			return null;
		if (Array.isArray(result.items) && result.items.length > 0)
			points.push({round: r, result});
	}
	const result = await load(round, signal);
	if (result === null)
		return null;
	const made = card(round, result);
	if (points.length > 1)
		made.append(...trends(points, !NUMBERS.has(result.type)));
	if (typeof result !== "string")
		cards.set(key, made);
	return made;
}

// [round, recurrences on its card] for the newest round of each query.
function withSeries(settled) {
	const newest = new Map();
	for (const r of settled)
		if (r.recurrences > 1 && !(newest.get(r.query)?.sequence > r.sequence))
			newest.set(r.query, r);
	return settled.filter((r) => !(r.recurrences > 1) || newest.get(r.query) === r)
		.map((r) => [r, r.recurrences > 1 ? settled.filter((o) => o.query === r.query).slice(-RECURRENCES) : []]);
}

// Cards are created once, so that unfolded parts stay unfolded. False if some data is still missing.
export async function showEstimates(rounds, signal) {
	const box = document.getElementById("estimates");
	const settled = withSeries(rounds.rounds.filter((r) => r.stage === "settled"));
	const shown = showAll ? settled : settled.slice(-CARDS);
	const list = [];

	for (const [r, series] of shown) {
		const made = await cardOf(r, series, signal);
		if (made === null)
			return false;
		list.push(made);
	}
	if (shown.length < settled.length) {
		const more = element("button", "more", `show ${settled.length - shown.length} earlier rounds`);
		more.type = "button";
		more.onclick = () => {
			showAll = true;
			more.disabled = true;
			showEstimates(rounds, signal);
		};
		list.unshift(more);
	}
	if (list.length === 0)
		list.push(element("p", "note", "None yet: a round has an estimate once it is charged and opened."));
	if (list.length !== box.childNodes.length || list.some((c, i) => c !== box.childNodes[i]))
		replace(box, ...list);
	return true;
}
