// rounds.js - the table of rounds, and why a round was refused.
import {holds} from "./budget.js";
import {count, down, element, epsilon0, number, percentLeft, percentUp, replace, up} from "./show.js";

const narrow = window.matchMedia("(max-width: 640px)");
const DECISION = {planned: "to come", reserved: "reserved", charged: "charged", settled: "charged", refused: "REFUSED",
	void: "VOID"};

// What stands in the columns: [heading, class, text of a round and of the running total].
const plain = [
	["Round", "num", (r) => `${r.round}`],
	["Query", "", (r) => r.query],
	["Protocol", "", (r) => r.protocol],
	["epsilon0", "num", (r) => epsilon0(number(r.epsilon0))],
	["Reports", "num", (r) => holds(r) && r.stage !== "reserved" || r.stage === "void" ? count(r.reports) : "-"],
	["Epsilon of round", "num", (r) => r.stage === "planned" || r.stage === "void" ? "-" : up(number(r.epsilon_round))],
];
const composed = [
	["Total", "num", (r, total) => r.stage === "planned" ? "-" : up(total.spent)],
	["Left", "num", (r, total) => r.stage === "planned" ? "-" : down(Math.max(0, total.limit - total.spent))],
];
const filtered = [
	["Part of budget", "num", (r) => holds(r) ? percentUp(number(r.share)) : "-"],
	["Left", "num", (r, total) => r.stage === "planned" ? "-" : percentLeft(total.spent)],
];
const decision = ["Decision", "decision", (r) => DECISION[r.stage] ?? r.stage];

function columns(adaptive) {
	const [round, query, protocol, guarantee, reports, charge] = plain;
	const sums = adaptive ? filtered : composed;
	return narrow.matches ? [query, decision, charge, ...sums, reports, guarantee, protocol, round]
		: [...plain, ...sums, decision];
}

// A shuffler's refusal, or too few reports, as the ledger has it.
function cell(column, r, total) {
	const head = column[0] === "Query";
	const e = element(head ? "th" : "td", column[1], column[2](r, total));
	if (head)
		e.scope = "row";
	if (column === decision && r.reason)
		e.title = r.reason;
	return e;
}

function row(r, cols, total, adaptive) {
	if (holds(r))
		total.spent = adaptive ? total.spent + number(r.share) : number(r.epsilon_total);
	const e = element("tr", "", ...cols.map((c) => cell(c, r, total)));
	e.dataset.stage = r.stage;
	e.dataset.round = r.round;
	return e;
}

function showRefusals(rounds, refusals) {
	const explained = new Set(refusals.map((r) => r.round));
	const others = rounds.filter((r) => r.reason && !explained.has(r.round))
		.map((r) => element("pre", "refusal", `round ${r.round} (${r.query}) ${r.stage}: ${r.reason}`));
	replace(document.getElementById("refusals"), ...others,
		...refusals.map((r) => element("pre", "refusal", r.text)));
}

function showTable(budget, rounds) {
	const adaptive = budget.mode !== "plan";
	const total = {spent: 0, limit: number(budget.epsilon_limit)};
	const cols = columns(adaptive);
	const table = document.getElementById("rounds");
	const heads = cols.map((c) => {
		const e = element("th", c[1], c[0]);
		e.scope = "col";
		return e;
	});

	replace(table.tHead, element("tr", "", ...heads));
	replace(table.tBodies[0], ...rounds.rounds.map((r) => row(r, cols, total, adaptive)));
}

export function showRounds(budget, rounds, refusals) {
	narrow.onchange = () => showTable(budget, rounds);
	showTable(budget, rounds);
	showRefusals(rounds.rounds, refusals.refusals);
}
