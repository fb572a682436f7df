package studio

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/events/calibration"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/pretrained"
)

// ready is a project that can be trained.
func (c *client) ready(name string) {
	c.Helper()
	c.project(name, "up", "down")
	c.upload(name, "up", tones(400, 6))
	c.upload(name, "down", tones(1500, 6))
	hum := make([]float32, 8*rate)
	for i := range hum {
		hum[i] = 0.01 * float32(i*i%7-3)
	}
	c.upload(name, backgroundFolder, hum)
}

// A training run reports its progress, writes a model with an operating point, and describes it. A
// new server finds the detector again, and another run can start from it.
func TestTrain(t *testing.T) {
	c := serve(t)
	c.ready("p")
	c.ok("POST", "/p/training", map[string]string{"from": "commands"}, nil)
	st := c.wait("p", ended)
	if st.Training.State != done {
		t.Fatalf("training: %+v", st.Training)
	}
	must.Equal(t, len(st.Training.Curve), 2, "epochs")
	must.Equal(t, st.Training.Step, st.Training.Steps, "steps")
	d := st.Detector
	must.Equal(t, strings.Join(d.Labels, " "), "down up", "labels")
	must.Equal(t, d.Validation.Total, 2, "clips held out")
	must.Equal(t, d.Training.Total, 10, "clips trained on")
	if n := min(12-d.Validation.Right-d.Training.Right, maxWorst); len(d.Worst) < n || len(d.Worst) > maxWorst {
		t.Errorf("%d clips to check, expected %d to %d", len(d.Worst), n, maxWorst)
	}
	if d.Calibration == nil || d.Calibration.Words != 12 || d.Calibration.Minutes == 0 {
		t.Errorf("calibration %+v", d.Calibration)
	}
	path := filepath.Join(c.s.dir, "p", "model.safetensors")
	m := must.Get(model.Load(path))(t)
	must.Equal(t, strings.Join(m.Meta.Labels, " "), "down up none", "labels of the model")
	must.Equal(t, m.Meta.Detection.Threshold, d.Threshold, "threshold of the model")
	must.Equal(t, strings.Contains(d.Command, path), true, "path in %s", d.Command)
	w := c.request("GET", "/p/model", nil)
	must.Equal(t, w.Body.String(), string(must.Get(os.ReadFile(path))(t)), "downloaded model")

	must.Do(t, c.s.Close())
	again := must.Get(New(c.s.cfg))(t)
	defer again.Close()
	next := &client{t, again, c.host}
	found := next.wait("p", func(status) bool { return true })
	must.Equal(t, string(must.Get(json.Marshal(found.Detector))(t)), string(must.Get(json.Marshal(d))(t)), "detector of a new server")
	next.ok("POST", "/p/training", map[string]string{"from": fromDetector}, nil)
	must.Equal(t, next.wait("p", ended).Training.State, done, "training from the detector")
	must.Equal(t, string(must.Get(os.ReadFile(filepath.Join(c.s.dir, "p", previousFile)))(t)), w.Body.String(), "previous model")
}

// If the results cannot be saved, the model is that before. Results of another model are not shown.
func TestSaveFails(t *testing.T) {
	c := serve(t)
	c.project("p", "up")
	p := must.Get(c.s.open("p"))(t)
	m := must.Get(pretrained.Load("commands"))(t)
	path := func(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }
	must.Do(t, p.save(m, &detector{From: "first"}))
	must.Do(t, p.save(m, &detector{From: "second"}))
	must.Do(t, p.loadDetector())
	must.Equal(t, p.status.Detector.From, "second", "detector")
	before := must.Get(os.ReadFile(path(modelFile)))(t)
	changed := must.Get(pretrained.Load("digits"))(t)
	must.Do(t, changed.Save(path("changed")))
	hash := fmt.Sprintf("%x", sha256.Sum256(must.Get(os.ReadFile(path("changed")))(t)))
	for _, name := range []string{previousFile, describing(hash)} {
		must.Do(t, os.RemoveAll(path(name)))
		must.Do(t, os.MkdirAll(path(name)+"/x", 0o777)) // no file can replace it
		if err := p.save(changed, &detector{From: "third"}); err == nil {
			t.Errorf("%s is a folder, and no error", name)
		}
		must.Do(t, os.RemoveAll(path(name)))
		must.Equal(t, string(must.Get(os.ReadFile(path(modelFile)))(t)), string(before), "model after an error of %s", name)
		p.status.Detector = nil
		must.Do(t, p.loadDetector())
		must.Equal(t, p.status.Detector.From, "second", "detector after an error of %s", name)
	}
	must.Equal(t, len(must.Get(os.ReadDir(path(stateFolder)))(t)), 1, "files in %s", stateFolder)

	must.Do(t, os.Rename(path("changed"), path(modelFile)))
	p.status.Detector = nil
	must.Reject(0, p.loadDetector())(t, "has no results of this model.safetensors")
	if p.status.Detector != nil {
		t.Errorf("detector %+v", p.status.Detector)
	}
}

// One run trains at a time. Cancelling it keeps the detector that there was.
func TestCancel(t *testing.T) {
	c := serve(t)
	c.s.cfg.Epochs = 1000
	c.ready("p")
	c.ready("q")
	from := map[string]string{"from": fromNothing}
	c.ok("POST", "/p/training", from, nil)
	c.rejects(409, `project "p" is being trained`, "POST", "/q/training", from)
	c.rejects(409, `project "p" is being trained`, "POST", "/p/training", from)
	c.wait("p", func(st status) bool { return st.Training.Step > 0 })
	c.ok("DELETE", "/p/training", nil, nil)
	st := c.wait("p", ended)
	must.Equal(t, st.Training.State, cancelled, "state")
	if st.Detector != nil {
		t.Errorf("detector %+v", st.Detector)
	}
	c.ok("POST", "/q/training", from, nil)
	c.wait("q", func(st status) bool { return st.Training.Step > 0 })
	must.Do(t, c.s.Close()) // ends the run
	c.rejects(503, "the studio was stopped", "GET", "/q/status", nil)
}

// listening returns a server with a detector, and a function that begins a live session.
func listening(t *testing.T) (c *client, dial func(query string) (*websocket.Conn, error)) {
	c = serve(t)
	c.project("p")
	must.Do(t, must.Get(pretrained.Load("commands"))(t).Save(filepath.Join(c.s.dir, "p", modelFile)))
	server := httptest.NewServer(c.s)
	t.Cleanup(server.Close)
	return c, func(query string) (*websocket.Conn, error) {
		conn, _, err := websocket.Dial(t.Context(), server.URL+"/api/projects/p/live?token="+c.s.Token()+"&"+query, nil)
		return conn, err
	}
}

// closing reads a session to its end, and returns the close frame.
func closing(t *testing.T, conn *websocket.Conn) (closed websocket.CloseError) {
	for {
		if _, _, err := conn.Read(context.WithoutCancel(t.Context())); err != nil {
			errors.As(err, &closed)
			return closed
		}
	}
}

// A live session answers every message with posteriors, and with the events of the recogniser.
func TestLive(t *testing.T) {
	c, dial := listening(t)
	c.rejects(426, "expected a WebSocket", "GET", "/p/live?format=s16le&rate=16000", nil)
	for _, query := range []string{"", "rate=16000", "format=s16le&rate=1", "format=s16le&rate=1000000", "format=s16le&rate=x", "format=webm&rate=16000"} {
		must.Reject(dial(query))(t, "400")
	}
	const hz = 48000
	conn := must.Get(dial("format=s16le&rate=48000"))(t)
	defer conn.CloseNow()
	read := func(v any) {
		_, b, err := conn.Read(t.Context())
		must.Do(t, err)
		must.Do(t, json.Unmarshal(b, v))
	}
	var start liveStart
	read(&start)
	must.Equal(t, len(start.Labels) > 1 && !slices.Contains(start.Labels, "none"), true, "labels are words")
	frames := 0
	next := func() (f liveFrames) {
		for f.Type != "frames" {
			f = liveFrames{}
			read(&f)
		}
		frames += len(f.Posteriors)
		return f
	}
	for i := range 10 {
		must.Do(t, conn.Write(t.Context(), websocket.MessageBinary, make([]byte, 2*hz/10)))
		must.Equal(t, next().Samples, int64(i+1)*hz/10, "samples")
	}
	must.Do(t, conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"end"}`)))
	next()
	must.Equal(t, frames, 50, "frames in a second")
	must.Equal(t, closing(t, conn).Code, websocket.StatusNormalClosure, "end")
}

// A session ends with a reason: a message that is not audio, an output of the detector that
// overflows, or the end of the studio.
func TestLiveEnds(t *testing.T) {
	c, dial := listening(t)
	begin := func(kind websocket.MessageType, message []byte) *websocket.Conn {
		conn := must.Get(dial("format=s16le&rate=16000"))(t)
		must.Do(t, conn.Write(t.Context(), kind, message))
		return conn
	}
	must.Equal(t, closing(t, begin(websocket.MessageBinary, []byte{1, 2, 3})).Code, websocket.StatusUnsupportedData, "half a sample")
	must.Equal(t, closing(t, begin(websocket.MessageText, []byte("{}"))).Code, websocket.StatusUnsupportedData, "another text")
	silent := begin(websocket.MessageText, []byte(`{"type":"end"}`)) // without audio
	_, _, err := silent.Read(t.Context())
	must.Do(t, err)
	_, b, err := silent.Read(t.Context())
	must.Do(t, err)
	must.Equal(t, string(b), `{"type":"frames","samples":0,"posteriors":[]}`, "the end without audio")

	open := must.Get(dial("format=s16le&rate=16000"))(t)
	wild := must.Get(pretrained.Load("commands"))(t)
	for i := range wild.Weights.DecoderWeight {
		wild.Weights.DecoderWeight[i] = math.MaxFloat32
	}
	must.Do(t, wild.Save(filepath.Join(c.s.dir, "p", modelFile)))
	must.Equal(t, closing(t, begin(websocket.MessageBinary, make([]byte, 9600))), websocket.CloseError{Code: websocket.StatusInternalError, Reason: overflow}, "overflow")

	ended := make(chan websocket.CloseError, 1)
	go func() { ended <- closing(t, open) }()
	must.Do(t, c.s.Close()) // waits for the session
	<-ended
}

// One clip in five is held out, and one of each word if there are few.
func TestIsValidation(t *testing.T) {
	for _, q := range []struct{ n, least, want int }{{3, 3, 1}, {4, 3, 1}, {5, 3, 1}, {10, 3, 2}, {11, 3, 2}, {2, 3, 0}, {1, 2, 0}, {4, 5, 0}, {10, 11, 2}} {
		held := 0
		for i := range q.n {
			if isValidation(i, q.n, q.least) {
				held++
			}
		}
		must.Equal(t, held, q.want, "held out of %d, least %d", q.n, q.least)
	}
}

// The operating point has the fewest false alarms among those that miss at most a tenth of the
// words more than the best.
func TestChoose(t *testing.T) {
	point := func(missed, alarms int) calibration.Point {
		return calibration.Point{Score: calibration.Score{Words: 20, Correct: 20 - missed}, Backgrounds: []calibration.Background{{FalseAlarms: alarms, Hours: 1}}}
	}
	for name, q := range map[string]struct {
		points []calibration.Point
		alarms int
	}{
		"few more misses":  {[]calibration.Point{point(1, 5), point(3, 0), point(0, 9), point(2, 2)}, 2},
		"many more misses": {[]calibration.Point{point(0, 4), point(9, 0)}, 4},
		"one":              {[]calibration.Point{point(9, 7)}, 7},
	} {
		chosen := (&calibration.Measurement{Points: q.points}).Balanced()
		must.Equal(t, chosen.Worst().FalseAlarms, q.alarms, "%s", name)
	}
}

// Clips that are recognised with a clear margin need no check.
func TestWorst(t *testing.T) {
	var list []worst
	for i := range 12 {
		list = append(list, worst{Clip: strconv.Itoa(i), margin: 0.55 - 0.1*float64(i%6)})
	}
	found := ""
	for _, w := range worstOf(list) {
		found += " " + w.Clip
	}
	must.Equal(t, found, " 5 11 4 10", "clips to check")
	must.Equal(t, len(worstOf(make([]worst, 20))), maxWorst, "most clips")
	must.Equal(t, len(worstOf([]worst{{margin: 0.4}})), 0, "clips to check of a good detector")
}

// The command quotes the path for the shell.
func TestCommand(t *testing.T) {
	must.Equal(t, command("linux", "/a b/it's/m"), `arecord -q -t raw -f S16_LE -r 16000 -c 1 | s4d-fast stream '/a b/it'\''s/m' --format s16le --live`, "Linux")
	for _, system := range []string{"darwin", "windows"} {
		if !slices.Contains(strings.Fields(command(system, "m")), "s4d-fast") {
			t.Error(command(system, "m"))
		}
	}
}
