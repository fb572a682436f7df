package task

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// realData returns a folder of real data, which is not part of the repository, or skips the test.
func realData(t *testing.T, name string) string {
	t.Helper()
	root := os.Getenv("S4D_DATA")
	if root == "" {
		t.Skip("S4D_DATA is not set: it names a folder that holds " + name)
	}
	dir := filepath.Join(root, name)
	if !must.Get(datafile.IsFolder(dir))(t) {
		t.Skipf("S4D_DATA holds no %s", name)
	}
	return dir
}

func TestRealFSDD(t *testing.T) {
	dir := realData(t, "fsdd")
	d := mustLoad(t, "fsdd", Options{Dir: dir})
	if d.Train.Len() != 2400 || d.Val.Len() != 300 || d.Test != nil {
		t.Errorf("%d training and %d validation clips, test set %v; expected 2400, 300, none", d.Train.Len(), d.Val.Len(), d.Test)
	}
	var e dataset.Example
	perDigit := make([]int, 10)
	for i := range d.Val.Len() {
		must.Do(t, d.Val.Example(&e, i, 0))
		perDigit[e.Label]++
	}
	for digit, n := range perDigit {
		must.Equal(t, n, 30, "validation clips of digit %d", digit)
	}
	longest := slices.Max(dataset.Lengths(d.Val))
	if n := slices.Max(dataset.Lengths(d.Train)); n != 8000 || d.MaxLen != max(n, longest) {
		t.Errorf("longest training clip %d, validation clip %d, MaxLen %d; expected training clips cut to 8000", n, longest, d.MaxLen)
	}
}

// Clips may be FLAC files. Folders such as _unknown_ are not words.
func TestRealSpeechCommandsFLAC(t *testing.T) {
	d := mustLoad(t, "speech-commands", Options{Dir: realData(t, "speech-commands-12")})
	must.Equal(t, len(d.Labels), 10, "words")
	must.Equal(t, d.Train.Len(), 2226, "training clips")
}

func TestRealSpeechCommands(t *testing.T) {
	dir := realData(t, "arabic-sc")
	d := mustLoad(t, "speech-commands", Options{Dir: dir})
	if d.Train.Len() != 2160 || d.Val.Len() != 720 || d.Test != nil {
		t.Fatalf("%d training and %d validation clips, test set %v; expected 2160, 720, none", d.Train.Len(), d.Val.Len(), d.Test)
	}
	want := []string{"eight", "five", "four", "nine", "no", "one", "seven", "six", "three", "two", "yes", "zero"}
	if !slices.Equal(d.Labels, want) {
		t.Errorf("labels %v", d.Labels)
	}
	speakers := map[string]dataset.Set{}
	for _, s := range []dataset.Set{d.Train, d.Val} {
		for _, name := range names(t, s) {
			if other, ok := speakers[name[:8]]; ok && other != s {
				t.Errorf("speaker %s is in both sets", name[:8])
			}
			speakers[name[:8]] = s
		}
	}
	must.Equal(t, len(speakers), 24, "speakers")
}
