package main

import "github.com/s4d-fast/s4d-fast/events"

// score counts words and events: correct ones, ones with the label of another word, and ones
// without a word.
type score struct{ words, events, correct, mistaken, false int }

func (s score) precision() float64 { return float64(s.correct) / float64(max(s.events, 1)) }
func (s score) recall() float64    { return float64(s.correct) / float64(max(s.words, 1)) }
func (s score) f1() float64        { return 2 * float64(s.correct) / float64(max(s.words+s.events, 1)) }

// compare assigns to each event the word whose onset is nearest and within tolerance. The first
// event of a word with its label is correct.
func compare(words []word, found []events.Event, tolerance int64) score {
	s := score{words: len(words), events: len(found)}
	taken := make([]bool, len(words))
	for _, e := range found {
		near := -1
		for i, w := range words {
			off := abs(w.onset - e.Onset)
			if off <= tolerance && (near < 0 || off < abs(words[near].onset-e.Onset)) {
				near = i
			}
		}
		switch {
		case near < 0:
			s.false++
		case words[near].label != e.Label:
			s.mistaken++
		case !taken[near]:
			taken[near] = true
			s.correct++
		}
	}
	return s
}

func abs(x int64) int64 { return max(x, -x) }
