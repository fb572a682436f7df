// Runs in the audio thread. Collects samples of one channel and sends them to the worker in blocks.
class Capture extends AudioWorkletProcessor {
	constructor() {
		super();
		this.block = new Float32Array(1024);
		this.used = 0;
		this.port.onmessage = ({ data }) => { this.worker = data; };
	}

	process([input]) {
		const x = input[0];
		if (!x || !this.worker) return true;
		for (let at = 0; at < x.length;) {
			const n = Math.min(x.length - at, this.block.length - this.used);
			this.block.set(x.subarray(at, at + n), this.used);
			this.used += n;
			at += n;
			if (this.used === this.block.length) {
				this.worker.postMessage(this.block, [this.block.buffer]);
				this.block = new Float32Array(1024);
				this.used = 0;
			}
		}
		return true;
	}
}

registerProcessor("capture", Capture);
