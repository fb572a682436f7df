package events

import (
	"math"
	"slices"
)

// The constants of a contour, in seconds and in decibels.
const (
	labelDelay     = 0.3  // typical time from a word's onset to the frame at which its label leads,
	longestDelay   = 1.15 // and the longest
	leastDelay     = 0.1  // and the shortest; rules.lag is added to each
	pauseSeconds   = 0.1  // shortest quiet interval between words
	closureSeconds = 0.2  // longest quiet interval in a word, near the frame at which its label begins to lead
	beforeReach    = 0.3  // levels that are kept besides those of the longest delay
	quietAbove     = 4.0  // quiet frames are less than this above the background,
	quietShare     = 0.3  // or less than this share of the way from the background to the loudest frame
	minLevel       = -65  // softer frames count as this level
)

// contour holds the levels of the last frames of a signal. It finds the onsets of words: the label
// shows that there is a word, and the levels show where it began.
type contour struct {
	levels []float32 // last returns those that are in use
	behind int64     // number of frames after the end of the signal, which have no level
	frames int       // that are kept
	rate   float64   // frames per second
	frame  int64     // samples

	least, delay, reach int // frames from a word's onset to the frame at which its label leads
}

// contourFrames returns the number of frames that a contour keeps.
func contourFrames(r *rules) int {
	return int((longestDelay+r.lag+beforeReach)*r.frameRate) + 1
}

func newContour(r *rules) *contour {
	n := contourFrames(r)
	delay := func(seconds float64) int { return int((seconds + r.lag) * r.frameRate) }
	return &contour{
		levels: make([]float32, 0, 2*n), frames: n, rate: r.frameRate, frame: int64(r.frame),
		least: delay(leastDelay), delay: delay(labelDelay), reach: delay(longestDelay),
	}
}

// push adds a frame's level in decibels, which is NaN after the end of the signal.
func (c *contour) push(level float64) {
	if math.IsNaN(level) {
		c.behind++
		return
	}
	if len(c.levels) == cap(c.levels) {
		c.levels = append(c.levels[:0], c.last()[1:]...)
	}
	c.levels = append(c.levels, float32(max(level, minLevel)))
}

// last returns the levels in use.
func (c *contour) last() []float32 { return c.levels[max(0, len(c.levels)-c.frames):] }

// onset returns the onset of a word whose label began to lead at the frame that ends at lead. The
// last frame ends at position. The onset is not before least, where another word ends or the signal
// begins.
//
// The word begins after the last pause. If there is no pause, because the word before it is too
// close, it begins after the quiet frame that is nearest to the typical delay or, without a quiet
// frame, or if the levels are no longer kept, at that delay.
func (c *contour) onset(lead, least, position int64) int64 {
	levels := c.last()
	position -= c.behind * c.frame
	lead = min(lead, position)
	index := func(end int64) int { return len(levels) - 1 - int((position-end)/c.frame) }
	begin := func(i int) int64 { return position - int64(len(levels)-i)*c.frame }
	leading := index(lead)
	if leading < 0 { // the label has led for longer than levels are kept
		return max(least, lead-int64(c.delay)*c.frame)
	}
	first := max(0, leading-c.reach, index(least)+1)
	if first > leading {
		return least
	}
	threshold := quietLevel(levels, slices.Max(levels[first:leading+1]))
	quiet := func(i int) bool { return levels[i] < threshold }

	word, sound := c.inside(max(first, leading-c.least), first, leading, quiet)
	if !sound {
		word = max(first, leading-c.delay)
	}
	if !sound || word > leading-c.least {
		return max(least, begin(word))
	}
	pause, run := max(1, int(pauseSeconds*c.rate)), 0
	for i := word; i >= first; i-- {
		if !quiet(i) {
			run = 0
		} else if run++; run == pause || i == 0 {
			return begin(i + run)
		}
	}
	if first == 0 && len(levels) < c.frames { // the signal begins with the word
		return begin(0)
	}
	best := -1
	for i := first; i < word; i++ {
		if quiet(i) && !quiet(i+1) && (best < 0 || distance(i+1, leading-c.delay) <= distance(best, leading-c.delay)) {
			best = i + 1
		}
	}
	if best < 0 {
		best = max(first, leading-c.delay)
	}
	return max(least, begin(best))
}

// inside returns a frame of the word near frame at. If that frame is in a short quiet interval (a
// closure in the word), the result is the frame before the interval. If it is in a longer one (a
// pause), the result is the first frame after it. sound is false if all these frames are quiet.
func (c *contour) inside(at, first, leading int, quiet func(int) bool) (word int, sound bool) {
	before := at
	for before > first && quiet(before) {
		before--
	}
	if !quiet(before) && at-before < int(closureSeconds*c.rate) {
		return before, true
	}
	for i := at; i <= leading; i++ {
		if !quiet(i) {
			return i, true
		}
	}
	return before, !quiet(before)
}

// quietLevel returns the level below which frames are quiet, given that of a word's loudest frame.
func quietLevel(levels []float32, loudest float32) float32 {
	background := loudest
	for i := range len(levels) - 2 {
		background = min(background, (levels[i]+levels[i+1]+levels[i+2])/3)
	}
	return background + max(quietAbove, quietShare*(loudest-background))
}

func distance(i, j int) int { return max(i-j, j-i) }
