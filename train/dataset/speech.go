package dataset

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const speechSource = "Speech Commands is published at download.tensorflow.org/data/speech_commands_v0.02.tar.gz: " +
	"want the folder it is unpacked to, with WORD/*.wav, validation_list.txt and testing_list.txt"

// sc35 is the official order of the 35 words (docs/maths.md §5.5).
var sc35 = strings.Fields(`bed cat down five forward go house left marvin no on right sheila tree up visual yes
	backward bird dog eight follow four happy learn nine off one seven six stop three two wow zero`)

// loadSpeechCommands loads 16 kHz clips in the layout of Google's Speech Commands: a folder a word, and
// validation_list.txt and testing_list.txt, each a word/clip.wav a line, either of which may be missing; what
// they do not name is the training set. Folders whose name begins with an underscore (_background_noise_) or
// a dot are passed over. The 35 words of version 0.02 have their official order, other sets of words the
// alphabetical one; examples are in the order of word and file name.
//
// Clips are cut or zero-padded to one second. Mean and Std are over all samples of the training set; the
// official trainer's are those of every time index on its own, of audio scaled down by 2¹⁵ once more, which leaves it at
// a tenth to a quarter of unit variance (docs/maths.md §5.5); the paper is silent, and one mean and deviation also serve a stream.
func loadSpeechCommands(opt Options) (*Dataset, error) {
	rec, err := opt.recorded(recording{rate: speechRate, maxLen: 16000, pad: true})
	if err != nil {
		return nil, err
	}
	words, err := speechWords(opt.Dir)
	if err != nil {
		return nil, err
	}
	clips := map[string]int{} // word/clip.wav → index into entries
	var entries []entry
	for label, word := range words {
		dir := filepath.Join(opt.Dir, word)
		files, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		names := recordings(files)
		if len(names) == 0 {
			return nil, fmt.Errorf("the folder %s of a word holds no .wav files", dir)
		}
		for _, name := range names {
			clips[word+"/"+name] = len(entries)
			entries = append(entries, entry{path: filepath.Join(dir, name), label: label, split: train})
		}
	}
	for _, list := range []struct {
		name  string
		split split
	}{{"validation_list.txt", val}, {"testing_list.txt", test}} {
		if err := applyList(filepath.Join(opt.Dir, list.name), list.split, words, clips, entries); err != nil {
			return nil, err
		}
	}
	return rec.loadAll(Info{Task: "speech-commands", Labels: words}, entries)
}

// speechWords returns the word folders in the order of their labels.
func speechWords(dir string) ([]string, error) {
	files, err := readFolder(dir, speechSource)
	if err != nil {
		return nil, err
	}
	var words []string
	for _, f := range files {
		name := f.Name()
		if name[0] != '_' && name[0] != '.' && isFolder(filepath.Join(dir, name)) {
			words = append(words, name)
		}
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("data folder %s holds no folder of a word; %s", dir, speechSource)
	}
	if slices.Equal(words, slices.Sorted(slices.Values(sc35))) {
		return slices.Clone(sc35), nil
	}
	return words, nil
}

// applyList moves the clips that a list names to its split. A list may name clips of words that are not here
// (a part of the data set), but not clips that are missing from a word's folder. No list: nothing moves.
func applyList(name string, to split, words []string, clips map[string]int, entries []entry) error {
	f, err := openFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	listed, err := parseList(f)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	moved := 0
	for _, clip := range listed {
		i, ok := clips[clip]
		if !ok {
			if word, _, _ := strings.Cut(clip, "/"); slices.Contains(words, word) {
				return fmt.Errorf("%s names %s, which is not there", name, clip)
			}
			continue
		}
		if entries[i].split != train {
			return fmt.Errorf("%s names %s, which has been named before", name, clip)
		}
		entries[i].split = to
		moved++
	}
	if moved == 0 {
		return fmt.Errorf("%s names none of the clips", name)
	}
	return nil
}

// parseList reads lines of the form word/clip.wav; empty ones are passed over.
func parseList(r io.Reader) ([]string, error) {
	var clips []string
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		if word, name, _ := strings.Cut(line, "/"); word == "" || name == "" || strings.Contains(name, "/") {
			return nil, fmt.Errorf("line %d: %q, want word/clip.wav", n, line)
		}
		clips = append(clips, line)
	}
	return clips, lines.Err()
}
