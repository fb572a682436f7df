package task

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

func TestFSDD(t *testing.T) {
	root := t.TempDir()
	testfiles.Ramp(t, filepath.Join(root, "recordings/7_jo_10.wav"), 8000, 5, 100)
	testfiles.Ramp(t, filepath.Join(root, "recordings/0_jo_12.wav"), 8000, 3, -1)
	testfiles.Ramp(t, filepath.Join(root, "recordings/3_van_der_berg_49.wav"), 8000, 9000, -4500)
	testfiles.Ramp(t, filepath.Join(root, "recordings/0_jo_9.wav"), 8000, 4, 7)
	testfiles.Ramp(t, filepath.Join(root, "recordings/9_jo_5.wav"), 8000, 4, 8)
	testfiles.Ramp(t, filepath.Join(root, "recordings/1_jo_4.wav"), 8000, 2, 9)
	testfiles.Write(t, filepath.Join(root, "recordings", "notes.txt"), "not a clip")
	testfiles.Write(t, filepath.Join(root, "recordings", "._0_jo_12.wav"), "left by a Mac")

	type call struct{ done, total int }
	var calls []call
	for _, dir := range []string{root, filepath.Join(root, "recordings")} {
		calls = nil
		d := mustLoad(t, "fsdd", Options{Dir: dir, Progress: func(done, total int) { calls = append(calls, call{done, total}) }})
		if d.Channels != 1 || d.Outputs != 10 || d.Labels[9] != "9" || d.SampleRate != 8000 || d.MaxLen != 8000 || d.Regression || d.PerPosition {
			t.Errorf("info %+v", d.Info)
		}
		for name, want := range map[string][]string{
			"train": {"0_jo_12.wav", "3_van_der_berg_49.wav", "7_jo_10.wav"},
			"val":   {"0_jo_9.wav", "9_jo_5.wav"},
			"test":  {"1_jo_4.wav"},
		} {
			s := must.Get(d.Split(name))(t)
			if got := names(t, s); !slices.Equal(got, want) {
				t.Errorf("%s: %v, expected %v", name, got, want)
			}
		}
		if got := dataset.Lengths(d.Train); !slices.Equal(got, []int{3, 8000, 5}) {
			t.Errorf("lengths %v", got)
		}
		if len(calls) != 6 || calls[0] != (call{1, 6}) || calls[5] != (call{6, 6}) {
			t.Errorf("progress %v", calls)
		}

		e := dataset.Example{X: make([]float32, 0, 9000), Target: make([]float32, 7)}
		must.Do(t, d.Train.Example(&e, 2, 0))
		if want := []float32{100.0 / 32768, 101.0 / 32768, 102.0 / 32768, 103.0 / 32768, 104.0 / 32768}; e.Label != 7 || e.Len != 5 || !slices.Equal(e.X, want) || len(e.Target) != 0 {
			t.Errorf("example %+v, expected label 7 and %v", e, want)
		}
		must.Do(t, d.Val.Example(&e, 1, 0))
		if e.Label != 9 || e.X[0] != 8.0/32768 {
			t.Errorf("validation example %+v", e)
		}
		if n := testing.AllocsPerRun(10, func() { d.Train.Example(&e, 1, 0) }); n > 0 {
			t.Errorf("%v allocations per example", n)
		}
	}
}

// data.rate converts clips with a filter, to any rate: a tone keeps its frequency in Hz.
func TestFSDDResamples(t *testing.T) {
	tone := func(n int, rate float64) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(0.5 * math.Sin(2*math.Pi*440*float64(i)/rate))
		}
		return x
	}
	root := t.TempDir()
	must.Do(t, audio.WriteWAVFile(filepath.Join(root, "0_jo_10.wav"), 8000, tone(4000, 8000)))
	for _, rate := range []int{6000, 11025} {
		d := mustLoad(t, "fsdd", Options{Dir: root, Rate: rate})
		must.Equal(t, d.SampleRate, float64(rate), "rate")
		must.Equal(t, d.MaxLen, (4000*rate+7999)/8000, "samples at %d Hz", rate)
		var e dataset.Example
		must.Do(t, d.Train.Example(&e, 0, 0))
		want := tone(d.MaxLen, float64(rate))
		for i := d.MaxLen / 4; i < 3*d.MaxLen/4; i++ {
			if math.Abs(float64(e.X[i]-want[i])) > 1e-3 {
				t.Fatalf("sample %d at %d Hz is %v, expected %v", i, rate, e.X[i], want[i])
			}
		}
	}
	must.Do(t, audio.WriteWAVFile(filepath.Join(root, "0_jo_10.wav"), 16000, tone(8000, 16000)))
	must.Equal(t, mustLoad(t, "fsdd", Options{Dir: root}).MaxLen, 4000, "samples of a recording at another rate")
	mustFail(t, "rate and decimation", "fsdd", Options{Dir: root, Rate: 6000, Decimate: 2}, "data.rate 6000, data.decimate 2")
}

func TestFSDDErrors(t *testing.T) {
	const published = "github.com/Jakobovski/free-spoken-digit-dataset"
	mustFail(t, "no folder given", "fsdd", Options{}, "folder", published)
	missing := filepath.Join(t.TempDir(), "nowhere")
	mustFail(t, "missing folder", "fsdd", Options{Dir: missing}, missing, published)
	empty := t.TempDir()
	mustFail(t, "empty folder", "fsdd", Options{Dir: empty}, empty, "empty", published, "recordings/{digit}_{speaker}_{index}.wav")
	inner := filepath.Join(empty, "recordings")
	must.Do(t, os.Mkdir(inner, 0o755))
	mustFail(t, "empty recordings", "fsdd", Options{Dir: empty}, inner, "empty")
	testfiles.Write(t, filepath.Join(inner, "notes.txt"), "no audio")
	mustFail(t, "no clips", "fsdd", Options{Dir: empty}, inner, "no .wav files", published)

	tests := []struct {
		name, file string
		damage     func(t *testing.T, path string)
		want       []string
	}{
		{"no samples", "0_jo_10.wav", func(t *testing.T, path string) {
			testfiles.Ramp(t, filepath.Join(filepath.Dir(path), "0_jo_10.wav"), 8000, 0, 0)
		}, []string{"0_jo_10.wav", "no samples"}},
		{"name without index", "0_jo.wav", nil, []string{`"0_jo.wav"`, "{digit}_{speaker}_{index}.wav"}},
	}
	for _, tt := range tests {
		root := t.TempDir()
		testfiles.Ramp(t, filepath.Join(root, tt.file), 8000, 5, 0)
		if tt.damage != nil {
			tt.damage(t, filepath.Join(root, tt.file))
		}
		mustFail(t, tt.name, "fsdd", Options{Dir: root}, tt.want...)
	}

	root := t.TempDir()
	testfiles.Ramp(t, filepath.Join(root, "0_jo_10.wav"), 8000, 5, 0)
	mustFail(t, "negative decimation", "fsdd", Options{Dir: root, Decimate: -2}, "decimate -2")
	mustFail(t, "negative length", "fsdd", Options{Dir: root, MaxLen: -1}, "max_len -1")
}
