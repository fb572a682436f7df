// Package suggest formats known names for error messages, and proposes the one that is closest to
// a misspelled one.
package suggest

import "fmt"

const (
	most    = 20  // names in an error message
	longest = 200 // bytes of a name for which known ones are proposed
)

// List formats names for an error message, however many there are: the first 20, each of at most 40
// characters, and the number of the others.
func List(names []string) string {
	if len(names) <= most {
		return fmt.Sprintf("%.40q", names)
	}
	return fmt.Sprintf("%.40q and %d more", names[:most], len(names)-most)
}

// Difference formats two different lists of names for an error message. Of long lists it gives the
// first name that differs.
func Difference(a, b []string) (inA, inB string) {
	if max(len(a), len(b)) <= most {
		return List(a), List(b)
	}
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	describe := func(names []string) string {
		if i == len(names) {
			return fmt.Sprintf("(%d)", len(names))
		}
		return fmt.Sprintf("(%d, number %d is %.40q)", len(names), i+1, names[i])
	}
	return describe(a), describe(b)
}

// Hint returns `; did you mean "KNOWN"?` for the end of an error message, with the known name that
// is the fewest edits away from name, or "" if none is close. An edit inserts, deletes or replaces
// one byte. A name is close if at most one byte in three, rounded up, is edited. Of names that are
// equally close, the first is proposed. No name is close to one of more than 200 bytes: the time
// grows with the product of the lengths.
func Hint(name string, known []string) string {
	best, limit := "", (len(name)+2)/3
	for _, k := range known {
		if len(name) > longest || len(k) > len(name)+limit {
			continue
		}
		if d := distance(name, k); d <= limit && k != name {
			best, limit = fmt.Sprintf("; did you mean %q?", k), d-1
		}
	}
	return best
}

// distance returns the Levenshtein distance of a and b in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // distances of a[:i] to every prefix of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
