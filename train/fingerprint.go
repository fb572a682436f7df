package train

import (
	"fmt"

	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// fingerprint identifies a run's data in its checkpoint, by its splits.
type fingerprint [3]splitPrint

var splitNames = [len(fingerprint{})]string{"training", "validation", "test"}

// splitPrint identifies a split. It is zero for a split without examples.
type splitPrint struct {
	Examples int    `json:"examples"`
	SHA256   string `json:"sha256,omitempty"` // dataset.Fingerprint
}

func newFingerprint(d *dataset.Dataset) (f fingerprint) {
	for i, s := range [...]dataset.Set{d.Train, d.Val, d.Test} {
		if s != nil {
			f[i] = splitPrint{s.Len(), fmt.Sprintf("%x", dataset.Fingerprint(s, d.Info, d.Dir))}
		}
	}
	return f
}

// compare reports the first difference of the data now from those that were recorded.
func (recorded *fingerprint) compare(now *fingerprint) error {
	for i, name := range splitNames {
		switch is, was := now[i], recorded[i]; {
		case is.Examples != was.Examples:
			return fmt.Errorf("%d %s examples, expected %d", is.Examples, name, was.Examples)
		case is != was:
			return fmt.Errorf("the %d %s examples have other names, labels, lengths or values", is.Examples, name)
		}
	}
	return nil
}
