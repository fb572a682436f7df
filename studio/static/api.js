// Requests to the server. The token is in the fragment of the page's address, #token=…&project=….
// Browsers do not send the fragment to servers.

export const fragment = () => new URLSearchParams(location.hash.slice(1));

const token = fragment().get("token") ?? "";

// setProject puts the project into the address, so that a reload or another tab shows it.
export function setProject(name) {
	const q = new URLSearchParams({ token });
	if (name) q.set("project", name);
	history.replaceState(null, "", "#" + q);
}

// RequestError is an error response of the server, or status 0: there was none.
export class RequestError extends Error {
	constructor(status, text) {
		super(text);
		this.status = status;
	}
}

async function request(method, path, { json, body, signal } = {}) {
	const headers = { "X-Studio-Token": token };
	if (json !== undefined) body = JSON.stringify(json);
	const r = await fetch("/api/" + path, { method, headers, body, signal }).catch((err) => {
		if (err.name === "AbortError") throw err;
		throw new RequestError(0, "The connection was lost. If you started s4d-fast studio again, open the address that it printed.");
	});
	if (r.ok) return r;
	let text = r.statusText;
	try {
		text = (await r.json()).error;
	} catch { /* not from the server's interface */ }
	throw new RequestError(r.status, text);
}

const path = (...parts) => parts.map(encodeURIComponent).join("/");

export const projects = async () => (await request("GET", "projects")).json();
export const makeProject = (name) => request("POST", "projects", { json: { name } });

// Project sends the requests of one project.
export class Project {
	constructor(name) {
		this.name = name;
	}
	at(...parts) {
		return path("projects", this.name, ...parts);
	}
	async folders(signal) {
		return (await request("GET", this.at(), { signal })).json();
	}
	async status(signal) {
		return (await request("GET", this.at("status"), { signal })).json();
	}
	addWord(name) {
		return request("POST", this.at("words"), { json: { name } });
	}
	deleteWord(name) {
		return request("DELETE", this.at("words", name));
	}
	// addClips returns the names of the new clips, and why other sounds were skipped.
	async addClips(folder, body, loudest = false) {
		return (await request("POST", this.at("sounds", folder) + (loudest ? "?take=loudest" : ""), { body })).json();
	}
	replaceClip(folder, clip, body) {
		return request("PUT", this.at("sounds", folder, clip), { body });
	}
	deleteClip(folder, clip) {
		return request("DELETE", this.at("sounds", folder, clip));
	}
	async clip(folder, clip) {
		return (await request("GET", this.at("sounds", folder, clip))).blob();
	}
	train(from) {
		return request("POST", this.at("training"), { json: { from } });
	}
	cancel() {
		return request("DELETE", this.at("training"));
	}
	async model() {
		return (await request("GET", this.at("model"))).blob();
	}
	// refusal returns why a live session was refused: a WebSocket does not tell.
	refusal(rate) {
		const text = "The connection with the detector was refused.";
		return request("GET", this.at("live") + "?format=s16le&rate=" + rate).catch((err) => (err.status === 426 ? new Error(text) : err));
	}
	// live opens the WebSocket of a live session.
	live(rate) {
		const url = new URL("/api/" + this.at("live") + "?format=s16le&rate=" + rate + "&token=" + token, location.href); // a WebSocket has no headers
		url.protocol = "ws:";
		url.hash = "";
		const socket = new WebSocket(url);
		socket.binaryType = "arraybuffer";
		return socket;
	}
}
