// Package browsertest tests the page of the command web in Chromium. Its microphone is a WAV file.
package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
)

// patience is the longest time that a test waits for the page. It decides nothing but when a test
// that would never end is a failure.
const patience = 10 * time.Minute

// site is the folder of the page, which the first test builds.
var site = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "web")
	if err != nil {
		return "", err
	}
	built = dir
	cmd := exec.Command("go", "run", "./web", "-out", dir)
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w: %s", cmd, err, out)
	}
	return dir, nil
})

// The browser that most tests share.
var (
	built  string
	voice  string // file that is the microphone, which repeats it
	shared context.Context
	quit   = func() {}
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "voice")
	if err != nil {
		panic(err)
	}
	voice = filepath.Join(dir, "voice.wav")
	code := m.Run()
	quit()
	os.RemoveAll(dir)
	os.RemoveAll(built)
	os.Exit(code)
}

// chromium starts a browser, or skips the test if there is none. With deny, it has no microphone.
func chromium(t *testing.T, deny bool) (ctx context.Context, stop func()) {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed (Debian: apt install chromium)")
	}
	permission := "use-fake-ui-for-media-stream"
	if deny {
		permission = "deny-permission-prompts"
	}
	allocator, end := chromedp.NewExecAllocator(context.Background(), append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path),
		chromedp.NoSandbox, // tests may run as root
		chromedp.Flag("use-fake-device-for-media-stream", true),
		chromedp.Flag("use-file-for-fake-audio-capture", voice),
		chromedp.Flag("disable-audio-output", true),
		chromedp.Flag(permission, true),
		chromedp.WindowSize(900, 1000))...)
	ctx, cancel := chromedp.NewContext(allocator)
	must.Do(t, chromedp.Do(ctx))
	return ctx, func() { cancel(); end() }
}

// tab is a tab of Chromium that shows the page.
type tab struct {
	*testing.T
	ctx     context.Context
	dir     string // served at /test/
	server  *httptest.Server
	offline bool // requests may fail

	mu       sync.Mutex
	problems []string // errors in the console, and requests of other hosts
}

// open opens the page in the shared browser, and waits until the engine has started.
func open(t *testing.T) *tab {
	t.Helper()
	if shared == nil {
		shared, quit = chromium(t, false)
	}
	return openIn(t, shared)
}

// openIn is open for a browser.
func openIn(t *testing.T, browser context.Context) *tab {
	t.Helper()
	b := &tab{T: t, dir: t.TempDir()}
	mux := http.NewServeMux()
	mux.Handle("/page/", http.StripPrefix("/page/", http.FileServer(http.Dir(must.Get(site())(t)))))
	mux.Handle("/test/", http.StripPrefix("/test/", http.FileServer(http.Dir(b.dir))))
	b.server = httptest.NewServer(mux)
	t.Cleanup(b.server.Close)
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	b.ctx = ctx
	b.watch()
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	b.do(chromedp.Navigate(b.server.URL + "/page/"))
	b.until(`document.getElementById("status").textContent === "Ready."`)
	return b
}

// watch collects errors in the console and requests of other hosts.
func (b *tab) watch() {
	must.Do(b, chromedp.Listen(b.ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			u, err := url.Parse(e.Request.URL)
			if err != nil || u.Scheme != "data" && u.Scheme != "blob" && u.Host != strings.TrimPrefix(b.server.URL, "http://") {
				b.problems = append(b.problems, "request of "+e.Request.URL)
			}
		case *runtime.EventExceptionThrown:
			b.problems = append(b.problems, "exception: "+e.ExceptionDetails.Text+" "+e.ExceptionDetails.URL)
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError && !b.offline {
				b.problems = append(b.problems, e.Entry.Text+" "+e.Entry.URL)
			}
		}
	}))
	b.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, p := range b.problems {
			b.Error(p)
		}
	})
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.give(err)
	}
}

// give fails the test, with what the page shows.
func (b *tab) give(err error) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body?.innerText ?? ""`))
	b.Fatalf("%v\npage:\n%s", err, text)
}

// call sends a command of the DevTools protocol.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) (result R) {
	b.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) (err error) {
		result, err = cdp.Call(ctx, t, command, params)
		return err
	}))
	return result
}

// until waits until an expression of JavaScript is true.
func (b *tab) until(expression string) {
	b.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](expression))
		switch {
		case err != nil:
			b.give(err)
		case ok:
			return
		case time.Now().After(end):
			b.give(fmt.Errorf("%s: not true within %v", expression, patience))
		}
	}
}

// evaluate stores the value of an expression, which may be a promise.
func (b *tab) evaluate(expression string, result any) {
	b.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("Promise.resolve("+expression+").then(JSON.stringify)", chromedp.EvalAwaitPromise))
	if err != nil {
		b.give(err)
	}
	must.Do(b, json.Unmarshal([]byte(text), result))
}

type css = chromedp.CSS

// speak makes spoken words the sound of the microphone, or skips the test if espeak-ng is not
// installed.
func speak(t *testing.T, words ...string) {
	t.Helper()
	const rate = 48000
	x, err := testfiles.Speech(t.TempDir(), rate, words...)
	if err != nil {
		t.Skip(err)
	}
	must.Do(t, audio.WriteWAVFile(voice, rate, x))
}

// heard is true when the table of events has the word.
func heard(word string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#events tr")].some((r) => r.cells[1].textContent === %q)`, word)
}

// The words that a microphone records appear as events. The page shows what they cost. Stopping
// stops the microphone. All controls have names.
func TestMicrophone(t *testing.T) {
	speak(t, "five", "zero")
	b := open(t)
	b.do(chromedp.Click(css("#microphone")))
	b.until(heard("5"))
	b.until(heard("0"))
	b.named()
	b.pictures()
	b.do(chromedp.Click(css("#microphone")))
	b.until(`document.getElementById("status").textContent === "Stopped."`)
	var share, startup string
	b.evaluate(`document.getElementById("share").textContent`, &share)
	b.evaluate(`document.getElementById("startup").textContent`, &startup)
	t.Logf("start-up %s, share of one core %s", startup, share)
	if !strings.HasSuffix(share, "%") || !strings.HasSuffix(startup, "ms") {
		t.Errorf("share %q and start-up %q, expected a percentage and milliseconds", share, startup)
	}
}

// named reports controls without a name in the accessibility tree.
func (b *tab) named() {
	b.Helper()
	nodes := call(b, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes
	roles := []string{"button", "combobox", "slider", "meter", "progressbar", "list", "region"}
	found := map[string]int{}
	for _, n := range nodes {
		role := ""
		if n.Role != nil {
			role = strings.Trim(string(n.Role.Value), `"`)
		}
		if n.Ignored || !slices.Contains(roles, role) {
			continue
		}
		found[role]++
		if n.Name == nil || strings.Trim(string(n.Name.Value), `" `) == "" {
			b.Errorf("an element of role %s has no name", role)
		}
	}
	for _, role := range []string{"button", "combobox", "slider", "meter", "progressbar"} {
		if found[role] == 0 {
			b.Errorf("no element of role %s: %v", role, found)
		}
	}
}

// pictures writes pictures of the page to the folder S4D_PICTURES, if it is set, and checks that
// nothing is wider than a narrow window.
func (b *tab) pictures() {
	b.Helper()
	dir := os.Getenv("S4D_PICTURES")
	for _, p := range []struct {
		name, scheme string
		width        int64
	}{{"web", "light", 900}, {"web-dark", "dark", 900}, {"web-narrow", "light", 320}} {
		var width int64
		b.do(chromedp.EmulateViewport(p.width, 1000))
		call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: p.scheme}},
		})
		b.evaluate("document.documentElement.scrollWidth", &width)
		b.until(`document.getElementById("level").value > -30`) // a word is heard
		png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
		must.Do(b, err)
		if width > p.width {
			b.Errorf("the page is %d pixels wide in a window of %d", width, p.width)
		}
		if dir != "" {
			must.Do(b, os.WriteFile(filepath.Join(dir, p.name+".png"), png, 0o666))
		}
	}
	b.do(chromedp.EmulateViewport(900, 1000))
}

// A recording gives its words, and so does a model file.
func TestRecording(t *testing.T) {
	speak(t, "yes", "stop")
	b := open(t)
	b.do(chromedp.SetUploadFiles(css("#file"), []string{must.Get(filepath.Abs("../../pretrained/commands.safetensors"))(t)}))
	b.until(`document.getElementById("words").textContent.includes("yes")`)
	b.do(chromedp.SetUploadFiles(css("#recording"), []string{voice}))
	b.until(`document.getElementById("status").textContent === "The recording has ended."`)
	var rows []string
	b.evaluate(`[...document.querySelectorAll("#events tr")].map((r) => r.cells[1].textContent)`, &rows)
	if !slices.Equal(rows, []string{"stop", "yes"}) { // the latest first
		t.Errorf("events %q, expected yes and stop", rows)
	}
	broken := filepath.Join(t.TempDir(), "broken.wav")
	testfiles.Write(t, broken, "nonsense")
	b.do(chromedp.SetUploadFiles(css("#recording"), []string{broken}))
	b.until(`document.getElementById("status").textContent.startsWith("broken.wav cannot be read")`)
	b.do(chromedp.SetUploadFiles(css("#file"), []string{broken}))
	b.until(`document.getElementById("status").textContent.startsWith("Error: model: ")`)
}

// A microphone that is denied is explained.
func TestDenied(t *testing.T) {
	ctx, stop := chromium(t, true)
	defer stop()
	b := openIn(t, ctx)
	b.do(chromedp.Click(css("#microphone")))
	b.until(`document.getElementById("status").textContent.includes("does not allow the microphone")`)
}

// A microphone that is disconnected is an error, which stays on the page.
func TestDisconnected(t *testing.T) {
	must.Do(t, audio.WriteWAVFile(voice, 48000, testfiles.Sounds(5, 48000, 1)))
	b := open(t)
	var ok bool
	b.evaluate(`(() => {
		const devices = navigator.mediaDevices, get = devices.getUserMedia.bind(devices);
		devices.getUserMedia = async (what) => (window.stream = await get(what));
		window.said = [];
		new MutationObserver((list) => said.push(...list.map((m) => m.addedNodes[0].data)))
			.observe(document.getElementById("status"), { childList: true });
		return true;
	})()`, &ok)
	b.do(chromedp.Click(css("#microphone")))
	b.until(`parseFloat(document.getElementById("seconds").textContent) > 0.5`)
	b.evaluate(`stream.getTracks()[0].dispatchEvent(new Event("ended"))`, &ok)
	b.until(`said.includes("Stopped.") && said.some((text) => text.startsWith("Error"))`)
	var last string
	b.evaluate(`said.at(-1)`, &last)
	must.Equal(t, last, "Error: the microphone is disconnected", "the last status")
	must.Equal(t, must.Get(chromedp.Run(b.ctx, chromedp.Evaluate[string](`stream.getTracks()[0].readyState`)))(t), "ended", "the microphone")
}

// After one visit, the page works without its server.
func TestOffline(t *testing.T) {
	b := open(t)
	var ready bool
	b.evaluate("navigator.serviceWorker.ready.then(() => true)", &ready)
	b.mu.Lock()
	b.offline = true // the console reports the requests that the service worker answers
	b.mu.Unlock()
	b.server.Close()
	b.do(chromedp.Reload())
	b.until(`document.getElementById("status").textContent === "Ready."`)
	b.do(chromedp.Navigate(b.server.URL + "/page/index.html"))
	b.until(`document.getElementById("status")?.textContent === "Ready."`)
}
