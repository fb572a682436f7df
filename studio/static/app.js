// The page: chooses the project, follows its status, and shows training and its results.
import * as api from "./api.js";
import * as chart from "./chart.js";
import { $, action, announce, ask, duration, el, keepFocus, pictureButton, plural, showError } from "./dom.js";
import { play } from "./sound.js";
import * as live from "./live.js";
import * as words from "./words.js";

let project = null, following = null, folders = [], last = null;

async function open(name) {
	following?.abort();
	following = new AbortController();
	api.setProject(name);
	$("welcome").hidden = !!name;
	$("studio").hidden = !name;
	document.title = name ? `${name} – s4d-fast studio` : "s4d-fast studio";
	if (!name) return;
	$("project").value = name;
	project = new api.Project(name);
	last = null;
	words.show(project, []);
	live.setDetector(project, null);
	follow(project, following.signal);
}

// follow shows the status whenever it changes, in this tab or in another one.
async function follow(p, signal) {
	let version = 0, sounds = null, offline = false;
	while (!signal.aborted) {
		try {
			const status = await p.status(signal);
			if (status.sounds !== sounds) {
				const listed = await p.folders(signal);
				sounds = listed.sounds;
				folders = listed.folders;
				$("folder").textContent = listed.folder;
				words.show(p, folders);
			}
			if (status.version !== version) show(status);
			version = status.version;
			if (offline) showError(null);
			offline = false;
			await pause(300);
			await visible();
		} catch (err) {
			if (signal.aborted) return;
			showError(err);
			const status = err instanceof api.RequestError ? err.status : 0;
			if (status >= 400 && status < 500 && status !== 409) return; // 409: the project was replaced during the request
			offline = true;
			version = 0;
			await pause(2000);
		}
	}
}

// visible waits while the tab is hidden. A browser has few connections for all tabs of a server.
const visible = () => new Promise((resolve) => {
	if (!document.hidden) return resolve();
	document.addEventListener("visibilitychange", () => resolve(), { once: true });
});

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const states = {
	"": "", loading: "Reading the recordings", training: "Training", measuring: "Measuring the detector",
	done: "The detector is ready", cancelled: "Training was cancelled", failed: "Training failed",
};

function show(status) {
	const t = status.training, d = status.detector;
	const busy = ["loading", "training", "measuring"].includes(t.state);
	$("start").hidden = busy;
	$("cancel").hidden = !busy;
	$("run").hidden = t.state === "";
	$("from").disabled = busy;
	$("from").querySelector('[value="detector"]').disabled = !d;
	let text = states[t.state];
	if (t.state === "training" && t.steps) {
		text += `: step ${t.step} of ${t.steps}` + (t.left === undefined ? "" : `, about ${duration(t.left)} left`);
	}
	if (t.state === "done") text += `, after ${duration(t.seconds)}`;
	if (t.error) text += ": " + t.error;
	$("progress-text").textContent = text;
	$("progress").hidden = !busy;
	$("progress").value = t.state === "measuring" ? 1 : t.step / (t.steps || 1);
	$("curve").parentElement.hidden = !t.curve?.length;
	drawCurve(t);
	const e = t.curve?.at(-1);
	if (e) $("curve").setAttribute("aria-label", `Loss curve: after ${e.step} steps ${e.training.toFixed(2)} on training clips, ${e.validation.toFixed(2)} on held-out clips`);
	if (last && last.training.state !== t.state) announce(text);
	$("notes").replaceChildren(...(t.notes ?? []).map((n) => el("li", { textContent: n })));
	const kinds = folders.filter((f) => f.kind === "word");
	const few = kinds.filter((f) => f.count < 3);
	$("start").disabled = !kinds.length || few.length > 0;
	$("ready").textContent = busy ? "" : !kinds.length ? "Add a word first."
		: few.length ? `Record at least 3 clips of ${few.map((f) => f.name).join(", ")}.` : "";
	if (JSON.stringify(d) !== JSON.stringify(last?.detector) || !last) {
		live.setDetector(project, d);
		results(d);
	}
	last = status;
}

function drawCurve(t) {
	if (t?.curve?.length) chart.loss($("curve"), t.curve, t.steps);
}

function results(d) {
	$("results").hidden = $("use").hidden = !d;
	$("no-detector").hidden = !!d;
	if (!d) return;
	const share = (t) => `${t.right} of ${t.total}`;
	let text = `The detector recognises ${share(d.validation)} clips that were held out of training, and ${share(d.training)} training clips.`;
	const c = d.calibration;
	if (c) {
		text += ` The threshold is ${d.threshold.toFixed(2)}: in a stream of all clips the detector misses ${c.missed} of ${c.words} words, and it reports ${plural(c.falseAlarms, "false alarm")} in ${c.minutes.toFixed(1)} minutes of other sounds.`;
	} else {
		text += " The threshold is the default. Record background to adapt it to your room.";
	}
	$("accuracy").textContent = text;
	$("by-word").tBodies[0].replaceChildren(...d.labels.map((w, i) => el("tr", {}, el("th", { scope: "row", textContent: w }), el("td", { textContent: share(d.words[i]) }))));
	$("worst-hint").textContent = d.worst.length ? "The detector gets these clips wrong, or is not sure of them. Play them, and record bad ones again."
		: "None: the detector recognises every clip with a clear margin.";
	keepFocus($("worst"), () => $("worst").replaceChildren(...d.worst.map((w) => {
		const name = `${w.clip} of ${w.folder}`;
		const found = w.found === w.folder ? "recognised" : w.found === "none" ? "not recognised" : `recognised as ${w.found}`;
		const buttons = [
			pictureButton("play", `Play ${name}`, action(async () => play(await project.clip(w.folder, w.clip)))),
			pictureButton("again", `Record ${name} again`, action(() => words.rerecord(w.folder, w.clip)))];
		buttons.forEach((b, i) => (b.dataset.focus = `${i}/${w.folder}/${w.clip}`));
		return el("li", {}, el("strong", { textContent: w.folder }),
			el("span", { className: "hint grow", textContent: `${w.clip}: ${found}, probability ${w.peak.toFixed(2)}${w.validation ? ", held out" : ""}` }),
			el("span", { className: "row" }, ...buttons));
	})));
	$("command").textContent = d.command;
}

async function refresh(name) {
	const list = (await api.projects()).projects;
	$("project").replaceChildren(...list.map((p) => el("option", { value: p, textContent: p })));
	$("choose").hidden = !list.length;
	await open(list.includes(name) ? name : list[0]);
}

async function make(name) {
	await api.makeProject(name);
	await refresh(name);
}

$("project").onchange = action(() => open($("project").value));
$("new-project").onclick = action(async () => {
	const name = await ask({ title: "New project", field: true, yes: "Create" });
	if (name) await make(name);
});
$("first").onsubmit = action(() => make($("first-name").value.trim().normalize("NFC")));
$("add-word").onsubmit = action(async () => {
	await project.addWord($("word-name").value.trim().normalize("NFC"));
	$("word-name").value = "";
});
$("train").onsubmit = action(() => project.train($("from").value));
$("cancel").onclick = action(() => project.cancel());
$("download").onclick = action(async () => {
	const from = project; // the user may choose another project meanwhile
	const url = URL.createObjectURL(await from.model());
	el("a", { href: url, download: `${from.name}.safetensors` }).click();
	setTimeout(() => URL.revokeObjectURL(url), 10000);
});
$("copy").onclick = action(async () => {
	await navigator.clipboard.writeText($("command").textContent);
	announce("Copied");
});
$("skip").onclick = (e) => { // the fragment of the address holds the token
	e.preventDefault();
	$("main").focus();
};
addEventListener("hashchange", () => location.reload());

// On a narrow window, the page shows one step at a time: style.css hides the others.
const steps = [...document.querySelectorAll("#studio > section")].map((section) => {
	const button = el("button", { type: "button", textContent: section.querySelector("h2").textContent, onclick: () => step(section) });
	$("steps").append(button);
	return { section, button };
});
function step(shown) {
	for (const { section, button } of steps) {
		section.classList.toggle("shown", section === shown);
		button.ariaCurrent = section === shown ? "step" : null;
	}
	dispatchEvent(new Event("resize")); // the canvases of the step have their size now
}
step(steps[0].section);
for (const [target, event] of [[window, "resize"], [matchMedia("(prefers-color-scheme: dark)"), "change"]]) {
	target.addEventListener(event, () => drawCurve(last?.training));
}

action(() => refresh(api.fragment().get("project")))();
