package wire

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/s4d-fast/s4d-fast/examples/cluster/internal/clustertest"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/report"
)

func TestChunk(t *testing.T) {
	for _, c := range []Chunk{{}, {Position: 800, PCM: []byte{1, 2, 3, 4}}, {Position: math.MaxInt64 / 2, End: true}, {Position: math.MaxInt64/2 - 2, PCM: []byte{1, 2, 3, 4}}} {
		got := must.Get(ParseChunk(c.Append(nil)))(t)
		if got.Position != c.Position || got.End != c.End || !bytes.Equal(got.PCM, c.PCM) {
			t.Errorf("got %+v, expected %+v", got, c)
		}
	}
	whole := Chunk{PCM: make([]byte, 8)}.Append(nil)
	for want, b := range map[string][]byte{
		"without the header":                  whole[:ChunkHeader-1],
		"whole samples":                       whole[:len(whole)-1],
		"at most 16384":                       make([]byte, MaxChunk+1),
		"at sample 9223372036854775807":       append([]byte(chunkMagic), bytes.Repeat([]byte{0xff}, 8)...),
		"at most 4611686018427387901":         Chunk{Position: math.MaxInt64/2 - 1, PCM: make([]byte, 4)}.Append(nil),
		"audio message without the header \"": append([]byte("S4A\x02"), whole[4:]...),
	} {
		must.Reject(ParseChunk(b))(t, want)
	}
}

func TestSnapshot(t *testing.T) {
	s := Snapshot{Owner: "one", Position: 7, Sequence: 8, Lines: 9, Detector: []byte("state")}
	b := s.Encode()
	got := must.Get(ParseSnapshot(b))(t)
	if string(got.Encode()) != string(b) || got.Owner != "one" || got.Position != 7 || got.Sequence != 8 || got.Lines != 9 {
		t.Errorf("got %+v, expected %+v", got, s)
	}
	for n := range b {
		if _, err := ParseSnapshot(b[:n]); err == nil {
			t.Errorf("%d of %d bytes: no error", n, len(b))
		}
	}
	for i := range 8 * len(b) {
		damaged := bytes.Clone(b)
		damaged[i/8] ^= 1 << (i % 8)
		if _, err := ParseSnapshot(damaged); err == nil {
			t.Errorf("bit %d: no error", i)
		}
	}
	must.Reject(ParseSnapshot(make([]byte, MaxSnapshot+1)))(t, "at most 1048576")
	must.Reject(ParseSnapshot(Snapshot{Position: -1}.Encode()))(t, "invalid")
	long := must.Get(ParseSnapshot(Snapshot{Owner: strings.Repeat("o", 300)}.Encode()))(t)
	must.Equal(t, len(long.Owner), maxOwner, "bytes of the owner")
}

func TestLine(t *testing.T) {
	for _, c := range []struct {
		line any
		last bool
	}{{report.Event{Type: "event", Label: "low"}, false}, {End{Type: "end"}, true}, {report.Error{Type: "error"}, true}} {
		m := must.Get(NewLine("mic", 12, c.line))(t)
		must.Equal(t, m.Subject, "s4d.lines.mic", "subject")
		must.Equal(t, m.Header.Get(nats.MsgIdHdr), "mic/12", "message ID")
		number, last, err := ParseLine(m.Header, m.Data)
		must.Do(t, err)
		must.Equal(t, number, 12, "number")
		must.Equal(t, last, c.last, "last of %v", c.line)
	}
	for want, c := range map[string]struct{ number, text string }{
		`number "0"`:   {"0", "{}"},
		`number "x"`:   {"x", "{}"},
		"line 1:":      {"1", "{"},
		"at most 4096": {"1", strings.Repeat(" ", maxLine+1)},
	} {
		_, _, err := ParseLine(nats.Header{numberHeader: {c.number}}, []byte(c.text))
		must.Fail(t, err, want)
	}
	must.Reject(NewLine("mic", 1, math.NaN()))(t, "NaN")
	must.Reject(NewLine("mic", 1, strings.Repeat(" ", maxLine-1)))(t, "4097 bytes", "at most 4096")
}

// Errors show that a URL has a user or a token, but not which.
func TestRedact(t *testing.T) {
	_, err := Connect("nats://me:secret@127.0.0.1:1,nats://token@127.0.0.1:1,nats://127.0.0.1:1", "")
	must.Fail(t, err, "nats://xxxxx@127.0.0.1:1,nats://xxxxx@127.0.0.1:1,nats://127.0.0.1:1: ")
	_, err = Connect("nats://me:secret%@x", "")
	must.Fail(t, err, "(not a URL): ")
	must.Equal(t, strings.Contains(err.Error(), "secret"), false, "the error shows the password")
}

// A member takes over the options of the cluster, and does not change them.
func TestSetup(t *testing.T) {
	ctx, js := clustertest.Context(t), clustertest.Start(t).JetStream()
	want := Defaults()
	want.Lease, want.KeepLines = 2*time.Second, 2*time.Hour
	must.Equal(t, must.Get(Setup(ctx, js, Options{Lease: want.Lease, KeepLines: want.KeepLines}))(t), want, "options at first")
	for _, same := range []Options{{}, want, {Lease: want.Lease}} {
		must.Equal(t, must.Get(Setup(ctx, js, same))(t), want, "options of another member")
	}
	for text, other := range map[string]Options{
		"-lease 1s: the cluster has -lease 2s":                      Defaults(),
		"-keep-audio 1m0s: the cluster has -keep-audio 30s":         {KeepAudio: time.Minute},
		"-keep-lines 1h0m0s: the cluster has -keep-lines 2h0m0s":    {KeepLines: time.Hour},
		"-memory=true: the cluster has -memory=false":               {Memory: true},
		"-replicas 3: the cluster has -replicas 1":                  {Replicas: 3},
		"-max-streams 5: the cluster has -max-streams 10000":        {Streams: 5},
		"-max-audio 1048576: the cluster has -max-audio 1073741824": {Audio: 1 << 20},
	} {
		must.Reject(Setup(ctx, js, other))(t, text)
		must.Equal(t, must.Get(existing(ctx, js))(t), want, "options after %s", text)
	}

	js = clustertest.Start(t).JetStream()
	must.Equal(t, must.Get(Setup(ctx, js, Options{Memory: true}))(t).Memory, true, "memory at first")
	must.Equal(t, must.Get(Setup(ctx, js, Options{}))(t).Memory, true, "memory of another member")
}

func TestStatusAndStart(t *testing.T) {
	s := Status{Streams: 3, Limit: 4, Lag: 0.5, Slow: true}
	must.Equal(t, must.Get(ParseStatus(s.Encode()))(t), s, "status")
	must.Reject(ParseStatus([]byte(`{"streams":-1}`)))(t, "-1 streams")
	must.Reject(ParseStatus([]byte(`{`)))(t, "status:")
	must.Reject(ParseStatus(make([]byte, maxStatus+1)))(t, "at most 1024")
	must.Equal(t, must.Get(ParseStart([]byte(`{"rate":8000}`)))(t), Start{SampleRate: 8000}, "start")
	must.Reject(ParseStart([]byte(`[]`)))(t, "description")
	must.Reject(ParseStart(make([]byte, maxStart+1)))(t, "at most 1024")
}

func TestCheckName(t *testing.T) {
	must.Do(t, CheckName("mic-1_A"))
	for _, name := range []string{"", "a.b", "a b", "*", ">", strings.Repeat("a", 65), "ä"} {
		must.Fail(t, CheckName(name), "stream name")
	}
}

// A message that a parser accepts is the one that its writer makes.
// Messages that are too long are not parsed, and sizes in forged ones are not allocated.
func TestReaderBounds(t *testing.T) {
	long := bytes.Repeat([]byte("["), 4<<20)
	header := nats.Header{numberHeader: {"1"}}
	for name, parse := range map[string]func(b []byte) error{
		"chunk":    func(b []byte) error { _, err := ParseChunk(b); return err },
		"snapshot": func(b []byte) error { _, err := ParseSnapshot(b); return err },
		"line":     func(b []byte) error { _, _, err := ParseLine(header, b); return err },
		"status":   func(b []byte) error { _, err := ParseStatus(b); return err },
		"start":    func(b []byte) error { _, err := ParseStart(b); return err },
	} {
		var err error
		must.Allocates(t, 64<<10, func() { err = parse(long) }, "a %s of %d bytes", name, len(long))
		must.Fail(t, err, "of 4194304 bytes, expected at most")
	}
	must.HugeNumbers(t, 64<<10, Chunk{Position: 800, PCM: []byte{1, 2}}.Append(nil), func(b []byte) { _, _ = ParseChunk(b) })
	must.HugeNumbers(t, 64<<10, Snapshot{Owner: "one", Position: 7, Detector: []byte("state")}.Encode(), func(b []byte) {
		end := len(b) - crc32.Size
		_, _ = ParseSnapshot(binary.LittleEndian.AppendUint32(b[:end:end], crc32.Checksum(b[:end], castagnoli)))
	})
}

func FuzzChunk(f *testing.F) {
	f.Add(Chunk{Position: 800, PCM: []byte{1, 2}}.Append(nil))
	f.Add(Chunk{End: true}.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ParseChunk(b)
		if err != nil {
			return
		}
		if !bytes.Equal(c.Append(nil), b) {
			t.Errorf("%x is read as %+v", b, c)
		}
		must.Equal(t, len(AppendSamples(nil, c.PCM)), c.Samples(), "samples")
	})
}

func FuzzSnapshot(f *testing.F) {
	f.Add(Snapshot{Owner: "one", Position: 7, Detector: []byte("state")}.Encode())
	f.Add(Snapshot{}.Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := ParseSnapshot(b); err == nil && !bytes.Equal(s.Encode(), b) {
			t.Errorf("%x is read as %+v", b, s)
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add("1", []byte(`{"type":"end","rate":8000,"streams":2}`))
	f.Fuzz(func(t *testing.T, number string, b []byte) {
		if n, _, err := ParseLine(nats.Header{numberHeader: {number}}, b); err == nil && n < 1 {
			t.Errorf("line %d", n)
		}
		if s, err := ParseStatus(b); err == nil {
			must.Equal(t, must.Get(ParseStatus(s.Encode()))(t), s, "status")
		}
		ParseStart(b)
	})
}
