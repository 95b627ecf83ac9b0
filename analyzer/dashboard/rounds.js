// rounds.js - shows the table of rounds, and explains refused rounds.
import {holds} from "./budget.js";
import {count, down, element, epsilon0, instant, labelOf, number, percentLeft, percentUp, replace, up} from "./show.js";

const narrow = window.matchMedia("(max-width: 1080px)");
const DECISION = {planned: "to come", reserved: "reserved", charged: "charged", settled: "charged", refused: "REFUSED",
	void: "VOID", waiting: "waiting"};
const REPORTED = new Set(["charged", "settled", "void", "waiting"]);

const HAS_ENDED = new Set(["settled", "void", "waiting"]);

// When the last try opened, or ended.
function time(ms) {
	return ms > 0 ? instant(ms).replace(" UTC", "") : "-";
}

function chargeOf(r) {
	return r.epsilon_round === undefined || (r.stage === "void" && !holds(r)) ? "-" : up(number(r.epsilon_round));
}

// The columns: [heading, class, text for a round and its running total].
const plain = [
	["Round", "num", (r) => `${r.round}`],
	["Query", "", labelOf],
	["Protocol", "", (r) => r.protocol],
	["epsilon0", "num", (r) => epsilon0(number(r.epsilon0))],
	["Opened (UTC)", "time", (r) => time(r.opened_ms)],
	["Ended", "time", (r) => time(HAS_ENDED.has(r.stage) ? r.ended_ms : 0)],
	["Reports", "num", (r) => REPORTED.has(r.stage) ? count(r.reports) : "-"],
	["Epsilon of round", "num", chargeOf],
];
// On a narrow screen each round has four columns, and what the others would say in a row below them.
const query = plain[1];
const charge = ["Epsilon", "num", chargeOf];

function details(r) {
	const opened = r.opened_ms > 0 ? `, ${instant(r.opened_ms)}` : "";
	const reports = REPORTED.has(r.stage) ? `, ${count(r.reports)} reports` : "";
	return `round ${r.round}: ${r.protocol}, eps0 ${epsilon0(number(r.epsilon0))}${reports}${opened}`;
}
const composed = [
	["Total", "num", (r, total) => r.epsilon_round === undefined ? "-" : up(total.spent)],
	["Left", "num", (r, total) => r.epsilon_round === undefined ? "-" : down(Math.max(0, total.limit - total.spent))],
];
const filtered = [
	["Part of budget", "num", (r) => holds(r) ? percentUp(number(r.share)) : "-"],
	["Left", "num", (r, total) => r.stage === "planned" ? "-" : percentLeft(total.spent)],
];
const decision = ["Decision", "decision", decisionOf];

function decisionOf(r) {
	const more = r.more > 0 ? `, and ${count(r.more)} more` : "";

	if (r.missed === true)
		return "missed";
	if (r.waits_for_payload === true)
		return "waits for a payload";
	return (r.stage === "planned" && r.opens_ms !== undefined ? `opens ${instant(r.opens_ms)}`
		: DECISION[r.stage] ?? r.stage) + more;
}

// Show only the first of the coming or refused recurrences of a query; its row says how many follow.
function folded(rounds) {
	const shown = [];
	for (const r of rounds) {
		const last = shown[shown.length - 1];
		if (r.recurrences > 1 && last !== undefined && last.query === r.query && last.stage === r.stage &&
			(r.stage === "planned" || r.stage === "refused") && last.missed !== true && r.missed !== true)
			Object.assign(last, {more: last.more + 1, through: r});
		else
			shown.push({...r, more: 0});
	}
	return shown;
}

function columns(adaptive) {
	const sums = adaptive ? filtered : composed;
	return narrow.matches ? [query, decision, charge, sums[1]] : [...plain, ...sums, decision];
}

function cell(column, r, total) {
	const head = column === query;
	const e = element(head ? "th" : "td", column[1], column[2](r, total));
	if (head)
		e.scope = "row";
	// The reason recorded in the ledger: the shuffler's refusal, or too few reports.
	if (column === decision && r.reason)
		e.title = r.reason;
	return e;
}

function detailsRow(r) {
	const e = element("td", "details", details(r));
	e.colSpan = 4;
	return element("tr", "details", e);
}

function row(r, cols, total, adaptive) {
	if (holds(r))
		total.spent = adaptive ? total.spent + number(r.share) : number(r.epsilon_total);
	const e = element("tr", "", ...cols.map((c) => cell(c, r, total)));
	if (r.through !== undefined && holds(r.through) && !adaptive)
		total.spent = number(r.through.epsilon_total);
	e.dataset.stage = r.stage;
	e.dataset.round = r.round;
	return e;
}

function showRefusals(rounds, refusals) {
	const explained = new Set(refusals.map((r) => r.round));
	const others = folded(rounds).filter((r) => r.reason && !explained.has(r.round))
		.map((r) => element("pre", "refusal", `round ${r.round} (${labelOf(r)}) ${r.stage}${r.more > 0 ? `, and ${count(r.more)} more` : ""}: ${r.reason}`));
	replace(document.getElementById("refusals"), ...others,
		...refusals.map((r) => element("pre", "refusal", r.text)));
}

function showTable(budget, rounds) {
	const adaptive = budget.mode !== "plan";
	const total = {spent: 0, limit: number(budget.slice_epsilon)};
	const cols = columns(adaptive);
	const table = document.getElementById("rounds");
	const heads = cols.map((c) => {
		const e = element("th", c[1], c[0]);
		e.scope = "col";
		return e;
	});

	replace(table.tHead, element("tr", "", ...heads));
	replace(table.tBodies[0], ...folded(rounds.rounds)
		.flatMap((r) => [row(r, cols, total, adaptive), ...(narrow.matches ? [detailsRow(r)] : [])]));
}

export function showRounds(budget, rounds, refusals) {
	narrow.onchange = () => showTable(budget, rounds);
	showTable(budget, rounds);
	showRefusals(rounds.rounds, refusals.refusals);
}
