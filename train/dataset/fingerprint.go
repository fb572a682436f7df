package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"path/filepath"
)

// Identified is a Set that can identify its examples without reading files, for Fingerprint.
type Identified interface {
	Set
	Identity(i int) Identity
}

// Identity identifies an example.
type Identity struct {
	Label   int
	Path    string // of the file; "": none
	Samples []any  // the samples that are in memory, as slices of numbers
}

// Fingerprint returns a SHA-256 that tells sets apart without reading files. It covers the names of
// the labels, the number of examples, and for each example its length, its label, its file name
// relative to the folder dir, and its samples if they are in memory. Of a ShiftedSet, it is that of
// the unshifted one.
func Fingerprint(s Set, info Info, dir string) [sha256.Size]byte {
	h := sha256.New()
	s = unshifted(s)
	fmt.Fprintf(h, "%q %d\n", info.Labels, s.Len())
	identified, _ := s.(Identified)
	for i := range s.Len() {
		id := Identity{}
		if identified != nil {
			id = identified.Identity(i)
		}
		if id.Path != "" {
			if rel, err := filepath.Rel(dir, id.Path); err == nil {
				id.Path = filepath.ToSlash(rel)
			}
		}
		fmt.Fprintf(h, "%d %d %q\n", s.Length(i), id.Label, id.Path)
		for _, x := range id.Samples {
			binary.Write(h, binary.LittleEndian, x) // to memory: cannot fail
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}
