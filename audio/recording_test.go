package audio

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A file is a recording by its name or by its content.
func TestIsRecording(t *testing.T) {
	dir := t.TempDir()
	flac := must.Get(os.ReadFile(filepath.Join("testdata", "mono.flac")))(t)
	for name, want := range map[string]bool{"a.WAV": true, "a.oga": true, "a.txt": false, "a": false, "missing.txt": false, "folder": false} {
		path := filepath.Join(dir, name)
		switch name {
		case "missing.txt":
		case "folder":
			must.Do(t, os.Mkdir(path, 0o777))
		default:
			must.Do(t, os.WriteFile(path, []byte("no audio"), 0o666))
		}
		must.Equal(t, IsRecording(path), want, "%s", name)
	}
	path := filepath.Join(dir, "phone.amr")
	must.Do(t, os.WriteFile(path, flac, 0o666))
	must.Equal(t, IsRecording(path), true, "FLAC with another name")
	for name, want := range map[string]string{"phone.amr": "", "a.WAV": "", "a.txt": "not in a known format of sound", ".a.wav": "hidden"} {
		must.Equal(t, WhyIgnored(filepath.Join(dir, name)), want, "%s", name)
	}
}
