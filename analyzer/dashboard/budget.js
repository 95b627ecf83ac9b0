// budget.js - the budget as one bar: a block per charged round, a line at the limit, and the refused round across it.
import {down, element, number, percentLeft, percentUp, replace, up} from "./show.js";

const HOLDS = new Set(["reserved", "charged", "settled"]);

export function holds(round) {
	return HOLDS.has(round.stage);
}

// Where each round's block begins and ends, in epsilon, or in parts of the filter's budget. The last one ends at what
// the accountant says is spent: totals were recorded as the rounds came.
function blocks(budget, rounds, adaptive) {
	const charged = rounds.filter(holds).sort((a, b) => a.sequence - b.sequence);
	const spent = number(adaptive ? budget.share_spent : budget.epsilon_spent);
	let from = 0;
	return charged.map((round, i) => {
		const last = i === charged.length - 1;
		let to = adaptive ? from + number(round.share) : number(round.epsilon_total);
		to = last ? spent : Math.min(to, spent);
		const block = {round, from, to: Math.max(from, to)};
		from = block.to;
		return block;
	});
}

function place(e, from, to, scale) {
	e.style.left = `${100 * from / scale}%`;
	e.style.width = `${100 * (to - from) / scale}%`;
}

function drawBlock(b, i, scale, words) {
	const wide = (b.to - b.from) / scale > 0.03;
	const e = element("span", "block", wide ? element("span", "", `${b.round.round}`) : null);
	e.classList.toggle("odd", i % 2 === 1);
	e.classList.toggle("reserved", b.round.stage === "reserved");
	e.dataset.round = b.round.round;
	e.dataset.width = b.to - b.from;
	e.title = `round ${b.round.round} (${b.round.query}) added ${words(b.to - b.from)}`;
	place(e, b.from, b.to, scale);
	return e;
}

// Of several refused rounds the last: they would all begin about where the blocks end.
function refusedSpan(refusals, adaptive) {
	const r = refusals[refusals.length - 1];
	if (r === undefined)
		return null;
	if (adaptive)
		return {refusal: r, from: number(r.share_spent), to: number(r.share_spent) + number(r.share)};
	return {refusal: r, from: number(r.limit) - number(r.left), to: number(r.total)};
}

function drawRefused(span, scale, words) {
	const e = element("span", "refused", element("span", "", `${span.refusal.round}`));
	e.dataset.round = span.refusal.round;
	e.title = `round ${span.refusal.round} (${span.refusal.query}) would have added ${words(span.to - span.from)}`;
	place(e, span.from, Math.min(span.to, scale), scale);
	return e;
}

function drawLimit(limit, scale, label) {
	const line = element("span", "limit", element("span", "", label));
	line.id = "limit-line";
	line.style.left = `${100 * limit / scale}%`;
	return line;
}

function say(budget, adaptive) {
	const figure = (id, label, value) => {
		const b = element("b", "", value);
		b.id = id;
		return element("span", "figure", b, ` ${label}`);
	};
	const delta = number(budget.delta).toExponential();
	if (adaptive)
		return [figure("spent", "of the filter's budget spent", percentUp(number(budget.share_spent))),
			figure("left", "left", percentLeft(number(budget.share_spent))),
			figure("limit", `epsilon at delta ${delta}, all rounds together`, up(number(budget.epsilon_limit)))];
	return [figure("spent", "epsilon spent", up(number(budget.epsilon_spent))),
		figure("left", "left", down(number(budget.epsilon_left))),
		figure("limit", `is the limit, at delta ${delta}`, number(budget.epsilon_limit).toFixed(4))];
}

export function showBudget(budget, rounds, refusals) {
	const adaptive = budget.mode !== "plan";
	const words = adaptive ? percentUp : (v) => `epsilon ${up(v)}`;
	const limit = adaptive ? 1 : number(budget.epsilon_limit);
	const all = blocks(budget, rounds.rounds, adaptive);
	const span = refusedSpan(refusals.refusals, adaptive);
	const end = Math.max(limit, all.length > 0 ? all[all.length - 1].to : 0,
		span !== null && Number.isFinite(span.to) ? span.to : 0);
	// Far above the limit says no more than above it.
	const scale = Math.min(end, 2 * limit) * 1.04;
	const gauge = document.getElementById("gauge");

	replace(document.getElementById("budget-words"), ...say(budget, adaptive));
	replace(gauge, ...all.map((b, i) => drawBlock(b, i, scale, words)),
		...(span !== null ? [drawRefused(span, scale, words)] : []),
		drawLimit(limit, scale, adaptive ? "100 %" : `limit ${limit.toFixed(4)}`));
	gauge.setAttribute("aria-label", `Budget: ${words(adaptive ? number(budget.share_spent)
		: number(budget.epsilon_spent))} spent of ${adaptive ? "100 %" : limit.toFixed(4)} by ${all.length} rounds` +
		(span !== null ? `; round ${span.refusal.round} would have gone to ${words(span.to)} and was refused` : ""));
	document.getElementById("budget-note").textContent =
		`Each block is what a round added${adaptive ? ", as its part of the filter's budget" : ""}.` +
		(span !== null ? ` Dashed: round ${span.refusal.round}, which was refused, had it been charged.` : "");
}
