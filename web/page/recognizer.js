// The recogniser, for pages, workers and Node.
//
//   const engine = await load(bytes)                  // of s4d.wasm.gz or s4d.wasm
//   const detector = engine.open("digits", {})        // or the bytes of a model file
//   detector.process(samples)                         // Float32Array of full scale ±1
//     → [{onset, end, label, confidence}]             // in samples
//   detector.flush()                                  // last events; another signal may follow
//   detector.posterior()                              // of the last evaluation, one per label, or null
//   detector.close()                                  // frees it; other calls are then errors
//
// Options: inputRate (Hz, of the samples; default: the model's rate), threshold, offThreshold,
// refractory, smoothing, confirm. docs/stream.md of the repository describes them. They are
// numbers. Other types, other names and model files of more than 256 MiB are errors.
import "./wasm_exec.js";

let loading = Promise.resolve(); // engines start one after another, as they share s4dFastReady

// load starts an engine.
export async function load(bytes) {
	const go = new globalThis.Go();
	const { instance } = await WebAssembly.instantiate(await inflated(bytes), go.importObject);
	const started = loading.then(() => new Promise((resolve, reject) => {
		globalThis.s4dFastReady = resolve;
		go.run(instance).then(() => reject(new Error("the engine has stopped")), reject);
	}));
	loading = started.catch(() => {});
	const api = await started;
	return {
		level: api.level,
		names: api.names,
		open(model, options = {}) {
			const d = checked(api.open(model, options));
			let closed = false;
			const call = (name, ...args) => {
				if (closed) throw new Error(`${name}: the detector is closed`);
				return checked(d[name](...args));
			};
			return {
				rate: d.rate,
				labels: d.labels,
				threshold: d.threshold,
				process: (samples) => call("process", bytesOf(samples)),
				flush: () => call("flush"),
				posterior: () => call("posterior"),
				close() {
					if (!closed) d.close();
					closed = true;
				},
			};
		},
	};
}

// bytesOf returns the bytes of samples, which may be of another frame of the page.
function bytesOf(samples) {
	if (samples?.[Symbol.toStringTag] !== "Float32Array") throw new TypeError("process: expected samples in a Float32Array");
	return new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
}

function checked(result) {
	if (result?.error !== undefined) throw Object.assign(new Error(result.error), { events: result.events });
	return result;
}

// inflated decompresses gzip. If the server declared the compression, the browser has already
// decompressed the bytes, and inflated returns them unchanged.
async function inflated(bytes) {
	const head = new Uint8Array(bytes, 0, 2);
	if (head[0] !== 0x1f || head[1] !== 0x8b) return bytes;
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
	return new Response(stream).arrayBuffer();
}
