// Caches the files of the page, so that it also works offline. While the server can be reached, its
// files are used, so that a new version takes effect at once.
const files = ["./", "index.html", "style.css", "page.js", "worker.js", "recognizer.js", "wasm_exec.js", "capture.js", "s4d.wasm.gz"];

self.addEventListener("install", (e) => {
	e.waitUntil(caches.open("s4d-fast").then((cache) => cache.addAll(files)).then(() => self.skipWaiting()));
});
self.addEventListener("activate", (e) => e.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (e) => {
	if (e.request.method === "GET") e.respondWith(answer(e.request));
});

async function answer(request) {
	try {
		const response = await fetch(request);
		await response.clone().arrayBuffer(); // a download that is interrupted is an error
		if (response.ok) await keep(request, response.clone());
		return response;
	} catch (e) {
		const kept = await (await caches.open("s4d-fast")).match(request, { ignoreSearch: true });
		if (kept) return kept;
		throw e;
	}
}

// keep caches a file, unless the storage is full or the browser does not allow it.
async function keep(request, response) {
	try {
		await (await caches.open("s4d-fast")).put(request, response);
	} catch { /* the page works, but online only */ }
}
