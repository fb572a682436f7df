package calibration

import "github.com/s4d-fast/s4d-fast/events"

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
	Mistaken int // events near a word of another label
	False    int // events near no word
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

// Compare assigns each event to the word with the nearest onset, if that is within tolerance (in
// samples). A word is found if an event with its label is assigned to it. found has one entry per
// word. Further events with the same label that are assigned to a found word only count as events.
func Compare(words []Word, list []events.Event, tolerance int64) (s Score, found []bool) {
	s = Score{Words: len(words), Events: len(list)}
	found = make([]bool, len(words))
	for _, e := range list {
		near := -1
		for i, w := range words {
			off := abs(w.Onset - e.Onset)
			if off <= tolerance && (near < 0 || off < abs(words[near].Onset-e.Onset)) {
				near = i
			}
		}
		switch {
		case near < 0:
			s.False++
		case words[near].Label != e.Label:
			s.Mistaken++
		case !found[near]:
			found[near] = true
			s.Correct++
		}
	}
	return s, found
}

func abs(x int64) int64 { return max(x, -x) }
