package service

import (
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/report"
)

// Only a close frame after the ping confirms the last lines: not one that was sent before them, and
// no pong without a close frame.
func TestUnconfirmedLines(t *testing.T) {
	for name, last := range map[string][]byte{
		"an early close frame": frame(0x88, []byte{0x03, 0xe8}), "a pong": frame(0x8a, []byte("1")),
	} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			in := startService(t, toneModel(t, 0), func(c *Options) { c.Snapshots = dir })
			conn := in.handshake("/v1/streams/mine")
			go io.Copy(io.Discard, conn)
			conn.Write(slices.Concat(frame(opBinary, make([]byte, 1600)), frame(opText, []byte(`{"type":"end"}`))))
			synctest.Wait() // the service has sent the last line and the ping
			conn.Write(last)
			time.Sleep(time.Minute)
			conn.Close()
			synctest.Wait()
			must.Equal(t, len(filesIn(t, dir)), 1, "%s: snapshots", name)
		})
	}
}

type brokenSink struct{}

func (brokenSink) send(any) error { return errors.New("broken") }

// A stream remembers all events of a block, also those after one that cannot be sent.
func TestEventsThatCannotBeSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := startService(t, toneModel(t, 0), nil)
		st := &stream{identity: identity{SampleRate: 8000, Samples: 1000}}
		s := &session{Server: in.server, stream: st, out: brokenSink{}}
		err := s.emit([]events.Event{{Label: "low", Onset: 1, End: 2}, {Label: "low", Onset: 3, End: 4}}, nil)
		must.Fail(t, err, "broken")
		must.Equal(t, st.EventCount, 2, "events")
	})
}

// A snapshot does not change with its stream. The stream keeps its last events.
func TestSnapshotOfEvents(t *testing.T) {
	st := &stream{}
	for i := range maxRecent {
		st.record(report.Event{Onset: int64(i)})
	}
	v := st.snapshot()
	st.record(report.Event{Onset: 100})
	must.Equal(t, v.Identity.Recent[0].Onset, 0, "first event of the snapshot")
	must.Equal(t, st.Recent[0].Onset, 1, "first event of the stream")
	must.Equal(t, st.Recent[maxRecent-1].Onset, 100, "last event of the stream")
}
