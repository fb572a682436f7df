// Small helpers to build the page.

export const $ = (id) => document.getElementById(id);

// el creates an element with attributes, properties such as onclick and textContent, and children.
export function el(name, attributes = {}, ...children) {
	const e = document.createElement(name);
	for (const [key, value] of Object.entries(attributes)) {
		if (value === undefined || value === false) continue;
		if (key in e && !key.startsWith("aria")) e[key] = value;
		else e.setAttribute(key, value === true ? "" : value);
	}
	e.append(...children);
	return e;
}

const glyphs = {
	play: "M4 2.500v11l9-5.500z",
	stop: "M3 3h10v10H3z",
	again: "M8 2.200a5.800 5.800 0 1 0 5.800 5.800h-1.900a3.900 3.900 0 1 1-3.900-3.900v2.400l4.200-3.300L8 0z",
	remove: "M3.300 2 8 6.700 12.700 2 14 3.300 9.300 8l4.700 4.700-1.300 1.300L8 9.300 3.300 14 2 12.700 6.700 8 2 3.300z",
};

const svg = (name, attributes) => {
	const e = document.createElementNS("http://www.w3.org/2000/svg", name);
	for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
	return e;
};

// glyph returns an icon for a button. The button has an accessible name.
export function glyph(name) {
	const e = svg("svg", { class: "glyph", viewBox: "0 0 16 16", "aria-hidden": "true" });
	e.append(svg("path", { d: glyphs[name] }));
	return e;
}

// envelope draws the envelope of a clip, with one bar per digit.
export function envelope(peaks) {
	const e = svg("svg", { class: "bars", viewBox: `0 0 ${3 * peaks.length} 20`, preserveAspectRatio: "none", "aria-hidden": "true" });
	[...peaks].forEach((c, i) => {
		const h = 1 + 2 * Number(c);
		e.append(svg("rect", { x: 3 * i, y: 10 - h / 2, width: 2, height: h }));
	});
	return e;
}

// pictureButton returns a button with an icon. Screen readers and the tooltip show its name.
export const pictureButton = (picture, name, onclick) =>
	el("button", { type: "button", "aria-label": name, title: name, onclick }, glyph(picture));

// announce tells a screen reader what happened.
export function announce(text) {
	$("announce").textContent = text;
}

// showError shows an error until the next action succeeds, or hides it.
export function showError(err) {
	const m = $("message");
	m.hidden = !err;
	m.replaceChildren(...(err ? [el("div", {}, el("span", { textContent: err.message }), pictureButton("remove", "Close the message", () => showError(null)))] : []));
}

// action returns an event handler that shows the error of f.
export const action = (f) => async (e) => {
	e?.preventDefault?.();
	showError(null);
	try {
		await f(e);
	} catch (err) {
		if (err.name !== "AbortError") showError(err);
	}
};

// ask shows a dialog with a text, or with a field for a name. It returns the name, true or null.
export function ask({ title, text = "", field = false, yes }) {
	$("ask-title").textContent = title;
	$("ask-text").textContent = text;
	$("ask-text").hidden = !text;
	$("ask-field").hidden = !field;
	$("ask-name").required = field;
	$("ask-name").value = "";
	$("ask-yes").textContent = yes;
	const dialog = $("ask");
	dialog.returnValue = "no";
	dialog.showModal();
	return new Promise((resolve) => {
		dialog.onclose = () => resolve(dialog.returnValue !== "yes" ? null : field ? $("ask-name").value.trim().normalize("NFC") : true);
	});
}

// duration returns a number of seconds as text.
export function duration(s) {
	s = Math.round(s);
	return s < 60 ? `${s} s` : `${Math.floor(s / 60)} min ${s % 60} s`;
}

// moment returns a time in a recording as text.
export const moment = (s) => (s < 60 ? "" : `${Math.floor(s / 60)} min `) + `${(s % 60).toFixed(1)} s`;

// keepFocus replaces elements, and gives the focus to the one with the same data-focus.
export function keepFocus(parent, change) {
	const focus = document.activeElement?.dataset.focus;
	change();
	if (focus && document.activeElement === document.body) parent.querySelector(`[data-focus="${CSS.escape(focus)}"]`)?.focus();
}

export const plural = (n, one, many = one + "s") => `${n} ${n === 1 ? one : many}`;
