// Package browsertest tests the page of package studio in Chromium. Its microphone is a WAV file.
package browsertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/studio"
)

const rate = 48000 // Hz, of the microphone

// patience is the longest time that a test waits for the page. It decides nothing but when a test
// that would never end is a failure.
const patience = 5 * time.Minute

// The browser that most tests share.
var (
	voice  string // file that is the microphone
	shared context.Context
	quit   = func() {}
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "studio")
	if err != nil {
		panic(err)
	}
	voice = filepath.Join(dir, "voice.wav")
	code := m.Run()
	quit()
	os.RemoveAll(dir)
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
		chromedp.Flag("use-file-for-fake-audio-capture", voice+"%noloop"),
		chromedp.Flag("disable-audio-output", true),
		chromedp.Flag(permission, true),
		chromedp.WindowSize(1000, 1400))...)
	ctx, cancel := chromedp.NewContext(allocator)
	must.Do(t, chromedp.Do(ctx))
	return ctx, func() { cancel(); end() }
}

// browser is a tab of Chromium with the page of a studio.
type browser struct {
	*testing.T
	ctx     context.Context // of the first tab
	dir     string          // of the projects
	address string          // of the page, with the token
	host    string
	stop    func() // stops the studio

	broken atomic.Pointer[string] // requests with this in their paths fail

	mu       sync.Mutex
	problems []string // errors in the console, and requests of other hosts
	bytes    map[string]int
}

// start starts a studio, and opens its page in the shared browser.
func start(t *testing.T, cfg studio.Config) *browser {
	t.Helper()
	if shared == nil {
		shared, quit = chromium(t, false)
	}
	return open(t, cfg, shared)
}

// open starts a studio, and opens its page.
func open(t *testing.T, cfg studio.Config, parent context.Context) *browser {
	t.Helper()
	b := &browser{T: t, dir: t.TempDir(), bytes: map[string]int{}}
	cfg.Dir = b.dir
	s := must.Get(studio.New(cfg))(t)
	sizes := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &counter{ResponseWriter: w}
		defer func() {
			if !strings.HasPrefix(r.URL.Path, "/api/") {
				b.mu.Lock()
				b.bytes[r.URL.Path] = c.n
				b.mu.Unlock()
			}
		}()
		if p := b.broken.Load(); p != nil && strings.Contains(r.URL.Path, *p) {
			c.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(c, `{"error": "the disk is broken"}`)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/live") { // needs the connection itself
			s.ServeHTTP(w, r)
			return
		}
		s.ServeHTTP(c, r)
	})
	server := httptest.NewServer(sizes)
	b.stop = sync.OnceFunc(func() {
		must.Do(t, s.Close())
		server.Close()
	})
	t.Cleanup(b.stop)
	b.host = strings.TrimPrefix(server.URL, "http://")
	b.address = server.URL + "/#" + url.Values{"token": {s.Token()}}.Encode()
	b.says(nil)
	b.ctx = b.tab(parent)
	return b
}

// counter counts the bytes of an answer.
type counter struct {
	http.ResponseWriter
	n int
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	return c.ResponseWriter.Write(p)
}

// tab opens a tab and watches it.
func (b *browser) tab(parent context.Context) context.Context {
	b.Helper()
	ctx, cancel := chromedp.NewContext(parent)
	b.Cleanup(cancel)
	must.Do(b, chromedp.Listen(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			if u, err := url.Parse(e.Request.URL); err != nil || u.Host != b.host && u.Scheme != "blob" {
				b.problems = append(b.problems, "request of "+e.Request.URL)
			}
		case *network.EventWebSocketCreated:
			if u, err := url.Parse(e.URL); err != nil || u.Host != b.host {
				b.problems = append(b.problems, "WebSocket of "+e.URL)
			}
		case *runtime.EventExceptionThrown:
			b.problems = append(b.problems, fmt.Sprintf("exception: %s at %s:%d", e.ExceptionDetails.Text, e.ExceptionDetails.URL, e.ExceptionDetails.LineNumber+1))
			if x := e.ExceptionDetails.Exception; x != nil {
				b.problems = append(b.problems, x.Description)
			}
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
				b.problems = append(b.problems, fmt.Sprintf("console: %s", e.Args[0].Value))
			}
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError {
				b.problems = append(b.problems, "log: "+e.Entry.Text+" "+e.Entry.URL)
			}
		}
	}))
	b.run(ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		if _, err := cdp.Call(ctx, t, network.Enable, network.EnableParams{}); err != nil {
			return err
		}
		_, err := cdp.Call(ctx, t, log.Enable, cdp.Empty{})
		return err
	}), chromedp.Navigate(b.address))
	return ctx
}

// run runs actions in a tab.
func (b *browser) run(ctx context.Context, actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.give(err)
	}
}

// give fails the test, with what the page shows.
func (b *browser) give(err error) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	page, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body?.innerText ?? ""`))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Fatalf("%v\nproblems: %q\npage:\n%s", err, b.problems, page)
}

// text returns the value of an expression of JavaScript, a string.
func (b *browser) text(expression string) string {
	b.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](expression))
	if err != nil {
		b.give(err)
	}
	return text
}

// until waits until an expression of JavaScript is true in the first tab.
func (b *browser) until(expression string) {
	b.Helper()
	b.in(b.ctx, expression)
}

// in is until in another tab.
func (b *browser) in(ctx context.Context, expression string) {
	b.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		switch {
		case err != nil:
			b.give(fmt.Errorf("%s: %w", expression, err))
		case ok:
			return
		case time.Now().After(end):
			b.give(fmt.Errorf("%s: not true within %v", expression, patience))
		}
	}
}

// click waits until the control with an accessible name is visible, enabled and at rest, and clicks
// its centre. It clicks a position because the page may replace the node before the click arrives.
// If the page moves the control away from the click, click tries again.
func (b *browser) click(name string) {
	b.Helper()
	path := fmt.Sprintf(`//button[not(@hidden) and (@aria-label=%q or (not(@aria-label) and normalize-space()=%[1]q))]`, name)
	expression := fmt.Sprintf(`(() => {
		window.watch ??= (click) => {
			const button = click.target.closest("button");
			window.clicked = button?.ariaLabel ?? button?.textContent.replace(/\s+/g, " ").trim() ?? "nothing";
		};
		window.clicked = undefined;
		addEventListener("click", window.watch, true); // once, however often this is called
		const e = document.evaluate(%q, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE, null).singleNodeValue;
		e?.scrollIntoView({block: "center", inline: "center", behavior: "instant"});
		const r = e?.getBoundingClientRect(), x = r?.x + r?.width / 2, y = r?.y + r?.height / 2;
		return r?.width > 0 && !e.disabled && e.contains(document.elementFromPoint(x, y)) ? x + " " + y : "";
	})()`, path)
	last := ""
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		at := b.text(expression)
		if at != "" && at == last {
			var x, y float64
			must.Get(fmt.Sscan(at, &x, &y))(b)
			b.run(b.ctx, chromedp.MouseClickXY(x, y))
			// A click can load the page again. It is lost if the page replaces the button.
			if hit := b.text(`window.watch ? window.clicked ?? "lost" : ""`); hit == name || hit == "" {
				return
			}
		}
		last = at
		if time.Now().After(end) {
			b.give(fmt.Errorf("no control %q that can be clicked within %v", name, patience))
		}
	}
}

type css = chromedp.CSS

// says makes a sound the microphone's next recording.
func (b *browser) says(x []float32) {
	b.Helper()
	must.Do(b, audio.WriteWAVFile(voice, rate, append(x, make([]float32, 2*rate)...)))
}

// records records a sound into a folder, by the names of the buttons.
func (b *browser) records(start, stop string, x []float32) {
	b.Helper()
	b.says(x)
	b.click(start)
	seconds := float64(len(x))/rate + 0.5
	b.until(fmt.Sprintf(`parseFloat(document.querySelector(".meter .hint")?.textContent) >= %g`, seconds))
	b.controls()
	b.click(stop)
	b.until(`!document.querySelector(".meter")`)
}

// clean fails the test if the page logged an error or asked another host.
func (b *browser) clean() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.problems {
		b.Error(p)
	}
	b.problems = nil
}

// message is the text of the page's error.
func (b *browser) message() string {
	b.Helper()
	b.until(`!document.getElementById("message").hidden`)
	return b.text(`document.querySelector("#message span").innerText`)
}

// project makes a project with words on the page.
func (b *browser) project(name string, words ...string) {
	b.Helper()
	b.run(b.ctx, chromedp.WaitVisible(css("#first-name")), chromedp.SendKeys(css("#first-name"), name+"\r"), chromedp.WaitVisible(css("#word-name")))
	for _, w := range words {
		b.run(b.ctx, chromedp.SendKeys(css("#word-name"), w+"\r"))
		b.until(fmt.Sprintf(`[...document.querySelectorAll("#words strong")].some((e) => e.textContent === %q)`, w))
	}
}

// files are the recordings in a folder of a project.
func (b *browser) files(folder string) int {
	b.Helper()
	list, err := filepath.Glob(filepath.Join(b.dir, folder, "*.wav"))
	must.Do(b, err)
	return len(list)
}

// upload passes files to the file chooser of a card.
func (b *browser) upload(card string, files ...string) {
	b.Helper()
	b.run(b.ctx, chromedp.SetUploadFiles(fmt.Sprintf(`//input[@aria-label=%q]`, "Add files to "+card), files))
}

// speak returns n utterances of a word by espeak-ng, with pauses. Two voices take turns. Utterance
// first + i has the same speed and pitch in every call. Without espeak-ng, it skips the test.
func speak(t *testing.T, text string, first, n int, voices ...string) []float32 {
	t.Helper()
	x, _ := utterances(t, text, first, n, voices...)
	return x
}

// utterances is speak, and returns when the utterances begin, in seconds.
func utterances(t *testing.T, text string, first, n int, voices ...string) (x []float32, starts []float64) {
	t.Helper()
	if _, err := exec.LookPath("espeak-ng"); err != nil {
		t.Skip("espeak-ng is not installed (Debian: apt install espeak-ng)")
	}
	if len(voices) == 0 {
		voices = []string{"en-us+m3", "en-gb+f2"}
	}
	path := filepath.Join(t.TempDir(), "word.wav")
	x = make([]float32, rate/2)
	for i := first; i < first+n; i++ {
		starts = append(starts, float64(len(x))/rate)
		r := rand.New(rand.NewPCG(uint64(i), 1))
		speed, pitch := 120+r.IntN(70), 35+r.IntN(30)
		must.Do(t, exec.Command("espeak-ng", "-v", voices[i%len(voices)], "-s", fmt.Sprint(speed), "-p", fmt.Sprint(pitch), "-a", "60", "-z", "-w", path, text).Run())
		x = append(append(x, must.Get(audio.ReadMono(path, rate))(t)...), make([]float32, 3*rate/4)...)
	}
	return x, starts
}
