package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
)

// identified is a Set that returns an example's label and the path of its file without reading the
// file. The label of a regression is the bits of its target.
type identified interface {
	identity(i int) (label int, path string)
}

// loaded is a Set whose samples are in memory.
type loaded interface {
	samples(i int) []any // slices of numbers of a fixed size
}

// Fingerprint returns the SHA-256 of the labels' names and of the number, lengths, labels and file
// names of a set's examples, and of the samples that are in memory. File names are relative to the
// data folder dir. It reads no files.
func Fingerprint(s Set, info Info, dir string) [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%q %d\n", info.Labels, s.Len())
	sized, _ := s.(Sized)
	named, _ := s.(identified)
	memory, _ := s.(loaded)
	for i := range s.Len() {
		length, label, path := 0, 0, ""
		if sized != nil {
			length = sized.Length(i)
		}
		if named != nil {
			label, path = named.identity(i)
		}
		if path != "" {
			if rel, err := filepath.Rel(dir, path); err == nil {
				path = filepath.ToSlash(rel)
			}
		}
		fmt.Fprintf(h, "%d %d %q\n", length, label, path)
		if memory != nil {
			for _, x := range memory.samples(i) {
				binary.Write(h, binary.LittleEndian, x) // to memory: cannot fail
			}
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}

func (s *clipSet) identity(i int) (int, string) { return s.clips[i].label, s.clips[i].path }

func (s *digitsSet) identity(i int) (int, string) {
	if n := s.clips.Len(); i >= n {
		return digitsNoneClass, ""
	}
	return s.clips.identity(i)
}

func (s *imageSet) identity(i int) (int, string) {
	k, path := s.members[i], ""
	if s.images.paths != nil {
		path = s.images.paths[k]
	}
	return int(s.images.labels[k]), path
}

func (s *imageSet) samples(i int) []any {
	size := s.length * s.images.channels
	return []any{s.images.pixels[s.members[i]*size:][:size]}
}

func (s *pathfinderSet) identity(i int) (int, string) {
	k := s.members[i]
	return int(s.labels[k]), s.paths[k]
}

func (s *tokenSet) identity(i int) (int, string) {
	if s.paths == nil {
		return s.labels[i], ""
	}
	return s.labels[i], s.paths[i]
}

func (s *tokenSet) samples(i int) []any {
	if s.others == nil {
		return []any{s.tokens[i]}
	}
	return []any{s.tokens[i], s.others[i]}
}

func (s *tsSet) identity(i int) (int, string) {
	k := s.members[i]
	if s.regression {
		return int(math.Float32bits(s.targets[k])), ""
	}
	return s.labels[k], ""
}

func (s *tsSet) samples(i int) []any { return []any{s.x[s.members[i]]} }
