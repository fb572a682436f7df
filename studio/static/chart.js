// Drawings on canvases.

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// key returns the colour of a word in CSS: different hues, with a lightness that suits the theme.
export const key = (i, light = "var(--light)") => `hsl(${(175 + 137.5 * i) % 360} 65% ${light})`;

// colour returns the colour of a word for drawings.
const colour = (i) => key(i, style("--light"));

// prepare clears a canvas and returns its context, in CSS pixels.
function prepare(canvas) {
	const ratio = devicePixelRatio || 1, width = canvas.clientWidth;
	if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
	const c = canvas.getContext("2d");
	const own = canvas.height / (canvas.dataset.height ??= canvas.height);
	if (own !== ratio) canvas.height = Math.round(canvas.dataset.height * ratio);
	canvas.style.height = canvas.dataset.height + "px";
	c.setTransform(ratio, 0, 0, ratio, 0, 0);
	c.clearRect(0, 0, width, canvas.dataset.height);
	return { c, width, height: Number(canvas.dataset.height) };
}

// loss draws the losses after each epoch against the step.
export function loss(canvas, curve, steps) {
	const { c, width, height } = prepare(canvas);
	const left = 44, bottom = 22, top = 8, right = 10;
	const most = Math.max(...curve.map((e) => Math.max(e.training, e.validation)), 0.01);
	const x = (step) => left + (step / Math.max(steps, 1)) * (width - left - right);
	const y = (v) => top + (1 - v / most) * (height - top - bottom);
	c.font = "12px system-ui, sans-serif";
	c.fillStyle = style("--soft");
	c.strokeStyle = style("--line");
	for (const v of [0, most / 2, most]) {
		c.fillText(v.toFixed(2), 6, y(v) + 4);
		c.beginPath();
		c.moveTo(left, y(v));
		c.lineTo(width - right, y(v));
		c.stroke();
	}
	c.fillText(`step ${steps}`, width - right - c.measureText(`step ${steps}`).width, height - 6);
	c.fillText("0", left, height - 6);
	for (const [key, stroke] of [["training", style("--soft")], ["validation", style("--accent")]]) {
		c.strokeStyle = c.fillStyle = stroke;
		c.lineWidth = 2;
		c.beginPath();
		curve.forEach((e) => c.lineTo(x(e.step), y(e[key])));
		c.stroke();
		for (const e of curve) {
			c.beginPath();
			c.arc(x(e.step), y(e[key]), 2.5, 0, 7);
			c.fill();
		}
	}
	c.lineWidth = 1;
}

// wave draws the peaks of the last seconds, the newest on the right, with a band for each event.
export function wave(canvas, peaks, capacity, bands) {
	const { c, width, height } = prepare(canvas);
	for (const b of bands) {
		c.globalAlpha = 0.3;
		c.fillStyle = colour(b.word);
		c.fillRect(b.from * width, 0, Math.max(2, (b.end - b.from) * width), height);
		c.globalAlpha = 1;
	}
	c.fillStyle = style("--wave");
	const w = width / capacity, first = capacity - peaks.length;
	peaks.forEach((p, i) => {
		const h = Math.max(1, Math.sqrt(p) * (height - 6));
		c.fillRect((first + i) * w, (height - h) / 2, Math.max(1, w - 0.5), h);
	});
}

// posteriors draws a line per word, and the threshold.
export function posteriors(canvas, frames, capacity, threshold, words) {
	const { c, width, height } = prepare(canvas);
	const y = (p) => 6 + (1 - p) * (height - 12);
	c.strokeStyle = style("--soft");
	c.setLineDash([5, 4]);
	c.beginPath();
	c.moveTo(0, y(threshold));
	c.lineTo(width, y(threshold));
	c.stroke();
	c.setLineDash([]);
	c.font = "12px system-ui, sans-serif";
	c.fillStyle = style("--soft");
	c.fillText("threshold", 6, y(threshold) - 4);
	const first = capacity - frames.length;
	c.lineWidth = 2;
	for (let k = 0; k < words; k++) {
		c.strokeStyle = colour(k);
		c.beginPath();
		frames.forEach((f, i) => c.lineTo(((first + i) / capacity) * width, y(f[k] / 1000)));
		c.stroke();
	}
	c.lineWidth = 1;
}
