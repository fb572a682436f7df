// The microphone, and sounds in memory.

let inUse = null; // the open microphone: there is one at a time

// Microphone delivers blocks of samples to onblock until it is stopped or unplugged. Then it calls
// onend, with an error if it was unplugged.
export class Microphone {
	static async open(onblock, onend) {
		inUse?.stop();
		if (!navigator.mediaDevices?.getUserMedia) throw new Error("This browser does not let the page use a microphone. Add sound files instead.");
		const m = new Microphone();
		inUse = m;
		try {
			// The browser's processing would change the sound, and the detector is trained without it.
			const audio = { channelCount: 1, echoCancellation: false, noiseSuppression: false, autoGainControl: false };
			m.stream = await navigator.mediaDevices.getUserMedia({ audio });
			m.context = new AudioContext();
			await m.context.audioWorklet.addModule("worklet.js");
			if (inUse !== m) throw new Error("The microphone is used by another recording.");
		} catch (err) {
			m.stop();
			throw explain(err);
		}
		m.rate = m.context.sampleRate;
		m.node = new AudioWorkletNode(m.context, "capture", { numberOfOutputs: 0, channelCount: 1, channelCountMode: "explicit" });
		m.node.port.onmessage = (e) => inUse === m && onblock(e.data);
		m.context.createMediaStreamSource(m.stream).connect(m.node);
		m.stream.getAudioTracks()[0].onended = () => m.stop(new Error("The microphone was disconnected."));
		m.onend = onend;
		m.context.resume();
		return m;
	}
	stop(err) {
		if (inUse === this) inUse = null;
		this.stream?.getTracks().forEach((t) => t.stop());
		if (this.context && this.context.state !== "closed") this.context.close();
		const end = this.onend;
		this.onend = null;
		end?.(err);
	}
}

function explain(err) {
	const text = {
		NotAllowedError: "The browser was not allowed to use the microphone. Allow it in the address bar or in the browser's settings, or add sound files instead.",
		NotFoundError: "No microphone was found. Connect one, or add sound files instead.",
		NotReadableError: "The microphone cannot be used. Another program may be using it.",
	}[err.name];
	return text ? new Error(text) : err;
}

// wav returns samples as a WAV file of 16 bits.
export function wav(samples, rate) {
	const b = new DataView(new ArrayBuffer(44 + 2 * samples.length));
	const text = (at, s) => [...s].forEach((c, i) => b.setUint8(at + i, c.charCodeAt(0)));
	text(0, "RIFF");
	b.setUint32(4, 36 + 2 * samples.length, true);
	text(8, "WAVEfmt ");
	b.setUint32(16, 16, true);
	b.setUint16(20, 1, true); // PCM
	b.setUint16(22, 1, true);
	b.setUint32(24, rate, true);
	b.setUint32(28, 2 * rate, true);
	b.setUint16(32, 2, true);
	b.setUint16(34, 16, true);
	text(36, "data");
	b.setUint32(40, 2 * samples.length, true);
	new Int16Array(b.buffer, 44).set(int16(samples));
	return new Blob([b.buffer], { type: "audio/wav" });
}

// int16 returns samples as integers. All platforms with browsers are little-endian.
export function int16(samples) {
	const out = new Int16Array(samples.length);
	for (let i = 0; i < samples.length; i++) out[i] = Math.max(-32768, Math.min(32767, Math.round(32768 * samples[i])));
	return out;
}

// join returns blocks of samples as one.
export function join(blocks) {
	const out = new Float32Array(blocks.reduce((n, b) => n + b.length, 0));
	let at = 0;
	for (const b of blocks) {
		out.set(b, at);
		at += b.length;
	}
	return out;
}

// peak returns the largest magnitude.
export function peak(samples) {
	let p = 0;
	for (const v of samples) p = Math.max(p, v, -v);
	return p;
}

// decode returns a sound file as one channel at a rate.
export async function decode(file, rate) {
	const b = await new OfflineAudioContext(1, 1, rate).decodeAudioData(await file.arrayBuffer());
	const out = new Float32Array(b.length);
	for (let c = 0; c < b.numberOfChannels; c++) {
		const x = b.getChannelData(c);
		for (let i = 0; i < x.length; i++) out[i] += x[i] / b.numberOfChannels;
	}
	return out;
}

let player = null;

// play plays a blob, and stops the sound that is playing.
export async function play(blob) {
	if (player) {
		player.pause();
		URL.revokeObjectURL(player.src);
	}
	player = new Audio(URL.createObjectURL(blob));
	await player.play();
}
