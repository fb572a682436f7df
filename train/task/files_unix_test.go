//go:build unix

package task

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/testfiles"
)

// A named pipe in place of a data file is an error that names it. Opening the pipe would block
// forever.
func TestPipesInDataFolders(t *testing.T) {
	series := "@classLabel true a\n@data\n1:a\n"
	for _, test := range []struct{ task, pipe, text string }{
		{"fsdd", "0_jo_10.wav", ""},
		{"speech-commands", "yes/a.wav", ""},
		{"speech-commands", "validation_list.txt", ""},
		{"text", "train/neg/1.txt", ""},
		{"ts", "Set_TRAIN.ts", series},
		{"ts", "Set_TEST.ts", series},
		{"listops", "basic_train.tsv", ""},
		{"retrieval", "new_aan_pairs.train.tsv", ""},
		{"image", "train/cat/a.png", ""},
		{"image", "data_batch_1.bin", ""},
		{"smnist", "train-images-idx3-ubyte.gz", ""},
		{"pathfinder", pathfinderLevel + "/metadata/0.npy", ""},
		{"pathfinder", pathfinderLevel + "/imgs/0/sample_0.png", ""},
	} {
		dir := t.TempDir()
		pipe := filepath.Join(dir, filepath.FromSlash(test.pipe))
		switch test.task {
		case "speech-commands":
			testfiles.Ramp(t, filepath.Join(dir, "yes/b.wav"), 16000, 7, 0)
		case "pathfinder":
			write(t, filepath.Join(dir, pathfinderLevel, "metadata", "0.npy"), []byte("imgs/0 sample_0.png 0 1\n"))
		case "ts":
			write(t, filepath.Join(dir, "Set_TRAIN.ts"), []byte(test.text))
		}
		must.Do(t, os.MkdirAll(filepath.Dir(pipe), 0o777))
		os.Remove(pipe)
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Skip("no named pipes here:", err)
		}
		_, err := load(test.task, Options{Dir: dir})
		if !errors.Is(err, datafile.ErrNotRegular) || strings.Count(err.Error(), pipe) != 1 {
			t.Errorf("%s: error %v, expected one that names %s once", test.task, err, pipe)
		}
	}
}

// If a folder that may hold data cannot be examined, the error names it. If it were ignored, the
// run would use other data.
func TestFoldersThatCannotBeExamined(t *testing.T) {
	for _, test := range []struct{ task, link, option string }{
		{"fsdd", "recordings", ""},
		{"speech-commands", "yes", ""},
		{"audio", "yes", ""},
		{"audio", "no/yes", ""},
		{"audio", ".more/no", "words"},
		{"audio", ".more/noise", "background"},
		{"text", "aclImdb", ""},
		{"text", "test", ""},
		{"retrieval", "tsv_data", ""},
		{"image", "train/cat", ""},
		{"pathfinder", pathfinderLevel + "/metadata", ""},
	} {
		dir := t.TempDir()
		for i := range 10 {
			if name := strconv.Itoa(i); test.task == "text" {
				write(t, filepath.Join(dir, "train", "pos", name+".txt"), []byte("good"))
				write(t, filepath.Join(dir, "train", "neg", name+".txt"), []byte("bad"))
			} else {
				testfiles.Ramp(t, filepath.Join(dir, "no", name+".wav"), 16000, 7, 0)
			}
		}
		link := filepath.Join(dir, filepath.FromSlash(test.link))
		must.Do(t, os.MkdirAll(filepath.Dir(link), 0o777))
		if err := os.Symlink(link, link); err != nil {
			t.Skip("no symbolic links here:", err)
		}
		var settings []string
		if test.option != "" {
			settings = []string{fmt.Sprintf("%s=[%q]", test.option, filepath.Dir(link))}
		}
		_, err := loadSet(t, test.task, dir, "", settings...)
		if !errors.Is(err, syscall.ELOOP) || !strings.Contains(err.Error(), link) {
			t.Errorf("%s: error %v, expected %q for %s", test.task, err, syscall.ELOOP, link)
		}
	}
}

// A class whose folder has a name that a model cannot store is an error.
func TestNamesOfClasses(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "train", "\xe9t\xe9"), 0o777); err != nil {
		t.Skip("the file system has UTF-8 names only:", err)
	}
	pngFiles(t, filepath.Join(dir, "train"), 32, 10, "\xe8", "\xe9t\xe9")
	mustFail(t, "folders", "image", Options{Dir: dir, Split: "train"}, dir, `class "\xe8": the name is not UTF-8 text`)
}
