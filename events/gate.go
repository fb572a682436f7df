package events

import "math"

// The gate's constants. Frames last 10 ms, levels are in decibels over full scale.
const (
	openAbove  = 8.0   // dB over the background: sound begins
	closeBelow = 4.0   // dB over the background: sound has ended
	openFrames = 3     // loud frames in a row that open
	hangFrames = 18    // soft frames in a row that close: pauses inside a word are shorter
	leastLevel = -65.0 // what is softer is silence, whatever the background
	firstFloor = -52.0 // the background before any has been heard: a room's, so that neither it nor a clip without one is mistaken
	fallFrames = 3.0   // time constant with which the background follows a softer sound
	riseFrames = 40.0  // and a louder one
)

// gate tells sound from background by its level.
type gate struct {
	Floor float64 // dB, the background's level
	Open  bool
	Run   int // frames in a row that speak for opening, or for closing
}

func newGate() gate { return gate{Floor: firstFloor} }

// step takes a frame's level and reports whether the gate opened or closed with it: what did so began openFrames or
// hangFrames ago, this one included. The background follows the level while the gate is closed; while it is open it follows
// upwards only if nothing is so: if nobody recognises the sound, it is background.
func (g *gate) step(level float64, nothing bool) (opened, closed bool) {
	level = max(level, leastLevel)
	soft, wanted := level < g.Floor+openAbove, openFrames
	if g.Open {
		soft, wanted = level < g.Floor+closeBelow, hangFrames
	}
	switch {
	case level < g.Floor:
		g.Floor += (level - g.Floor) / fallFrames
	case !g.Open && soft || g.Open && nothing:
		g.Floor += (level - g.Floor) / riseFrames
	}
	if soft != g.Open {
		g.Run = 0
		return false, false
	}
	if g.Run++; g.Run < wanted {
		return false, false
	}
	g.Run, g.Open = 0, !g.Open
	return g.Open, !g.Open
}

// levelOf returns a frame's level around its mean, in decibels over full scale.
func levelOf(x []float32) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range x {
		sum += float64(v)
		squares += float64(v) * float64(v)
	}
	n := float64(len(x))
	return 10 * math.Log10(max(squares/n-sum/n*(sum/n), 1e-12))
}
