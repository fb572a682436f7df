package audio

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Recordings that another encoder made (ESC-10, from ffmpeg) are decoded as sox decodes them.
func TestRealOgg(t *testing.T) {
	root := os.Getenv("S4D_DATA")
	if root == "" {
		t.Skip("S4D_DATA is not set: it must name a folder with esc10")
	}
	files, _ := filepath.Glob(filepath.Join(root, "esc10", "*", "*.ogg"))
	if len(files) == 0 {
		t.Skip("S4D_DATA holds no esc10")
	}
	raw := filepath.Join(t.TempDir(), "a.raw")
	for i, path := range files {
		if i%10 != 0 {
			continue
		}
		sox(t, "-D", path, "-t", "s16", raw)
		f := must.Get(os.Open(path))(t)
		r, got, err := decodeAll(t, f, 4096)
		f.Close()
		must.Do(t, err)
		expectSox(t, r, got, must.Get(os.ReadFile(raw))(t), 0, 0)
	}
}
