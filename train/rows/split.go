package rows

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
)

// splitByHash assigns the series that have no split. Of each class, the series whose IDs have the
// lowest hashes are for validation, and the next ones for testing. Each class, or the whole of a
// regression, has at least one series for validation if another one remains for training.
func (s *seriesData) splitByHash() {
	groups := make([][]*record, max(len(s.info.Labels), 1))
	for i := range s.records {
		if r := &s.records[i]; r.split == "" {
			groups[r.class] = append(groups[r.class], r)
		}
	}
	for _, g := range groups {
		order := map[*record]uint64{}
		for _, r := range g {
			sum := sha256.Sum256([]byte(r.id))
			order[r] = binary.BigEndian.Uint64(sum[:])
		}
		slices.SortFunc(g, func(a, b *record) int { return cmp.Or(cmp.Compare(order[a], order[b]), cmp.Compare(a.id, b.id)) })
		n := float64(len(g))
		validated, tested := int(math.Round(n*s.opt.Validation)), int(math.Round(n*s.opt.Test))
		if validated == 0 && s.opt.Validation > 0 && len(g)-tested > 1 {
			validated = 1
		}
		for i, r := range g {
			switch {
			case i < validated:
				r.split = "val"
			case i < validated+tested:
				r.split = "test"
			default:
				r.split = "train"
			}
		}
	}
}

// bounds returns the rows of a series that belong to a split. If a series has no split of its own,
// its first rows are for training and its last rows for testing.
func (s *seriesData) bounds(r *record, split string) (from, to int) {
	if r.split != "" {
		if r.split == split {
			return 0, r.length
		}
		return 0, 0
	}
	n := float64(r.length)
	tested := r.length - int(math.Round(n*s.opt.Test))
	trained := tested - int(math.Round(n*s.opt.Validation))
	switch split {
	case "train":
		return 0, max(trained, 0)
	case "val":
		return max(trained, 0), tested
	}
	return tested, r.length
}
