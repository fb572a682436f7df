package service

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/memfs"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

const (
	storageFolder = "folder"
	olderSample   = 5200 // in a tone: the state matters
	newerSample   = 9200
)

// storageTest plays streams to services whose snapshots are in memory.
type storageTest struct {
	t    *testing.T
	pcm  []byte // with an event
	want string // its events
	log  *logBuffer
	full bool // the disk: streams that cannot be saved are still served
}

// serve starts a service on a file system.
func (s *storageTest) serve(f *memfs.FS) (*Server, error) {
	opt := Defaults()
	opt.Snapshots, opt.files, opt.Log = storageFolder, f, s.log.logger()
	opt.Keep, opt.SaveEvery = 1000*time.Hour, time.Second
	return New(toneModel(s.t, 0), events.Defaults(), opt)
}

// slowBody is a body that arrives in real time or faster, so that nothing else happens meanwhile.
type slowBody struct {
	pcm   []byte
	pause time.Duration // per 10 ms of audio
}

func (b *slowBody) Read(p []byte) (int, error) {
	if len(b.pcm) == 0 {
		return 0, io.EOF
	}
	time.Sleep(b.pause)
	n := copy(p[:min(len(p), 160)], b.pcm)
	b.pcm = b.pcm[n:]
	return n, nil
}

// send sends the audio of a stream up to a sample, from where the service resumes it. Before the
// last sample of all the stream is interrupted. send returns the response's status and lines.
func (s *storageTest) send(in *Server, name, query string, upTo int, pause time.Duration) (int, transcript) {
	body := &slowBody{pause: pause}
	w := &startRecorder{ResponseRecorder: httptest.NewRecorder(), begin: func(at int64) {
		if upTo == len(s.pcm)/2 {
			body.pcm = s.pcm[2*at:]
		} else {
			body.pcm = s.pcm[2*at : 2*upTo+1] // half a sample interrupts the stream
		}
	}}
	w.t = s.t
	in.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost/v1/streams/"+name+"?format=s16le"+query, body))
	synctest.Wait()
	if w.Code != http.StatusOK {
		return w.Code, transcript{}
	}
	return w.Code, parse(s.t, w.Body.String())
}

// startRecorder is a client that sends its audio when it has received the start line.
type startRecorder struct {
	*httptest.ResponseRecorder
	t     *testing.T
	begin func(at int64)
}

func (w *startRecorder) Write(b []byte) (int, error) {
	if w.begin != nil && w.Code == http.StatusOK {
		w.begin(*parse(w.t, string(b)+`{"type":"error","why":"","error":""}`).start.Samples)
		w.begin = nil
	}
	return w.ResponseRecorder.Write(b)
}

// begin returns a folder with five snapshots: a stream that was interrupted, one that has ended,
// two to delete, and one that has expired.
func (s *storageTest) begin() *memfs.FS {
	f := memfs.New()
	in := must.Get(s.serve(f))(s.t)
	for _, name := range []string{"resumed", "expired", "deleted"} {
		_, got := s.send(in, name, "", olderSample, 0)
		checkLine(s.t, name, got.err, "audio")
	}
	for _, name := range []string{"ended", "confirmed"} {
		if _, got := s.send(in, name, "", len(s.pcm)/2, 0); got.end == nil {
			s.t.Fatalf("no end line, but %+v", got.err)
		}
	}
	file := in.streams.store.list["expired"].file
	v := must.Get(in.streams.store.read(file))(s.t)
	v.Saved = v.Saved.Add(-2000 * time.Hour)
	must.Do(s.t, atomicfile.Files{FS: f}.Write(file, 0o600, func(w io.Writer) error {
		_, err := w.Write(must.Get(encodeSnapshot(*v))(s.t))
		return err
	}))
	return f
}

// told is what the clients of a service were told.
type told struct {
	saved   map[string]bool // the stream was saved at newerSample
	begun   bool            // a new stream with the name "ended", and the log reports no failure
	deleted map[string]bool // the stream was deleted, and the log reports no failure
}

// play lets clients do all that writes and reads snapshots, with a service that may not start.
func (s *storageTest) play(f *memfs.FS) *told {
	out := &told{saved: map[string]bool{}, deleted: map[string]bool{}}
	s.log.text.Reset()
	in, err := s.serve(f)
	if err != nil {
		return out
	}
	interrupted := func(name, query string, pause time.Duration) {
		status, got := s.send(in, name, query, newerSample, pause)
		if status != http.StatusOK && (s.full || status != http.StatusInternalServerError) {
			s.t.Errorf("%s: status %d", name, status)
		}
		if name == "ended" {
			out.begun = status == http.StatusOK && s.log.count("is ignored")+s.log.count("may return") == 0
		}
		out.saved[name] = got.err != nil && got.err.Samples != nil && *got.err.Samples == newerSample
	}
	interrupted("resumed", "&events=0", 0)
	interrupted("ended", "", 0)
	interrupted("new", "&events=0", 20*time.Millisecond) // saved every second
	for _, name := range []string{"deleted", "confirmed"} {
		s.log.text.Reset()
		w := httptest.NewRecorder()
		in.ServeHTTP(w, httptest.NewRequest("DELETE", "http://localhost/v1/streams/"+name, nil))
		out.deleted[name] = w.Code == http.StatusNoContent && s.log.count(notRemoved)+s.log.count("may return") == 0
	}
	return out
}

// holds reports whether a service that starts on a file system has each stream once, as the clients
// were told, and whether each continues to the events of an undisturbed stream.
func (s *storageTest) holds(what string, f *memfs.FS, out *told) bool {
	ok := true
	fail := func(format string, args ...any) {
		ok = false
		s.t.Errorf("%s: %s; files:\n%v", what, fmt.Sprintf(format, args...), f)
	}
	in, err := s.serve(f)
	if err != nil {
		fail("%v", err)
		return false
	}
	check := func(name string, positions ...int) {
		status, got := s.send(in, name, "&events=0", len(s.pcm)/2, 0)
		switch {
		case status != http.StatusOK:
			fail("%s: status %d", name, status)
		case !slices.Contains(positions, int(*got.start.Samples)):
			fail("%s: resumes at sample %d, expected %v", name, *got.start.Samples, positions)
		case got.end == nil || fmt.Sprint(got.events) != s.want:
			fail("%s: events %v after sample %d, expected %v", name, got.events, *got.start.Samples, s.want)
		}
	}
	whole := len(s.pcm) / 2
	possible := map[string][]int{
		"resumed": {olderSample, newerSample}, "ended": {whole, 0, newerSample}, "new": {0, newerSample},
		"deleted": {olderSample, 0}, "confirmed": {whole, 0}, "expired": {0},
	}
	for at := 80; at < newerSample; at += 80 { // periodic snapshots
		possible["new"] = append(possible["new"], at)
	}
	if out != nil {
		if out.begun {
			possible["ended"] = []int{0, newerSample}
		}
		for name, deleted := range out.deleted {
			if deleted {
				possible[name] = []int{0}
			}
		}
		for name, saved := range out.saved {
			if saved {
				possible[name] = []int{newerSample}
			}
		}
	}
	for _, name := range []string{"confirmed", "deleted", "ended", "expired", "new", "resumed"} {
		check(name, possible[name]...)
		w := httptest.NewRecorder()
		in.ServeHTTP(w, httptest.NewRequest("DELETE", "http://localhost/v1/streams/"+name, nil))
		if w.Code != http.StatusNoContent {
			fail("DELETE of %s: status %d", name, w.Code)
		}
	}
	left := must.Get(f.ReadDir(storageFolder))(s.t)
	if n, size := in.streams.store.size(); n != 0 || size != 0 || len(left) != 0 {
		fail("%d snapshots of %d bytes, %d files at the end", n, size, len(left))
	}
	return ok
}

// On a full disk a new stream replaces one that has ended, although it cannot be saved. It is an
// error only if the ended one cannot be deleted either. Then it stays.
func TestNewStreamOnFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &storageTest{t: t, pcm: encode(tonemodel.Words().Samples[:12000]), log: &logBuffer{}}
		for _, removable := range []bool{true, false} {
			f := memfs.New()
			in := must.Get(s.serve(f))(t)
			s.send(in, "mine", "", len(s.pcm)/2, 0)
			f.Fault = func(_ int, operation, _ string) error {
				if operation == "Create" || operation == "Write" || operation == "Remove" && !removable {
					return syscall.ENOSPC
				}
				return nil
			}
			for range 2 {
				status, got := s.send(in, "mine", "", newerSample, 0)
				must.Equal(t, status == http.StatusOK, removable, "the stream has begun")
				if removable && got.start.Samples != nil {
					must.Equal(t, *got.start.Samples, 0, "begins at sample")
				}
				checkDisconnected(t, in.streams.store)
			}
			f.Fault = nil
			in = must.Get(s.serve(f))(t)
			_, got := s.send(in, "mine", "&events=0", len(s.pcm)/2, 0)
			must.Equal(t, *got.start.Samples, map[bool]int64{true: 0, false: int64(len(s.pcm) / 2)}[removable], "after a restart, resumes at sample")
		}
	})
}

// If any file operation of a service fails, or its power is cut at any step, each stream is the
// older or the newer one. A stream that the service has reported as saved is the newer one, and one
// that it has reported as deleted does not return.
func TestStorage(t *testing.T) {
	if testing.Short() {
		t.Skip("some hundred services")
	}
	words := tonemodel.Words().Samples[:12000]
	tried, held := 0, 0
	synctest.Test(t, func(t *testing.T) {
		s := &storageTest{t: t, pcm: encode(words), log: &logBuffer{}}
		all := expectedEvents(t, s.pcm)
		s.want = fmt.Sprint(all)
		must.Equal(t, len(all), 2, "events in the audio")
		start := s.begin()
		check := func(what string, f *memfs.FS, out *told) {
			if tried++; s.holds(what, f, out) {
				held++
			}
		}
		memfs.EachFault(start, memfs.Modes[:must.Cases(1, len(memfs.Modes))], func(f *memfs.FS, fault *memfs.Fault) {
			s.full = fault.Mode == memfs.Full
			out := s.play(f)
			if s.full = false; !fault.Over() {
				s.holds("without a fault", f.PowerCut(memfs.Everything), out)
				return
			}
			for _, loss := range []memfs.Loss{memfs.Everything, memfs.Data, memfs.Torn}[:must.Cases(1, 3)] {
				check(fmt.Sprintf("%v, then a power cut, loss %d", fault, loss), f.PowerCut(loss), out)
			}
			check(fault.String(), f, out)
		})
		memfs.EachPowerCut(start, must.Cases(1, 10), func(f *memfs.FS) {
			out := s.play(f)
			for name, saved := range out.saved {
				must.Equal(t, saved, true, "without faults, %s is saved", name)
			}
		}, func(after *memfs.FS, when string) { check(when, after, nil) })
	})
	must.Tally(t, "a saved stream whose file operation fails, or is cut off, at any step is the older or the newer one", tried, held)
}
