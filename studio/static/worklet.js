// Capture sends the microphone's samples to the page in blocks of about a twentieth of a second.
class Capture extends AudioWorkletProcessor {
	constructor() {
		super();
		this.block = new Float32Array(Math.round(sampleRate / 20));
		this.used = 0;
	}
	process([input]) {
		const x = input[0];
		if (!x) return true;
		for (let at = 0; at < x.length; ) {
			const n = Math.min(x.length - at, this.block.length - this.used);
			this.block.set(x.subarray(at, at + n), this.used);
			at += n;
			this.used += n;
			if (this.used === this.block.length) {
				this.port.postMessage(this.block);
				this.used = 0;
			}
		}
		return true;
	}
}
registerProcessor("capture", Capture);
