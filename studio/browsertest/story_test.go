package browsertest

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/studio"
)

// From an empty folder to a right event and back to training data: two words, which the built-in
// model knows so that a few steps are enough, are recorded, trained and detected.
func TestStory(t *testing.T) {
	b := start(t, studio.Config{Workers: 2, Epochs: 2, Streams: 64})
	b.project("my words", "left", "stop")
	b.run(b.ctx, chromedp.WaitVisible(`//*[@id="ready" and contains(., "at least 3 clips of left, stop")]`))
	b.records("Record left", "Stop recording left", speak(t, "left", 0, 3))
	b.upload("stop", b.sound("stop.wav", "stop", 3))
	for _, word := range []string{"left", "stop"} {
		b.until(`document.body.innerText.includes("` + word + ` 3 clips")`)
		must.Equal(t, b.files("my words/"+word), 3, "clips of %s", word)
	}
	b.records("Record a minute: Your room", "Stop recording Your room", noise(2))
	b.until(`document.body.innerText.includes("Your room ")`)
	b.controls()

	b.click("Play clip 2 of left")
	b.click("Train")
	b.until(`document.getElementById("progress-text").textContent.startsWith("The detector is ready")`)
	must.Equal(t, b.text(`document.getElementById("message").innerText`), "", "message after playing a clip")
	b.until(`document.getElementById("accuracy").textContent.includes("threshold is")`)
	b.controls()
	curve := b.text(`document.getElementById("curve").toDataURL()`)
	b.theme("dark")
	b.until(fmt.Sprintf(`document.getElementById("curve").toDataURL() !== %q`, curve))
	b.theme("light")
	b.until(fmt.Sprintf(`document.getElementById("curve").toDataURL() === %q`, curve))

	b.says(speak(t, "stop", 0, 1))
	b.click("Listen with the microphone")
	b.until(`[...document.querySelectorAll("#events .label")].some((e) => e.textContent === "stop")`)
	b.until(`!document.querySelector("#events select").disabled`)
	b.figure("listen", "listen-title") // TestTrial replaces it
	b.click("Stop listening")          // before the word leaves the last 3 seconds
	b.controls()
	b.choose("#events select", "_other")
	b.until(`document.querySelector("#events .done")?.textContent === "Added to the other sounds"`)
	must.Equal(t, b.files("my words/_other"), 1, "sounds of marked events")
	b.choose("#missed-word", "stop")
	b.click("Add the last 3 seconds")
	b.until(`document.getElementById("announce").textContent.startsWith("Added to stop")`)
	must.Equal(t, b.files("my words/stop"), 4, "clips of stop, with the missed one")

	b.run(b.ctx, chromedp.WaitVisible(css("#use")))
	command := b.text(`document.getElementById("command").textContent`)
	if !strings.Contains(command, filepath.Join(b.dir, "my words", "model.safetensors")) {
		t.Errorf("command %q, expected the path of the model", command)
	}
	b.weight()
	b.clean()
}

// choose selects an option of a list.
func (b *browser) choose(list, option string) {
	b.Helper()
	b.text(fmt.Sprintf(`(() => {
		const e = document.querySelector(%q);
		e.value = %q;
		e.dispatchEvent(new Event("change"));
		return e.value;
	})()`, list, option))
}

// controls fails the test unless every control of the accessibility tree has a name.
func (b *browser) controls() {
	b.Helper()
	var nodes []*accessibility.Node
	b.run(b.ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		tree, err := cdp.Call(ctx, t, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		nodes = tree.Nodes
		return err
	}))
	found := 0
	for _, n := range nodes {
		if n.Ignored || n.Role == nil {
			continue
		}
		switch role := strings.Trim(string(n.Role.Value), `"`); role {
		case "button", "textbox", "combobox", "link", "meter", "progressbar", "image", "img", "region", "menuitem", "option", "heading", "list", "log",
			"slider", "checkbox", "spinbutton", "listbox", "searchbox", "DisclosureTriangle", "dialog":
			name := ""
			if n.Name != nil {
				name = strings.Trim(string(n.Name.Value), `"`)
			}
			if role == "list" { // only lists of clips need one
				continue
			}
			if found++; name == "" {
				b.Errorf("accessibility tree: a %s has no name (node %d)", role, n.BackendDOMNodeID)
			}
		}
	}
	if found < 10 {
		b.Errorf("accessibility tree: %d controls, expected more than 10", found)
	}
}

// maxWeight is the largest size of the page's files in bytes.
const maxWeight = 150_000

// weight fails the test if the page's own files are too large.
func (b *browser) weight() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	sum := 0
	for _, n := range b.bytes {
		sum += n
	}
	b.Logf("the page has %d files, %d bytes", len(b.bytes), sum)
	if sum < 1000 || sum > maxWeight {
		b.Errorf("the page has %d bytes, expected at most %d", sum, maxWeight)
	}
}

// A denied microphone is an error that says what to do. Files still work.
func TestDeniedMicrophone(t *testing.T) {
	ctx, stop := chromium(t, true)
	defer stop()
	b := open(t, studio.Config{}, ctx)
	b.project("denied", "left")
	b.click("Record left")
	if text := b.message(); !strings.Contains(text, "not allowed to use the microphone") {
		t.Errorf("message %q", text)
	}
	b.until(`!document.querySelector(".meter") && !document.querySelector("button.recording")`)
	b.says(speak(t, "left", 0, 3))
	b.upload("left", voice)
	b.until(`document.body.innerText.includes("left 3 clips")`)
	b.clean()
}

// A reload while the detector is trained shows the progress, and the training can be cancelled. A
// second tab shows what the first one does.
func TestReloadAndTabs(t *testing.T) {
	b := start(t, studio.Config{Workers: 2, Epochs: 1000, Streams: 64})
	b.project("tabs", "left")
	b.says(speak(t, "left", 0, 3))
	b.upload("left", voice)
	b.until(`document.body.innerText.includes("left 3 clips")`)
	b.click("Train")
	b.until(`document.getElementById("progress-text").textContent.startsWith("Training: step ")`)
	b.run(b.ctx, chromedp.Reload())
	b.until(`document.getElementById("progress-text").textContent.startsWith("Training: step ")`)

	b.address = b.text(`location.href`)
	second := b.tab(b.ctx)
	b.in(second, `document.getElementById("progress-text").textContent.startsWith("Training: step ")`)
	b.click("Cancel training")
	b.in(second, `document.getElementById("progress-text").textContent === "Training was cancelled"`)
	b.run(second, chromedp.SendKeys(css("#word-name"), "right\r"))
	b.until(`[...document.querySelectorAll("#words strong")].some((e) => e.textContent === "right")`)
	b.clean()
}
