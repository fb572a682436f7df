package recordings

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
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

// split decides which files are for training, validation and testing, and adds a note.
func (s *folderScan) split() error {
	if err := s.assign(); err != nil {
		return err
	}
	s.noteUnvalidated()
	return nil
}

// assign sets the split of every file.
func (s *folderScan) assign() error {
	listed := make([]bool, len(s.files))
	validation := false
	for i, to := range []split{valSplit, testSplit} {
		found, err := s.applyList(splitLists[i], to, listed)
		if err != nil {
			return err
		}
		validation = validation || found && to == valSplit
	}
	if s.group != nil && !validation {
		return s.splitSpeakers(listed)
	}
	words := 0
	for i := range s.files {
		f := &s.files[i]
		if !listed[i] && (f.role == background || !validation) && hashFraction(stem(f.path)) < s.opt.Validation {
			f.split = valSplit
			if f.role == word {
				words++
			}
		}
	}
	if words == 0 && !validation {
		s.holdOut(listed)
	}
	return nil
}

// holdOut moves one file of every class with several files to validation: the file with the
// smallest hash.
func (s *folderScan) holdOut(listed []bool) {
	smallest, count := make([]int, len(s.labels)), make([]int, len(s.labels))
	for i, f := range s.files {
		if f.role != word || listed[i] {
			continue
		}
		if n := &smallest[f.label]; count[f.label] == 0 || hashFraction(stem(f.path)) < hashFraction(stem(s.files[*n].path)) {
			*n = i
		}
		count[f.label]++
	}
	for label, i := range smallest {
		if count[label] > 1 {
			s.files[i].split = valSplit
		}
	}
}

// applyList moves the files of a list to a split. A missing list is not an error.
func (s *folderScan) applyList(name string, to split, listed []bool) (found bool, err error) {
	path := filepath.Join(s.dir, name)
	names, err := datafile.ClipList(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	index := map[string]int{}
	for i, f := range s.files {
		index[f.name] = i
	}
	for _, name := range names {
		i, ok := index[name]
		if !ok {
			if class, _, _ := strings.Cut(name, "/"); slices.Contains(s.found, class) {
				return false, fmt.Errorf("%s lists %s, which is missing", path, name)
			}
			continue
		}
		if listed[i] {
			return false, fmt.Errorf("%s lists %s, which has been listed already", path, name)
		}
		s.files[i].split, listed[i] = to, true
	}
	return true, nil
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
	order := make([]string, 0, len(hash))
	for speaker := range hash {
		order = append(order, speaker)
	}
	slices.SortFunc(order, func(a, b string) int { return cmp.Or(cmp.Compare(hash[a], hash[b]), strings.Compare(a, b)) })
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

// noteUnvalidated adds a note if classes have no word for validation. If no class has one,
// recordings reports an error.
func (s *folderScan) noteUnvalidated() {
	validated := make([]bool, len(s.labels))
	for _, f := range s.files {
		if f.role == word && f.split == valSplit {
			validated[f.label] = true
		}
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
