// Runs in the audio thread. Collects samples of one channel and sends them to the worker in blocks.
// The worker acknowledges each block. If more than 30 s of audio wait, the capture ends and the page
// is told, because the audio would fill the memory.
const patience = 30; // seconds of audio that may wait for the worker

class Capture extends AudioWorkletProcessor {
	constructor() {
		super();
		this.block = new Float32Array(1024);
		this.used = 0;
		this.waiting = 0; // blocks without an answer
		this.port.onmessage = ({ data }) => {
			this.worker = data;
			this.worker.onmessage = () => { this.waiting--; };
		};
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
				this.waiting++;
			}
		}
		if (this.waiting * this.block.length <= patience * sampleRate) return true;
		this.port.postMessage(patience);
		this.worker = undefined;
		return false;
	}
}

registerProcessor("capture", Capture);
