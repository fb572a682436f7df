package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"path/filepath"
)

// Identified is a Set that identifies its examples without reading files. Fingerprint uses it to
// recognise data.
type Identified interface {
	Set
	Identity(i int) Identity
}

// Identity identifies an example.
type Identity struct {
	Label   int    // of a regression: the bits of its target
	Path    string // of its file; "": none
	Samples []any  // slices of numbers of a fixed size that are in memory
}

// Fingerprint returns the SHA-256 of the labels' names and of the number, lengths, labels and file
// names of a set's examples, and of the samples that are in memory. File names are relative to the
// data folder dir. It reads no files.
func Fingerprint(s Set, info Info, dir string) [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%q %d\n", info.Labels, s.Len())
	sized, _ := s.(Sized)
	identified, _ := s.(Identified)
	for i := range s.Len() {
		length, id := 0, Identity{}
		if sized != nil {
			length = sized.Length(i)
		}
		if identified != nil {
			id = identified.Identity(i)
		}
		if id.Path != "" {
			if rel, err := filepath.Rel(dir, id.Path); err == nil {
				id.Path = filepath.ToSlash(rel)
			}
		}
		fmt.Fprintf(h, "%d %d %q\n", length, id.Label, id.Path)
		for _, x := range id.Samples {
			binary.Write(h, binary.LittleEndian, x) // to memory: cannot fail
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}
