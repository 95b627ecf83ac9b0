// dashboard.js - requests the analyzer's status every two seconds while the page is visible, and shows it.
import {showBudget} from "./budget.js";
import {showEstimates} from "./estimates.js";
import {showRounds} from "./rounds.js";
import {ago, clock, count, element, replace} from "./show.js";

const POLL_MS = 2000;
const SOON_MS = 300; // while the analyzer makes a new view of its ledger
const PATIENCE_MS = 10000;
const LEVEL = {done: "ok", running: "ok", waiting: "ok", scheduled: "ok", refused: "warn", unreachable: "warn", unsigned: "warn", stopping: "warn",
	fault: "fault"};

let started; // start time of the analyzer's run that the page shows
let shownHead; // head of the ledger's last record that the page shows
let answered; // when the analyzer last answered
let timer;

// null: the analyzer is still making it; request it again.
async function ask(name) {
	const answer = await fetch(`/api/v1/${name}`, {signal: AbortSignal.timeout(PATIENCE_MS)});
	if (answer.status === 503)
		return null;
	if (!answer.ok)
		throw new Error((await answer.text()).trim());
	return answer.json();
}

function showState(level, text) {
	const state = document.getElementById("state");
	state.dataset.level = level;
	if (state.textContent !== text)
		state.textContent = text;
	document.title = `${level === "ok" ? "" : "! "}Tombola analyzer`;
}

function facts(status) {
	const p = status.pipeline;
	const seen = status.shuffler.last_seen_ms;
	const link = status.shuffler.connected ? "connected"
		: status.state.code === "scheduled" ? "not dialled until the next round opens"
		: status.round === null ? "not dialled: the plan is through" : "not connected";
	const cert = status.certificate;
	const ledger = status.ledger;

	return [
		["accepted", "Messages accepted", p ? `${count(p.accepted)} of ${count(p.messages)}` : "-"],
		["participants", "Reports", p ? `${count(p.participants)} in ${count(p.rounds)} ${p.rounds === 1 ? "round" : "rounds"}` : "-"],
		["duplicates", "Duplicates dropped", p ? count(p.duplicates) : "-"],
		["bad", "Unreadable", p ? count(p.bad) : "-"],
		["shuffler", "Shuffler", link + (seen === null ? "" : `; last seen ${ago(seen, status.now_ms)}`)],
		["certificate", "Certificate", cert.days !== null ? `${cert.days} days left` : cert.fault],
		["ledger", "Ledger", ledger.fault ?? `intact, ${count(ledger.seq)} records`],
		["started", "Running since", clock(status.started_ms)],
	];
}

function showStatus(status) {
	document.getElementById("plan").textContent =
		`plan ${status.plan}, population ${status.population}, unit ${status.unit}` +
		(status.mode === "plan" ? "" : `, ${status.mode}`);
	showState(LEVEL[status.state.code] ?? "warn", status.state.text);
	replace(document.getElementById("pipeline"), ...facts(status).map(([id, label, text]) => {
		const value = element("dd", "", text);
		value.id = `fact-${id}`;
		return element("div", "", element("dt", "", label), value);
	}));
	document.getElementById("polled").textContent = `As of ${clock(status.now_ms)}` +
		(isBehind(status) ? "; newer records of the ledger are being read." : ".");
}

function isBehind(status) {
	return status.ledger.shown_seq < status.ledger.seq && status.ledger.fault === null;
}

// Fetch budget, rounds and refusals only when the ledger has a new record.
async function showBooks(status) {
	const head = `${status.ledger.head} ${status.refusals_explained}`;
	if (head === shownHead || isBehind(status) || status.ledger.fault !== null)
		return;
	const documents = await Promise.all(["budget", "rounds", "refusals"].map(ask));
	if (documents.includes(null))
		return;
	const [budget, rounds, refusals] = documents;
	showBudget(budget, rounds, refusals);
	showRounds(budget, rounds, refusals);
	if (await showEstimates(rounds, AbortSignal.timeout(PATIENCE_MS)))
		shownHead = head;
}

async function poll() {
	let wait = POLL_MS;
	try {
		const status = await ask("status");
		answered = Date.now();
		if (started !== undefined && started !== status.started_ms) {
			location.reload(); // the analyzer was restarted, perhaps with another plan or version
			return;
		}
		started = status.started_ms;
		showStatus(status);
		wait = isBehind(status) ? SOON_MS : POLL_MS;
		await showBooks(status);
		document.getElementById("main").hidden = false;
		document.body.classList.toggle("old", isBehind(status) || status.ledger.fault !== null);
	} catch (e) {
		document.getElementById("main").hidden = false;
		document.body.classList.add("old");
		if (answered === undefined || Date.now() - answered > POLL_MS)
			showState("fault", answered === undefined ? "The analyzer does not answer."
				: `The analyzer does not answer since ${clock(answered)}; what stands below is as it was then.`);
	}
	clearTimeout(timer);
	if (!document.hidden)
		timer = setTimeout(poll, wait);
}

document.addEventListener("visibilitychange", () => {
	clearTimeout(timer);
	if (!document.hidden)
		poll();
});
poll();
