// Runs the recogniser in a thread of its own. Receives audio from the audio thread or the page, and
// sends the results to the page.
import { load } from "./recognizer.js";

const blockSeconds = 0.1; // of a recording, between two reports
let engine, detector, port;
let seconds, busy; // of audio, and of computing

const began = performance.now();
const ready = start();

async function start() {
	const response = await fetch("s4d.wasm.gz");
	if (!response.ok) throw new Error(`s4d.wasm.gz: the server reports ${response.status}`);
	const bytes = await response.arrayBuffer();
	engine = await load(bytes);
	postMessage({ type: "ready", names: engine.names, startup: performance.now() - began, bytes: bytes.byteLength });
}

function open({ model, options }) {
	stop();
	detector = engine.open(model, options);
	seconds = busy = 0;
	postMessage({ type: "open", labels: detector.labels, rate: detector.rate, threshold: detector.threshold });
}

function stop() {
	const d = detector;
	port?.close();
	detector = port = undefined; // also if flush fails
	if (!d) return;
	try {
		report(d, timed(() => d.flush()), 0);
	} finally {
		d.close();
	}
}

function timed(call) {
	const at = performance.now();
	const result = call();
	busy += (performance.now() - at) / 1000;
	return result;
}

function report(d, events, level) {
	postMessage({ type: "report", events, level, seconds, busy, posterior: d.posterior() });
}

function process(samples) {
	if (!detector) return;
	seconds += samples.length / detector.rate;
	const events = timed(() => detector.process(samples));
	let sum = 0;
	for (const v of samples) sum += v * v;
	report(detector, events, Math.sqrt(sum / samples.length));
}

const commands = {
	open,
	stop,
	listen(data) { // the audio thread's end of a channel
		const audio = port = data.port;
		audio.onmessage = ({ data }) => {
			guarded(() => process(data));
			audio.postMessage("processed");
		};
	},
	recording({ samples }) {
		if (!detector) return; // open has failed
		const n = Math.ceil(blockSeconds * detector.rate);
		for (let at = 0; at < samples.length; at += n) process(samples.subarray(at, at + n));
		stop();
		postMessage({ type: "done" });
	},
};

async function guarded(call) {
	try {
		await call();
	} catch (e) {
		postMessage({ type: "error", text: e.message });
	}
}

onmessage = ({ data }) => guarded(async () => {
	await ready;
	commands[data.type](data);
});
guarded(() => ready);
