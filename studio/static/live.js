// Listening: sends the microphone or a file to the detector, and shows the posteriors and events.
import { $, action, announce, el, moment, pictureButton, plural } from "./dom.js";
import { Microphone, decode, int16, join, peak, play, wav } from "./sound.js";
import * as chart from "./chart.js";

const shown = 10, kept = 30, maxEvents = 100, maxFileSeconds = 1200; // seconds of sound: shown, kept
const frameSeconds = 0.02, peakSeconds = 0.05;
const around = 0.5; // seconds of sound kept before and after an event
const patience = 30; // seconds of sound that may wait for the detector
const lost = "The connection with the detector ended";

let project, words = [], session = null;

// Session is a connection with the detector.
class Session {
	constructor(rate, file = "") {
		this.project = project;
		this.rate = rate;
		this.file = file; // its name; "": the microphone
		this.items = []; // listed events, the oldest first
		this.blocks = []; // {at, samples} of the last kept seconds
		this.sent = 0; // samples
		this.processed = 0; // of them
		this.peaks = [];
		this.frames = [];
		this.bands = []; // events: {from, end} in seconds
		this.waiting = []; // events whose sound is not complete yet
		this.threshold = 0.5;
		this.socket = project.live(rate);
		this.ready = new Promise((resolve, reject) => {
			this.socket.onopen = resolve;
			this.socket.onerror = () => this.project.refusal(rate).then(reject);
		});
		this.closed = new Promise((resolve) => this.socket.addEventListener("close", resolve));
		this.socket.onmessage = (e) => this.receive(JSON.parse(e.data));
		this.stopped = false;
		$("wave").dataset.seconds = 0;
	}
	send(samples) {
		if (this.stopped || this.socket.readyState !== WebSocket.OPEN) return;
		if (this.sent - this.processed > patience * this.rate) return stop(`This computer is too slow for the detector, which is ${patience} s behind the microphone.`);
		this.blocks.push({ at: this.sent, samples });
		this.sent += samples.length;
		while (this.blocks.length > 1 && this.blocks[0].at < this.sent - kept * this.rate) this.blocks.shift();
		const step = Math.round(peakSeconds * this.rate);
		for (let i = 0; i < samples.length; i += step) this.peaks.push(peak(samples.subarray(i, i + step)));
		this.peaks.splice(0, this.peaks.length - shown / peakSeconds);
		this.socket.send(int16(samples).buffer);
		this.waiting = this.waiting.filter((f) => !f());
	}
	receive(m) {
		if (m.type === "start") this.threshold = m.threshold;
		if (m.type === "frames") {
			this.processed = m.samples;
			this.frames.push(...m.posteriors);
			this.frames.splice(0, this.frames.length - shown / frameSeconds);
			this.onframes?.();
		}
		if (m.type === "event") this.event(m);
	}
	// sound returns the sound between two times in seconds, as far as it is kept, and when it begins.
	sound(from, end) {
		const first = Math.max(this.blocks[0].at, Math.round(from * this.rate)), last = Math.min(this.sent, Math.round(end * this.rate));
		const parts = [];
		for (const b of this.blocks) {
			const i = Math.max(first - b.at, 0), j = Math.min(last - b.at, b.samples.length);
			if (i < j) parts.push(b.samples.subarray(i, j));
		}
		return { samples: join(parts), from: first / this.rate };
	}
	event(e) {
		if (session !== this) return; // of a project that is no longer shown, or of an earlier session
		const from = e.onset / this.rate, end = e.end / this.rate;
		this.bands.push({ from, end, word: words.indexOf(e.label) });
		const item = eventItem(this, e, { from, end });
		this.items.push(item);
		while (this.items.length > maxEvents) this.items.shift().li.remove();
		if (!this.file) announce(e.label);
		const cut = () => {
			if (!this.stopped && this.sent < (end + around) * this.rate) return false;
			item.take(this.sound(from - around, end + around));
			return true;
		};
		if (!cut()) this.waiting.push(cut);
	}
	// show makes this the session whose events are listed.
	show() {
		stop();
		session = this;
		$("events").replaceChildren();
		showUnmarked();
	}
	draw() {
		const now = this.sent / this.rate;
		$("wave").dataset.seconds = now;
		this.bands = this.bands.filter((b) => b.end > now - shown);
		const x = (s) => (s - now + shown) / shown;
		chart.wave($("wave"), this.peaks, shown / peakSeconds, this.bands.map((b) => ({ from: x(b.from), end: x(b.end), word: b.word })));
		chart.posteriors($("posteriors"), this.frames, shown / frameSeconds, this.threshold, words.length);
	}
	stop() {
		this.stopped = true;
		this.mic?.stop();
		this.waiting.forEach((f) => f());
		this.waiting = [];
		if (this.socket.readyState === WebSocket.OPEN) this.socket.send('{"type":"end"}');
		else this.socket.close();
	}
}

// setDetector shows the words of the project's detector; null: there is none.
export function setDetector(p, detector) {
	if (p !== project) {
		stop();
		session = null;
		$("events").replaceChildren();
		showUnmarked();
	}
	if (p === project && running() && session.mic) {
		stop();
		state("There is a new detector. Start listening again.", false);
	}
	project = p;
	words = detector?.labels ?? [];
	for (const id of ["listen", "listen-file"]) $(id).disabled = !detector;
	if (!detector) state("Train a detector first.", false);
	else if ($("listen-state").textContent === "Train a detector first.") state("", false);
	$("legend").replaceChildren(...words.map((w, i) => {
		const key = el("span", { className: "key" });
		key.style.setProperty("--c", chart.key(i));
		return el("span", {}, key, w);
	}));
	$("missed-word").replaceChildren(...words.map((w) => el("option", { textContent: w, value: w })));
	$("missed").hidden = !words.length;
	redraw();
}

const running = () => session && !session.stopped;

function redraw() {
	if (session) session.draw();
	else {
		chart.wave($("wave"), [], 1, []);
		chart.posteriors($("posteriors"), [], 1, 0.5, 0);
	}
}

function animate(s) {
	if (session !== s) return;
	s.draw();
	if (!s.stopped) requestAnimationFrame(() => animate(s));
}

function state(text, listening) {
	$("listen-state").textContent = text;
	$("listen").textContent = listening ? "Stop listening" : "Listen with the microphone";
	$("listen").classList.toggle("recording", listening);
}

export function stop(why = "") {
	if (!running()) return;
	session.stop();
	state(why, false);
}

async function listen() {
	if (running()) return stop();
	$("listen").disabled = true; // while the browser asks for permission
	try {
		await begin();
	} finally {
		$("listen").disabled = false;
	}
}

async function begin() {
	let s = null, ended = null; // why the microphone ended
	const early = [];
	const mic = await Microphone.open((block) => (s ? s.send(block) : early.push(block)), (err) => {
		ended = err ?? new Error("The microphone is used by another recording.");
		if (s && !s.stopped) stop(err?.message);
	});
	try {
		const opening = new Session(mic.rate);
		opening.mic = mic;
		await opening.ready;
		if (opening.project !== project) {
			opening.stop();
			throw new Error("The project was changed. Start listening again.");
		}
		if (ended) {
			opening.stop();
			throw ended;
		}
		opening.show();
		s = opening;
	} catch (err) {
		mic.stop();
		throw err;
	}
	s.closed.then(({ reason }) => session === s && !s.stopped && (s.stop(), state(`${lost}${reason && ": " + reason}.`, false)));
	state("Listening", true);
	early.forEach((b) => s.send(b));
	animate(s);
}

// check sends a file as fast as the detector processes it.
async function check(file) {
	stop();
	const rate = 16000;
	let samples;
	try {
		samples = await decode(file, rate);
	} catch {
		throw new Error(`${file.name} cannot be read as sound.`);
	}
	if (samples.length > maxFileSeconds * rate) throw new Error(`${file.name} is longer than ${maxFileSeconds / 60} minutes.`);
	const s = new Session(rate, file.name);
	await s.ready;
	if (s.project !== project) return s.stop();
	s.show();
	state(`Checking ${file.name}`, true);
	animate(s);
	let found = 0, at = 0;
	const receive = s.event.bind(s);
	s.event = (e) => (found++, receive(e));
	const ended = await new Promise((resolve) => {
		s.onframes = () => {
			if (s.stopped) return;
			if (at >= samples.length) {
				s.stop();
				return;
			}
			s.send(samples.subarray(at, (at += rate / 2)));
		};
		s.closed.then(resolve);
		s.onframes();
	});
	if (session !== s) return;
	const early = !s.stopped, seconds = `${Math.round(s.sent / rate)} s`;
	s.stopped = true;
	const result = `${plural(found, "event")} in ${at < samples.length ? "the first " : ""}${seconds}`;
	state(`${file.name}: ${result}`, false);
	if (early || ended.code !== 1000) throw new Error(`${lost} after ${seconds} of ${file.name}: ${ended.reason || "is s4d-fast studio still running?"}`);
}

// between returns the times around an event. Half of the time between two events belongs to each.
export function between(event, others, most = around) {
	let from = event.from - most, end = event.end + most;
	for (const o of others) {
		if (o === event) continue;
		if (o.end <= event.from) from = Math.max(from, (o.end + event.from) / 2);
		if (o.from >= event.end) end = Math.min(end, (o.from + event.end) / 2);
	}
	return { from, end };
}

// eventItem adds an event of a session to the list.
function eventItem(s, e, span) {
	let sound = null; // around the event
	const clip = () => { // without the neighbours, the next of which comes later
		const { from, end } = between(span, s.items.map((i) => i.span));
		const at = (seconds) => Math.max(0, Math.round((seconds - sound.from) * s.rate));
		return wav(sound.samples.subarray(at(from), at(end)), s.rate);
	};
	const at = moment(span.from);
	const name = `${e.label} at ${at}`;
	const mark = el("select", { "aria-label": `What ${name} really was` },
		el("option", { value: "", textContent: "Wrong? It was …" }),
		el("option", { value: "_other", textContent: "none of the words" }),
		...words.filter((w) => w !== e.label).map((w) => el("option", { value: w, textContent: w })));
	const result = el("span", { className: "done" });
	mark.disabled = true;
	const playing = pictureButton("play", `Play ${name}`, action(() => play(clip())));
	playing.disabled = true;
	const move = async (to) => {
		mark.disabled = true;
		try {
			await s.project.addClips(to, clip(), to !== "_other");
		} catch (err) {
			mark.disabled = false;
			mark.value = "";
			throw err;
		}
		result.textContent = to === "_other" ? "Added to the other sounds" : `Added to ${to}`;
		mark.replaceWith(result);
		announce(`${result.textContent}. Train again to learn from it.`);
		item.unmarked = false;
		showUnmarked();
	};
	mark.onchange = action(() => mark.value && move(mark.value));
	const key = el("span", { className: "key" });
	key.style.setProperty("--c", chart.key(words.indexOf(e.label)));
	const li = el("li", {}, key, el("strong", { className: "label", textContent: e.label }),
		el("span", { className: "hint grow", textContent: `${at}, ${Math.round(100 * e.confidence)} %` }), playing, mark);
	$("events").prepend(li);
	const item = { li, span, move, unmarked: false };
	item.take = (x) => {
		sound = x;
		playing.disabled = mark.disabled = !x.samples.length;
		item.unmarked = x.samples.length > 0;
		showUnmarked();
	};
	return item;
}

// unmarked are the listed events that were not marked.
const unmarked = () => session?.items.filter((i) => i.unmarked) ?? [];

function showUnmarked() {
	const n = unmarked().length;
	$("all-wrong").hidden = n < 2;
	$("all-wrong").textContent = `Mark all ${n} events ${session?.file ? `of ${session.file} ` : ""}as wrong`;
}

// allWrong marks all events as none of the words, such as those in a file without the words.
async function allWrong() {
	$("all-wrong").disabled = true;
	try {
		for (const i of unmarked()) await i.move("_other");
	} finally {
		$("all-wrong").disabled = false;
	}
}

// missed adds the last seconds of the session to a word: the loudest sound in them.
async function missed() {
	const word = $("missed-word").value;
	if (!session || !session.sent) throw new Error("Listen first. Then, if the detector misses a word, add the last 3 seconds here.");
	const now = session.sent / session.rate;
	await project.addClips(word, wav(session.sound(now - 3, now).samples, session.rate), true);
	announce(`Added to ${word}. Train again to learn from it.`);
}

$("listen").onclick = action(listen);
$("listen-file").onchange = action(async () => {
	const [file] = $("listen-file").files;
	$("listen-file").value = "";
	if (file) await check(file);
});
$("missed").onsubmit = action(missed);
$("all-wrong").onclick = action(allWrong);
addEventListener("resize", redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
