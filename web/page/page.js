// The page: controls, the microphone, and the results of the worker.
const $ = (id) => document.getElementById(id);
const worker = new Worker("worker.js", { type: "module" });
const maxRows = 200; // of the table of events

let own; // the bytes of a model file
let context; // AudioContext, while the microphone is on
let microphone; // MediaStream
let labels = [], bars = [];
let rate, recording = false;
let threshold; // null: the model's own

function say(text, error = false) {
	$("status").textContent = text;
	$("status").classList.toggle("error", error);
}

const percent = (v, digits = 0) => `${(100 * v).toFixed(digits)} %`;

// open sends the model to the worker, for sound at a rate in Hz.
function open(inputRate) {
	const options = { inputRate };
	if (threshold !== null) options.threshold = threshold;
	worker.postMessage({ type: "open", model: own ?? $("model").value, options });
}

const received = {
	ready({ names, startup, bytes }) {
		$("model").replaceChildren(...names.map((name) => new Option(name, name, name === "digits", name === "digits")));
		$("size").textContent = `${(bytes / 1e6).toFixed(1)} MB`;
		$("startup").textContent = `${Math.round(startup)} ms`;
		for (const id of ["microphone", "recording", "file"]) $(id).disabled = false;
		say("Ready.");
		choose();
	},
	open(m) {
		labels = m.labels;
		rate = m.rate;
		$("threshold").value = m.threshold;
		showThreshold();
		const words = labels.filter((l) => l !== "none");
		$("words").replaceChildren(...words.map((word) => {
			const item = document.createElement("li"), bar = document.createElement("progress"), text = document.createElement("span");
			bar.max = 1;
			bar.value = 0;
			bar.setAttribute("aria-label", `probability of ${word}`);
			text.textContent = word;
			item.append(bar, text);
			return item;
		}));
		bars = labels.map((l) => $("words").children[words.indexOf(l)]);
	},
	report({ events, level, seconds, busy, posterior }) {
		$("level").value = level > 0 ? 20 * Math.log10(level) : -60;
		for (const [i, bar] of bars.entries()) {
			if (bar) bar.firstChild.value = posterior?.[i] ?? 0;
		}
		for (const e of events) show(e);
		$("seconds").textContent = `${seconds.toFixed(1)} s`;
		if (seconds > 0) $("share").textContent = percent(busy / seconds, 1);
	},
	done() {
		recording = false;
		say("The recording has ended.");
	},
	async error({ text }) {
		recording = false;
		await stop(); // which says that it has stopped
		say(`Error: ${text}`, true);
	},
};
worker.onmessage = ({ data }) => received[data.type](data);
worker.onerror = (e) => say(`Error: ${e.message ?? "worker.js cannot be loaded"}`, true);

function show(event) {
	const row = document.createElement("tr");
	for (const text of [`${(event.onset / rate).toFixed(2)} s`, event.label, event.confidence.toFixed(3)]) {
		row.insertCell().textContent = text;
	}
	$("events").prepend(row);
	$("none").hidden = true;
	if ($("events").rows.length > maxRows) $("events").lastChild.remove();
	const item = bars[labels.indexOf(event.label)];
	item?.classList.add("found");
	setTimeout(() => item?.classList.remove("found"), 600);
}

function showThreshold() {
	$("threshold-value").textContent = Number($("threshold").value).toFixed(2);
}

// choose opens the selected model with its own threshold.
async function choose() {
	threshold = null;
	await stop();
	open();
}

function clear() {
	$("events").replaceChildren();
	$("none").hidden = false;
}

async function start() {
	$("microphone").disabled = true; // while the browser asks for permission
	await stop();
	clear();
	say("Waiting for the microphone…");
	try {
		if (!navigator.mediaDevices) throw new Error("browsers allow the microphone only on https and on localhost");
		microphone = await navigator.mediaDevices.getUserMedia({
			audio: { channelCount: 1, echoCancellation: false, noiseSuppression: false, autoGainControl: false },
		});
		context = new AudioContext();
		for (const track of microphone.getTracks()) track.onended = () => received.error({ text: "the microphone is disconnected" });
		await context.audioWorklet.addModule("capture.js");
		const node = new AudioWorkletNode(context, "capture", { channelCount: 1, channelCountMode: "explicit", numberOfOutputs: 0 });
		const channel = new MessageChannel();
		node.port.onmessage = ({ data }) => received.error({ text: `this computer is too slow for the model, which is ${data} s behind the microphone` });
		node.port.postMessage(channel.port1, [channel.port1]);
		open(context.sampleRate);
		worker.postMessage({ type: "listen", port: channel.port2 }, [channel.port2]);
		context.createMediaStreamSource(microphone).connect(node);
		$("microphone").textContent = "Stop microphone";
		say("Listening.");
	} catch (e) {
		await stop();
		say(e.name === "NotAllowedError" ? "The browser does not allow the microphone. Allow it in the settings of this page, then start again."
			: `The microphone cannot be used: ${e.message}`, true);
	} finally {
		$("microphone").disabled = false;
	}
}

// stop turns the microphone off.
async function stop() {
	const was = microphone !== undefined;
	for (const track of microphone?.getTracks() ?? []) track.stop();
	microphone = undefined;
	$("microphone").textContent = "Start microphone";
	worker.postMessage({ type: "stop" });
	await context?.close();
	context = undefined;
	if (was) say("Stopped.");
}

async function play(file) {
	await stop();
	clear();
	recording = true;
	say(`Reading ${file.name}…`);
	try {
		const decoded = await new OfflineAudioContext(1, 1, 48000).decodeAudioData(await file.arrayBuffer());
		const samples = decoded.getChannelData(0).slice();
		for (let c = 1; c < decoded.numberOfChannels; c++) {
			const x = decoded.getChannelData(c);
			for (let i = 0; i < samples.length; i++) samples[i] = (samples[i] * c + x[i]) / (c + 1);
		}
		open(decoded.sampleRate);
		worker.postMessage({ type: "recording", samples }, [samples.buffer]);
	} catch (e) {
		recording = false;
		say(`${file.name} cannot be read: ${e.message}`, true);
	}
}

$("microphone").onclick = () => (microphone ? stop() : start());
$("model").onchange = () => {
	if ($("model").value !== "") own = undefined;
	choose();
};
$("threshold").oninput = showThreshold;
$("threshold").onchange = () => { // applies at once
	threshold = Number($("threshold").value);
	if (microphone) start(); else if (!recording) open();
};
$("recording").onchange = ({ target }) => {
	if (target.files[0]) play(target.files[0]);
	target.value = "";
};
$("file").onchange = async ({ target }) => {
	const file = target.files[0];
	target.value = "";
	if (!file) return;
	own = new Uint8Array(await file.arrayBuffer());
	$("model").querySelector("[value='']")?.remove();
	$("model").add(new Option(file.name, "", true, true));
	choose();
};

navigator.serviceWorker?.register("sw.js").catch(() => {}); // without it, the page works online only
