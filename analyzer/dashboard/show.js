// show.js - formats numbers for people and creates elements. Text is inserted as text only; no markup is parsed here.

export function element(name, className, ...content) {
	const e = document.createElement(name);
	if (className)
		e.className = className;
	e.append(...content.filter((c) => c !== null && c !== undefined));
	return e;
}

export function svg(name, attributes, ...content) {
	const e = document.createElementNS("http://www.w3.org/2000/svg", name);
	for (const [key, value] of Object.entries(attributes))
		e.setAttribute(key, value);
	e.append(...content);
	return e;
}

// A number from JSON; the analyzer writes values that JSON lacks as "inf", "-inf" and "nan".
export function number(v) {
	if (typeof v === "number")
		return v;
	return v === "inf" ? Infinity : v === "-inf" ? -Infinity : NaN;
}

// The least number of four decimals that is not below: 1e4 * 0.07 is above 700.
function ceiling(x) {
	const near = Number(x.toFixed(4));
	return near < x ? Number((x + 1e-4).toFixed(4)) : near;
}

// Round to four digits: needed or spent epsilon up, remaining epsilon down.
export function up(v) {
	return Number.isFinite(v) ? ceiling(v).toFixed(4) : "inf";
}

export function down(v) {
	return Number.isFinite(v) ? (-ceiling(-v)).toFixed(4) : "inf";
}

export function percentUp(share) {
	return Number.isFinite(share) ? (100 * ceiling(share)).toFixed(2) + " %" : "inf";
}

export function percentLeft(share) {
	return (share < 1 ? 100 - 100 * ceiling(share) : 0).toFixed(2) + " %";
}

export function count(v) {
	return Math.round(v).toLocaleString("en-US");
}

// The number of a recurrence.
export function labelOf(round) {
	return round.recurrences > 1 ? `${round.query}#${round.recurrence}` : round.query;
}

// Without the year: "12-01 06:00 UTC".
export function instant(ms) {
	return `${new Date(ms).toISOString().slice(5, 16).replace("T", " ")} UTC`;
}

export function epsilon0(v) {
	return Number.isFinite(v) ? v.toFixed(2) : "inf";
}

export function fixed(v, decimals) {
	return Number.isFinite(v)
		? v.toLocaleString("en-US", {minimumFractionDigits: decimals, maximumFractionDigits: decimals}) : "-";
}

// Show two significant digits of an interval's width.
export function decimalsOf(half) {
	const digits = Number.isFinite(half) && half > 0 ? 1 - Math.floor(Math.log10(half)) : 4;
	return Math.min(9, Math.max(0, digits));
}

export function clock(ms) {
	return new Date(ms).toLocaleTimeString("en-GB");
}

export function ago(ms, now) {
	const s = Math.max(0, Math.round((now - ms) / 1000));
	if (s < 5)
		return "just now";
	if (s < 120)
		return `${s} s ago`;
	if (s < 7200)
		return `${Math.round(s / 60)} min ago`;
	return s < 172800 ? `${Math.round(s / 3600)} h ago` : `${Math.round(s / 86400)} d ago`;
}

// Replace an element's children only if they changed: unchanged children keep their place, selection and focus, and a
// screen reader does not read them again.
export function replace(parent, ...children) {
	const old = parent.childNodes;
	if (old.length !== children.length || children.some((c, i) => !c.isEqualNode(old[i])))
		parent.replaceChildren(...children);
}
