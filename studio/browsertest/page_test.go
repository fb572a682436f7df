package browsertest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/pretrained"
	"github.com/s4d-fast/s4d-fast/studio"
)

// expect removes a problem from those that the page logged. It must be there.
func (b *browser) expect(text string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.problems)
	b.problems = slices.DeleteFunc(b.problems, func(p string) bool { return strings.Contains(p, text) })
	if len(b.problems) == n {
		b.Errorf("problems %q, expected one with %q", b.problems, text)
	}
}

// detector makes a project whose detector is the built-in model, and opens it.
func (b *browser) detector(name string) {
	b.Helper()
	dir := filepath.Join(b.TempDir(), name)
	must.Do(b, os.MkdirAll(filepath.Join(dir, ".studio"), 0o777))
	m := must.Get(pretrained.Load("commands"))(b)
	must.Do(b, m.Save(filepath.Join(dir, "model.safetensors")))
	hash := sha256.Sum256(must.Get(os.ReadFile(filepath.Join(dir, "model.safetensors")))(b))
	text := fmt.Sprintf(`{"hash": "%x", "labels": ["left", "stop"], "words": [{"right": 1, "total": 1}, {"right": 1, "total": 1}], "worst": [
		{"folder": "left", "clip": "clip-001.wav", "found": "left", "peak": 0.5}], "threshold": 0.5}`, hash)
	must.Do(b, os.WriteFile(filepath.Join(dir, ".studio", fmt.Sprintf("%x.json", hash)), []byte(text), 0o666))
	// The project appears complete: the page may read it at any time.
	must.Do(b, os.Rename(dir, filepath.Join(b.dir, name)))
	b.run(b.ctx, chromedp.Reload())
	b.until(`!document.getElementById("listen").disabled`)
}

// sound writes a recording of a word and returns its path.
func (b *browser) sound(name, word string, n int) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), name)
	must.Do(b, audio.WriteWAVFile(path, rate, speak(b.T, word, 0, n)))
	return path
}

// Marking all events as wrong adds those of the checked file, and no others.
func TestMarkAll(t *testing.T) {
	b := start(t, studio.Config{})
	b.detector("marks")
	b.says(speak(t, "stop", 0, 1))
	b.click("Listen with the microphone")
	b.until(`document.querySelector("#events select:enabled")`)
	b.click("Stop listening")
	n := b.check(b.sound("left.wav", "left", 4))
	if n < 3 {
		t.Fatalf("%d events in 4 utterances", n)
	}
	b.until(`document.querySelectorAll("#events select:enabled").length > 2`)
	b.choose("#events li:last-child select", "_other")
	b.until(`document.querySelector("#events .done")`)
	must.Equal(t, b.files("marks/_other"), 1, "sounds of marked events")
	b.click(fmt.Sprintf("Mark all %d events of left.wav as wrong", n-1))
	b.until(fmt.Sprintf(`document.querySelectorAll("#events .done").length === %d`, n))
	must.Equal(t, b.files("marks/_other"), n, "sounds of marked events")

	b.text(`(import("/live.js").then((m) => (window.between = m.between)), "")`)
	b.until(`window.between`)
	must.Equal(t, b.text(`(() => {
		const list = [{ from: 1, end: 1.5 }, { from: 2, end: 2.6 }, { from: 3, end: 4 }];
		return list.map((e) => Object.values(between(e, list, 0.5)).join(" ")).join(", ");
	})()`), "0.5 1.75, 1.75 2.8, 2.8 4.5", "sounds around neighbours")
	b.clean()
}

// A refused or lost connection with the detector is an error, and listening can start again.
func TestLostDetector(t *testing.T) {
	b := start(t, studio.Config{})
	b.detector("lost")
	path := b.sound("left.wav", "left", 4)
	live := "/live"
	b.broken.Store(&live)
	b.run(b.ctx, chromedp.SetUploadFiles(css("#listen-file"), []string{path}))
	must.Equal(t, b.message(), "the disk is broken", "message")
	b.broken.Store(nil)
	b.expect("/live")
	b.click("Close the message")
	b.until(`document.getElementById("message").hidden && document.getElementById("listen").textContent.startsWith("Listen")`)

	b.text(`(() => {
		const send = WebSocket.prototype.send;
		let n = 0;
		WebSocket.prototype.send = function (x) {
			if (++n === 5) this.close();
			else send.call(this, x);
		};
		return "";
	})()`)
	b.run(b.ctx, chromedp.SetUploadFiles(css("#listen-file"), []string{path}))
	if text := b.message(); !strings.Contains(text, "ended after 3 s of left.wav") {
		t.Errorf("message %q", text)
	}
	must.Equal(t, b.text(`document.getElementById("listen-state").textContent.replace(/\d+ events?/, "N")`), "left.wav: N in the first 3 s", "state")
	must.Equal(t, b.check(path) > 2, true, "events in the next check")
	b.clean()
}

// A microphone that is unplugged, or that is faster than the detector for long, ends the session
// with a reason. What was recorded of a word before is kept.
func TestLostMicrophone(t *testing.T) {
	b := start(t, studio.Config{})
	b.detector("unplugged")
	b.text(`(() => {
		const devices = navigator.mediaDevices, get = devices.getUserMedia.bind(devices);
		devices.getUserMedia = async (what) => (window.stream = await get(what));
		window.unplug = () => (stream.getTracks()[0].dispatchEvent(new Event("ended")), "");
		return "";
	})()`)
	idle := func(why string) {
		t.Helper()
		b.until(`document.getElementById("listen").textContent.startsWith("Listen with")`)
		must.Equal(t, b.text(`document.getElementById("listen-state").textContent`), why, "state")
		must.Equal(t, b.text(`stream.getTracks()[0].readyState`), "ended", "microphone")
	}
	b.says(speak(t, "stop", 0, 1))
	b.click("Listen with the microphone")
	b.until(`Number(document.getElementById("wave").dataset.seconds) > 0.5`)
	b.text(`unplug()`)
	idle("The microphone was disconnected.")

	b.run(b.ctx, chromedp.SendKeys(css("#word-name"), "left\r"))
	b.says(speak(t, "left", 0, 2))
	b.click("Record left")
	b.until(`parseFloat(document.querySelector(".meter .hint")?.textContent) >= 2`)
	b.text(`unplug()`)
	must.Equal(t, b.message(), "The microphone was disconnected.", "message")
	if b.files("unplugged/left") == 0 {
		t.Error("no clip of the recording before")
	}

	b.text(`(() => {
		Object.defineProperty(AudioContext.prototype, "sampleRate", { get: () => 8000 }); // 30 s pass in 5 s
		const send = WebSocket.prototype.send;
		WebSocket.prototype.send = function (x) {
			if (typeof x === "string") send.call(this, x);
		};
		return "";
	})()`)
	b.click("Listen with the microphone")
	b.until(`document.getElementById("listen-state").textContent !== "The microphone was disconnected."`)
	idle("This computer is too slow for the detector, which is 30 s behind the microphone.")
	b.until(`document.getElementById("wave").dataset.seconds.startsWith("30.")`) // 30 s were sent
	b.clean()
}

// If the user chooses another project while files are added, all of them are added to the old one.
// If that happens while the browser asks for the microphone, no recording begins.
func TestOtherProject(t *testing.T) {
	b := start(t, studio.Config{})
	for _, name := range []string{"a", "b"} {
		must.Do(t, os.MkdirAll(filepath.Join(b.dir, name, "left"), 0o777))
	}
	b.run(b.ctx, chromedp.Reload())
	b.until(`document.querySelector("#words .card")`)
	b.text(`(() => {
		window.choose = (name) => {
			const list = document.getElementById("project");
			list.value = name;
			list.dispatchEvent(new Event("change"));
		};
		const fetched = window.fetch, devices = navigator.mediaDevices, get = devices.getUserMedia.bind(devices);
		window.fetch = (to, what) => {
			if (what.method === "POST") choose("b");
			return fetched(to, what);
		};
		devices.getUserMedia = async (what) => {
			window.stream = await get(what);
			choose("a");
			return stream;
		};
		return "";
	})()`)
	x := make([]float32, rate)
	for i := range x[:rate/2] {
		x[rate/4+i] = 0.3 * float32(i%50-25) / 25
	}
	b.says(x)
	b.upload("left", voice, voice)
	b.until(`document.getElementById("announce").textContent === "Added 2 recordings to left"`)
	must.Equal(t, b.files("a/left"), 2, "clips of the project that was shown")
	must.Equal(t, b.files("b/left"), 0, "clips of the other project")

	b.until(`document.querySelector("#words .card")`)
	b.click("Record left")
	must.Equal(t, b.message(), "The project was changed. Start recording again.", "message")
	must.Equal(t, b.text(`stream.getTracks()[0].readyState`), "ended", "microphone")
	b.clean()
}

// Errors of the server are shown as they are. If the server stops, the page says what to do.
func TestErrors(t *testing.T) {
	b := start(t, studio.Config{})
	b.project("errors", "left")
	all := "/api/"
	b.broken.Store(&all)
	must.Do(t, os.Mkdir(filepath.Join(b.dir, "errors", "right"), 0o777))
	b.run(b.ctx, chromedp.Reload())
	must.Equal(t, b.message(), "the disk is broken", "message")
	b.broken.Store(nil)
	b.expect("status of 500")
	b.run(b.ctx, chromedp.Reload())
	b.until(`document.querySelectorAll("#words .card").length === 2 && document.getElementById("message").hidden`)

	// A project that is replaced during a request is still followed. Requests for the status are
	// left alone: the page repeats those anyway.
	b.text(`(() => {
		const fetched = window.fetch;
		window.fetch = (to, what) => {
			if (what.method !== "GET" || to.includes("/status")) return fetched(to, what);
			window.fetch = fetched;
			return Promise.resolve(new Response('{"error": "try again"}', { status: 409 }));
		};
		return "";
	})()`)
	must.Do(t, os.Mkdir(filepath.Join(b.dir, "errors", "up"), 0o777))
	b.run(b.ctx, chromedp.SendKeys(css("#word-name"), "down\r"))
	must.Equal(t, b.message(), "try again", "message")
	b.until(`document.querySelectorAll("#words .card").length === 4 && document.getElementById("message").hidden`)
	b.stop()
	b.run(b.ctx, chromedp.Evaluate[chromedp.Void](`scrollTo(0, document.body.scrollHeight)`))
	if text := b.message(); !strings.Contains(text, "If you started s4d-fast studio again, open the address that it printed") {
		t.Errorf("message %q", text)
	}
	b.until(`document.querySelector("#message span").getBoundingClientRect().top >= 0`)
}

// The skip link keeps the address, which has the token. A file that is not a recording is an error.
// A clip is deleted after a question. Recording one again moves the focus to the button that stops.
// A wrong token is explained.
func TestClips(t *testing.T) {
	b := start(t, studio.Config{})
	b.project("clips", "left")
	before := b.text(`location.href`)
	b.run(b.ctx, chromedp.Focus(css("#skip")), chromedp.SendKeys(css("#skip"), "\r"))
	b.until(`document.activeElement.id === "main"`)
	must.Equal(t, b.text(`location.href`), before, "address")

	path := filepath.Join(t.TempDir(), "photo.wav")
	must.Do(t, os.WriteFile(path, []byte("this is not a recording"), 0o666))
	b.upload("left", path)
	if text := b.message(); !strings.Contains(text, "photo.wav: the recording cannot be read") {
		t.Errorf("message %q", text)
	}
	must.Equal(t, b.files("clips/left"), 0, "clips of the broken file")
	b.expect("status of 400")
	b.click("Close the message")

	b.upload("left", b.sound("left.wav", "left", 3))
	b.until(`document.body.innerText.includes("left 3 clips")`)
	b.says(speak(t, "left", 3, 1))
	b.click("Record clip 2 of left again")
	b.until(`document.activeElement.textContent === "Stop" && parseFloat(document.querySelector(".meter .hint")?.textContent) >= 2`)
	b.click("Stop recording left")
	b.until(`document.body.innerText.includes("Recorded clip-002.wav again")`)
	b.click("Delete clip 2 of left")
	b.click("Cancel")
	b.click("Delete clip 2 of left")
	b.click("Delete")
	b.until(`document.body.innerText.includes("left 2 clips")`)
	must.Equal(t, b.files("clips/left"), 2, "clips")
	b.clean()

	b.run(b.ctx, chromedp.Navigate("about:blank"), chromedp.Navigate("http://"+b.host+"/#token=wrong"))
	if text := b.message(); !strings.Contains(text, "open the address that s4d-fast studio printed") {
		t.Errorf("message %q", text)
	}
}

// theme selects the light or the dark theme.
func (b *browser) theme(name string) {
	b.Helper()
	b.run(b.ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
		})
		return err
	}))
}

// A narrow screen shows one step at a time. In the dark theme, nothing is wider than the screen.
func TestNarrow(t *testing.T) {
	b := start(t, studio.Config{})
	b.detector("a long name of a project for a phone")
	b.run(b.ctx, chromedp.SendKeys(css("#word-name"), strings.Repeat("wide", 10)+"\r"))
	b.says(speak(t, "left", 0, 3))
	b.upload(strings.Repeat("wide", 10), voice)
	b.until(`document.body.innerText.includes(" 3 clips")`)
	b.check(b.sound(strings.Repeat("long-", 20)+".wav", "left", 4))
	light := b.text(`document.getElementById("wave").toDataURL()`)
	b.run(b.ctx, chromedp.EmulateViewport(320, 640))
	b.theme("dark")
	for i, step := range []string{"1 Words", "2 Background", "3 Train", "5 Use it", "4 Listen"} {
		if i > 0 { // the page begins with the words
			b.click(step)
		}
		b.until(fmt.Sprintf(`[...document.querySelectorAll("#studio > section")].map((e) => e.offsetHeight && e.querySelector("h2").innerText.replace(/\s+/, " ")).filter(Boolean).join() === %q`, step))
		b.until(`innerWidth === 320 && document.documentElement.scrollWidth === 320 && document.documentElement.scrollHeight < 2000`)
		b.until(`![...document.querySelectorAll("main *, header *")].some((e) => !e.closest("pre, .scroll, .visually-hidden, dialog") &&
			e.getBoundingClientRect().right > 321)`)
	}
	b.until(fmt.Sprintf(`getComputedStyle(document.body).backgroundColor === "rgb(16, 22, 22)" && document.getElementById("wave").toDataURL() !== %q`, light))
	b.controls()
	b.clean()
}
