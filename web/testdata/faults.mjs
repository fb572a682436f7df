// Checks the scripts of the page under faults: node faults.mjs SITE CASE. It fails if an assertion
// does not hold.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { createContext, runInContext } from "node:vm";

const [site, name] = process.argv.slice(2);
const script = (file) => import(pathToFileURL(`${site}/${file}`));
const wasm = () => readFileSync(`${site}/s4d.wasm.gz`);

// inContext runs a script that is not a module, with other globals.
function inContext(file, globals) {
	const context = createContext(globals);
	runInContext(readFileSync(`${site}/${file}`, "utf8"), context);
	return context;
}

const cases = {
	// Wrong types, names and values are errors, and so is the use of a closed detector.
	async arguments() {
		const { load } = await script("recognizer.js");
		const engine = await load(wasm());
		const open = (model, options) => engine.open(model, options).close();
		for (const options of [
			{ threshold: "0.5" }, { inputRate: "44100" }, { inputRate: NaN }, { inputRate: 0 }, { inputRate: 0.5 }, { inputRate: 44100.5 },
			{ confirm: 1.5 }, { threshold: null }, { treshold: 0.5 },
		]) assert.throws(() => open("digits", options), new RegExp(Object.keys(options)[0]), JSON.stringify(options));
		for (const model of [undefined, null, 5, [1, 2], {}, { length: 1e13 }, new ArrayBuffer(8), new Float32Array(8)]) {
			assert.throws(() => open(model, {}), /model: expected .*Uint8Array/);
		}
		assert.throws(() => open(new Uint8Array(2 ** 28 + 1)), /model: file of 268435457 bytes/);
		open("digits", { threshold: undefined });
		open("digits");

		const [one, two] = [engine.open("digits"), engine.open("digits")];
		for (const samples of [undefined, null, 5, "five", [0.1, 0.2], new Float64Array(8), new Int16Array(9), new ArrayBuffer(8)]) {
			assert.throws(() => one.process(samples), /Float32Array/);
		}
		assert.deepEqual(one.process(new Float32Array(0)), []);
		assert.deepEqual(one.process(new Float32Array(800).fill(NaN)), []);
		const view = new Float32Array(new ArrayBuffer(404), 4, 90); // of a part of a buffer
		assert.deepEqual(one.process(view), []);
		one.close();
		one.close();
		for (const call of [() => one.process(view), () => one.flush(), () => one.posterior()]) assert.throws(call, /the detector is closed/);
		assert.deepEqual(two.process(view), []);
	},

	// A long recording in one call does not let the memory of the engine grow.
	async memory() {
		let memory;
		const instantiate = WebAssembly.instantiate;
		WebAssembly.instantiate = async (...list) => {
			const result = await instantiate(...list);
			memory = result.instance?.exports.mem ?? memory;
			return result;
		};
		const { load } = await script("recognizer.js");
		const detector = (await load(wasm())).open("digits", { inputRate: 1e6 });
		detector.process(new Float32Array(1 << 16));
		const before = memory.buffer.byteLength;
		detector.process(new Float32Array(1 << 21)); // of 8 MiB
		assert.ok(memory.buffer.byteLength <= before + (1 << 22), `${before} bytes before, ${memory.buffer.byteLength} after`);
	},

	// A recording for a model that cannot be opened gives one error, that of the model.
	async worker() {
		const received = [];
		let told = () => {};
		const until = async (type, count) => {
			while (received.filter((m) => m.type === type).length < count) await new Promise((resolve) => { told = resolve; });
		};
		Object.assign(globalThis, {
			onmessage: null,
			postMessage(message) { received.push(message); told(); },
			fetch: async () => new Response(wasm()),
		});
		await script("worker.js");
		await until("ready", 1);
		received.length = 0;
		const send = (data) => globalThis.onmessage({ data });
		send({ type: "open", model: new Uint8Array(9), options: {} });
		send({ type: "recording", samples: new Float32Array(8000) });
		send({ type: "open", model: "digits", options: {} });
		await until("open", 1);
		await new Promise(setImmediate); // errors are sent later
		const errors = received.filter((m) => m.type === "error").map((m) => m.text);
		assert.equal(errors.length, 1, errors.join("; "));
		assert.match(errors[0], /^model: /);
	},

	// A worker that is too slow does not fill the memory.
	capture() {
		const port = { messages: [], postMessage(m) { this.messages.push(m); } }, worker = { blocks: 0, postMessage() { this.blocks++; } };
		let Capture;
		inContext("capture.js", {
			sampleRate: 48000, Float32Array,
			AudioWorkletProcessor: class { port = port; },
			registerProcessor(_, c) { Capture = c; },
		});
		const capture = new Capture(), quantum = [[new Float32Array(128)]];
		port.onmessage({ data: worker });
		for (let i = 0; i < 60 * 48000 / 128; i++) {
			const before = worker.blocks;
			assert.ok(capture.process(quantum));
			if (worker.blocks > before) worker.onmessage({ data: "processed" });
		}
		assert.ok(worker.blocks > 2800 && port.messages.length === 0);
		worker.blocks = 0;
		for (let i = 0; i < 60 * 48000 / 128; i++) capture.process(quantum);
		assert.deepEqual(port.messages, [30]);
		assert.ok(worker.blocks <= 1 + 30 * 48000 / 1024, `${worker.blocks} blocks`);
	},

	// A full storage does not keep the page from working while its server can be reached. A download
	// that is interrupted is replaced by the file in the cache.
	async cache() {
		const cached = new Response("old");
		let stored = () => Promise.reject(new Error("QuotaExceededError")), opened = async () => ({ put: () => stored(), match: async () => cached });
		let fetched = async () => new Response("new");
		const { answer } = inContext("sw.js", {
			self: { addEventListener() {} }, Response,
			caches: { open: () => opened() },
			fetch: () => fetched(),
		});
		const text = async () => (await answer({})).clone().text();
		assert.equal(await text(), "new");
		stored = async () => {};
		assert.equal(await text(), "new");
		fetched = async () => new Response(new ReadableStream({ pull(c) { c.error(new Error("reset")); } }));
		assert.equal(await text(), "old");
		fetched = () => Promise.reject(new TypeError("offline"));
		assert.equal(await text(), "old");
		fetched = async () => new Response("new");
		opened = () => Promise.reject(new Error("SecurityError"));
		assert.equal(await text(), "new");
	},
};
await cases[name]();
process.exit(0); // the engine waits for calls
