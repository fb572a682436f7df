package recordings

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Speech Commands with the recordings of ESC-10 as background.
func TestRealAudioFolder(t *testing.T) {
	root := os.Getenv("S4D_DATA")
	if root == "" {
		t.Skip("S4D_DATA is not set: it names a folder that holds speech-commands-12 and esc10")
	}
	words, sounds := filepath.Join(root, "speech-commands-12"), filepath.Join(root, "esc10")
	if !must.Get(datafile.IsFolder(words))(t) || !must.Get(datafile.IsFolder(sounds))(t) {
		t.Skip("S4D_DATA lacks speech-commands-12 or esc10")
	}
	if testing.Short() {
		t.Skip("decodes 3,240 recordings")
	}
	r := must.Get(Folder(t.Context(), words, Options{Validation: 0.2}))(t)
	if want := []string{"down", "go", "left", "no", "off", "on", "right", "stop", "up", "yes"}; !slices.Equal(r.Train.Labels, want) {
		t.Errorf("labels %q, expected %q", r.Train.Labels, want)
	}
	must.Equal(t, len(r.Train.Words), 2226, "training words")
	must.Equal(t, len(r.Val.Words), 398, "validation words")
	must.Equal(t, len(r.Train.Other), 151, "other training words")
	must.Equal(t, len(r.Val.Other), 21, "other validation words")
	must.Equal(t, len(r.Train.Background)+len(r.Val.Background), 284, "background")
	must.Equal(t, len(r.Broken), 0, "broken recordings")
	if want := []string{"LICENSE"}; len(r.Ignored) != len(want) {
		t.Errorf("ignored %q, expected %q", r.Ignored, want)
	}
	long := 0
	background, _, err := Clips(t.Context(), []string{sounds}, Options{})
	must.Do(t, err)
	must.Equal(t, len(background), 160, "recordings of ESC-10")
	for _, c := range background {
		if c.Len() > 60000 {
			long++
		}
	}
	must.Equal(t, long, 160, "recordings of about 5 s")
}
