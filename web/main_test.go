package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/pretrained"
)

// job is a recording for events.mjs.
type job struct {
	Model   string         `json:"model"`
	File    string         `json:"file"`
	Block   int            `json:"block"`
	Options map[string]any `json:"options"`
}

// event is an event as JavaScript prints it.
type event struct {
	Onset, End int64
	Label      string
	Confidence float64
}

// The engine in WebAssembly, loaded by the page's own script, gives the events of the native
// program at level generic, with the same bits. S4D_WEB_SECONDS is the duration of the audio per
// model; by default it is 10. The engine and its models are at most 5 MB.
func TestEvents(t *testing.T) {
	node, site := built(t)
	dir := t.TempDir()
	size := must.Get(os.Stat(filepath.Join(site, engine)))(t).Size()
	if size > 5e6 {
		t.Errorf("the engine has %d bytes, expected at most 5 MB", size)
	}

	before := level.Current()
	must.Do(t, level.Set("generic"))
	defer func() { must.Do(t, level.Set(before)) }()
	seconds := 10.
	if long := os.Getenv("S4D_WEB_SECONDS"); long != "" {
		seconds = must.Get(strconv.ParseFloat(long, 64))(t)
	}
	least := int(seconds / 10)
	words := map[string][]string{"digits": {"five", "zero", "nine"}, "commands": {"yes", "stop", "left"}, "wake": {"alexa", "computer", "jarvis", "snowboy"}}
	var jobs []job
	var want [][]event
	for _, name := range pretrained.Names() {
		m := must.Get(pretrained.Load(name))(t)
		rate := int(m.Meta.SampleRate)
		x := testfiles.Sounds(seconds, rate, 7)
		speech, err := testfiles.Speech(t.TempDir(), rate, words[name]...)
		if err != nil {
			t.Log("without speech: ", err)
			least = 0
		}
		x = append(x, speech...)
		file := filepath.Join(dir, name+".f32")
		testfiles.Write(t, file, must.Get(binary.Append(nil, binary.LittleEndian, x))(t))

		// The model's options, and others that find events in any sound.
		sensitive := events.DefaultsFor(m).WithThreshold(0.01)
		sensitive.OffThreshold, sensitive.Refractory, sensitive.Smoothing, sensitive.Confirm = 0.01, 0, 0.05, 1
		path := must.Get(filepath.Abs(filepath.Join("..", "pretrained", name+".safetensors")))(t)
		for i, opt := range []events.Options{events.DefaultsFor(m), sensitive} {
			j := job{Model: []string{name, path}[i], File: file, Block: 1234 + 100*i, Options: map[string]any{}}
			if i > 0 {
				j.Options = map[string]any{"threshold": 0.01, "offThreshold": 0.01, "refractory": 0, "smoothing": 0.05, "confirm": 1}
			}
			jobs = append(jobs, j)
			var list []event
			for _, e := range must.Get(must.Get(events.New(m, opt))(t).Recognize(x))(t) {
				list = append(list, event(e))
			}
			want = append(want, list)
		}
	}
	got := inNode(t, node, site, jobs)
	must.Equal(t, got.Level, "generic", "level in WebAssembly")
	if !slices.Equal(got.Names, pretrained.Names()) {
		t.Errorf("models %q, expected %q", got.Names, pretrained.Names())
	}
	for i, j := range jobs {
		if !slices.Equal(got.Results[i].Events, want[i]) {
			t.Errorf("%+v: events\n%v\nexpected\n%v", j, got.Results[i].Events, want[i])
		}
		if i%2 == 1 && len(want[i]) < least {
			t.Errorf("%+v: %d events, expected %d or more", j, len(want[i]), least)
		}
		t.Logf("%s: %d events in %v s of audio, %.1f %% of real time", filepath.Base(j.Model), len(want[i]), seconds, 100*got.Results[i].Share)
	}
	t.Logf("engine: %d bytes, start-up %.0f ms", size, got.Startup)
	for i, part := range []string{"abacus", "model: ", "threshold 2", "inputRate"} {
		if !strings.Contains(got.Errors[i], part) {
			t.Errorf("error %q, expected one with %q", got.Errors[i], part)
		}
	}
}

// made is the folder of the page, which the first test builds.
var made struct {
	sync.Once
	folder string
}

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(made.folder)
	os.Exit(code)
}

// built returns the path of Node, and the folder with the page.
func built(t *testing.T) (node, site string) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds for another system")
	}
	for _, name := range []string{"nodejs", "node"} {
		if path, err := exec.LookPath(name); err == nil {
			node = path
			break
		}
	}
	if node == "" {
		t.Skip("Node is not installed")
	}
	made.Do(func() {
		var said bytes.Buffer
		made.folder = must.Get(os.MkdirTemp("", "page"))(t)
		must.Do(t, build(filepath.Join(made.folder, "site"), &said))
		t.Log(said.String())
	})
	return node, filepath.Join(made.folder, "site")
}

// The scripts of the page withstand wrong arguments and other faults: the cases of faults.mjs. The
// engine is compiled without optimisation, which takes longer than it runs.
func TestScripts(t *testing.T) {
	node, site := built(t)
	for _, name := range []string{"arguments", "memory", "worker", "capture", "cache"} {
		if out, err := exec.Command(node, "--liftoff-only", "testdata/faults.mjs", site, name).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

type results struct {
	Level   string
	Names   []string
	Startup float64
	Errors  []string
	Results []struct {
		Events []event
		Share  float64
	}
}

func inNode(t *testing.T, node, site string, jobs []job) (got results) {
	t.Helper()
	cmd := exec.Command(node, "testdata/events.mjs", site, string(must.Get(json.Marshal(jobs))(t)))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	must.Do(t, json.Unmarshal(out, &got))
	return got
}

var (
	address = regexp.MustCompile(`(?:https?:)?//[a-z0-9.-]+\.[a-z]+`)
	used    = regexp.MustCompile(`(?:src|href)="([^"]+)"|(?:addModule|Worker|register|fetch)\("([^"]+)"|from "\./([^"]+)"|import "\./([^"]+)"|id="([^"]+)"|\$\("([^"]+)"\)`)
)

// The files of the page name no other host, and every file and element that they use exists.
func TestPage(t *testing.T) {
	files := map[string]string{"wasm_exec.js": "", engine: ""}
	for _, e := range must.Get(page.ReadDir("page"))(t) {
		files[e.Name()] = string(must.Get(page.ReadFile("page/" + e.Name()))(t))
	}
	ids, links, elements := map[string]bool{}, 0, 0
	for _, m := range used.FindAllStringSubmatch(files["index.html"], -1) {
		ids[m[5]] = true
	}
	for name, text := range files {
		must.Equal(t, address.FindString(text), "", "address in %s", name)
		for _, m := range used.FindAllStringSubmatch(text, -1) {
			link := m[1] + m[2] + m[3] + m[4]
			if _, ok := files[link]; link != "" && link != "data:," {
				if links++; !ok {
					t.Errorf("%s uses %s, which does not exist", name, link)
				}
			}
			if m[6] != "" {
				if elements++; !ids[m[6]] {
					t.Errorf("%s uses the element %s, which does not exist", name, m[6])
				}
			}
		}
	}
	if links < 8 || elements < 20 {
		t.Errorf("%d links and %d elements found, expected 8 and 20 or more: is the pattern out of date?", links, elements)
	}
	for name := range files {
		if name != "index.html" && name != "sw.js" && !strings.Contains(files["sw.js"], fmt.Sprintf("%q", name)) {
			t.Errorf("sw.js does not keep %s", name)
		}
	}
}

// The command serves to its own machine only.
func TestServe(t *testing.T) {
	must.Fail(t, serve(t.TempDir(), "0.0.0.0:0"), "loopback")
}
