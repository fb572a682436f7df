package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/train/dataset"
)

const (
	sampleRate = 16000 // Hz
	unknown    = "_unknown_"
	silence    = "_silence_"
)

// clip is a recording with one word.
type clip struct {
	dataset.Clip
	word, speaker string
	validation    bool // in validation_list.txt
}

// corpus has the clips by their use.
type corpus struct {
	words      []string // the new words
	others     []string // the words of the base detector
	news       []clip   // of the new words
	known      []clip   // of the other words, to train with
	knownVal   []clip   // of the other words, to validate with
	strange    []clip   // of words that no model detects, to train with
	rejects    []clip   // of words that are not new, to test with
	background []dataset.Clip
}

// load reads the clips. The words that are not new are those of the base detector.
func load(data, background string, words []string) (*corpus, error) {
	c := &corpus{words: words}
	validation, err := readList(filepath.Join(data, "validation_list.txt"))
	if err != nil {
		return nil, err
	}
	folders, err := os.ReadDir(data)
	if err != nil {
		return nil, err
	}
	for _, f := range folders {
		if !f.IsDir() {
			continue
		}
		err := eachFile(filepath.Join(data, f.Name()), func(path string, x []float32) error {
			speaker, _, _ := strings.Cut(filepath.Base(path), "_nohash_")
			c.add(clip{
				dataset.NewClip(path, 0, x), f.Name(), speaker, validation[f.Name()+"/"+filepath.Base(path)],
			})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for _, word := range words {
		if !slices.ContainsFunc(c.news, func(x clip) bool { return x.word == word }) {
			return nil, fmt.Errorf("%s: no clips of the word %q", data, word)
		}
	}
	if len(c.rejects) == 0 {
		return nil, fmt.Errorf("%s: validation_list.txt has no clips of other words", data)
	}
	if background != "" {
		err = eachFile(background, func(path string, x []float32) error {
			c.background = append(c.background, dataset.RoundedClip(path, 0, x))
			return nil
		})
	}
	return c, err
}

// add puts a clip where it is used.
func (c *corpus) add(x clip) {
	switch {
	case x.word == silence:
		if !x.validation {
			c.background = append(c.background, x.Clip)
		}
	case slices.Contains(c.words, x.word):
		c.news = append(c.news, x)
	case x.validation:
		c.rejects = append(c.rejects, x)
		if x.word != unknown {
			c.knownVal = append(c.knownVal, x)
		}
	case x.word == unknown:
		c.strange = append(c.strange, x)
	default:
		if !slices.Contains(c.others, x.word) {
			c.others = append(c.others, x.word)
		}
		c.known = append(c.known, x)
	}
}

// eachFile passes the samples of every recording in a folder, at any depth, in the order of names.
func eachFile(dir string, use func(path string, x []float32) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".wav", ".flac", ".ogg", ".mp3"}, filepath.Ext(path)) {
			return err
		}
		x, err := audio.ReadMono(path, sampleRate)
		if err != nil {
			return err
		}
		return use(path, x)
	})
}

// readList reads the lines of a file.
func readList(path string) (map[string]bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list := map[string]bool{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		list[strings.TrimSpace(lines.Text())] = true
	}
	return list, lines.Err()
}

// choose returns the n speakers with the most clips of the new word of which they have the fewest.
// Speakers with validation clips are left out: the base detector's best epoch was selected on them.
func (c *corpus) choose(n int) ([]string, error) {
	counts := map[string][]int{} // of each word
	for _, x := range c.news {
		if counts[x.speaker] == nil {
			counts[x.speaker] = make([]int, len(c.words))
		}
		counts[x.speaker][slices.Index(c.words, x.word)]++
	}
	for _, x := range slices.Concat(c.news, c.knownVal) {
		if x.validation {
			delete(counts, x.speaker)
		}
	}
	names := slices.Sorted(maps.Keys(counts))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(slices.Min(counts[b]), slices.Min(counts[a])) })
	if len(names) < n {
		return nil, fmt.Errorf("%d speakers of the new words without validation clips, expected %d", len(names), n)
	}
	return names[:n], nil
}

// split returns k clips of every new word, taken from the speakers in turn, and the clips of all
// other speakers.
func (c *corpus) split(speakers []string, k int) (shots, test []clip, err error) {
	for _, x := range c.news {
		if !slices.Contains(speakers, x.speaker) {
			test = append(test, x)
		}
	}
	for _, word := range c.words {
		var have [][]clip
		for _, s := range speakers {
			var own []clip
			for _, x := range c.news {
				if x.word == word && x.speaker == s {
					own = append(own, x)
				}
			}
			have = append(have, own)
		}
		n := 0
		for round := 0; n < k; round++ {
			before := n
			for _, own := range have {
				if round < len(own) && n < k {
					shots = append(shots, own[round])
					n++
				}
			}
			if n == before {
				return nil, nil, fmt.Errorf("%d clips of %q, expected %d", n, word, k)
			}
		}
	}
	return shots, test, nil
}

// sounds returns clips as dataset.Sounds with the given labels, with other words and background.
func (c *corpus) sounds(labels []string, words, other []clip) dataset.Sounds {
	s := dataset.Sounds{SampleRate: sampleRate, Labels: labels, Background: c.background}
	for _, x := range words {
		x.Label = slices.Index(labels, x.word)
		s.Words = append(s.Words, x.Clip)
	}
	for _, x := range other {
		s.Other = append(s.Other, x.Clip)
	}
	return s
}
