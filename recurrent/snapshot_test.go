package recurrent_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/s4d-fast/s4d-fast/recurrent"
)

// TestSnapshot: a stream that is restored in the middle, in another network of the same model, continues with
// the same bits.
func TestSnapshot(t *testing.T) {
	const length = 200
	for name, cfg := range variants() {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, cfg, 1)
			x, ids := input(cfg, 2, length)
			for _, at := range []int{0, 1, 63, 64, 130} {
				first, second := newNetwork(t, m, 0).NewStream(), newNetwork(t, m, 0).NewStream()
				part := func(s *recurrent.Stream, from, to int) []float32 {
					if from == to {
						return nil
					}
					if ids != nil {
						return s.ProcessTokens(ids[from:to])
					}
					return s.Process(columns(x, cfg.DInput, length, from, to-from), to-from)
				}
				part(first, 0, at)
				part(second, 0, 17) // dirt that Restore must remove
				if err := second.Restore(first.Snapshot(nil)); err != nil {
					t.Fatal(err)
				}
				if second.Position() != int64(at) {
					t.Errorf("position %d, want %d", second.Position(), at)
				}
				if !slices.Equal(part(second, at, length), part(first, at, length)) {
					t.Errorf("restored at %d: answers differ", at)
				}
			}
		})
	}
}

// TestRestoreRefuses: each kind of unfit bytes has its error and leaves the stream as it was.
func TestRestoreRefuses(t *testing.T) {
	cfg := baseConfig()
	m := newModel(t, cfg, 1)
	good := newNetwork(t, m, 1).NewStream()
	good.Process(signal(1, cfg.DInput, 10), 10)
	snapshot := good.Snapshot(nil)
	edit := func(at int, b byte) []byte { // and mend the checksum
		s := bytes.Clone(snapshot)
		s[at] ^= b
		body := s[:len(s)-4]
		binary.LittleEndian.PutUint32(s[len(body):], crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
		return s
	}
	flip := func(at int) []byte { s := bytes.Clone(snapshot); s[at] ^= 1; return s }
	otherModel := newNetwork(t, newModel(t, cfg, 2), 1).NewStream().Snapshot(nil)
	otherRate := newNetwork(t, m, 2).NewStream().Snapshot(nil)
	long := append(bytes.Clone(snapshot[:len(snapshot)-4]), 0, 0, 0, 0)
	long = binary.LittleEndian.AppendUint32(long, crc32.Checksum(long, crc32.MakeTable(crc32.Castagnoli)))

	tests := []struct {
		name string
		b    []byte
		want string
	}{
		{"nothing", nil, "not a snapshot of a stream"},
		{"other file", []byte(strings.Repeat("RIFF", 100)), "not a snapshot of a stream"},
		{"other version", edit(8, 3), "version 1, this program reads version 2"},
		{"other model", otherModel, "taken from another model (hash "},
		{"other rate", otherRate, "taken at step scale 2, this network runs at 1"},
		{"cut short", snapshot[:len(snapshot)-1], "damaged or cut short"},
		{"too long", long, fmt.Sprintf("%d bytes, want %d", len(snapshot)+4, len(snapshot))},
		{"bit in the hash", flip(20), "damaged or cut short"},
		{"bit in the state", flip(100), "damaged or cut short"},
		{"bit in the sums", flip(len(snapshot) - 10), "damaged or cut short"},
		{"bit in the checksum", flip(len(snapshot) - 1), "damaged or cut short"},
		{"negative position", edit(59, 0x80), "position -"},
	}
	s := newNetwork(t, m, 1).NewStream()
	s.Process(signal(3, cfg.DInput, 20), 20)
	before := s.Snapshot(nil)
	for _, test := range tests {
		err := s.Restore(test.b)
		if err == nil || !strings.HasPrefix(err.Error(), "recurrent: snapshot: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", test.name, err, test.want)
		}
	}
	for cut := range len(snapshot) {
		if s.Restore(snapshot[:cut]) == nil {
			t.Errorf("accepted the first %d bytes", cut)
		}
	}
	if !bytes.Equal(s.Snapshot(nil), before) {
		t.Error("a refused snapshot changed the stream")
	}
}

func TestSnapshotAppends(t *testing.T) {
	net := newNetwork(t, newModel(t, baseConfig(), 1), 1)
	s := net.NewStream()
	s.Step(make([]float32, 2))
	plain, appended := s.Snapshot(nil), s.Snapshot([]byte("prefix"))
	if !bytes.Equal(appended[6:], plain) || len(plain) != net.SnapshotBytes() {
		t.Errorf("%d and %d bytes, want %d and 6 more", len(plain), len(appended), net.SnapshotBytes())
	}
}

// TestManyStreams: 64 streams of one network, advanced by turns in several goroutines, each give what they give
// alone.
func TestManyStreams(t *testing.T) {
	const streams, length, chunk = 64, 210, 30
	cfg := baseConfig()
	net := newNetwork(t, newModel(t, cfg, 1), 1)
	answers := make([][]float32, streams)
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			mine := map[int]*recurrent.Stream{}
			for at := 0; at < length; at += chunk {
				for i := worker; i < streams; i += 4 {
					if mine[i] == nil {
						mine[i] = net.NewStream()
					}
					x := signal(uint64(i), cfg.DInput, length)
					answers[i] = slices.Clone(mine[i].Process(columns(x, cfg.DInput, length, at, chunk), chunk))
				}
			}
		})
	}
	group.Wait()
	for i, got := range answers {
		want := net.NewStream().Process(signal(uint64(i), cfg.DInput, length), length)
		if !slices.Equal(got, want) {
			t.Errorf("stream %d differs when others run beside it", i)
		}
	}
}

func FuzzRestore(f *testing.F) {
	s := newNetwork(f, newModel(f, baseConfig(), 1), 1).NewStream()
	f.Add(s.Snapshot(nil))
	f.Add([]byte("S4DSTATE"))
	f.Fuzz(func(t *testing.T, b []byte) {
		before := s.Snapshot(nil)
		if s.Restore(b) != nil && !bytes.Equal(s.Snapshot(nil), before) {
			t.Error("a refused snapshot changed the stream")
		}
	})
}
