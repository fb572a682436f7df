package dataset

import (
	"slices"
	"testing"
)

// Expected values were printed by torch.randperm of PyTorch 2 (docs/maths.md §5).
func TestRandPermIsTorchs(t *testing.T) {
	tests := []struct {
		n          int
		seed       uint64
		head, tail []int
	}{
		{50000, 42, []int{37542, 44491, 216, 43688, 41558, 32245, 27206, 10863, 2190, 31849}, nil},
		{1024, 0, []int{684, 217, 933, 11, 227, 705, 683, 980, 657, 602, 1023, 517, 124, 445, 762, 728}, []int{288, 775, 487, 467}},
		{784, 0, []int{60, 361, 167, 578, 107, 772, 313, 626}, nil},
		{1, 7, []int{0}, nil},
		{0, 7, nil, nil},
	}
	for _, tt := range tests {
		p := RandPerm(tt.n, tt.seed)
		if len(p) != tt.n {
			t.Fatalf("randperm(%d), seed %d: %d numbers, expected %d", tt.n, tt.seed, len(p), tt.n)
		}
		if head := p[:len(tt.head)]; !slices.Equal(head, tt.head) {
			t.Errorf("randperm(%d), seed %d: starts %v, expected %v", tt.n, tt.seed, head, tt.head)
		}
		if tail := p[len(p)-len(tt.tail):]; !slices.Equal(tail, tt.tail) {
			t.Errorf("randperm(%d), seed %d: ends %v, expected %v", tt.n, tt.seed, tail, tt.tail)
		}
		checkOnce(t, tt.n, p)
	}
}

func TestRandomSplit(t *testing.T) {
	parts := RandomSplit(42, 45000, 5000, 0)
	whole := RandPerm(50000, 42)
	if len(parts) != 3 {
		t.Fatalf("%d parts, expected 3", len(parts))
	}
	for i, want := range [][]int{whole[:45000], whole[45000:], nil} {
		if got := parts[i]; !slices.Equal(got, want) {
			t.Errorf("part %d is not the permutation cut in order: %d numbers, %v …, expected %d, %v …", i, len(got), got[:min(4, len(got))], len(want), want[:min(4, len(want))])
		}
	}
}

// checkOnce fails the test unless the indices are a permutation of 0 to n−1.
func checkOnce(t *testing.T, n int, indices []int) {
	t.Helper()
	sorted := slices.Sorted(slices.Values(indices))
	if len(sorted) != n {
		t.Fatalf("%d indices, expected %d", len(sorted), n)
	}
	for i, v := range sorted {
		if i != v {
			t.Fatalf("index %d is missing or there twice", i)
		}
	}
}
