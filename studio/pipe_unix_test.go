//go:build unix

package studio

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Named pipes among the files of a project do not hold up the server.
func TestPipesInProject(t *testing.T) {
	c := serve(t)
	c.project("p", "up")
	for _, name := range []string{modelFile, "down", "up/clip-001.wav"} {
		if err := syscall.Mkfifo(filepath.Join(c.s.dir, "p", name), 0o600); err != nil {
			t.Skip("the file system has no named pipes: ", err)
		}
	}
	must.Equal(t, len(c.listed("p")["up"].Clips), 0, "clips of up")
	for _, path := range []string{"/p/sounds/up/clip-001.wav", "/p/model", "/p/sounds/down/clip-001.wav"} {
		if w := c.request("GET", path, nil); w.Code < 400 {
			t.Errorf("%s: status %d", path, w.Code)
		}
	}
	must.Equal(t, len(c.upload("p", "up", tones(500, 1))), 1, "clips after an upload")
}

// Only the user can enter the folders of recordings.
func TestFoldersArePrivate(t *testing.T) {
	c := serve(t)
	c.project("p", "up")
	c.upload("p", backgroundFolder, slices.Repeat([]float32{0.01, -0.01}, 6*rate))
	for _, folder := range []string{"p", "p/up", "p/" + backgroundFolder} {
		must.Equal(t, must.Get(os.Stat(filepath.Join(c.s.dir, folder)))(t).Mode().Perm(), 0o700, "%s: mode", folder)
	}
}
