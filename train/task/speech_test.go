package task

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// speechFolder writes a small data set: two words, a noise folder and lists.
func speechFolder(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	testfiles.Ramp(t, filepath.Join(root, "yes/a_nohash_0.wav"), 16000, 16000, 0)
	testfiles.Ramp(t, filepath.Join(root, "yes/b_nohash_0.wav"), 16000, 20000, -10000)
	testfiles.Ramp(t, filepath.Join(root, "no/a_nohash_0.wav"), 16000, 3, 5)
	testfiles.Ramp(t, filepath.Join(root, "no/b_nohash_0.wav"), 16000, 4, 6)
	testfiles.Ramp(t, filepath.Join(root, "_background_noise_/tap.wav"), 44100, 7, 0)
	testfiles.Ramp(t, filepath.Join(root, ".git/x.wav"), 44100, 7, 0)
	testfiles.Write(t, filepath.Join(root, "README.md"), "words")
	testfiles.Write(t, filepath.Join(root, "validation_list.txt"), "yes/b_nohash_0.wav\r\n\nbird/c_nohash_0.wav\n")
	testfiles.Write(t, filepath.Join(root, "testing_list.txt"), "no/b_nohash_0.wav")
	return root
}

func TestSpeechCommands(t *testing.T) {
	root := speechFolder(t)
	d := mustLoad(t, "speech-commands", Options{Dir: root})
	if !slices.Equal(d.Labels, []string{"no", "yes"}) || d.Outputs != 2 || d.Channels != 1 || d.SampleRate != 16000 || d.MaxLen != 16000 {
		t.Errorf("info %+v", d.Info)
	}
	if d.Train.Len() != 2 || d.Val.Len() != 1 || d.Test.Len() != 1 {
		t.Fatalf("%d, %d and %d clips, expected 2, 1 and 1", d.Train.Len(), d.Val.Len(), d.Test.Len())
	}
	e := dataset.Example{X: slices.Repeat([]float32{9}, 20000)}
	must.Do(t, d.Train.Example(&e, 0, 0))
	if want := filepath.Join(root, "no", "a_nohash_0.wav"); e.Path != want || e.Label != 0 || e.Len != 16000 {
		t.Errorf("first training clip is %s with label %d and length %d, expected %s, 0, 16000", e.Path, e.Label, e.Len, want)
	}
	must.Equal(t, len(e.X), 16000, "samples of the first training clip")
	if e.X[0] != 5.0/32768 || e.X[2] != 7.0/32768 {
		t.Errorf("a clip of 3 samples begins with %v, expected %v, …, %v", e.X[:3], 5.0/32768, 7.0/32768)
	}
	if at := slices.IndexFunc(e.X[3:], func(v float32) bool { return v != 0 }); at >= 0 {
		t.Errorf("a clip of 3 samples is not padded with zeros: sample %d is %v", 3+at, e.X[3+at])
	}
	must.Do(t, d.Val.Example(&e, 0, 0))
	if filepath.Base(e.Path) != "b_nohash_0.wav" || e.Label != 1 || e.Len != 16000 || e.X[15999] != 5999.0/32768 {
		t.Errorf("validation clip %s, label %d, length %d, last sample %v", e.Path, e.Label, e.Len, e.X[e.Len-1])
	}
	must.Do(t, d.Test.Example(&e, 0, 0))
	must.Equal(t, e.Label, 0, "label of the test clip")
	must.Equal(t, e.X[0], 6.0/32768, "first sample of the test clip")
	if got := dataset.Lengths(d.Train); !slices.Equal(got, []int{16000, 16000}) {
		t.Errorf("lengths %v", got)
	}
}

// Mean and Std do not include padding.
func TestSpeechCommandsMoments(t *testing.T) {
	root := t.TempDir()
	testfiles.Ramp(t, filepath.Join(root, "a/x.wav"), 16000, 2, 999)
	d := mustLoad(t, "speech-commands", Options{Dir: root, MaxLen: 100})
	if d.Mean[0] != 999.5/32768 || d.Std[0] != 0.5/32768 || d.MaxLen != 100 {
		t.Errorf("mean %v, std %v, longest %d", d.Mean, d.Std, d.MaxLen)
	}
	if d.Val != nil {
		t.Errorf("without lists there is a validation set of %d clips, expected none", d.Val.Len())
	}
	if d.Test != nil {
		t.Errorf("without lists there is a test set of %d clips, expected none", d.Test.Len())
	}
}

func TestSpeechCommandsLabels(t *testing.T) {
	root := t.TempDir()
	for _, word := range sc35 {
		testfiles.Ramp(t, filepath.Join(root, word+"/x.wav"), 16000, 2, 0)
	}
	if len(sc35) != 35 {
		t.Errorf("%d words", len(sc35))
	}
	d := mustLoad(t, "speech-commands", Options{Dir: root})
	must.Equal(t, d.Outputs, 35, "outputs")
	if d.Labels[0] != "bed" || d.Labels[34] != "zero" || d.Labels[18] != "bird" {
		t.Errorf("the 35 words are in the order %v", d.Labels)
	}
	var e dataset.Example
	must.Do(t, d.Train.Example(&e, 18, 0))
	if e.Label != 18 || filepath.Base(filepath.Dir(e.Path)) != "bird" {
		t.Errorf("clip %s has label %d", e.Path, e.Label)
	}
	must.Do(t, os.RemoveAll(filepath.Join(root, "bird")))
	d = mustLoad(t, "speech-commands", Options{Dir: root})
	must.Equal(t, d.Outputs, 34, "outputs")
	if !slices.IsSorted(d.Labels) {
		t.Errorf("34 words are in the order %v", d.Labels)
	}
}

func TestSpeechCommandsErrors(t *testing.T) {
	const task = "speech-commands"
	mustFail(t, "no folder given", task, Options{}, "folder", "speech_commands_v0.02")
	missing := filepath.Join(t.TempDir(), "nowhere")
	mustFail(t, "missing folder", task, Options{Dir: missing}, missing, "speech_commands_v0.02")
	empty := t.TempDir()
	mustFail(t, "empty folder", task, Options{Dir: empty}, empty, "empty", "WORD/*.wav, validation_list.txt and testing_list.txt")
	testfiles.Ramp(t, filepath.Join(empty, "_background_noise_/tap.wav"), 16000, 7, 0)
	mustFail(t, "no words", task, Options{Dir: empty}, empty, "no folder of a class")

	tests := []struct {
		name   string
		change func(root string)
		want   []string
	}{
		{"word without clips", func(root string) { os.Mkdir(filepath.Join(root, "up"), 0o755) }, []string{"up", "no recordings"}},
		{"listed clip is missing", func(root string) { os.Remove(filepath.Join(root, "yes", "b_nohash_0.wav")) }, []string{"validation_list.txt", "yes/b_nohash_0.wav", "which is missing"}},
	}
	for _, tt := range tests {
		root := speechFolder(t)
		tt.change(root)
		mustFail(t, tt.name, task, Options{Dir: root}, tt.want...)
	}
}
