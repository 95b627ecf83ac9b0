// budget.js - the figures of the population's budget, and the plan's slice of it as one bar: a block per round that holds a part of it, a line at the limit, and
// the refused round across it.
import {down, element, labelOf, number, percentLeft, percentUp, replace, up} from "./show.js";

export function holds(round) {
	return round.holds === true;
}

// Start and end of each round's block, in epsilon or in shares of the filter's budget. The last block ends at the
// accountant's present total, since the recorded totals are those of the time when each round was decided.
function blocks(budget, rounds, adaptive) {
	const charged = rounds.filter(holds).sort((a, b) => adaptive ? a.sequence - b.sequence : a.round - b.round);
	const spent = number(adaptive ? budget.share_spent : budget.entries_epsilon);
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
	e.classList.toggle("reserved", b.round.stage !== "charged" && b.round.stage !== "settled");
	e.dataset.round = b.round.round;
	e.dataset.width = b.to - b.from;
	e.title = `round ${b.round.round} (${labelOf(b.round)}) added ${words(b.to - b.from)}`;
	place(e, b.from, b.to, scale);
	return e;
}

// Show only the last of several refused rounds: all of them would start where the blocks end.
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

function figure(id, label, value) {
	const b = element("b", "", value);
	b.id = id;
	return element("span", "figure", b, ` ${label}`);
}

function atDelta(delta) {
	return `at delta ${number(delta).toExponential()}`;
}

// The figures of the population's budget, in the words of `tombola-analyzer budget`.
function sayPopulation(budget) {
	const f = budget.population_budget;
	const plans = budget.plans.length;
	const free = number(f.free), freeDelta = number(f.free_delta);
	return [figure("population-limit", `epsilon ${atDelta(f.delta)}: the budget for life`, number(f.limit).toFixed(4)),
		figure("population-pinned", `pinned by ${plans} ${plans === 1 ? "plan" : "plans"}`, up(number(f.pinned))),
		figure("population-used", `used, ${percentUp(number(f.ratio))} of the budget`, up(number(f.used))),
		figure("population-free", free > 0 && freeDelta > 0 ? `free for other plans, ${atDelta(f.free_delta)}`
			: `free${free > 0 ? ", but no delta" : ""}: no further plan fits`, down(free))];
}

function sayPlan(budget, adaptive) {
	const together = figure("together", "epsilon0 over all tries: what shuffler and analyzer together could learn of a device",
		up(number(budget.together.epsilon0)));
	if (adaptive)
		return [figure("limit", `epsilon ${atDelta(budget.slice_delta)}: the plan's slice, all rounds together`,
			up(number(budget.slice_epsilon))),
			figure("spent", "of the filter's budget spent", percentUp(number(budget.share_spent))),
			figure("left", "left", percentLeft(number(budget.share_spent))), together];
	const slice = number(budget.slice_epsilon), entries = number(budget.entries_epsilon);
	return [figure("limit", `epsilon ${atDelta(budget.slice_delta)}: the plan's slice`, slice.toFixed(4)),
		figure("spent", "taken by the plan's rounds", up(entries)),
		figure("left", "that no round uses", down(Math.max(0, slice - entries))), together];
}

export function showBudget(budget, rounds, refusals) {
	const adaptive = budget.mode !== "plan";
	const words = adaptive ? percentUp : (v) => `epsilon ${up(v)}`;
	const limit = adaptive ? 1 : number(budget.slice_epsilon);
	const all = blocks(budget, rounds.rounds, adaptive);
	const span = refusedSpan(refusals.refusals, adaptive);
	const end = Math.max(limit, all.length > 0 ? all[all.length - 1].to : 0,
		span !== null && Number.isFinite(span.to) ? span.to : 0);
	// A round far above the limit is cut off: its exact length carries no information.
	const scale = Math.min(end, 2 * limit) * 1.04;
	const gauge = document.getElementById("gauge");

	replace(document.getElementById("population-words"), ...sayPopulation(budget));
	replace(document.getElementById("budget-words"), ...sayPlan(budget, adaptive));
	replace(gauge, ...all.map((b, i) => drawBlock(b, i, scale, words)),
		...(span !== null ? [drawRefused(span, scale, words)] : []),
		drawLimit(limit, scale, adaptive ? "100 %" : `slice ${limit.toFixed(4)}`));
	gauge.setAttribute("aria-label", `Budget: ${words(adaptive ? number(budget.share_spent)
		: number(budget.entries_epsilon))} spent of ${adaptive ? "100 %" : limit.toFixed(4)} by ${all.length} ${all.length === 1 ? "round" : "rounds"}` +
		(span !== null ? `; round ${span.refusal.round} would have gone to ${words(span.to)} and was refused` : ""));
	document.getElementById("budget-note").textContent =
		`Each block is what a round adds${adaptive ? ", as its part of the filter's budget" : ""}.` +
		(span !== null ? ` Dashed: round ${span.refusal.round}, which was refused, had it been charged.` : "");
}
