package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/coder/websocket"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/report"
	"github.com/s4d-fast/s4d-fast/studio"
)

// page sends the requests that the page would send.
type page struct {
	url   string // of the project
	token string
}

// run performs the trial and prints its results.
func run(ctx context.Context, o options, w io.Writer) error {
	if o.out == "" {
		dir, err := os.MkdirTemp("", "s4d-fast-studio")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		o.out = dir
	} else if err := os.Mkdir(o.out, 0o777); err != nil {
		return fmt.Errorf("-out: %w", err)
	}
	s, err := studio.New(studio.Config{Dir: o.out, Workers: o.threads})
	if err != nil {
		return err
	}
	defer s.Close()
	server := httptest.NewServer(s)
	defer server.Close()
	p := &page{url: server.URL + "/api/projects", token: s.Token()}
	if err := p.post(ctx, "", map[string]string{"name": "trial"}); err != nil {
		return err
	}
	p.url += "/trial"
	for i, word := range o.words {
		if err := p.post(ctx, "/words", map[string]string{"name": word}); err != nil {
			return err
		}
		clips, err := o.utterances(ctx, word, i, o.clips, ofTraining)
		if err != nil {
			return err
		}
		if err := p.upload(ctx, word, joined(clips)); err != nil {
			return err
		}
	}
	if err := p.upload(ctx, "_background", o.noise(60)); err != nil {
		return err
	}
	if err := p.train(ctx, w, "first"); err != nil {
		return err
	}
	if err := p.test(ctx, o, w); err != nil {
		return err
	}
	heard, err := o.speech(ctx, ofSpeech)
	if err != nil {
		return err
	}
	fresh, err := o.speech(ctx, ofMoreSpeech)
	if err != nil {
		return err
	}
	alarms, err := p.falseAlarms(ctx, w, "speech", heard)
	if err != nil {
		return err
	}
	if _, err := p.falseAlarms(ctx, w, "other speech", fresh); err != nil {
		return err
	}
	for i, e := range alarms { // what the page does when an event is marked as wrong
		from, end := max(0, int(e.Onset)-rate/2), min(len(heard), int(e.End)+rate/2)
		if i > 0 { // half of the time between two events belongs to each
			from = max(from, int(alarms[i-1].End+e.Onset)/2)
		}
		if i+1 < len(alarms) {
			end = min(end, int(e.End+alarms[i+1].Onset)/2)
		}
		if err := p.upload(ctx, "_other", heard[from:end]); err != nil {
			return err
		}
	}
	if err := p.train(ctx, w, "second"); err != nil {
		return err
	}
	if err := p.test(ctx, o, w); err != nil {
		return err
	}
	if _, err := p.falseAlarms(ctx, w, "speech", heard); err != nil {
		return err
	}
	_, err = p.falseAlarms(ctx, w, "other speech", fresh)
	return err
}

// joined returns utterances with pauses, as one recording.
func joined(list [][]float32) []float32 {
	x := make([]float32, rate/2)
	for _, u := range list {
		x = append(append(x, u...), make([]float32, 3*rate/4)...)
	}
	return x
}

// train trains and prints the time that it took and the results.
func (p *page) train(ctx context.Context, w io.Writer, name string) error {
	began, cpu := time.Now(), cpuTime()
	if err := p.post(ctx, "/training", map[string]string{"from": "commands"}); err != nil {
		return err
	}
	version := int64(0)
	for {
		var st struct {
			Version  int64
			Training struct {
				State, Error string
				Steps        int
			}
			Detector json.RawMessage
		}
		b, err := p.request(ctx, http.MethodGet, fmt.Sprintf("/status?after=%d", version), nil)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(b, &st); err != nil {
			return err
		}
		version = st.Version
		switch st.Training.State {
		case "done":
			fmt.Fprintf(w, "%s training: %d steps, %.0f s, %.0f CPU seconds\n%s\n", name, st.Training.Steps, time.Since(began).Seconds(), (cpuTime() - cpu).Seconds(), st.Detector)
			return nil
		case "failed", "cancelled":
			return fmt.Errorf("training %s: %s", st.Training.State, st.Training.Error)
		}
	}
}

// test streams new utterances, each on its own, and counts those with the right event only.
func (p *page) test(ctx context.Context, o options, w io.Writer) error {
	right, wrong, missed := 0, 0, 0
	for i, word := range o.words {
		list, err := o.utterances(ctx, word, i, o.tests, ofTests)
		if err != nil {
			return err
		}
		for n, x := range list {
			found, err := p.listen(ctx, joined([][]float32{x}))
			if err != nil {
				return err
			}
			good, bad := 0, 0
			for _, e := range found {
				if e.Label == word {
					good++
				} else {
					bad++
				}
			}
			switch {
			case bad > 0:
				wrong++
			case good > 0:
				right++
			default:
				missed++
			}
			if good != 1 || bad > 0 {
				fmt.Fprintf(w, "utterance %d of %s: %v\n", n+1, word, found)
			}
		}
	}
	_, err := fmt.Fprintf(w, "%d new utterances: %d right, %d wrong, %d missed\n", right+wrong+missed, right, wrong, missed)
	return err
}

// falseAlarms returns the events in a recording without words.
func (p *page) falseAlarms(ctx context.Context, w io.Writer, name string, x []float32) ([]report.Event, error) {
	found, err := p.listen(ctx, x)
	if err == nil {
		_, err = fmt.Fprintf(w, "%s: %d false alarms in %.1f minutes\n", name, len(found), float64(len(x))/rate/60)
	}
	return found, err
}

// listen streams a recording and returns the events.
func (p *page) listen(ctx context.Context, x []float32) (found []report.Event, err error) {
	conn, _, err := websocket.Dial(ctx, p.url+fmt.Sprintf("/live?rate=%d", rate), &websocket.DialOptions{Subprotocols: []string{"s4d-fast.studio", "token." + p.token}})
	if err != nil {
		return nil, err
	}
	defer conn.CloseNow()
	conn.SetReadLimit(1 << 20)
	for block := 0; ; {
		_, b, err := conn.Read(ctx)
		if err != nil {
			return found, nilIfClosed(err)
		}
		var e report.Event
		if err := json.Unmarshal(b, &e); err != nil {
			return nil, err
		}
		if e.Type == "event" {
			found = append(found, e)
			continue
		}
		n := min(len(x)-block, rate/2)
		kind, message := websocket.MessageBinary, pcm(x[block:block+n])
		if n == 0 {
			kind, message = websocket.MessageText, []byte(`{"type":"end"}`)
		}
		if block += n; conn.Write(ctx, kind, message) != nil {
			continue // Read has the reason
		}
	}
}

func nilIfClosed(err error) error {
	if websocket.CloseStatus(err) == websocket.StatusNormalClosure {
		return nil
	}
	return err
}

// pcm returns samples as s16le.
func pcm(x []float32) []byte {
	b := make([]byte, 0, 2*len(x))
	for _, v := range x {
		n := int16(max(-32768, min(32767, 32768*v)))
		b = append(b, byte(n), byte(n>>8))
	}
	return b
}

func (p *page) upload(ctx context.Context, folder string, x []float32) error {
	var b bytes.Buffer
	if err := audio.WriteWAV(&b, rate, x); err != nil {
		return err
	}
	_, err := p.request(ctx, http.MethodPost, "/sounds/"+folder, b.Bytes())
	return err
}

func (p *page) post(ctx context.Context, path string, v any) error {
	b, err := json.Marshal(v)
	if err == nil {
		_, err = p.request(ctx, http.MethodPost, path, b)
	}
	return err
}

func (p *page) request(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, p.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("X-Studio-Token", p.token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, b)
	}
	return b, err
}
