// Prints the events of recordings as JSON: node events.mjs SITE JOBS, with JOBS a JSON list of
// {model, file, block, options}; file has raw float32 samples.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [site, jobs] = process.argv.slice(2);
const { load } = await import(pathToFileURL(`${site}/recognizer.js`));
const wasm = readFileSync(`${site}/s4d.wasm.gz`);
const began = performance.now();
const bytes = wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength);
const engine = await load(bytes);
const startup = performance.now() - began;
const several = await Promise.all([load(bytes), load(bytes)]); // at the same time
if (several[0] === several[1] || several.some((e) => e.open("digits", {}).rate !== 8000)) throw new Error("engines that start at the same time");
const results = JSON.parse(jobs).map(({ model, file, block, options }) => {
	const bytes = readFileSync(file);
	const samples = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
	const detector = engine.open(model.endsWith(".safetensors") ? new Uint8Array(readFileSync(model)) : model, options);
	const events = [];
	const at = performance.now();
	for (let i = 0; i < samples.length; i += block) events.push(...detector.process(samples.subarray(i, i + block)));
	events.push(...detector.flush());
	const share = (performance.now() - at) / 1000 / (samples.length / detector.rate);
	detector.close();
	return { events, share, rate: detector.rate, labels: detector.labels };
});
const errors = [["abacus", {}], [new Uint8Array(9), {}], ["digits", { threshold: 2 }], ["digits", { inputRate: -1 }]].map(([m, o]) => {
	try {
		engine.open(m, o);
	} catch (e) {
		return e.message;
	}
});
console.log(JSON.stringify({ level: engine.level, names: engine.names, startup, results, errors }));
process.exit(0); // the engine waits for calls
