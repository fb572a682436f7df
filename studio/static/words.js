// The cards of words, background and other sounds: record, play, record again, delete, drop files.
import { $, action, announce, ask, el, envelope, keepFocus, pictureButton, plural, showError } from "./dom.js";
import { Microphone, join, peak, play, wav } from "./sound.js";

const wordSeconds = 60, backgroundSeconds = 60;

let project, folders = [], recorder = null; // {folder, clip, stop}

const fixed = [
	{ name: "_background", kind: "background", title: "Your room", record: "Record a minute" },
	{ name: "_other", kind: "other", title: "Other sounds", record: "Record" },
];

const titleOf = (f) => fixed.find((x) => x.name === f.name)?.title ?? f.name;

// show draws the cards. Cards that did not change keep their elements, and with them the focus.
export function show(p, list) {
	if (p !== project) {
		recorder?.stop();
		$("words").replaceChildren();
		$("others").replaceChildren();
	}
	project = p;
	folders = list;
	update($("words"), list.filter((f) => f.kind === "word"));
	const others = list.filter((f) => f.kind !== "word");
	for (const f of fixed) if (!others.some((o) => o.name === f.name)) others.push({ ...f, count: 0, seconds: 0, clips: [] });
	others.sort((a, b) => a.kind.localeCompare(b.kind));
	update($("others"), others);
}

// update makes a list show the cards of the folders.
function update(ul, list) {
	const old = new Map([...ul.children].map((li) => [li.dataset.name, li]));
	keepFocus(ul, () => replace(ul, list, old));
}

function replace(ul, list, old) {
	list.forEach((f, i) => {
		const key = JSON.stringify(f);
		let li = old.get(f.name);
		old.delete(f.name);
		if (!li || (li.dataset.key !== key && recorder?.folder !== f.name)) {
			const fresh = card(f);
			fresh.dataset.key = key;
			fresh.dataset.name = f.name;
			if (li) li.replaceWith(fresh);
			li = fresh;
		}
		if (ul.children[i] !== li) ul.insertBefore(li, ul.children[i] ?? null);
	});
	old.forEach((li) => li.remove());
}

function card(f) {
	const title = titleOf(f), isWord = f.kind === "word";
	const record = el("button", { type: "button", className: "record", textContent: fixed.find((x) => x.name === f.name)?.record ?? "Record" });
	record.setAttribute("aria-label", isWord ? `Record ${title}` : `${record.textContent}: ${title}`);
	record.dataset.focus = "record/" + f.name;
	const input = el("input", { type: "file", multiple: true, accept: "audio/*,.wav,.flac,.mp3,.ogg", className: "visually-hidden", "aria-label": `Add files to ${title}` });
	input.dataset.focus = "files/" + f.name;
	input.onchange = action(() => addFiles(f, [...input.files]));
	const buttons = el("div", { className: "row" }, record, el("label", { className: "button" }, "Add files", input));
	if (isWord) {
		buttons.append(el("button", { type: "button", textContent: "Delete", "aria-label": `Delete ${title}`, onclick: action(() => deleteWord(f)) }));
	}
	const amount = isWord ? plural(f.count, "clip") : `${Math.round(f.seconds)} s in ${plural(f.count, "recording")}`;
	const li = el("li", { className: "card" },
		el("div", { className: "row" }, el("span", {}, el("strong", { textContent: title }), " ", el("span", { className: "hint", textContent: amount })), buttons));
	if (f.name === "_other") li.append(el("p", { className: "hint", textContent: "Sounds that the detector must ignore: other words and speech. Events that you mark as wrong are added here." }));
	record.onclick = action(() => toggle(f, li, record));
	const clips = el("ul", { className: "clips" }, ...f.clips.map((c, i) => clipItem(f, c, i, li, record)));
	clips.setAttribute("aria-label", `Recordings of ${title}`);
	if (f.clips.length) li.append(isWord || f.clips.length < 9 ? clips : el("details", {}, el("summary", { textContent: `Show ${plural(f.clips.length, "recording")}` }), clips));
	if (f.count > f.clips.length) li.append(el("p", { className: "hint", textContent: `and ${f.count - f.clips.length} more` }));
	drop(li, f);
	return li;
}

function clipItem(f, c, i, li, record) {
	const name = `clip ${i + 1} of ${titleOf(f)}`;
	const playing = pictureButton("play", `Play ${name}`, action(async () => play(await project.clip(f.name, c.name))));
	playing.dataset.focus = `play/${f.name}/${c.name}`;
	const item = el("li", { className: "clip" }, playing);
	if (c.error) item.append(el("span", { className: "bad grow", textContent: "cannot be read", title: c.error }));
	else item.append(envelope(c.peaks));
	if (c.clipped) item.append(el("span", { className: "bad", textContent: "too loud", title: "The recording reaches full scale. Record it again, farther from the microphone." }));
	const add = (picture, text, f) => {
		const b = pictureButton(picture, text, action(f));
		b.dataset.focus = `${picture}/${text}`;
		item.append(b);
	};
	if (f.kind === "word") add("again", `Record ${name} again`, () => toggle(f, li, record, c.name));
	add("remove", `Delete ${name}`, async () => {
		const from = project;
		if (!await ask({ title: `Delete ${name}?`, text: "This deletes the recording.", yes: "Delete" })) return;
		await from.deleteClip(f.name, c.name);
		announce(`Deleted ${name}`);
		record.focus();
	});
	return item;
}

function drop(li, f) {
	let depth = 0;
	li.ondragenter = () => li.classList.toggle("over", ++depth > 0);
	li.ondragleave = () => li.classList.toggle("over", --depth > 0);
	li.ondragover = (e) => e.preventDefault();
	li.ondrop = action((e) => {
		li.classList.remove("over");
		depth = 0;
		return addFiles(f, [...e.dataTransfer.files]);
	});
}

async function addFiles(f, files) {
	const problems = [], to = project; // the user may choose another project meanwhile
	let added = 0;
	for (const file of files) {
		try {
			const result = await to.addClips(f.name, file);
			added += result.added.length;
			problems.push(...result.skipped.map((text) => `${file.name}: ${text}`));
		} catch (err) {
			problems.push(`${file.name}: ${err.message}`);
		}
	}
	announce(`Added ${plural(added, "recording")} to ${titleOf(f)}`);
	if (problems.length) throw new Error(problems.join("\n"));
}

async function deleteWord(f) {
	const from = project;
	const yes = await ask({ title: `Delete ${f.name}?`, text: `This deletes the word and ${plural(f.count, "clip")}.`, yes: "Delete" });
	if (yes) await from.deleteWord(f.name);
	$("word-name").focus();
}

// rerecord records a clip again, in the card of its word.
export function rerecord(folder, clip) {
	const f = folders.find((x) => x.name === folder);
	const li = [...$("words").children].find((x) => x.dataset.name === folder);
	if (!f || !li) throw new Error("The clip no longer exists.");
	li.scrollIntoView({ block: "center" });
	return toggle(f, li, li.querySelector("button.record"), clip);
}

// toggle starts a recording, or stops the one in progress and keeps it.
async function toggle(f, li, button, clip) {
	const to = project; // the user may choose another project while the browser asks for permission
	if (recorder) {
		const same = recorder.folder === f.name;
		await recorder.stop();
		if (same) return;
	}
	const blocks = [], limit = f.kind === "word" ? wordSeconds : backgroundSeconds;
	const level = el("meter", { min: 0, max: 1, low: 0.1, high: 0.95, optimum: 0.5, "aria-label": "Level of the microphone" });
	const time = el("span", { className: "hint" });
	const what = f.kind !== "word" ? "Recording. Do not say your words." : clip ? `Say “${f.name}” once, then press Stop.` : `Say “${f.name}” several times, with a pause after each. Then press Stop.`;
	const meter = el("div", { className: "meter" }, el("span", { textContent: what, role: "status" }), level, time);
	const label = button.textContent, name = button.getAttribute("aria-label");
	let samples = 0, finished = false, saved;
	button.disabled = true; // while the browser asks for permission
	const mic = await Microphone.open((block) => {
		blocks.push(block);
		samples += block.length;
		level.value = Math.sqrt(peak(block));
		const s = samples / mic.rate;
		time.textContent = f.kind === "word" ? `${Math.floor(s)} s` : `${Math.floor(s)} of ${limit} s`;
		if (s >= limit) finish();
	}, finish).finally(() => (button.disabled = false));
	if (to !== project) {
		finished = true;
		mic.stop();
		throw new Error("The project was changed. Start recording again.");
	}
	button.textContent = "Stop";
	button.setAttribute("aria-label", `Stop recording ${titleOf(f)}`);
	button.classList.add("recording");
	button.focus(); // also where the recording was started at a clip
	li.append(meter);
	// The button, the time limit, or an unplugged microphone calls finish.
	function finish(err) {
		if (!finished) {
			finished = true;
			saved = save(err);
		}
		return saved;
	}
	async function save(unplugged) {
		mic.stop();
		recorder = null;
		button.textContent = label;
		button.setAttribute("aria-label", name);
		button.classList.remove("recording");
		meter.remove();
		try {
			if (!blocks.length) throw unplugged ?? new Error("The microphone delivered no sound.");
			const sound = wav(join(blocks), mic.rate);
			if (clip) {
				await to.replaceClip(f.name, clip, sound);
				announce(`Recorded ${clip} again`);
			} else {
				const result = await to.addClips(f.name, sound);
				announce(`Added ${plural(result.added.length, "recording")} to ${titleOf(f)}`);
				if (result.skipped.length) throw new Error("Left out: " + result.skipped.join("; "));
			}
			if (unplugged) throw unplugged;
		} catch (err) {
			showError(err);
		}
	}
	recorder = { folder: f.name, stop: finish };
}
