package calibration

import (
	"slices"

	"github.com/s4d-fast/s4d-fast/events"
)

// Word is a word in a stream: its first sample, its exclusive end and its label.
type Word struct {
	Onset int64  `json:"-"`
	End   int64  `json:"-"`
	Label string `json:"label"`
	File  string `json:"file"` // of the clip, if there is one
}

// Score has the numbers of words and events in streams. Compare defines which words are found.
type Score struct {
	Words    int
	Events   int
	Correct  int // words that are found
	Mistaken int // events of a word of another label
	False    int // events of no word, and further events of a word that is found
}

// Precision returns the number of words that are found, divided by the number of events.
func (s Score) Precision() float64 { return float64(s.Correct) / float64(max(s.Events, 1)) }

// Recall returns the fraction of the words that are found.
func (s Score) Recall() float64 { return float64(s.Correct) / float64(max(s.Words, 1)) }

// F1 returns the harmonic mean of precision and recall.
func (s Score) F1() float64 { return 2 * float64(s.Correct) / float64(max(s.Words+s.Events, 1)) }

// Missed returns the number of words that are not found.
func (s Score) Missed() int { return s.Words - s.Correct }

// add adds the counts of another stream.
func (s *Score) add(t Score) {
	s.Words += t.Words
	s.Events += t.Events
	s.Correct += t.Correct
	s.Mistaken += t.Mistaken
	s.False += t.False
}

// Compare assigns each event to the word that it overlaps most or, if it overlaps none, to the
// nearest word that is at most tolerance samples before or after it. A word is found if an event
// with its label is assigned to it. found has the index of the first such event for each word, or
// −1.
func Compare(words []Word, list []events.Event, tolerance int64) (s Score, found []int) {
	s = Score{Words: len(words), Events: len(list)}
	found = slices.Repeat([]int{-1}, len(words))
	for k, e := range list {
		near, most := -1, -tolerance-1
		for i, w := range words {
			if overlap := min(w.End, e.End) - max(w.Onset, e.Onset); overlap > most { // negative: a gap
				near, most = i, overlap
			}
		}
		switch {
		case near < 0:
			s.False++
		case words[near].Label != e.Label:
			s.Mistaken++
		case found[near] >= 0:
			s.False++
		default:
			found[near] = k
			s.Correct++
		}
	}
	return s, found
}
