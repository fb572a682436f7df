package recordings

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/s4d-fast/s4d-fast/internal/datafile"
)

// splitLists are the files that name recordings for validation and for testing.
var splitLists = []string{"validation_list.txt", "testing_list.txt"}

// split is the part of the data that a recording belongs to.
type split int

const (
	trainSplit split = iota
	valSplit
	testSplit
)

var splitNames = [...]string{"train", "val", "test"}

// assign sets the split of every file.
func (s *folderScan) assign() error {
	index := map[string]int{}
	for i, f := range s.files {
		index[f.name] = i
	}
	listed, validation := make([]bool, len(s.files)), false
	for i, to := range []split{valSplit, testSplit} {
		clips, err := datafile.ClipList(filepath.Join(s.dir, splitLists[i]), s.found, index)
		if err != nil {
			return err
		}
		for _, k := range clips {
			if listed[k] {
				return fmt.Errorf("%s lists %s, which has been listed already", splitLists[i], s.files[k].name)
			}
			s.files[k].split, listed[k] = to, true
		}
		validation = validation || to == valSplit && clips != nil
	}
	if s.group != nil && !validation {
		return s.splitSpeakers(listed)
	}
	words := make([]int, len(s.labels)) // for validation
	for i := range s.files {
		f := &s.files[i]
		if !listed[i] && (f.role == background || !validation) && hashFraction(stem(f.path)) < s.opt.Validation {
			f.split = valSplit
			if f.role == word {
				words[f.label]++
			}
		}
	}
	if !validation {
		s.holdOut(listed, words)
	}
	return nil
}

// HoldOut moves recordings from training to validation, such as those of Clips: by the hash of
// their speaker, if the name has one (opt.GroupBy), or else of their name. It moves at least those
// with the smallest hash, but none before first, and none if that is all.
func HoldOut(train, val *[]Clip, first int, opt Options) error {
	s, err := newFolderScan("", opt)
	if err != nil {
		return fmt.Errorf("recordings: %w", err)
	}
	training, validation := (*train)[:first:first], slices.Clip(*val)
	hashes, least := make([]float64, len(*train)), 1.0
	for i, c := range (*train)[first:] {
		name := stem(c.Path)
		if s.group != nil {
			if speaker, ok := s.speaker(recording{path: c.Path}); ok {
				name = speaker
			}
		}
		hashes[first+i] = hashFraction(name)
		least = min(least, hashes[first+i])
	}
	for i, c := range (*train)[first:] {
		if h := hashes[first+i]; h < s.opt.Validation || h == least {
			validation = append(validation, c)
		} else {
			training = append(training, c)
		}
	}
	if len(training) > first {
		*train, *val = training, validation
	}
	return nil
}

// fewClips is the number of clips of a class from which on two are for validation.
const fewClips = 8

// holdOut moves files of classes to validation until there are two of every class of at least
// fewClips files. If there are none of any class, it moves one of every class with several. It
// moves the files with the smallest hashes. words has the number of validation files of each class.
func (s *folderScan) holdOut(listed []bool, words []int) {
	none := slices.Max(words) == 0
	for label := range s.labels {
		var train []int
		for i, f := range s.files {
			if f.role == word && f.label == label && !listed[i] && f.split == trainSplit {
				train = append(train, i)
			}
		}
		least := 0
		switch n := len(train) + words[label]; {
		case n >= fewClips:
			least = 2
		case none && n > 1:
			least = 1
		}
		slices.SortStableFunc(train, func(a, b int) int {
			return cmp.Compare(hashFraction(stem(s.files[a].path)), hashFraction(stem(s.files[b].path)))
		})
		for _, i := range train[:max(0, least-words[label])] {
			s.files[i].split = valSplit
		}
	}
}

// splitSpeakers moves all files of some speakers to validation: those with the smallest hashes.
// Background is split by the hash of the file.
func (s *folderScan) splitSpeakers(listed []bool) error {
	speakers := make([]string, len(s.files))
	hash := map[string]float64{}
	for i, f := range s.files {
		switch {
		case listed[i]:
		case f.role == background:
			if hashFraction(stem(f.path)) < s.opt.Validation {
				s.files[i].split = valSplit
			}
		default:
			var ok bool
			if speakers[i], ok = s.speaker(f); !ok {
				return fmt.Errorf("group_by %q matches no part of the name of %s", s.opt.GroupBy, f.path)
			}
			hash[speakers[i]] = hashFraction(speakers[i])
		}
	}
	if len(hash) < 2 {
		return fmt.Errorf("group_by %q: expected at least 2 speakers in the names of the files, found %d", s.opt.GroupBy, len(hash))
	}
	order := slices.SortedFunc(maps.Keys(hash), func(a, b string) int { return cmp.Or(cmp.Compare(hash[a], hash[b]), strings.Compare(a, b)) })
	n := int(math.Round(s.opt.Validation * float64(len(order))))
	validation := order[:max(1, min(n, len(order)-1))]
	for i, f := range s.files {
		if f.role != background && !listed[i] && slices.Contains(validation, speakers[i]) {
			s.files[i].split = valSplit
		}
	}
	return nil
}

// speaker returns the speaker of a file, and whether its name has one.
func (s *folderScan) speaker(f recording) (string, bool) {
	m := s.group.FindStringSubmatch(filepath.Base(f.path))
	if m == nil {
		return "", false
	}
	return m[min(1, len(m)-1)], true
}

// fewWords is the number of words for validation below which their accuracy says little.
const fewWords = 30

// noteUnvalidated adds a note if classes have no word for validation, or all have few. If no class
// has one, recordings reports an error.
func (s *folderScan) noteUnvalidated() {
	validated, words := make([]bool, len(s.labels)), 0
	for _, f := range s.files {
		if f.role == word && f.split == valSplit {
			validated[f.label] = true
			words++
		}
	}
	if s.opt.Labels == nil && words > 0 && words < fewWords {
		use := "measure the accuracy and to choose a threshold"
		if s.opt.Wake != "" {
			use = "measure the accuracy"
		}
		s.notes = append(s.notes, fmt.Sprintf("%d recordings for validation are too few to %s: expected at least %d", words, use, fewWords))
	}
	var missing []string
	for label, ok := range validated {
		if !ok {
			missing = append(missing, s.labels[label])
		}
	}
	if s.opt.Labels == nil && len(missing) > 0 && len(missing) < len(s.labels) {
		s.notes = append(s.notes, fmt.Sprintf("the validation accuracy does not cover %d of %d classes, which have no recordings for validation: %s",
			len(missing), len(s.labels), strings.Join(missing, ", ")))
	}
}

// stem returns the name of a file without folder and extension.
func stem(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// hashFraction returns a number in [0, 1) that depends on name alone.
func hashFraction(name string) float64 {
	sum := sha256.Sum256([]byte(name))
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
}
