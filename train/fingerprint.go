package train

import (
	"fmt"

	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// fingerprint identifies a run's data in its checkpoint.
type fingerprint struct {
	Train splitPrint `json:"train"`
	Val   splitPrint `json:"val"`
	Test  splitPrint `json:"test"`
}

// splitPrint identifies a split. It is zero for a split without examples.
type splitPrint struct {
	Examples int    `json:"examples"`
	SHA256   string `json:"sha256,omitempty"` // dataset.Fingerprint
}

// newFingerprint describes data.
func newFingerprint(d *dataset.Dataset) fingerprint {
	split := func(s dataset.Set) splitPrint {
		if s == nil {
			return splitPrint{}
		}
		return splitPrint{s.Len(), fmt.Sprintf("%x", dataset.Fingerprint(s, d.Info, d.Dir))}
	}
	return fingerprint{split(d.Train), split(d.Val), split(d.Test)}
}

// compare reports the first difference of the data now from those that were recorded.
func (recorded *fingerprint) compare(now *fingerprint) error {
	for _, s := range []struct {
		name          string
		recorded, now splitPrint
	}{{"training", recorded.Train, now.Train}, {"validation", recorded.Val, now.Val}, {"test", recorded.Test, now.Test}} {
		switch {
		case s.now.Examples != s.recorded.Examples:
			return fmt.Errorf("%d %s examples, expected %d", s.now.Examples, s.name, s.recorded.Examples)
		case s.now != s.recorded:
			return fmt.Errorf("the %d %s examples have other names, labels, lengths or values", s.now.Examples, s.name)
		}
	}
	return nil
}
