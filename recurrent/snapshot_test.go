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

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/recurrent"
)

// A stream that is restored in the middle, in another network of the same model, continues with the
// same bits.
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
						return output(s.ProcessTokens(ids[from:to]))
					}
					return s.Process(columns(x, cfg.DInput, length, from, to-from), to-from)
				}
				part(first, 0, at)
				part(second, 0, 17) // which Restore must forget
				must.Do(t, second.Restore(first.Snapshot(nil)))
				must.Equal(t, second.Position(), int64(at), "position")
				if !slices.Equal(part(second, at, length), part(first, at, length)) {
					t.Errorf("restored at %d: the outputs differ", at)
				}
			}
		})
	}
}

// signed replaces a snapshot's checksum by the right one.
func signed(b []byte) []byte {
	body := b[:max(0, len(b)-4)]
	return binary.LittleEndian.AppendUint32(bytes.Clone(body), crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

// Each kind of invalid snapshot has its error and leaves the stream as it was.
func TestRestoreErrors(t *testing.T) {
	cfg := baseConfig()
	m := newModel(t, cfg, 1)
	good := newNetwork(t, m, 1).NewStream()
	good.Process(signal(1, cfg.DInput, 10), 10)
	snapshot := good.Snapshot(nil)
	edit := func(at int, b ...byte) []byte {
		s := bytes.Clone(snapshot)
		copy(s[at:], b)
		return signed(s)
	}
	relabelled := *m
	relabelled.Meta.Labels = []string{"a", "b", "c"}
	take := func(m *model.Model, scale float64) []byte { return newNetwork(t, m, scale).NewStream().Snapshot(nil) }
	takeWith := func(opt recurrent.Options) []byte {
		return must.Get(recurrent.New(m, opt))(t).NewStream().Snapshot(nil)
	}

	tests := []struct {
		name string
		b    []byte
		want string
	}{
		{"nothing", nil, `does not begin with "S4DSTATE"`},
		{"old version", edit(8, 3), "format version 3, this program reads version 1"},
		{"other model", take(newModel(t, cfg, 2), 1), "taken from another model (hash "},
		{"other labels", take(&relabelled, 1), "taken from another model (hash "},
		{"other level", edit(12, []byte("abacus\x00\x00")...), `taken at kernel level "abacus", this program runs at "` + string(vek.CurrentLevel()) + `"`},
		{"other step scale", take(m, 2), "taken at step scale 2, this network has 1"},
		{"normalised", takeWith(recurrent.Options{Normalize: true}), "taken with the options {Normalize:true Posterior:false}, this network has {Normalize:false Posterior:false}"},
		{"truncated", snapshot[:len(snapshot)-1], "damaged or truncated"},
		{"body too short", signed(snapshot[:50]), fmt.Sprintf("50 bytes, expected %d", len(snapshot))},
		{"state too short", signed(snapshot[:len(snapshot)-4]), fmt.Sprintf("%d bytes, expected %d", len(snapshot)-4, len(snapshot))},
		{"too long", signed(append(bytes.Clone(snapshot), 0, 0, 0, 0)), fmt.Sprintf("%d bytes, expected %d", len(snapshot)+4, len(snapshot))},
	}
	s := newNetwork(t, m, 1).NewStream()
	s.Process(signal(3, cfg.DInput, 20), 20)
	before := s.Snapshot(nil)
	for _, test := range tests {
		err := s.Restore(test.b)
		if err == nil || !strings.HasPrefix(err.Error(), "recurrent: snapshot: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, expected %q", test.name, err, test.want)
		}
	}
	if !bytes.Equal(s.Snapshot(nil), before) {
		t.Error("a rejected snapshot changed the stream")
	}
}

// 64 streams of one network, advanced in turns by several goroutines, each give the bits that they
// give alone.
func TestStreamsInTurns(t *testing.T) {
	const streams, length, chunk = 64, 210, 30
	cfg := baseConfig()
	net := newNetwork(t, newModel(t, cfg, 1), 1)
	outputs := make([][]float32, streams)
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			own := map[int]*recurrent.Stream{}
			for at := 0; at < length; at += chunk {
				for i := worker; i < streams; i += 4 {
					if own[i] == nil {
						own[i] = net.NewStream()
					}
					x := signal(uint64(i), cfg.DInput, length)
					outputs[i] = slices.Clone(own[i].Process(columns(x, cfg.DInput, length, at, chunk), chunk))
				}
			}
		})
	}
	group.Wait()
	for i, got := range outputs {
		want := net.NewStream().Process(signal(uint64(i), cfg.DInput, length), length)
		if !slices.Equal(got, want) {
			t.Errorf("stream %d differs when other streams run at the same time", i)
		}
	}
}

// Every truncation and every flipped bit of a snapshot is an error, and the stream stays as it
// was.
func TestDamagedSnapshot(t *testing.T) {
	cfg := baseConfig()
	cfg.DModel, cfg.NLayers, cfg.SSM.DModel, cfg.SSM.DState = 2, 1, 2, 2
	net := newNetwork(t, newModel(t, cfg, 1), 1)
	first, s := net.NewStream(), net.NewStream()
	first.Process(signal(1, cfg.DInput, 100), 100)
	before := s.Snapshot(nil)
	must.Damage(t, first.Snapshot(nil), func(b []byte) bool {
		return s.Restore(b) != nil && bytes.Equal(s.Snapshot(nil), before)
	})
}
