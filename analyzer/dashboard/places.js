// places.js - draws the cells of a grid as a map: fuller where more devices are, empty below the noise floor. The pointer
// and the arrow keys choose a cell, whose count and interval are said below the map.
import {count, element, number, svg} from "./show.js";

const WIDTH = 420, HEIGHT = 320, LEFT = 68, RIGHT = 8, TOP = 8, BOTTOM = 38; // units of the drawing
const LARGEST = 64; // side of a cell
const STRETCH = 3; // cells that can be drawn as squares of this part of the room are
const PALE = 0.1; // of a count of 0
const STEPS = 5; // of the legend
const MOVES = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]};

function coordinate(v) {
	if (v !== 0 && (Math.abs(v) >= 1e5 || Math.abs(v) < 1e-3))
		return v.toExponential(1);
	return v.toLocaleString("en-US", {maximumSignificantDigits: 4, useGrouping: false});
}

// The distinct ends of one axis in order: [[low, high], ...].
function partsOf(items, low, high) {
	return [...new Map(items.map((i) => [number(i[low]), [number(i[low]), number(i[high])]])).values()]
		.sort((a, b) => a[0] - b[0]);
}

// Squares unless that would waste most of the room.
function sizeOf(columns, rows) {
	const width = Math.min(LARGEST, (WIDTH - LEFT - RIGHT) / columns);
	const height = Math.min(LARGEST, (HEIGHT - TOP - BOTTOM) / rows);
	const side = Math.min(width, height);
	return Math.max(width, height) > STRETCH * side ? [width, height] : [side, side];
}

function opacity(value, most) {
	return most > 0 ? PALE + (1 - PALE) * Math.min(1, Math.max(0, value / most)) : PALE;
}

function sayingOf(item) {
	return item.quiet ? `${item.label}: below the noise floor`
		: `${item.label}: ${count(item.value)} (${count(item.lower)} to ${count(item.upper)})`;
}

// Field names and the ends of both axes: the first goes to the right, the second up.
function axes(fields, xs, ys, right, bottom) {
	const label = (text, x, y, anchor, more) => svg("text", {x, y, "text-anchor": anchor, ...more}, text);
	const middle = (TOP + bottom) / 2;
	return [label(coordinate(xs[0][0]), LEFT, bottom + 14, "start"),
		label(coordinate(xs[xs.length - 1][1]), right, bottom + 14, "end"),
		label(fields[0], (LEFT + right) / 2, bottom + 30, "middle"),
		label(coordinate(ys[0][0]), LEFT - 5, bottom, "end"),
		label(coordinate(ys[ys.length - 1][1]), LEFT - 5, TOP + 9, "end"),
		label(fields[1], 12, middle, "middle", {transform: `rotate(-90 12 ${middle})`})];
}

function legend(floor, most) {
	const e = element("p", "note key");
	const swatches = svg("svg", {viewBox: `0 0 ${STEPS * 14} 12`, width: STEPS * 14, height: 12, "aria-hidden": "true"});
	for (let i = 0; i < STEPS; i++)
		swatches.append(svg("rect", {class: "place", x: i * 14, y: 0, width: 14, height: 12,
			"fill-opacity": opacity(i, STEPS - 1)}));
	e.append("0 ", swatches, ` ${count(most)} devices a cell.`,
		floor > 0 ? ` Empty: below the noise floor, ${count(floor)}.` : "");
	return e;
}

// Of the cells one is in the order of the tab key; the arrow keys move to its neighbours.
function steer(cells, say) {
	let current = cells[0];
	const find = (x, y) => cells.find((c) => c.x === x && c.y === y);
	const choose = (cell) => {
		current.shape.setAttribute("tabindex", "-1");
		current = cell;
		current.shape.setAttribute("tabindex", "0");
		say(current);
	};

	current.shape.setAttribute("tabindex", "0");
	for (const cell of cells) {
		cell.shape.onpointerenter = () => say(cell);
		cell.shape.onpointerdown = () => choose(cell);
		cell.shape.onfocus = () => choose(cell);
		cell.shape.onkeydown = (event) => {
			const move = MOVES[event.key];
			const to = move && find(cell.x + move[0], cell.y + move[1]);
			if (move)
				event.preventDefault();
			to?.shape.focus();
		};
	}
}

// items: those of the result, in the same order, as the table shows them.
export function map(result, items, floor) {
	const xs = partsOf(result.items, "low", "high"), ys = partsOf(result.items, "low_2", "high_2");
	const [width, height] = sizeOf(xs.length, ys.length);
	const right = LEFT + width * xs.length, bottom = TOP + height * ys.length;
	const most = Math.max(0, ...items.filter((i) => !i.quiet && Number.isFinite(i.value)).map((i) => i.value));
	const said = element("p", "note said", "Point at a cell, or move through them with the arrow keys.");
	const picture = svg("svg", {viewBox: `0 0 ${WIDTH} ${bottom + BOTTOM}`, class: "map", role: "group",
		"aria-label": `Map of ${items.length} cells, ${xs.length} by ${ys.length}: ` +
			`${items.filter((i) => !i.quiet).length} above the noise floor, the largest ${count(most)}`});
	const frame = svg("rect", {class: "frame", width, height, visibility: "hidden"});
	const cells = items.map((item, i) => {
		const x = xs.findIndex((p) => p[0] === number(result.items[i].low));
		const y = ys.findIndex((p) => p[0] === number(result.items[i].low_2));
		const shape = svg("rect", {class: item.quiet ? "place quiet" : "place", x: LEFT + x * width, tabindex: -1,
			y: bottom - (y + 1) * height, width, height, role: "img", "aria-label": sayingOf(item)});
		if (!item.quiet)
			shape.setAttribute("fill-opacity", opacity(item.value, most));
		return {x, y, shape, item};
	});

	said.setAttribute("role", "status");
	picture.append(...cells.map((c) => c.shape), frame, ...axes(result.fields, xs, ys, right, bottom));
	steer(cells, (cell) => {
		said.replaceChildren(sayingOf(cell.item));
		for (const side of ["x", "y"])
			frame.setAttribute(side, cell.shape.getAttribute(side));
		frame.setAttribute("visibility", "visible");
	});
	return [element("figure", "places", picture), said, legend(floor, most)];
}
