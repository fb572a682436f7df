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
	const cache = await caches.open("s4d-fast");
	try {
		const response = await fetch(request);
		if (response.ok) await cache.put(request, response.clone());
		return response;
	} catch (e) {
		const kept = await cache.match(request, { ignoreSearch: true });
		if (kept) return kept;
		throw e;
	}
}
