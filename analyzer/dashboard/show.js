// show.js - numbers as people read them, and elements. Text only ever becomes text: no markup is parsed here.

export function element(name, className, ...content) {
	const e = document.createElement(name);
	if (className)
		e.className = className;
	e.append(...content.filter((c) => c !== null && c !== undefined));
	return e;
}

// A JSON number; the analyzer writes those JSON has not as "inf", "-inf" and "nan".
export function number(v) {
	if (typeof v === "number")
		return v;
	return v === "inf" ? Infinity : v === "-inf" ? -Infinity : NaN;
}

// To four digits: what is needed or spent upwards, what is left downwards.
export function up(v) {
	return Number.isFinite(v) ? (Math.ceil(v * 1e4) / 1e4).toFixed(4) : "inf";
}

export function down(v) {
	return Number.isFinite(v) ? (Math.floor(v * 1e4) / 1e4).toFixed(4) : "inf";
}

export function percentUp(share) {
	return Number.isFinite(share) ? (Math.ceil(share * 1e4) / 1e2).toFixed(2) + " %" : "inf";
}

export function percentLeft(share) {
	return (share < 1 ? Math.floor((1 - share) * 1e4) / 1e2 : 0).toFixed(2) + " %";
}

export function count(v) {
	return Math.round(v).toLocaleString("en-US");
}

export function epsilon0(v) {
	return Number.isFinite(v) ? v.toFixed(2) : "inf";
}

export function fixed(v, decimals) {
	return Number.isFinite(v)
		? v.toLocaleString("en-US", {minimumFractionDigits: decimals, maximumFractionDigits: decimals}) : "-";
}

// Two digits of an interval are meaningful.
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

// Give an element these children unless it shows just them: what did not change keeps its place, its selection and
// its focus, and is not read out again.
export function replace(parent, ...children) {
	const old = parent.childNodes;
	if (old.length !== children.length || children.some((c, i) => !c.isEqualNode(old[i])))
		parent.replaceChildren(...children);
}
