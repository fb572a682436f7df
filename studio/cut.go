package studio

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/s4d-fast/s4d-fast/internal/activity"
)

// How recordings of words are divided into clips. Times are in seconds.
const (
	wordPause   = 0.35 // a longer pause separates two words
	shortest    = 0.1  // a shorter sound is a click
	longestWord = 3.0
	quieter     = 20   // dB below the loudest sound: a quieter sound is not a word
	margin      = 0.25 // kept before and after a word
	silentLevel = 1e-4 // peak of a recording without sound: −80 dB re full scale
)

// silent reports whether a recording has no sound, not even noise.
func silent(x []float32) bool {
	return !slices.ContainsFunc(x, func(v float32) bool { return v > silentLevel || v < -silentLevel })
}

// utterances returns the words of a recording, each with a margin of what is around it, or only the
// loudest word. skipped describes the sounds that are too long. Without a word it is an error.
func utterances(x []float32, loudest bool) (pieces [][]float32, skipped []string, err error) {
	skipped = []string{}
	var found []activity.Region
	for _, r := range activity.Regions(x, rate) {
		if n := len(found); n > 0 && r.Onset-found[n-1].End < int(wordPause*rate) {
			last := &found[n-1]
			last.End, last.Level = r.End, max(last.Level, r.Level)
			continue
		}
		found = append(found, r)
	}
	least := slices.MaxFunc(found, byLevel).Level * math.Pow(10, -quieter/20.)
	var words []activity.Region
	for _, r := range found {
		switch seconds := float64(r.End-r.Onset) / rate; {
		case seconds < shortest || r.Level < least:
		case seconds > longestWord:
			skipped = append(skipped, fmt.Sprintf("a sound of %.1f s at %.1f s: expected a word of at most %g s, with a pause before and after it",
				seconds, float64(r.Onset)/rate, longestWord))
		default:
			words = append(words, r)
		}
	}
	if len(words) == 0 {
		if len(skipped) > 0 {
			return nil, nil, badRequest("no word was found: %s", skipped[0])
		}
		return nil, nil, badRequest("no word was found: say it louder, or closer to the microphone")
	}
	if loudest {
		words = []activity.Region{slices.MaxFunc(words, byLevel)}
	}
	for _, r := range words {
		from, end := max(0, r.Onset-int(margin*rate)), min(len(x), r.End+int(margin*rate))
		for _, other := range found { // half of a short pause belongs to the neighbour
			switch {
			case other.End <= r.Onset:
				from = max(from, (other.End+r.Onset)/2)
			case other.Onset >= r.End:
				end = min(end, (other.Onset+r.End)/2)
			}
		}
		pieces = append(pieces, x[from:end])
	}
	return pieces, skipped, nil
}

func byLevel(a, b activity.Region) int { return cmp.Compare(a.Level, b.Level) }

// divide divides a recording into pieces of n samples. The last one has up to half as many more.
func divide(x []float32, n int) [][]float32 {
	var pieces [][]float32
	for len(x) >= n+n/2 {
		pieces, x = append(pieces, x[:n]), x[n:]
	}
	return append(pieces, x)
}

// The envelope of a clip.
const (
	bins      = 40
	fullScale = 0.999 // a sample that reaches it may be clipped
	clipping  = 4     // so many of them are
)

// envelope returns the largest magnitude in each fortieth of a recording, in tenths of full scale
// on a scale that shows quiet sounds too, and whether the recording is clipped.
func envelope(x []float32) (peaks string, clipped bool) {
	out := make([]byte, bins)
	full := 0
	for i := range out {
		var peak float32
		for _, v := range x[i*len(x)/bins : (i+1)*len(x)/bins] {
			if v = max(v, -v); v >= fullScale {
				full++
			}
			peak = max(peak, v)
		}
		out[i] = '0' + byte(min(9, math.Round(9*math.Sqrt(float64(peak)))))
	}
	return string(out), full >= clipping
}
